//! Calls that become tasks: durable before the reply, by the tool's policy, or by the flow after some rounds.

use std::sync::Arc;

use mrtr_flow::Clock;
use mrtr_schema::Revision;
use mrtr_server::testing::{Client, Conversation};
use mrtr_server::transport::CallerKey;
use mrtr_server::{Context, TaskPolicy, Tool};
use mrtr_tasks::{End, TaskOptions};
use serde_json::{Map, Value, json};

use crate::faulty::{Fault, Faulty};
use crate::support::{Name, OLDER, Outside, PATIENCE, Site, TokioClock, ann, call, greeting, memory, tool, within};

#[tokio::test(start_paused = true)]
async fn tk_10_a_handle_is_given_for_what_is_durable_and_for_nothing_else() {
    for revision in Revision::MODERN {
        for fault in [Fault::Fails, Fault::Busy, Fault::Hangs] {
            let sound = memory();
            let store = Faulty::over(Arc::clone(&sound));
            let site = Site::with(Arc::clone(&store) as _, TaskOptions::default(), [greeting()]);
            store.fault("create", fault, usize::MAX);
            let client = site.speaking(revision);
            let calling = tokio::time::timeout(std::time::Duration::from_mins(1), call(&client, revision, json!({})));
            match (fault, calling.await) {
                (Fault::Hangs, said) => assert!(said.is_err(), "no reply before the store has it: {said:?}"),
                (Fault::Busy, said) => assert_eq!(said.unwrap()["error"]["code"], -3),
                (_, said) => assert_eq!(said.unwrap()["error"]["code"], -32603),
            }
            assert_eq!(sound.list(None, None, 10).await.unwrap(), []);
            store.heal();
            let task = site.start_in(revision).await;
            sound.get(task.task_id(), None).await.expect("it is there when its handle is");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_has_so_many_open_tasks_and_no_more() {
    for revision in Revision::MODERN {
        let site = Site::with(memory(), TaskOptions::default().most_open(2), [greeting()]);
        let of_ann = site.speaking(revision).calling_as(ann());
        let first = site.start_as(of_ann.clone(), revision).await;
        site.start_as(of_ann.clone(), revision).await;
        let said = call(&of_ann, revision, json!({})).await;
        assert_eq!(said["error"]["code"], -32600, "{said}");
        assert_eq!(site.tasks.view(None, 10).await.unwrap().len(), 2, "it is refused before it is created");
        site.start_in(revision).await;
        first.cancel().await;
        site.start_as(of_ann, revision).await;
    }
}

/// Callers that no issuer vouches for: the transport tells them apart, and one cannot use up what another may have.
#[tokio::test(start_paused = true)]
async fn anonymous_callers_have_their_open_tasks_by_address() {
    let site = Site::with(memory(), TaskOptions::default().most_open(1), [greeting()]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {
            "elicitation": {}, "extensions": { "io.modelcontextprotocol/tasks": {} },
        },
    });
    let ask = async |address: &str, method: &str, mut params: Value| {
        params["_meta"] = meta.clone();
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let account = Arc::new(CallerKey::address(address.parse().unwrap()));
        site.server.handle_value(request, Context::new().account(&account)).await.unwrap()
    };
    let call = async |address| ask(address, "tools/call", json!({ "name": "tool", "arguments": {} })).await;
    let first = call("192.0.2.1").await;
    assert_eq!(call("192.0.2.1").await["error"]["code"], -32600, "one is all that it may have");
    assert_eq!(call("192.0.2.2").await["result"]["resultType"], "task", "another has its own");
    let id = json!({ "taskId": first["result"]["taskId"] });
    assert_eq!(ask("192.0.2.3", "tasks/cancel", id).await.get("error"), None, "who knows its id has it, from anywhere");
    assert_eq!(call("192.0.2.1").await["result"]["resultType"], "task");
}

/// Asks for a name, becomes a task, and acts.
fn moving(outside: &Outside) -> Tool {
    let made = tool(outside, async |flow, outside| {
        let first: Name = flow.elicit("first", "First name?").await?;
        flow.step("look up", outside.happen("look up")).await?;
        let last: Name = flow.elicit("last", "Last name?").await?;
        flow.into_task().await;
        flow.step("ship", outside.happen("ship")).await?;
        let street: Name = flow.elicit("street", "Street?").await?;
        Ok(format!("{} {} of {}", first.name, last.name, street.name))
    });
    made.tasks(TaskPolicy::ByFlow)
}

async fn begin(client: &Client, revision: Revision) -> Conversation {
    let mut params = Map::from_iter([("name".to_owned(), json!("tool")), ("arguments".to_owned(), json!({}))]);
    if revision != Revision::V2026_07_28 {
        params.insert("task".to_owned(), json!({ "ttl": 60_000 }));
    }
    client.begin("tools/call", params).await
}

fn named(name: &str) -> Value {
    json!({ "name": name })
}

#[tokio::test(start_paused = true)]
async fn tk_9_rounds_come_first_and_then_a_task_with_their_journal_and_never_back() {
    for revision in Revision::MODERN {
        let outside = Outside::default();
        let site = Site::of(moving(&outside));
        let call = begin(&site.speaking(revision), revision).await;
        call.expect_asked(&["first"]);
        let call = call.accept("first", named("Ada")).send().await;
        call.expect_asked(&["last"]);
        assert_eq!(site.tasks.view(None, 10).await.unwrap(), [], "rounds are finished before a task is created");
        let before = call.clone();
        let call = call.accept("last", named("Lovelace")).send().await;
        let task = site.started(site.speaking(revision), revision, call.response());
        task.until_asked(&["street"]).await;
        assert_eq!(outside.all(), ["look up", "ship"], "what the rounds did is in its journal");

        let replayed = before.clone().accept("last", named("Lovelace")).send().await;
        let again = site.started(site.speaking(revision), revision, replayed.response());
        assert_eq!(again.id, task.id, "a reply that was lost is given again");
        let branched = before.accept("last", named("Byron")).send().await;
        let branch = site.started(site.speaking(revision), revision, branched.response());
        assert_eq!(branch.id, task.id, "and so is another branch of the flow");
        assert_eq!(again.created["status"], "input_required", "as it stands now");
        task.accept("street", named("St James's")).await;
        assert_eq!(task.text().await, "Ada Lovelace of St James's");
        assert_eq!(outside.all(), ["look up", "ship"]);
        assert_eq!(site.tasks.view(None, 10).await.unwrap().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn tk_9_a_replay_from_the_very_first_state_finds_the_task_too() {
    let outside = Outside::default();
    let site = Site::of(moving(&outside));
    let log = crate::log::Log::start();
    let first = begin(&site.client(), Revision::V2026_07_28).await;
    let call = first.clone().accept("first", named("Ada")).send().await;
    let call = call.accept("last", named("Lovelace")).send().await;
    let task = site.started(site.client(), Revision::V2026_07_28, call.response());
    let other = first.accept("first", named("Eve")).send().await.accept("last", named("Byron")).send().await;
    assert_eq!(site.started(site.client(), Revision::V2026_07_28, other.response()).id, task.id);
    assert!(log.text().contains("a call that is a task already was sent again"), "{}", log.text());
    task.until_asked(&["street"]).await;
    task.accept("street", named("St James's")).await;
    assert_eq!(task.text().await, "Ada Lovelace of St James's", "by the branch that came first");
}

#[tokio::test(start_paused = true)]
async fn tk_9_for_a_client_that_cannot_have_a_task_it_goes_on_in_place() {
    for revision in Revision::MODERN {
        let outside = Outside::default();
        let site = Site::of(moving(&outside));
        let client = Client::new(&site.server).speaking(revision);
        let call = client.call_tool("tool", json!({})).await;
        let call = call.accept("first", named("Ada")).send().await;
        let call = call.accept("last", named("Lovelace")).send().await;
        call.expect_asked(&["street"]);
        let call = call.accept("street", named("St James's")).send().await;
        assert_eq!(call.expect_text(), "Ada Lovelace of St James's");
        assert_eq!(outside.all(), ["look up", "ship"]);
        assert_eq!(site.tasks.view(None, 10).await.unwrap(), []);
    }
}

/// In place the call would do again what the task has done, since its state is older than the task's journal.
#[tokio::test(start_paused = true)]
async fn tk_9_a_retry_by_a_client_that_cannot_have_the_task_runs_nothing_beside_it() {
    for revision in Revision::MODERN {
        let outside = Outside::default();
        let site = Site::of(moving(&outside));
        let first = begin(&site.speaking(revision), revision).await;
        let second = first.clone().accept("first", named("Ada")).send().await;
        let call = second.clone().accept("last", named("Lovelace")).send().await;
        let task = site.started(site.speaking(revision), revision, call.response());
        task.until_asked(&["street"]).await;
        for (asked, key) in [(&second, "last"), (&first, "first")] {
            let said = retry_in_place(&site, revision, asked, key).await;
            let code = if revision == Revision::V2026_07_28 { -32021 } else { -32602 };
            assert_eq!(said["error"]["code"], code, "{said}");
            assert!(said["error"]["message"].as_str().unwrap().contains("is a task already"), "{said}");
            if revision == Revision::V2026_07_28 {
                let needed = &said["error"]["data"]["requiredCapabilities"]["extensions"];
                assert!(needed["io.modelcontextprotocol/tasks"].is_object(), "{said}");
            }
        }
        assert_eq!(outside.all(), ["look up", "ship"], "nothing is done again");
        task.accept("street", named("St James's")).await;
        assert_eq!(task.text().await, "Ada Lovelace of St James's");
        let said = retry_in_place(&site, revision, &second, "last").await;
        assert!(said["error"].is_object(), "nor when it has ended: {said}");
        assert_eq!(outside.all(), ["look up", "ship"]);
    }
}

/// Answers what was asked as a client that cannot have a task.
async fn retry_in_place(site: &Site, revision: Revision, asked: &Conversation, key: &str) -> Value {
    let state = &asked.response()["result"]["requestState"];
    let answer = json!({ key: { "action": "accept", "content": named("Lovelace") } });
    let params = json!({ "name": "tool", "arguments": {}, "requestState": state, "inputResponses": answer });
    Client::new(&site.server).speaking(revision).request("tools/call", params).await.response().clone()
}

/// A call may be asked in place, and become a task by a retry that declares tasks.
#[tokio::test(start_paused = true)]
async fn tk_9_nothing_runs_beside_a_task_that_a_later_round_became_by_the_policy() {
    for revision in Revision::MODERN {
        let outside = Outside::default();
        let made = tool(&outside, async |flow, outside| {
            let first: Name = flow.elicit("first", "First name?").await?;
            flow.step("ship", outside.happen("ship")).await?;
            let street: Name = flow.elicit("street", "Street?").await?;
            Ok(format!("{} of {}", first.name, street.name))
        });
        let site = Site::of(made.tasks(TaskPolicy::IfPossible));
        let asked = Client::new(&site.server).speaking(revision).call_tool("tool", json!({})).await;
        asked.expect_asked(&["first"]);
        let created = answer(&site.speaking(revision), revision, &asked, true).await;
        let task = site.started(site.speaking(revision), revision, &created);
        task.until_asked(&["street"]).await;
        let said = answer(&Client::new(&site.server).speaking(revision), revision, &asked, false).await;
        assert!(said["error"]["message"].as_str().unwrap_or_default().contains("is a task already"), "{said}");
        assert_eq!(outside.all(), ["ship"], "nothing is done again");
        task.accept("street", named("St James's")).await;
        assert_eq!(task.text().await, "Ada of St James's");
    }
}

/// Answers the first question, as a client that wants a task or as one that cannot have one.
async fn answer(client: &Client, revision: Revision, asked: &Conversation, wants_task: bool) -> Value {
    let state = &asked.response()["result"]["requestState"];
    let answers = json!({ "first": { "action": "accept", "content": named("Ada") } });
    let mut params = json!({ "name": "tool", "arguments": {}, "requestState": state, "inputResponses": answers });
    if wants_task && revision != Revision::V2026_07_28 {
        params["task"] = json!({ "ttl": 60_000 });
    }
    client.request("tools/call", params).await.response().clone()
}

#[tokio::test(start_paused = true)]
async fn a_store_that_cannot_say_whether_there_is_a_task_lets_nothing_run_beside_it() {
    let (outside, store) = (Outside::default(), Faulty::over(memory()));
    let site = Site::with(Arc::clone(&store) as _, TaskOptions::default(), [moving(&outside)]);
    let first = begin(&site.client(), Revision::V2026_07_28).await;
    store.fault("create", Fault::Fails, 1);
    let said = retry_in_place(&site, Revision::V2026_07_28, &first, "first").await;
    assert_eq!(said["error"]["code"], -32603, "{said}");
    assert_eq!(outside.all(), [""; 0]);
    let said = retry_in_place(&site, Revision::V2026_07_28, &first, "first").await;
    assert!(said["result"]["inputRequests"]["last"].is_object(), "there is none: {said}");
    assert_eq!(site.tasks.view(None, 9).await.unwrap(), [], "and to ask for it makes none");
}

#[tokio::test(start_paused = true)]
async fn tk_21_into_task_waits_while_a_question_is_open() {
    for revision in Revision::MODERN {
        let outside = Outside::default();
        let made = tool(&outside, async |flow, _| {
            let becoming = flow.branch(flow.into_task());
            let (name, ()) = flow.join((flow.elicit::<Name>("name", "Who?"), becoming)).await?;
            Ok(name.name)
        });
        let site = Site::of(made.tasks(TaskPolicy::ByFlow));
        let call = begin(&site.speaking(revision), revision).await;
        call.expect_asked(&["name"]);
        assert_eq!(site.tasks.view(None, 10).await.unwrap(), []);
        let call = call.accept("name", named("Ada")).send().await;
        let task = site.started(site.speaking(revision), revision, call.response());
        assert_eq!(task.text().await, "Ada");
    }
}

#[tokio::test(start_paused = true)]
async fn a_flow_becomes_a_task_in_the_run_in_which_a_check_said_yes() {
    for revision in Revision::MODERN {
        let outside = Outside::default();
        let site = Site::of(
            tool(&outside, async |flow, _| {
                let slow_yes = || async {
                    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
                    true
                };
                flow.elicit_url("pay", "Please pay", "https://example.com/pay").until(slow_yes).await?;
                flow.into_task().await;
                Ok("paid".into())
            })
            .tasks(TaskPolicy::ByFlow),
        );
        let call = begin(&site.speaking(revision), revision).await;
        let task = site.started(site.speaking(revision), revision, call.response());
        assert_eq!(task.text().await, "paid");
    }
}

#[tokio::test(start_paused = true)]
async fn keys_of_earlier_rounds_do_not_count() {
    let outside = Outside::default();
    let made = tool(&outside, async |flow, outside| {
        let age = flow.elicit::<Name>("name", "Who?");
        let age = age.validate(|name: &Name| if name.name.len() < 2 { Err("longer, please") } else { Ok(()) });
        let name = age.await?;
        flow.into_task().await;
        flow.step("ship", outside.happen("ship")).await?;
        let again: Name = flow.elicit("again", "And now?").await?;
        Ok(format!("{} {}", name.name, again.name))
    });
    let site = Site::of(made.tasks(TaskPolicy::ByFlow));
    let call = begin(&site.client(), Revision::V2026_07_28).await;
    let call = call.accept("name", named("A")).send().await;
    call.expect_asked(&["name"]);
    let call = call.accept("name", named("Ada")).send().await;
    let task = site.started(site.client(), Revision::V2026_07_28, call.response());
    task.until_asked(&["again"]).await;
    task.accept("again", named("Bob")).await;
    assert_eq!(task.text().await, "Ada Bob");
}

#[tokio::test(start_paused = true)]
async fn of_a_flow_that_becomes_a_task_twice_at_once_there_is_one() {
    let outside = Outside::default();
    let site = Site::of(moving(&outside));
    let call = begin(&site.client(), Revision::V2026_07_28).await.accept("first", named("Ada")).send().await;
    let replays = (0..10).map(|_| call.clone().accept("last", named("Lovelace")).send());
    let replies = futures_util::future::join_all(replays).await;
    let ids: std::collections::BTreeSet<_> =
        replies.iter().map(|reply| site.started(site.client(), Revision::V2026_07_28, reply.response()).id).collect();
    assert_eq!(ids.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_the_tool_refuses_is_refused_before_there_is_a_task() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Arguments {
        #[expect(dead_code, reason = "it is only read")]
        count: u32,
    }
    for revision in Revision::MODERN {
        let made = Tool::new("tool", async |_: mrtr_server::Flow, _: Arguments| Ok::<_, mrtr_server::Failure>("done"));
        let site = Site::of(made.tasks(TaskPolicy::IfPossible));
        let said = call(&site.speaking(revision), revision, json!({})).await;
        let in_place = Client::new(&site.server).speaking(revision).call_tool("tool", json!({})).await;
        assert_eq!(in_place.response()["result"]["isError"], true);
        if said["result"]["isError"] == true {
            assert_eq!(site.tasks.view(None, 10).await.unwrap(), []);
        } else {
            let task = site.started(site.speaking(revision), revision, &said);
            assert_eq!(task.ended().await["isError"], true, "as its request would have ended");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_plain_call_does_not_touch_the_store() {
    let store = Faulty::over(memory());
    let plain = Tool::new("plain", async |_: mrtr_server::Flow| Ok::<_, mrtr_server::Failure>("done"));
    let site = Site::with(Arc::clone(&store) as _, TaskOptions::default(), [plain, greeting()]);
    // The runner has looked for work, and sleeps.
    tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    let before = store.all_calls();
    for revision in Revision::MODERN {
        let client = site.speaking(revision);
        assert_eq!(client.call_tool("plain", json!({})).await.expect_text(), "done");
        client.request("tools/list", json!({})).await;
        client.request("ping", json!({})).await;
    }
    for revision in OLDER {
        let asked = site.older(revision).call_tool("tool", json!({})).await;
        asked.expect_asked(&["name"]);
    }
    assert_eq!(store.all_calls(), before);
}

#[tokio::test(start_paused = true)]
async fn with_single_use_the_handle_is_the_committed_reply() {
    let outside = Outside::default();
    let guard = mrtr_state::MemorySingleUse::new(TokioClock::start().now());
    let site = Site::of(moving(&outside).single_use(guard));
    let call = begin(&site.client(), Revision::V2026_07_28).await.accept("first", named("Ada")).send().await;
    call.expect_asked(&["last"]);
    let before = call.clone();
    let call = call.accept("last", named("Lovelace")).send().await;
    let task = site.started(site.client(), Revision::V2026_07_28, call.response());
    let replayed = before.clone().accept("last", named("Lovelace")).send().await;
    assert_eq!(site.started(site.client(), Revision::V2026_07_28, replayed.response()).id, task.id);
    let branched = before.accept("last", named("Byron")).send().await;
    assert_eq!(branched.expect_error().code.as_i64(), -32602, "other answers to a state that was used");
    task.until_asked(&["street"]).await;
    task.accept("street", named("St James's")).await;
    assert_eq!(task.text().await, "Ada Lovelace of St James's");
}

#[tokio::test(start_paused = true)]
async fn a_ttl_of_nothing_or_less_is_refused() {
    for revision in OLDER {
        let site = Site::of(greeting());
        for ttl in [json!(0), json!(-1), json!(-0.0)] {
            let said = call(&site.older(revision), revision, json!({ "ttl": ttl })).await;
            assert_eq!(said["error"]["code"], -32602, "{ttl}: {said}");
        }
        assert!(site.tasks.view(None, 9).await.unwrap().is_empty(), "nothing was created");
    }
}

/// The store kept the task, and could not say so: the client was told of a failure, and may call again.
#[tokio::test(start_paused = true)]
async fn a_task_whose_creation_was_not_confirmed_is_not_left_behind() {
    let store = Faulty::over(memory());
    let site = Site::with(Arc::clone(&store) as _, TaskOptions::default(), [greeting()]);
    store.fault("create", Fault::FailsAfterwards, 1);
    store.fault("cancel", Fault::Fails, 3);
    let said = call(&site.client(), Revision::V2026_07_28, json!({})).await;
    assert_eq!(said["error"]["code"], -32603, "{said}");
    let left = site.tasks.view(None, 9).await.unwrap().remove(0).id;
    let ended = async {
        loop {
            let seen = site.store.cursor().await.unwrap();
            let task = site.store.get(left, None).await.unwrap();
            if let Some((end, _)) = task.record.ended {
                return end;
            }
            site.store.changed(seen).await.unwrap();
        }
    };
    assert_eq!(within(PATIENCE, ended).await, End::Cancelled);
    let again = site.start().await;
    again.until_asked(&["name"]).await;
}

/// In a later round a retry brings the flow's id: it gets the task that is there.
#[tokio::test(start_paused = true)]
async fn a_retry_of_a_later_round_finds_the_task_whose_creation_was_not_confirmed() {
    for revision in Revision::MODERN {
        let (store, outside) = (Faulty::over(memory()), Outside::default());
        let site = Site::with(Arc::clone(&store) as _, TaskOptions::default(), [moving(&outside)]);
        let call = begin(&site.speaking(revision), revision).await.accept("first", named("Ada")).send().await;
        store.fault("create", Fault::FailsAfterwards, 1);
        let call = call.accept("last", named("Lovelace"));
        assert_eq!(call.clone().send().await.expect_error().code.as_i64(), -32603);
        let left = site.tasks.view(None, 9).await.unwrap().remove(0).id;
        // Longer than a task of a first round would be left alone.
        tokio::time::sleep(std::time::Duration::from_secs(5)).await;
        let task = site.started(site.speaking(revision), revision, call.send().await.response());
        assert_eq!(task.task_id(), left, "{revision}");
        task.until_asked(&["street"]).await;
        task.accept("street", named("St James's")).await;
        assert_eq!(task.text().await, "Ada Lovelace of St James's");
        assert_eq!(outside.all(), ["look up", "ship"]);
    }
}
