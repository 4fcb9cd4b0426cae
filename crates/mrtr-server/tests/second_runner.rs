//! Another runner than rounds, built on the public seam alone: it keeps flows, as tasks will.
#![allow(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

#[path = "second_runner/keeper.rs"]
mod keeper;

use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use keeper::{Keeper, Kept, Status};
use mrtr_server::handler::{IntoHandler, IntoOutput, ToolHandler};
use mrtr_server::testing::{Client, Conversation};
use mrtr_server::{Context, Failure, Flow, InputRequired, Reply, Server, TaskPolicy, Tool, ToolError};
use mrtr_state::{Key, KeyRing, Sealer};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

/// The effects outside, and a gate at which a step may wait. Clones are the same.
#[derive(Clone, Default)]
struct Outside(Arc<(Mutex<Vec<String>>, Notify)>);

impl Outside {
    /// Something that happens, as a step does it.
    #[expect(clippy::unused_async, reason = "work is a future")]
    async fn happen(&self, what: &str) -> Result<String, Failure> {
        self.0.0.lock().unwrap().push(what.to_owned());
        Ok(what.to_owned())
    }

    async fn happen_after_gate(&self, what: &str) -> Result<String, Failure> {
        self.happen("at the gate").await?;
        self.0.1.notified().await;
        self.happen(what).await
    }

    fn open_gate(&self) {
        self.0.1.notify_one();
    }

    fn all(&self) -> Vec<String> {
        self.0.0.lock().unwrap().clone()
    }
}

/// A server with one tool, and a keeper of its flows over what is kept.
fn serve<M>(handler: impl IntoHandler<M>, kept: &Kept) -> (Server, Keeper) {
    let sealer = Sealer::new(KeyRing::new(Key::new("k1", [7; 32]).unwrap()), "tests").unwrap();
    let keeper = Keeper::over(kept);
    let tool = Tool::new("tool", handler).tasks(TaskPolicy::ByFlow);
    let builder = Server::builder("test", "1").sealer(sealer).tool(tool).extension(keeper.clone());
    (builder.build().unwrap(), keeper)
}

async fn begin(server: &Server, as_task: bool) -> Conversation {
    let mut params = Map::from_iter([("name".to_owned(), json!("tool")), ("arguments".to_owned(), json!({}))]);
    if as_task {
        params.insert("task".to_owned(), json!({}));
    }
    Client::new(server).begin("tools/call", params).await
}

fn id(call: &Conversation) -> String {
    call.response()["result"]["id"].as_str().unwrap_or_else(|| panic!("{}", call.response())).to_owned()
}

fn named(name: &str) -> Value {
    json!({ "action": "accept", "content": { "name": name } })
}

/// Asks beside a step that waits at the gate, then acts.
struct Selling(Outside);

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

impl ToolHandler for Selling {
    type Arguments = Nothing;
    type Output = String;

    async fn call(&self, flow: Flow, _: Nothing) -> Result<String, Failure> {
        let Self(outside) = self;
        let name = flow.elicit::<Name>("name", "Who?");
        let (_, name) = flow.join((flow.step("pack", outside.happen_after_gate("pack")), name)).await?;
        flow.step("ship", outside.happen("ship")).await?;
        Ok(format!("shipped to {}", name.name))
    }
}

#[tokio::test]
async fn a_question_shows_while_a_joined_step_goes_on_and_its_answer_starts_the_next_run() {
    let (kept, outside) = (Kept::default(), Outside::default());
    let (server, keeper) = serve(Selling(outside.clone()), &kept);
    let id = id(&begin(&server, true).await);
    keeper.until(&id, |status| matches!(status, Status::Working { asked } if asked == &["name"])).await;
    assert_eq!(outside.all(), ["at the gate"], "the step goes on");
    keeper.answer(&id, "name", &named("Ada"));
    assert!(matches!(keeper.status(&id), Status::Working { .. }), "the answer waits for the run to end");
    outside.open_gate();
    let done = keeper.until(&id, |status| matches!(status, Status::Done { .. })).await;
    assert_eq!(done, Status::Done { text: "shipped to Ada".into(), failed: false });
    assert_eq!(outside.all(), ["at the gate", "pack", "ship"]);
}

