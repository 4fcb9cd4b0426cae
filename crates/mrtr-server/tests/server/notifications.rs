//! Progress and log messages from inside a flow, and the stream that carries them.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use mrtr_schema::{LoggingLevel, Revision};
use mrtr_server::testing::FixedClock;
use mrtr_server::{Context, Failure, Flow, Reply, Server, Tool};
use mrtr_state::MemorySingleUse;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::support::{builder, client, greet, meta, name, serve};

const LEVELS: [LoggingLevel; 8] = [
    LoggingLevel::Debug,
    LoggingLevel::Info,
    LoggingLevel::Notice,
    LoggingLevel::Warning,
    LoggingLevel::Error,
    LoggingLevel::Critical,
    LoggingLevel::Alert,
    LoggingLevel::Emergency,
];

/// Says how far it is, and something at every level.
fn talkative() -> Server {
    serve(async |flow: Flow| {
        for done in [0, 50, 100] {
            flow.progress(done, Some(100), "").await;
        }
        for level in LEVELS {
            flow.log(level, json!({ "level": level })).await;
        }
        Ok::<_, Failure>("done")
    })
}

#[tokio::test]
async fn progress_is_counted_in_numbers_of_any_whole_type() {
    let server = serve(async |flow: Flow| {
        let files = ["a", "b"];
        flow.progress(1, Some(files.len()), "").await;
        flow.progress(1_u32, Some(2), "").await;
        flow.progress(1_u64, None, "").await;
        flow.progress(-1_i64, None, "").await;
        flow.progress(mrtr_schema::Number::parse("0.5")?, None, "").await;
        Ok::<_, Failure>("done")
    });
    let call = client(&server).hearing_progress("t-1").call_tool("tool", json!({})).await;
    let told = call.notifications().iter().map(|message| message["params"].clone());
    let told: Vec<_> = told.map(|params| (params["progress"].clone(), params["total"].clone())).collect();
    let none = Value::Null;
    assert_eq!(
        told,
        [
            (json!(1), json!(2)),
            (json!(1), json!(2)),
            (json!(1), none.clone()),
            (json!(-1), none.clone()),
            (json!(0.5), none)
        ]
    );
}

#[tokio::test]
async fn progress_comes_before_the_response_and_under_the_token() {
    let call = client(&talkative()).hearing_progress("t-1").call_tool("tool", json!({})).await;
    let told: Vec<_> = call.notifications().iter().map(|message| message["params"].clone()).collect();
    let expected = [0, 50, 100].map(|done| json!({ "progressToken": "t-1", "progress": done, "total": 100 }));
    assert_eq!(told, expected);
    assert_eq!(call.expect_text(), "done");
}

#[tokio::test]
async fn log_messages_come_only_where_the_request_asked_and_from_its_level_on() {
    let silent = client(&talkative()).call_tool("tool", json!({})).await;
    assert_eq!((silent.notifications().len(), silent.expect_text().as_str()), (0, "done"));
    for (least, level) in LEVELS.into_iter().enumerate() {
        let call = client(&talkative()).hearing_logs(level).call_tool("tool", json!({})).await;
        let told: Vec<_> = call.notifications().iter().map(|message| message["params"]["level"].clone()).collect();
        let expected: Vec<_> = LEVELS[least..].iter().map(|level| json!(level)).collect();
        assert_eq!(told, expected);
    }
}

#[tokio::test]
async fn both_may_be_heard_at_once_in_the_order_in_which_they_were_said() {
    let client = client(&talkative()).hearing_progress("t").hearing_logs(LoggingLevel::Alert);
    let call = client.call_tool("tool", json!({})).await;
    let methods: Vec<_> = call.notifications().iter().map(|message| message["method"].as_str().unwrap()).collect();
    let (progress, message) = ("notifications/progress", "notifications/message");
    assert_eq!(methods, [progress, progress, progress, message, message]);
}

#[tokio::test]
async fn in_older_revisions_there_is_progress_and_no_log() {
    for revision in [Revision::Draft202602, Revision::Sep2322] {
        let old = client(&talkative()).speaking(revision).hearing_progress("t").hearing_logs(LoggingLevel::Debug);
        assert_eq!(old.call_tool("tool", json!({})).await.notifications().len(), 3);
    }
}

fn request(params: &Value) -> String {
    let mut params = params.clone();
    params["_meta"] = meta();
    params["_meta"]["progressToken"] = json!(1);
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
}

