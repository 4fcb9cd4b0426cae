//! Calls and tasks that were put down are picked up at their own server, and at no other by accident.

use std::time::Duration;

use mrtr_client::testing::Script;
use mrtr_client::{
    CallError, CallErrorKind, Client, ObservedTransport, PendingCall, PendingTask, RoundOutcome, WireMessage,
};
use mrtr_schema::{JsonObject, Revision};
use serde_json::{Value, json};

use super::common::{asks_form, asks_roots, calls, complete, results, rooted};

/// A call that was answered at another server, and saved there.
async fn saved_elsewhere() -> String {
    let form = json!({ "type": "object", "properties": { "pin": { "type": "string" } } });
    let elsewhere = Client::builder(results(move |_| asks_form("card", &form))).build();
    let RoundOutcome::Asked(mut pending) = elsewhere.call_tool_once("pay", json!({ "iban": "DE00" })).await.unwrap()
    else {
        panic!("it asks")
    };
    pending.accept("card", &json!({ "pin": "0000" })).unwrap();
    serde_json::to_string(&pending).unwrap()
}

fn is_refused(error: &CallError, script: &Script) -> bool {
    let text = error.to_string();
    matches!(&error.kind, CallErrorKind::OtherServer { began_at: Some(began_at), here, .. }
        if began_at == "a function" && here == "a script" && text.contains(&**began_at) && text.contains(&**here))
        && script.sent().is_empty()
}

#[tokio::test]
async fn a_call_is_not_picked_up_at_another_server() {
    let saved = saved_elsewhere().await;
    let pending = || serde_json::from_str::<PendingCall>(&saved).unwrap();
    let script = Script::new().result(complete("paid"));
    let client = rooted(script.clone());
    let error = client.resume(pending()).await.unwrap_err();
    assert!(is_refused(&error, &script), "{error}");
    let error = client.advance(pending()).await.unwrap_err();
    assert!(is_refused(&error, &script), "{error}");
    assert_eq!(error.pending().unwrap().server(), Some("a function"), "the call is as it was");

    // The caller may say that it goes on here.
    client.resume(error.into_pending().unwrap().trust_other_server(client.server())).await.unwrap();
    assert_eq!(calls(&script)[0].1["inputResponses"]["card"]["content"]["pin"], "0000");
}

#[tokio::test]
async fn a_server_that_is_observed_is_the_same_server() {
    let is_first = |request: &Value| request["params"]["requestState"].is_null();
    let serve =
        || results(move |request| if is_first(request) { asks_roots("src", Some("s")) } else { complete("done") });
    let observed = rooted(ObservedTransport::new(serve(), |_: WireMessage<'_>| {}));
    let RoundOutcome::Asked(pending) = observed.call_tool_once("look", json!({})).await.unwrap() else {
        panic!("it asks")
    };
    rooted(serve()).resume(pending).await.expect("it began here");
}

#[tokio::test]
async fn a_call_that_has_begun_and_names_no_server_is_not_sent() {
    let mut saved: Value = serde_json::from_str(&saved_elsewhere().await).unwrap();
    saved.as_object_mut().unwrap().remove("server");
    let script = Script::new().result(complete("paid"));
    let client = rooted(script.clone());
    let error = client.resume(serde_json::from_value(saved).unwrap()).await.unwrap_err();
    assert!(matches!(&error.kind, CallErrorKind::OtherServer { began_at: None, .. }), "{error}");
    assert_eq!(script.sent().len(), 0);

    // A call that was never sent belongs to no server yet, and to this one from then on.
    let script = Script::new().result(asks_roots("r", Some("sealed")));
    let new = PendingCall::new(Revision::V2026_07_28, "tools/call", JsonObject::parse(r#"{"name": "t"}"#).unwrap());
    let error = Client::builder(script).build().resume(new).await.unwrap_err();
    assert_eq!(error.pending().unwrap().server(), Some("a script"));
}

fn task(status: &str, kind: &str) -> Value {
    json!({ "resultType": kind, "taskId": "t-1", "status": status, "ttlMs": null, "result": complete("done"),
        "createdAt": "2026-08-01T12:00:00Z", "lastUpdatedAt": "2026-08-01T12:00:00Z" })
}

#[tokio::test(start_paused = true)]
async fn a_task_names_its_server_and_is_followed_there() {
    let limits = mrtr_client::Limits { polls: 0, ..Default::default() };
    let elsewhere = Client::builder(results(|_| task("working", "task"))).limits(limits).build();
    let error = elsewhere.call_tool("t", json!({})).await.unwrap_err();
    let saved = serde_json::to_string(error.pending().unwrap().task().unwrap()).unwrap();
    let handle: PendingTask = serde_json::from_str(&saved).unwrap();
    assert_eq!(handle.server(), Some("a function"), "{saved}");

    let script = Script::new();
    let client = rooted(script.clone());
    let error = client.follow(handle.clone()).await.unwrap_err();
    assert!(is_refused(&error, &script), "{error}");
    let error = client.cancel_task(&handle).await.unwrap_err();
    assert!(is_refused(&error, &script), "{error}");

    let script = Script::new().result(task("completed", "complete")).result(json!({ "resultType": "complete" }));
    let client = rooted(script.clone());
    let handle = handle.trust_other_server(client.server());
    let followed = tokio::time::timeout(Duration::from_mins(1), client.follow(handle.clone())).await.unwrap();
    assert!(followed.unwrap().as_str().contains("done"));
    client.cancel_task(&handle).await.unwrap();
    assert_eq!(script.sent().len(), 3, "the last looks if the cancellation came in time");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_became_a_task_is_picked_up_at_its_server_only() {
    let limits = mrtr_client::Limits { polls: 0, ..Default::default() };
    let elsewhere = Client::builder(results(|_| task("working", "task"))).limits(limits).build();
    let pending = elsewhere.call_tool("t", json!({})).await.unwrap_err().into_pending().unwrap();
    let script = Script::new().result(task("completed", "complete"));
    let client = rooted(script.clone());
    let error = client.resume(pending).await.unwrap_err();
    assert!(is_refused(&error, &script), "{error}");
    let pending = error.into_pending().unwrap().trust_other_server("a script");
    assert_eq!(pending.task().unwrap().server(), Some("a script"));
    assert!(client.resume(pending).await.unwrap().text().contains("done"));
}