#[tokio::test]
async fn waiting_costs_nothing_but_the_row_and_a_restart_loses_nothing() {
    let (kept, outside) = (Kept::default(), Outside::default());
    let (server, keeper) = serve(Selling(outside.clone()), &kept);
    let id = id(&begin(&server, true).await);
    outside.open_gate();
    keeper.until(&id, |status| matches!(status, Status::Waiting { .. })).await;
    drop((server, keeper));
    let (_server, keeper) = serve(Selling(outside.clone()), &kept);
    keeper.answer(&id, "name", &named("Ada"));
    let done = keeper.until(&id, |status| matches!(status, Status::Done { .. })).await;
    assert_eq!(done, Status::Done { text: "shipped to Ada".into(), failed: false });
    assert_eq!(outside.all(), ["at the gate", "pack", "ship"]);
}

#[tokio::test]
async fn a_crash_in_a_step_leaves_it_interrupted_and_what_was_recorded_stands() {
    async fn sell(flow: Flow, outside: Outside) -> Result<String, Failure> {
        flow.step("charge", outside.happen("charge")).await?;
        let id = flow.interaction_id("visit");
        let kept = flow.step("keep", async { Ok::<_, Failure>(id.clone()) }).await?;
        assert_eq!(kept, id, "an id that a step has used is the same after a crash");
        flow.step("pack", outside.happen_after_gate("pack")).await?;
        Ok("packed".into())
    }
    let (kept, outside) = (Kept::default(), Outside::default());
    let seen = outside.clone();
    let (server, keeper) = serve(move |flow| sell(flow, seen.clone()), &kept);
    let id = id(&begin(&server, true).await);
    while outside.all().len() < 2 {
        tokio::task::yield_now().await;
    }
    keeper.crash(&id);
    drop((server, keeper));
    let seen = outside.clone();
    let (_server, keeper) = serve(move |flow| sell(flow, seen.clone()), &kept);
    keeper.recover(&id);
    let Status::Done { text, failed } = keeper.until(&id, |status| matches!(status, Status::Done { .. })).await else {
        unreachable!("it was waited for")
    };
    assert!(failed && text.contains("`pack` was started and interrupted"), "{text}");
    assert_eq!(outside.all(), ["charge", "at the gate"], "neither ran again");
}

#[tokio::test]
async fn a_crash_loses_no_answer_that_came_while_it_ran() {
    async fn sell(flow: Flow, outside: Outside) -> Result<String, Failure> {
        let pack = flow.step("pack", outside.happen_after_gate("pack")).idempotent();
        let (_, name) = flow.join((pack, flow.elicit::<Name>("name", "Who?"))).await?;
        Ok(format!("packed for {}", name.name))
    }
    let (kept, outside) = (Kept::default(), Outside::default());
    let seen = outside.clone();
    let (server, keeper) = serve(move |flow| sell(flow, seen.clone()), &kept);
    let id = id(&begin(&server, true).await);
    keeper.until(&id, |status| matches!(status, Status::Working { asked } if asked == &["name"])).await;
    keeper.answer(&id, "name", &named("Ada"));
    keeper.crash(&id);
    drop((server, keeper));
    let seen = outside.clone();
    let (_server, keeper) = serve(move |flow| sell(flow, seen.clone()), &kept);
    outside.open_gate();
    keeper.recover(&id);
    let done = keeper.until(&id, |status| matches!(status, Status::Done { .. })).await;
    assert_eq!(done, Status::Done { text: "packed for Ada".into(), failed: false });
    assert_eq!(outside.all(), ["at the gate", "at the gate", "pack"], "an idempotent step ran again");
}

