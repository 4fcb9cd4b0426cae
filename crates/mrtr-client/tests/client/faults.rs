//! Faults of other clients that are not this one's, one test each.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mrtr_client::testing::Script;
use mrtr_client::{CallErrorKind, Client, Limits, Stop};
use mrtr_schema::Revision;
use mrtr_schema::elicitation::ElicitResult;
use mrtr_server::extend::{Load, Shedder};
use mrtr_server::{Failure, Flow, Server, Tool};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;

use super::common::{InMemory, asks_form, asks_roots, calls, complete, greeter, rooted, state_only, text};

fn with_rounds(script: &Script, rounds: u32) -> Client {
    let limits = Limits { rounds, ..Limits::default() };
    Client::builder(script.clone()).limits(limits).on_roots(|_| async { Ok::<_, String>(Vec::new()) }).build()
}

#[tokio::test]
async fn the_last_permitted_answer_is_sent_and_its_success_returned() {
    let script = Script::new().result(asks_roots("a", None)).result(asks_roots("b", None)).result(complete("done"));
    let result = with_rounds(&script, 3).call_tool("t", json!({})).await.unwrap();
    assert_eq!(text(&result), "done");
    assert_eq!(script.sent().len(), 3);
}

#[tokio::test]
async fn one_round_more_is_an_error_that_carries_the_call() {
    let script =
        Script::new().result(asks_roots("a", None)).result(asks_roots("b", None)).result(asks_roots("c", Some("s3")));
    let client = with_rounds(&script, 3);
    let error = client.call_tool("t", json!({})).await.unwrap_err();
    assert!(matches!(error.kind, CallErrorKind::Stopped { stop: Stop::TooManyRounds(3), .. }), "{error}");
    assert_eq!(script.sent().len(), 3);
    let pending = error.into_pending().unwrap();
    assert_eq!(pending.unanswered().collect::<Vec<_>>(), ["c"], "nobody was asked for nothing");

    let more = Script::new().result(complete("done after all"));
    with_rounds(&more, 3).resume(pending).await.unwrap();
    assert_eq!(calls(&more)[0].1["requestState"], "s3");
    assert_eq!(calls(&more)[0].1["inputResponses"], json!({ "c": { "roots": [] } }));
}

#[derive(Debug)]
struct AlwaysBusy;

impl Shedder for AlwaysBusy {
    fn sheds(&self, _: &Load) -> bool {
        true
    }
}

