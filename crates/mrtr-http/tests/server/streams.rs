//! One message or a stream of them: notifications first, the response last, and an end when the client goes.

use std::time::Duration;

use mrtr_http::{Endpoint, Serve};
use mrtr_schema::CallToolResult;
use mrtr_schema::content::StructuredContent;
use mrtr_server::{Failure, Flow, Server, Tool};
use mrtr_state::single_use::MemorySingleUse;
use serde_json::{Value, json};

use crate::support::message::{Post, call, request, retry, watched};
use crate::support::{Site, until};
use crate::tools::{self, Address, Gate};

#[tokio::test]
async fn ht_5_without_a_notification_the_reply_is_json() {
    let gate = Gate::default();
    let site = Site::of(tools::builder(&gate).build().unwrap());
    gate.open();
    let response = site.answer(&Post::of(&call("talk", json!({})))).await;
    assert_eq!(response.header("content-type"), Some("application/json"));
    assert_eq!(response.header("content-length"), Some(&*response.body.len().to_string()));
    let response = site.answer(&Post::of(&watched(call("hello", json!({}))))).await;
    assert_eq!(response.header("content-type"), Some("application/json"), "it says nothing on the way");
}

#[tokio::test]
async fn ht_5_a_notification_makes_it_a_stream_whose_last_message_is_the_response() {
    let gate = Gate::default();
    let site = Site::of(tools::builder(&gate).build().unwrap());
    let mut wire = site.connect().await;
    wire.send(Post::of(&watched(call("talk", json!({})))).text()).await;
    let head = wire.head().await;
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!((head.header("x-accel-buffering"), head.header("cache-control")), (Some("no"), Some("no-cache")));
    assert_eq!(head.header("content-length"), None);
    let first = wire.event().await.unwrap();
    assert_eq!((&first["method"], &first["params"]["progress"]), (&json!("notifications/progress"), &json!(1)));
    gate.open();
    assert_eq!(wire.event().await.unwrap()["params"]["progress"], 2);
    let last = wire.event().await.unwrap();
    assert_eq!((&last["id"], &last["result"]["content"][0]["text"]), (&json!(1), &json!("done")));
    assert_eq!(wire.event().await, None);
    // The connection is good for the next request.
    wire.send(Post::of(&call("hello", json!({}))).text()).await;
    assert_eq!(wire.response().await.status, 200);
}

#[tokio::test]
async fn ht_5_a_quiet_stream_says_that_it_lives() {
    let gate = Gate::default();
    let server = tools::builder(&gate).build().unwrap();
    let site = Site::start(Serve::new(Endpoint::anonymous(server).keep_alive(Duration::from_millis(20))));
    let mut wire = site.connect().await;
    wire.send(Post::of(&watched(call("talk", json!({})))).text()).await;
    wire.head().await;
    assert!(wire.chunk().await.unwrap().starts_with(b"event: message\n"));
    for _ in 0..3 {
        assert_eq!(wire.chunk().await.unwrap(), b": keep-alive\n\n");
    }
    gate.open();
    let mut last = None;
    while let Some(message) = wire.event().await {
        last = Some(message);
    }
    assert_eq!(last.unwrap()["result"]["content"][0]["text"], "done");
}

#[tokio::test]
async fn ht_5_an_error_after_the_first_event_is_the_last_event() {
    async fn fails(flow: Flow) -> Result<String, Failure> {
        flow.progress(1, None, "").await;
        Err(mrtr_server::ProtocolError::new(mrtr_schema::ErrorCode::INVALID_PARAMS, "no").into())
    }
    let site = Site::of(Server::builder("test", "1.0.0").tool(Tool::new("fails", fails)).build().unwrap());
    let mut wire = site.connect().await;
    wire.send(Post::of(&watched(call("fails", json!({})))).text()).await;
    assert_eq!(wire.head().await.status, 200);
    wire.event().await.unwrap();
    assert_eq!(wire.event().await.unwrap()["error"]["code"], -32602);
    assert_eq!(wire.event().await, None);
}

#[tokio::test]
async fn ht_5_json_over_several_lines_is_still_one_event() {
    async fn lines(flow: Flow) -> Result<CallToolResult, Failure> {
        flow.progress(1, None, "").await;
        let raw = serde_json::value::RawValue::from_string("{\r\n  \"a\":\n 1 }".to_owned()).unwrap();
        let mut result = CallToolResult::new([]);
        result.structured_content = Some(StructuredContent::of(&raw).unwrap());
        Ok(result)
    }
    let site = Site::of(Server::builder("test", "1.0.0").tool(Tool::new("lines", lines)).build().unwrap());
    let mut wire = site.connect().await;
    wire.send(Post::of(&watched(call("lines", json!({})))).text()).await;
    wire.head().await;
    wire.event().await.unwrap();
    assert_eq!(wire.event().await.unwrap()["result"]["structuredContent"], json!({ "a": 1 }));
}

#[tokio::test]
async fn ht_5_closing_the_connection_cancels_the_flow() {
    let gate = Gate::default();
    let site = Site::of(tools::builder(&gate).build().unwrap());
    for message in [call("wait", json!({})), watched(call("talk", json!({})))] {
        let mut wire = site.connect().await;
        wire.send(Post::of(&message).text()).await;
        gate.reached().await;
        drop(wire);
        gate.dropped().await;
        assert_eq!(gate.passed(), 0);
    }
}

/// Asks, and then does two things.
async fn pay(flow: Flow) -> Result<String, Failure> {
    let _: Address = flow.elicit("address", "Where to?").await?;
    let gate = flow.state::<Gate>();
    flow.progress(1, None, "paying").await;
    flow.step("charge", gate.pass_as_step()).await?;
    flow.step("send", gate.pass_as_step()).await?;
    Ok(format!("{} done", gate.passed()))
}

#[tokio::test]
async fn ht_5_a_single_use_tool_finishes_its_step_when_the_connection_is_gone() {
    let gate = Gate::default();
    let store = MemorySingleUse::new(std::time::SystemTime::UNIX_EPOCH.into());
    let server = Server::builder("test", "1.0.0").state(gate.clone()).tool(Tool::new("pay", pay).single_use(store));
    let server = server.build().unwrap();
    // One connection at a time: as soon as the next one is served, the server has noticed that this one is gone.
    let site = Site::start(Serve::new(Endpoint::anonymous(server.clone())).connections(1));

    let first = call("pay", json!({}));
    let asked = site.answer(&Post::of(&first)).await.json();
    let paying = watched(retry(first, &asked, "address", &json!({ "street": "Here" })));
    let mut wire = site.connect().await;
    wire.send(Post::of(&paying).text()).await;
    gate.reached().await;
    drop(wire);
    assert_eq!(site.answer(&Post::of(&request("server/discover", json!({})))).await.status, 200);
    assert_eq!((gate.passed(), server.detached()), (0, 1));
    gate.open();
    gate.dropped().await;
    until("the round has ended", || server.detached() == 0).await;
    assert_eq!(gate.passed(), 1, "the step is done, and the next one was not begun");

    gate.open();
    let mut wire = site.connect().await;
    wire.send(Post::of(&paying).text()).await;
    wire.head().await;
    let mut last = Value::Null;
    while let Some(message) = wire.event().await {
        last = message;
    }
    assert_eq!(last["result"]["content"][0]["text"], "2 done", "{last}");
}