#[tokio::test]
async fn a_flow_becomes_a_task_halfway_and_keeps_what_it_knows() {
    async fn sell(flow: Flow, outside: Outside) -> Result<String, Failure> {
        let name = flow.elicit::<Name>("name", "Who?").await?.name;
        let key = flow.idempotency_key("k").await;
        let before = flow.step("before", outside.happen(&key)).await?;
        flow.into_task().await;
        assert_eq!(before, flow.idempotency_key("k").await, "it is the same flow");
        let street = flow.elicit::<Name>("street", "Where?").await?.name;
        flow.step("after", outside.happen("after")).await?;
        Ok(format!("{name}, {street}"))
    }
    let (kept, outside) = (Kept::default(), Outside::default());
    let seen = outside.clone();
    let (server, keeper) = serve(move |flow| sell(flow, seen.clone()), &kept);
    let call = begin(&server, false).await;
    call.expect_asked(&["name"]);
    let call = call.answer_raw("name", named("Ada"));
    let became = call.clone().send().await;
    let again = id(&call.send().await);
    let id = id(&became);
    assert_eq!(id, again, "a replay gets the same handle");
    keeper.until(&id, |status| matches!(status, Status::Waiting { asked } if asked == &["street"])).await;
    keeper.answer(&id, "street", &json!({ "action": "accept", "content": {} }));
    // The answer would not do, so the question has a fresh key: the old one stood for another question.
    keeper.until(&id, |status| matches!(status, Status::Waiting { asked } if asked == &["street.2"])).await;
    keeper.answer(&id, "street", &named("Rue Ampère"));
    assert!(matches!(keeper.status(&id), Status::Waiting { .. }), "an answer to the old key changes nothing");
    keeper.answer(&id, "street.2", &named("Rue Ampère"));
    let done = keeper.until(&id, |status| matches!(status, Status::Done { .. })).await;
    assert_eq!(done, Status::Done { text: "Ada, Rue Ampère".into(), failed: false });
    assert_eq!(outside.all().iter().filter(|what| *what == "after").count(), 1);
}

#[tokio::test]
async fn optional_questions_and_those_by_hand_are_kept_like_any_other() {
    let handler = async |flow: Flow| {
        if flow.given("roots").is_none() {
            return InputRequired::new()
                .ask("roots", mrtr_schema::roots::ListRootsRequest::new())
                .carry(&7)?
                .into_output();
        }
        let name = flow.elicit::<Name>("name", "Who?").optional().await;
        format!("{:?} {:?}", flow.carried::<u8>(), name.map(|name| name.name)).into_output()
    };
    let kept = Kept::default();
    let (server, keeper) = serve(handler, &kept);
    let id = id(&begin(&server, true).await);
    keeper.until(&id, |status| matches!(status, Status::Waiting { asked } if asked == &["roots"])).await;
    keeper.answer(&id, "roots", &json!({ "roots": [] }));
    keeper.until(&id, |status| matches!(status, Status::Waiting { asked } if asked == &["name"])).await;
    keeper.go_on_without_answers(&id);
    let done = keeper.until(&id, |status| matches!(status, Status::Done { .. })).await;
    assert_eq!(done, Status::Done { text: "Some(7) None".into(), failed: false });
}

#[tokio::test]
async fn failures_go_through_the_same_doors() {
    let kept = Kept::default();
    for (told, expected) in [(true, "closed"), (false, "The tool failed (reference ")] {
        let handler = move |_: Flow| async move {
            if told { Err::<String, Failure>(ToolError::new("closed").into()) } else { Err("secret".into()) }
        };
        let (server, keeper) = serve(handler, &kept);
        let id = id(&begin(&server, true).await);
        let done = keeper.until(&id, |status| matches!(status, Status::Done { .. })).await;
        let Status::Done { text, failed } = done else { unreachable!("it was waited for") };
        assert!(failed && text.starts_with(expected), "{text}");
    }
}

