//! The family of the older revisions: `params.task`, `tasks/result` and `tasks/input_response`.

use std::time::Duration;

use mrtr_schema::{CallToolResult, ContentBlock, Json, Revision};
use mrtr_server::{Failure, Flow, TaskPolicy, Tool};
use mrtr_tasks::TaskOptions;
use serde_json::{Value, json};

use crate::support::{Name, OLDER, Outside, Site, Started, ann, call, greeting, keys, memory, tool};

const RELATED: &str = "io.modelcontextprotocol/related-task";

#[tokio::test(start_paused = true)]
async fn tk_1_task_in_the_parameters_makes_a_task() {
    for revision in OLDER {
        let site = Site::of(greeting());
        let created = call(&site.older(revision), revision, json!({ "ttl": 60_000 })).await;
        let mut members = keys(&created["result"]["task"]);
        members.sort();
        let expected = ["createdAt", "lastUpdatedAt", "pollInterval", "status", "statusMessage", "taskId", "ttl"]
            .map(String::from);
        assert_eq!(members, expected);
        assert_eq!(created["result"]["task"]["status"], "working");
        assert_eq!(created["result"]["task"]["ttl"], 60_000);
        assert_eq!(created["result"]["task"]["pollInterval"], 1_000);
    }
}

#[tokio::test(start_paused = true)]
async fn tk_1_a_ttl_is_granted_bounded_or_the_usual_one() {
    let hour = 3_600_000;
    let bounded = TaskOptions::default().ttl(Duration::from_mins(30), Duration::from_hours(1));
    let unlimited = bounded.clone().unlimited_ttl();
    for (options, wish, granted) in [
        (&bounded, json!({}), json!(hour / 2)),
        (&bounded, json!({ "ttl": 5_000 }), json!(5_000)),
        (&bounded, json!({ "ttl": 9 * hour }), json!(hour)),
        (&bounded, json!({ "ttl": null }), json!(hour)),
        (&bounded, json!({ "ttl": (1_u64 << 53) - 1 }), json!(hour)),
        (&unlimited, json!({ "ttl": 9 * hour }), json!(9 * hour)),
        (&unlimited, json!({ "ttl": null }), Value::Null),
        (&unlimited, json!({}), json!(hour / 2)),
    ] {
        for revision in OLDER {
            let site = Site::with(memory(), options.clone(), [greeting()]);
            let task = site.start_wishing(site.older(revision), revision, wish.clone()).await;
            assert_eq!(task.created["ttl"], granted, "for {wish}");
            let asks = task.until("input_required").await;
            assert_eq!(asks["ttl"], granted, "for {wish}");
            task.accept("name", json!({ "name": "Ada" })).await;
            assert_eq!(task.text().await, "Hello, Ada", "for {wish}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn tk_1_a_longest_ttl_of_everything_is_no_trap() {
    for revision in OLDER {
        let site = Site::with(memory(), TaskOptions::default().unlimited_ttl(), [greeting()]);
        let task = site.start_wishing(site.older(revision), revision, json!({ "ttl": (1_u64 << 53) - 1 })).await;
        task.until_asked(&["name"]).await;
        task.accept("name", json!({ "name": "Ada" })).await;
        assert_eq!(task.text().await, "Hello, Ada");
    }
}

#[tokio::test(start_paused = true)]
async fn every_time_of_the_options_may_be_as_long_as_can_be_said() {
    let longest = Duration::MAX;
    let rows = [
        ("lease", TaskOptions::default().lease(longest)),
        ("ttl", TaskOptions::default().ttl(longest, longest)),
        ("retention", TaskOptions::default().retention(longest)),
        ("poll_interval", TaskOptions::default().poll_interval(longest)),
        ("look_interval", TaskOptions::default().look_interval(longest)),
        ("grace", TaskOptions::default().grace(longest)),
    ];
    for (time, options) in rows {
        for revision in OLDER {
            let site = Site::with(memory(), options.clone(), [greeting()]);
            let task = site.start_wishing(site.older(revision), revision, json!({})).await;
            task.until_asked(&["name"]).await;
            task.accept("name", json!({ "name": "Ada" })).await;
            assert_eq!(task.text().await, "Hello, Ada", "{time}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_time_that_is_longer_than_a_year_is_a_year() {
    let day = Duration::from_hours(24);
    for (wanted, days) in [(day * 200, 200), (Duration::MAX, 365)] {
        let site = Site::with(memory(), TaskOptions::default().poll_interval(wanted), [greeting()]);
        let task = site.start().await;
        assert_eq!(task.get().await["pollIntervalMs"], days * 24 * 60 * 60 * 1000_u64, "{wanted:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn tk_1_what_is_no_task_is_refused_and_makes_none() {
    for revision in OLDER {
        let site = Site::of(greeting());
        for wish in [json!(7), json!([]), json!({ "ttl": -1 }), json!({ "ttl": "long" })] {
            let said = call(&site.older(revision), revision, wish.clone()).await;
            assert_eq!(said["error"]["code"], -32602, "{wish}: {said}");
        }
        assert_eq!(site.tasks.view(None, 10).await.unwrap(), []);
    }
}

#[tokio::test(start_paused = true)]
async fn tk_2_what_it_asks_comes_as_the_result_with_the_related_task() {
    for revision in OLDER {
        let site = Site::of(greeting());
        let task = site.start_in(revision).await;
        task.until("input_required").await;
        let asked = task.result().await;
        assert_eq!(keys(&asked["result"]["inputRequests"]), ["name"]);
        assert_eq!(asked["result"]["_meta"][RELATED], json!({ "taskId": task.id }));
        assert!(asked["result"].get("requestState").is_none(), "it is off");
        let marked = asked["result"].get("resultType").is_some();
        assert_eq!(marked, revision == Revision::Sep2322);
    }
}

#[tokio::test(start_paused = true)]
async fn tk_3_the_result_waits_while_the_task_works() {
    for revision in OLDER {
        let outside = Outside::default();
        let site = Site::of(tool(&outside, async |flow, outside| {
            Ok(flow.step("pack", outside.happen_after_gate("pack")).await?)
        }));
        let task = site.start_in(revision).await;
        outside.until("at the gate", 1).await;
        let waiting = tokio::spawn({
            let task = task.clone();
            async move { task.result().await }
        });
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert!(!waiting.is_finished());
        outside.open_gate();
        assert_eq!(waiting.await.unwrap()["result"]["content"][0]["text"], "pack");
    }
}

#[tokio::test(start_paused = true)]
async fn tk_4_answers_are_acknowledged_until_the_task_is_over() {
    for revision in OLDER {
        let site = Site::of(greeting());
        let task = site.start_in(revision).await;
        task.until("input_required").await;
        let acknowledged = json!({ "taskId": task.id });
        for answers in [json!({}), json!({ "other": { "action": "accept", "content": {} } })] {
            let said = task.deliver(answers).await;
            assert_eq!(said["result"]["_meta"][RELATED], acknowledged, "{said}");
            assert_eq!(task.status().await, "input_required", "nothing of it is outstanding");
        }
        let answer = json!({ "name": { "action": "accept", "content": { "name": "Ada" } } });
        for _ in 0..2 {
            let said = task.deliver(answer.clone()).await;
            assert_eq!(said["result"]["_meta"][RELATED], acknowledged, "resent, since the acknowledgement was lost");
            assert_eq!(task.status().await, "working", "it goes back to working");
        }
        assert_eq!(task.text().await, "Hello, Ada");
        let late = task.deliver(answer.clone()).await;
        assert_eq!(late["error"]["code"], -32602, "{late}");
        let unknown = Started { id: "0".repeat(32), ..task.clone() }.deliver(answer).await;
        assert_eq!(unknown["error"], json!({ "code": -32602, "message": "Unknown task" }));
    }
}

#[tokio::test(start_paused = true)]
async fn tk_6_time_over_while_it_waits_is_a_failure_with_a_message() {
    for revision in OLDER {
        let site = Site::of(greeting());
        let task = site.start_wishing(site.older(revision), revision, json!({ "ttl": 5_000 })).await;
        task.until("input_required").await;
        tokio::time::advance(Duration::from_secs(5)).await;
        let failed = task.get().await;
        assert_eq!(failed["status"], "failed", "at the moment, though no store has noticed");
        assert_eq!(failed["statusMessage"], "Task has failed: its ttl is over");
        let result = task.result().await;
        assert_eq!(result["error"], json!({ "code": -32603, "message": "The task's ttl is over" }));
        let late = task.deliver(json!({ "name": { "action": "accept", "content": { "name": "Ada" } } })).await;
        assert_eq!(late["error"]["code"], -32602);
    }
}

#[tokio::test(start_paused = true)]
async fn tk_14_cancel_returns_the_task_cancelled_and_refuses_one_that_is_over() {
    for revision in OLDER {
        let site = Site::of(greeting());
        let task = site.start_in(revision).await;
        task.until("input_required").await;
        let cancelled = task.cancel().await;
        assert_eq!(cancelled["result"]["status"], "cancelled");
        assert_eq!(cancelled["result"]["taskId"], task.id);
        assert_eq!(cancelled["result"]["statusMessage"], "Task has been cancelled");
        let again = task.cancel().await;
        assert_eq!(again["error"]["code"], -32602, "{again}");
        let result = task.result().await;
        let text = format!("The task {} was cancelled", task.id);
        assert_eq!(result["error"], json!({ "code": -32602, "message": text }));
    }
}

#[tokio::test(start_paused = true)]
async fn tk_14_in_the_published_revision_cancelling_is_acknowledged_whenever() {
    let site = Site::of(greeting());
    let task = site.start().await;
    task.until("input_required").await;
    for _ in 0..2 {
        let said = task.cancel().await;
        assert_eq!(keys(&crate::published::without_server(&said["result"])), ["resultType"], "{said}");
    }
    assert_eq!(task.status().await, "cancelled");
    let done = site.start().await;
    done.until_asked(&["name"]).await;
    done.accept("name", json!({ "name": "Ada" })).await;
    done.until("completed").await;
    assert!(done.cancel().await["result"].is_object());
    assert_eq!(done.status().await, "completed", "it stays as it is");
}

#[tokio::test(start_paused = true)]
async fn tk_15_a_result_that_says_it_failed_is_a_failure_and_is_returned_exactly() {
    async fn fail(_: Flow) -> Result<CallToolResult, Failure> {
        let mut result = CallToolResult::new([ContentBlock::text("out of paper")]);
        result.is_error = Some(true);
        result.structured_content = Json::from(json!({ "tray": 2 })).into_object().map(Into::into);
        Ok(result)
    }
    for revision in OLDER {
        let site = Site::of(Tool::new("tool", fail).tasks(TaskPolicy::IfPossible));
        let task = site.start_in(revision).await;
        let failed = task.until("failed").await;
        assert_eq!(failed["statusMessage"], "Task has failed, call tasks/result");
        let mut result = task.result().await["result"].clone();
        assert_eq!(result["_meta"][RELATED], json!({ "taskId": task.id }));
        result.as_object_mut().unwrap().remove("_meta");
        let mut direct = site.older(revision).call_tool("tool", json!({})).await.response()["result"].clone();
        direct.as_object_mut().unwrap().remove("_meta");
        assert_eq!(result, direct);
        assert_eq!(result["structuredContent"], json!({ "tray": 2 }));
    }
}

#[tokio::test(start_paused = true)]
async fn tk_16_what_a_tool_says_of_tasks_is_listed_and_honoured() {
    for revision in OLDER {
        for (policy, listed, with_task, without) in [
            (TaskPolicy::Never, None, Some(-32601), None),
            (TaskPolicy::IfPossible, Some("optional"), None, None),
            (TaskPolicy::ByFlow, Some("optional"), None, None),
            (TaskPolicy::Required, Some("required"), None, Some(-32601)),
        ] {
            let site = Site::of(greeting().tasks(policy));
            let client = site.older(revision);
            let list = client.request("tools/list", json!({})).await;
            let support = &list.response()["result"]["tools"][0]["execution"]["taskSupport"];
            assert_eq!(support.as_str(), listed, "{policy:?}");
            let said = call(&client, revision, json!({})).await;
            assert_eq!(said["error"]["code"].as_i64(), with_task, "{policy:?} with `task`: {said}");
            let said = client.call_tool("tool", json!({})).await;
            assert_eq!(said.response()["error"]["code"].as_i64(), without, "{policy:?} without: {}", said.response());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn tk_16_in_the_published_revision_a_tool_that_must_be_a_task_names_the_capability() {
    let site = Site::of(greeting().tasks(TaskPolicy::Required));
    let said = mrtr_server::testing::Client::new(&site.server).call_tool("tool", json!({})).await;
    let error = &said.response()["error"];
    assert_eq!(error["code"], -32021);
    assert_eq!(error["data"]["requiredCapabilities"], json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } }));
    assert_eq!(site.start().await.created["resultType"], "task");
}

#[tokio::test(start_paused = true)]
async fn tk_17_answers_name_their_task_in_either_place_or_in_both_alike() {
    for revision in OLDER {
        let site = Site::of(greeting());
        let (task, other) = (site.start_in(revision).await, site.start_in(revision).await);
        let related = |id: &str| json!({ RELATED: { "taskId": id } });
        let send =
            |params: Value| async { task.client.request("tasks/input_response", params).await.response().clone() };
        let (none, id) = (json!({}), &task.id);
        let by_meta = send(json!({ "inputResponses": none, "_meta": related(id) })).await;
        assert_eq!(by_meta["result"]["_meta"], related(id), "{by_meta}");
        let by_param = send(json!({ "inputResponses": none, "taskId": id })).await;
        assert_eq!(by_param["result"]["_meta"], related(id));
        let by_both = send(json!({ "inputResponses": none, "taskId": id, "_meta": related(id) })).await;
        assert_eq!(by_both["result"]["_meta"], related(id));
        let apart = send(json!({ "inputResponses": none, "taskId": id, "_meta": related(&other.id) })).await;
        assert_eq!(apart["error"]["code"], -32602, "{apart}");
        let by_none = send(json!({ "inputResponses": none })).await;
        assert_eq!(by_none["error"]["code"], -32602, "{by_none}");
    }
}

#[tokio::test(start_paused = true)]
async fn tk_18_tasks_are_listed_for_callers_that_are_known_page_by_page() {
    for revision in OLDER {
        let site = Site::of(greeting());
        let unknown = site.older(revision);
        let said = unknown.request("tasks/list", json!({})).await;
        assert_eq!(said.response()["error"]["code"], -32601, "callers cannot be told apart: {}", said.response());
        let known = site.older(revision).calling_as(ann());
        site.start_in(revision).await;
        let mut ids = Vec::new();
        for _ in 0..53 {
            ids.push(site.start_as(known.clone(), revision).await.id);
        }
        let first = known.request("tasks/list", json!({})).await.response()["result"].clone();
        let second =
            known.request("tasks/list", json!({ "cursor": first["nextCursor"] })).await.response()["result"].clone();
        let listed = |page: &Value| -> Vec<String> {
            page["tasks"].as_array().unwrap().iter().map(|task| task["taskId"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(listed(&first).len(), 50);
        assert_eq!([listed(&first), listed(&second)].concat(), ids, "its own, in the order of their creation");
        assert!(second.get("nextCursor").is_none());
        for cursor in [json!("x"), json!(7), json!("-1")] {
            let said = known.request("tasks/list", json!({ "cursor": cursor })).await;
            assert_eq!(said.response()["error"]["code"], -32602, "{cursor}: {}", said.response());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn tk_19_a_state_is_sent_where_it_may_come_back_and_is_the_tasks_own() {
    let options = TaskOptions::default().request_state();
    let site = Site::with(memory(), options, [greeting()]);
    let draft = site.start_in(Revision::Draft202602).await;
    draft.until("input_required").await;
    assert!(draft.result().await["result"].get("requestState").is_none(), "the draft has no place for it");

    let revision = Revision::Sep2322;
    let (task, other) = (site.start_in(revision).await, site.start_in(revision).await);
    task.until("input_required").await;
    other.until("input_required").await;
    let state = task.result().await["result"]["requestState"].as_str().unwrap().to_owned();
    let others = other.result().await["result"]["requestState"].as_str().unwrap().to_owned();
    let answer = json!({ "name": { "action": "accept", "content": { "name": "Ada" } } });
    for wrong in [&others, "", "00", "zz", &state[..state.len() - 2], &format!("{state}00")] {
        let said = task.send("tasks/input_response", json!({ "inputResponses": answer, "requestState": wrong })).await;
        assert_eq!(said["error"]["code"], -32602, "{wrong}: {said}");
        assert_eq!(task.asked().await, ["name"], "and nothing changed");
    }
    let said = task.send("tasks/input_response", json!({ "inputResponses": answer, "requestState": state })).await;
    assert!(said["result"].is_object(), "{said}");
    assert_eq!(task.text().await, "Hello, Ada");
    assert!(other.deliver(answer).await["result"].is_object(), "without one is accepted");
    assert_eq!(other.text().await, "Hello, Ada");
}

#[tokio::test(start_paused = true)]
async fn a_question_that_this_request_does_not_declare_is_not_shown() {
    for revision in OLDER {
        let outside = Outside::default();
        let site = Site::of(tool(&outside, async |flow, _| {
            let Name { name } = flow.elicit("name", "Who?").await?;
            Ok(name)
        }));
        let task = site.start_in(revision).await;
        task.until("input_required").await;
        let bare = task.by(&site.older(revision).declaring(mrtr_schema::ClientCapabilities::new()));
        assert_eq!(bare.status().await, "input_required");
        let said = bare.result().await;
        assert!(said["error"]["code"].is_i64(), "{said}");
        assert_eq!(task.asked().await, ["name"]);
    }
}