async fn index(flow: Flow) -> Result<String, Failure> {
    let begun: u32 = flow.resumed_from().unwrap_or(0);
    for page in begun + 1..=3 {
        flow.yield_point(&page).await;
    }
    Ok(format!("resumed from {begun}"))
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_asks_nothing_is_neither_an_error_nor_a_result() {
    let tool = Tool::new("index", index);
    let server = Server::builder("busy", "1.0.0").tool(tool).shedder(AlwaysBusy).build().unwrap();
    let transport = InMemory::new(server);
    let client = Client::builder(transport.clone()).build();
    let result = client.call_tool("index", json!({})).await.unwrap();
    assert_eq!(text(&result), "resumed from 3");
    let states: Vec<_> = transport.sent().iter().map(|sent| sent["params"]["requestState"].clone()).collect();
    assert_eq!(states.len(), 4);
    assert!(states[0].is_null() && states[1..].iter().all(serde_json::Value::is_string), "{states:?}");
    assert!(transport.sent().iter().all(|sent| sent["params"].get("inputResponses").is_none()));
}

#[tokio::test(start_paused = true)]
async fn replies_that_ask_nothing_have_a_budget_of_their_own() {
    let mut script = Script::new();
    for round in 0..3 {
        script = script.result(state_only(&format!("{round}"))).result(asks_roots("r", Some("asked")));
    }
    let script = script.result(complete("done"));
    let result = with_rounds(&script, 4).call_tool("t", json!({})).await.unwrap();
    assert_eq!(text(&result), "done", "seven requests, of which four brought something new");
}

#[tokio::test(start_paused = true)]
async fn a_state_that_the_server_dropped_is_not_sent_again() {
    let script = Script::new()
        .result(state_only("one"))
        .result(asks_roots("a", Some("two")))
        .result(asks_roots("b", None))
        .result(complete("done"));
    rooted(script.clone()).call_tool("t", json!({})).await.unwrap();
    let states: Vec<_> = calls(&script).iter().map(|(_, params)| params["requestState"].clone()).collect();
    assert_eq!(states, [json!(null), json!("one"), json!("two"), json!(null)]);
    assert!(calls(&script)[3].1.get("requestState").is_none(), "absent, and not null");
}

#[tokio::test]
async fn one_dialog_does_not_stall_the_others() {
    let form = json!({ "type": "object", "properties": {} });
    let mut both = asks_form("slow", &form);
    both["inputRequests"]["fast"] = both["inputRequests"]["slow"].clone();
    let script = Script::new().result(both).result(complete("aside")).result(complete("done"));
    let (stage, _) = watch::channel("begun");
    let reached = stage.clone();
    let client = Client::builder(script)
        .on_elicit(move |form| {
            let reached = reached.clone();
            async move {
                if form.context().key == "slow" {
                    reached.subscribe().wait_for(|stage| *stage == "aside is done").await.unwrap();
                } else {
                    reached.send_replace("fast is answered");
                }
                form.decline()
            }
        })
        .build();
    let asked = client.call_tool("t", json!({}));
    let other = async {
        stage.subscribe().wait_for(|stage| *stage == "fast is answered").await.unwrap();
        let result = client.call_tool("aside", json!({})).await.unwrap();
        stage.send_replace("aside is done");
        text(&result)
    };
    let (asked, other) = tokio::join!(asked, other);
    assert_eq!((text(&asked.unwrap()).as_str(), other.as_str()), ("done", "aside"));
}

#[tokio::test]
async fn no_decline_is_invented_when_no_human_saw_the_question() {
    let transport = InMemory::new(greeter());
    let client = Client::builder(transport.clone())
        .on_elicit(|_| async { Err::<ElicitResult, _>("there is no screen") })
        .build();
    let error = client.call_tool("greet", json!({})).await.unwrap_err();
    assert!(matches!(&error.kind, CallErrorKind::NotAnswered { key, .. } if key == "login"), "{error}");
    assert_eq!(transport.sent().len(), 1, "nothing was said in the person's place");

    let form = json!({ "type": "object", "properties": {} });
    let script = Script::new().result(asks_form("login", &form));
    let error = Client::builder(script.clone()).build().call_tool("greet", json!({})).await.unwrap_err();
    assert!(matches!(&error.kind, CallErrorKind::NoHandler { key: Some(key), .. } if key == "login"), "{error}");
    assert_eq!(error.pending().unwrap().unanswered().count(), 1);
    assert_eq!(script.sent().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn thinking_is_not_network_time() {
    let limits = Limits { exchange: Duration::from_secs(1), ..Limits::default() };
    let client = Client::builder(InMemory::new(greeter()))
        .limits(limits)
        .on_elicit(|form| async move {
            tokio::time::sleep(Duration::from_hours(24 * 7)).await;
            form.accept(&json!({ "name": "Ada" }))
        })
        // The state lives for an hour by its server's clock, which stands still here.
        .build();
    assert_eq!(text(&client.call_tool("greet", json!({})).await.unwrap()), "Hello, Ada");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_is_not_waited_for() {
    let limits = Limits { exchange: Duration::from_secs(5), ..Limits::default() };
    let client = Client::builder(Script::new().silence()).limits(limits).build();
    let begun = Instant::now();
    let error = client.call_tool("t", json!({})).await.unwrap_err();
    assert!(matches!(error.kind, CallErrorKind::Transport { .. }), "{error}");
    assert_eq!(begun.elapsed(), Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn a_task_is_followed_and_not_unexpected() {
    let facts = json!({ "taskId": "t-1", "status": "working", "createdAt": "2026-08-01T12:00:00Z",
        "lastUpdatedAt": "2026-08-01T12:00:00Z", "ttlMs": null });
    let (mut created, mut done) = (facts.clone(), facts);
    created["resultType"] = "task".into();
    done["status"] = "completed".into();
    done["result"] = complete("by the task");
    let client = Client::builder(Script::new().result(created).result(done)).build();
    assert_eq!(text(&client.call_tool("t", json!({})).await.unwrap()), "by the task");

    let state = json!({ "taskId": "t-1", "status": "working", "createdAt": "2026-01-27T03:32:48Z",
        "lastUpdatedAt": "2026-01-27T03:32:48Z", "ttl": 60000 });
    let mut done = state.clone();
    done["status"] = "completed".into();
    let script = Script::new().result(json!({ "task": state })).result(done).result(json!({ "content": [] }));
    let client = Client::builder(script).revision(Revision::Draft202602).build();
    assert!(client.call_tool("t", json!({})).await.unwrap().content.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_retry_is_not_kept() {
    let read = |text: &str| {
        json!({ "resultType": "complete", "ttlMs": 60_000, "cacheScope": "private",
        "contents": [{ "uri": "docs://a", "text": text }] })
    };
    let script = Script::new()
        .result(asks_roots("r", None))
        .result(read("asked"))
        .result(state_only("s"))
        .result(read("put off"))
        .result(read("plain"));
    let client = rooted(script.clone());
    for _ in 0..5 {
        client.read_resource("docs://a").await.unwrap();
    }
    assert_eq!(script.sent().len(), 5, "only the last was kept");
}

#[tokio::test]
async fn an_error_that_passes_loses_no_answer() {
    let asked = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&asked);
    let script = Script::new().result(asks_roots("r", Some("s"))).unreachable().result(complete("done"));
    let client = Client::builder(script.clone())
        .on_roots(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            async { Ok::<_, String>(Vec::new()) }
        })
        .build();
    let error = client.call_tool("t", json!({})).await.unwrap_err();
    client.resume(error.into_pending().unwrap()).await.unwrap();
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    assert_eq!(calls(&script)[1], calls(&script)[2]);
}