#[tokio::test]
async fn whoever_lost_a_flow_stops_at_its_next_step() {
    async fn sell(flow: Flow, outside: Outside) -> Result<String, Failure> {
        flow.step("pack", outside.happen_after_gate("pack")).await?;
        flow.step("ship", outside.happen("ship")).await?;
        Ok("shipped".into())
    }
    let (kept, outside) = (Kept::default(), Outside::default());
    let seen = outside.clone();
    let (server, keeper) = serve(move |flow| sell(flow, seen.clone()), &kept);
    let id = id(&begin(&server, true).await);
    while outside.all().is_empty() {
        tokio::task::yield_now().await;
    }
    // Another keeper takes it over while this one is still in its step.
    keeper.recover(&id);
    let taken = keeper.until(&id, |status| matches!(status, Status::Done { .. })).await;
    assert!(matches!(&taken, Status::Done { text, failed: true } if text.contains("interrupted")), "{taken:?}");
    outside.open_gate();
    keeper.ended(&id).await;
    assert_eq!(outside.all(), ["at the gate", "pack"]);
    assert_eq!(keeper.status(&id), taken);
}

#[tokio::test]
async fn a_flow_that_is_cancelled_in_a_step_records_it_and_does_nothing_else() {
    async fn sell(flow: Flow, outside: Outside) -> Result<String, Failure> {
        flow.step("pack", outside.happen_after_gate("pack")).await?;
        flow.step("ship", outside.happen("ship")).await?;
        Ok("shipped".into())
    }
    let (kept, outside) = (Kept::default(), Outside::default());
    let seen = outside.clone();
    let (server, keeper) = serve(move |flow| sell(flow, seen.clone()), &kept);
    let id = id(&begin(&server, true).await);
    while outside.all().is_empty() {
        tokio::task::yield_now().await;
    }
    keeper.cancel(&id);
    outside.open_gate();
    keeper.ended(&id).await;
    assert_eq!(outside.all(), ["at the gate", "pack"], "what was begun is finished");
    assert_eq!((keeper.status(&id), keeper.steps(&id)), (Status::Cancelled, vec!["pack".to_owned()]));
}

#[tokio::test]
async fn consent_to_a_url_is_asked_once_and_the_flow_goes_on_when_it_is_woken() {
    let paid = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = Arc::clone(&paid);
    let handler = move |flow: Flow| {
        let seen = Arc::clone(&seen);
        async move {
            let url = format!("https://example.com/{}", flow.interaction_id("pay"));
            let done = || std::future::ready(seen.load(std::sync::atomic::Ordering::SeqCst));
            flow.elicit_url("pay", "Please pay there", url).until(done).await?;
            Ok::<_, Failure>("paid")
        }
    };
    let kept = Kept::default();
    let (server, keeper) = serve(handler, &kept);
    let id = id(&begin(&server, true).await);
    keeper.until(&id, |status| matches!(status, Status::Waiting { asked } if asked == &["pay"])).await;
    keeper.answer(&id, "pay", &json!({ "action": "accept" }));
    keeper.until(&id, |status| *status == Status::Waiting { asked: Vec::new() }).await;
    keeper.wake(&id);
    keeper.ended(&id).await;
    assert_eq!(keeper.status(&id), Status::Waiting { asked: Vec::new() }, "it is not asked again");
    paid.store(true, std::sync::atomic::Ordering::SeqCst);
    keeper.wake(&id);
    let done = keeper.until(&id, |status| matches!(status, Status::Done { .. })).await;
    assert_eq!(done, Status::Done { text: "paid".into(), failed: false });
}

#[tokio::test]
async fn a_kept_flow_knows_who_began_it_and_its_revision() {
    let handler = async |flow: Flow| {
        flow.elicit::<Name>("name", "Who?").await?;
        let who = flow.principal().map(|caller| caller.subject().to_owned());
        Ok::<_, Failure>(format!("{who:?} {}", flow.revision()))
    };
    let kept = Kept::default();
    let (server, keeper) = serve(handler, &kept);
    let mut params = Map::from_iter([("name".to_owned(), json!("tool")), ("arguments".to_owned(), json!({}))]);
    params.insert("task".to_owned(), json!({}));
    let client = Client::new(&server).calling_as(mrtr_server::Caller::new("https://id.example.com", "ann"));
    let id = id(&client.begin("tools/call", params).await);
    keeper.until(&id, |status| matches!(status, Status::Waiting { .. })).await;
    keeper.answer(&id, "name", &named("Ada"));
    let done = keeper.until(&id, |status| matches!(status, Status::Done { .. })).await;
    assert_eq!(done, Status::Done { text: "Some(\"ann\") 2026-07-28".into(), failed: false });
}