#[tokio::test]
async fn nothing_said_means_no_stream_and_so_does_a_refusal() {
    let quiet = serve(greet);
    for params in
        [json!({ "name": "tool" }), json!({ "name": "nobody" }), json!({ "name": "tool", "requestState": "x" })]
    {
        let reply = quiet.handle(request(&params).into(), Context::new()).await;
        assert!(matches!(reply, Reply::Message { .. }), "{params}");
    }
}

#[tokio::test]
async fn a_failure_after_the_first_notification_is_the_streams_last_message() {
    let server = serve(async |flow: Flow| {
        flow.progress(1, None, "begun").await;
        Err::<(), _>(mrtr_server::ProtocolError::invalid_params("no"))
    });
    let call = client(&server).hearing_progress("t").call_tool("tool", json!({})).await;
    assert_eq!((call.notifications().len(), call.expect_error().message.as_str()), (1, "no"));
}

#[tokio::test]
async fn a_notification_is_heard_while_the_flow_still_runs() {
    let go_on = Arc::new(Notify::new());
    let waiter = Arc::clone(&go_on);
    let server = serve(move |flow: Flow| {
        let go_on = Arc::clone(&waiter);
        async move {
            flow.progress(1, None, "waiting").await;
            go_on.notified().await;
            Ok::<_, Failure>("done")
        }
    });
    let reply = server.handle(request(&json!({ "name": "tool" })).into(), Context::new()).await;
    let Reply::Stream(mut messages) = reply else { panic!("{reply:?}") };
    assert!(messages.next().await.unwrap().contains("waiting"));
    go_on.notify_one();
    assert!(messages.next().await.unwrap().contains("done"));
    assert_eq!(messages.next().await, None);
}

#[tokio::test]
async fn more_is_said_than_anybody_reads_at_once_and_nothing_is_lost() {
    let server = serve(async |flow: Flow| {
        for done in 0..1000 {
            flow.progress(done, None, "").await;
        }
        Ok::<_, Failure>("done")
    });
    let call = client(&server).hearing_progress("t").call_tool("tool", json!({})).await;
    let told: Vec<_> = call.notifications().iter().map(|message| message["params"]["progress"].clone()).collect();
    assert_eq!(told, (0..1000).map(Value::from).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_step_that_talks_to_a_client_that_is_gone_ends_all_the_same() {
    let clock = FixedClock::default();
    let guard = MemorySingleUse::new(mrtr_flow::Clock::now(&clock));
    clock.advance(Duration::from_secs(1));
    let (begun, stepped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begins, steps) = (Arc::clone(&begun), Arc::clone(&stepped));
    let handler = move |flow: Flow| {
        let (begins, steps) = (Arc::clone(&begins), Arc::clone(&steps));
        async move {
            flow.roots("roots").await?;
            flow.progress(1, None, "about to step").await;
            let talk = async {
                begins.notify_one();
                for done in 2..100 {
                    flow.progress(done, None, "").await;
                }
                steps.notify_one();
                Ok::<_, Failure>("stepped".to_owned())
            };
            Ok::<_, Failure>(flow.step("talk", talk).await?)
        }
    };
    let server = builder().clock(clock).tool(Tool::new("tool", handler).single_use(guard)).build().unwrap();
    let asked = client(&server).call_tool("tool", json!({})).await;
    let params = json!({
        "name": "tool", "arguments": {}, "requestState": asked.state(), "inputResponses": { "roots": { "roots": [] } },
    });
    let mut params = params;
    params["_meta"] = meta();
    params["_meta"]["progressToken"] = json!(1);
    let body = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params }).to_string();
    let reply = server.handle(body.into(), Context::new()).await;
    begun.notified().await;
    drop(reply);
    stepped.notified().await;
    // What the step gave was kept, and a retry of the same goes on from there.
    let again = asked.answer_raw("roots", json!({ "roots": [] })).send().await;
    assert_eq!(again.expect_text(), "stepped");
}

#[tokio::test]
async fn each_round_has_its_own_notifications() {
    let server = serve(async |flow: Flow| {
        flow.progress(1, None, "round").await;
        greet(flow).await
    });
    let call = client(&server).hearing_progress("t").call_tool("tool", json!({})).await;
    assert_eq!(call.notifications().len(), 1);
    let call = call.accept("who", name("Ada")).send().await;
    assert_eq!((call.notifications().len(), call.expect_text().as_str()), (1, "Hello, Ada"));
}