#[tokio::test]
async fn a_reply_may_block_until_the_flow_has_ended() {
    let (kept, outside) = (Kept::default(), Outside::default());
    let (server, keeper) = serve(Selling(outside.clone()), &kept);
    let id = id(&begin(&server, true).await);
    let request = json!({ "jsonrpc": "2.0", "id": 9, "method": "com.example/kept/result", "params": {
        "id": id, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    } });
    let reply = server.handle(request.to_string().into(), Context::new()).await;
    let Reply::Subscription(messages) = reply else { panic!("{reply:?}") };
    let mut messages = Box::pin(messages);
    tokio::select! {
        biased;
        message = messages.next() => panic!("it has not ended: {message:?}"),
        () = tokio::task::yield_now() => {}
    }
    outside.open_gate();
    keeper.until(&id, |status| matches!(status, Status::Waiting { .. })).await;
    keeper.answer(&id, "name", &named("Ada"));
    let last = messages.next().await.unwrap();
    assert!(last.contains("shipped to Ada") && last.contains("\"id\":9"), "{last}");
}

#[tokio::test]
async fn a_flow_that_is_taken_over_still_asks_what_is_optional() {
    let handler = async |flow: Flow| {
        let name = flow.elicit::<Name>("name", "Who?").optional().await;
        Ok::<_, Failure>(format!("{:?}", name.map(|name| name.name)))
    };
    let kept = Kept::default();
    let (server, keeper) = serve(handler, &kept);
    let id = id(&begin(&server, true).await);
    let asks = |status: &Status| matches!(status, Status::Waiting { asked } if asked == &["name"]);
    keeper.until(&id, asks).await;
    keeper.recover(&id);
    keeper.ended(&id).await;
    assert!(asks(&keeper.status(&id)), "it was neither answered nor passed over: {:?}", keeper.status(&id));
    keeper.answer(&id, "name", &named("Ada"));
    let done = keeper.until(&id, |status| matches!(status, Status::Done { .. })).await;
    assert_eq!(done, Status::Done { text: "Some(\"Ada\")".into(), failed: false });
}

/// Early answers may take half of what a state would carry.
#[tokio::test]
async fn answers_that_came_before_they_were_asked_for_go_along_as_far_as_half_a_state_holds_them() {
    let handler = async |flow: Flow| Ok::<_, Failure>(flow.elicit::<Name>("name", "Who?").await?.name);
    for (letters, is_carried) in [(1000, true), (5000, false)] {
        let keeper = Keeper::over(&Kept::default());
        let tool = Tool::new("tool", handler).tasks(TaskPolicy::ByFlow);
        let sealer = Sealer::this_process_only().limit(8 * 1024);
        let server = Server::builder("test", "1").sealer(sealer).tool(tool).extension(keeper.clone()).build().unwrap();
        let name = "x".repeat(letters);
        let responses = json!({ "name": named(&name) });
        let params = json!({ "name": "tool", "arguments": {}, "task": {}, "inputResponses": responses });
        let Value::Object(params) = params else { unreachable!() };
        let id = id(&Client::new(&server).begin("tools/call", params).await);
        let came_to = keeper.until(&id, |status| !matches!(status, Status::Working { .. })).await;
        let done = Status::Done { text: name, failed: false };
        let asks = Status::Waiting { asked: vec!["name".into()] };
        assert_eq!(came_to, if is_carried { done } else { asks }, "{letters} letters");
    }
}
