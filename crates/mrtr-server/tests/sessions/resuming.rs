//! Streams that are lost and resumed.

use mrtr_server::testing::FixedClock;
use mrtr_server::transport::ListenError;
use mrtr_server::{Failure, Flow, Tool};
use serde_json::json;

use crate::client::{Legacy, until};
use crate::tools::{Name, Outside, both, builder, greet};

async fn client(version: &str, outside: &Outside) -> Legacy {
    let tools = builder(outside, &FixedClock::default()).tool(Tool::new("greet", greet)).tool(Tool::new("both", both));
    Legacy::open(&tools.build().unwrap(), version).await
}

#[tokio::test]
async fn a_stream_that_was_lost_while_a_question_is_open_is_resumed() {
    for version in ["2025-11-25", "2025-06-18"] {
        let outside = Outside::default();
        let client = client(version, &outside).await;
        let mut call = client.call("greet", json!({})).await;
        if version == "2025-11-25" {
            let prime = call.event().await.unwrap();
            assert_eq!((prime.message, prime.retry.is_some()), (None, true));
        }
        let asked = call.question().await;
        call.disconnect();
        client.accept(&asked, json!({ "name": "Ann" })).await;
        until("it goes on without its client", || outside.effects().len() == 1).await;
        client.resume(&mut call);
        let asked = call.question().await;
        assert_eq!(asked["params"]["message"], "And who else?");
        call.disconnect();
        client.resume(&mut call);
        client.accept(&asked, json!({ "name": "Bob" })).await;
        assert_eq!(call.text().await, "Ann and Bob");
        assert_eq!(outside.effects(), ["greet Ann", "greet Bob"]);
    }
}

#[tokio::test]
async fn a_question_that_was_not_seen_is_sent_again_and_one_that_was_is_not() {
    let client = client("2025-11-25", &Outside::default()).await;
    let mut call = client.call("both", json!({})).await;
    let one = call.question().await;
    call.disconnect();
    client.resume(&mut call);
    let other = call.question().await;
    assert_ne!(other["id"], one["id"]);
    client.accept(&one, json!({ "name": "Ann" })).await;
    client.accept(&other, json!({ "name": "Bob" })).await;
    assert_eq!(call.text().await, "Ann and Bob");
}

#[tokio::test]
async fn a_question_that_was_answered_is_not_sent_again() {
    let client = client("2025-11-25", &Outside::default()).await;
    let mut call = client.call("both", json!({})).await;
    call.event().await.unwrap();
    let beginning = call.last_event.clone();
    let (one, other) = (call.question().await, call.question().await);
    client.accept(&one, json!({ "name": "Ann" })).await;
    call.disconnect();
    // As if nothing had come yet.
    call.last_event = beginning;
    client.resume(&mut call);
    assert_eq!(call.question().await, other, "the one that is open, and no other");
    client.accept(&other, json!({ "name": "Bob" })).await;
    assert_eq!(call.text().await, "Ann and Bob");
}

#[tokio::test]
async fn a_response_that_was_lost_is_found_again() {
    let client = client("2025-11-25", &Outside::default()).await;
    let mut call = client.call("both", json!({})).await;
    let (one, other) = (call.question().await, call.question().await);
    call.disconnect();
    client.accept(&one, json!({ "name": "Ann" })).await;
    client.accept(&other, json!({ "name": "Bob" })).await;
    until("the call has ended", || client.server.detached() == 0).await;
    for _ in 0..2 {
        let before = call.last_event.clone();
        client.resume(&mut call);
        assert_eq!(call.text().await, "Ann and Bob");
        call.last_event = before;
    }
}

#[tokio::test]
async fn a_message_is_replayed_on_its_own_stream_alone() {
    let client = client("2025-11-25", &Outside::default()).await;
    let (mut first, mut second) = (client.call("greet", json!({})).await, client.call("both", json!({})).await);
    first.question().await;
    second.question().await;
    let lost = second.question().await;
    first.disconnect();
    second.disconnect();
    client.resume(&mut first);
    client.cancel(first.id).await;
    let withdrawn = first.next().await.unwrap();
    assert_ne!(withdrawn["params"]["requestId"], lost["id"], "nothing of the other call: {withdrawn}");
    assert_eq!(first.next().await, None);
}

#[tokio::test]
async fn a_new_reader_takes_the_place_of_the_old_one() {
    let client = client("2025-11-25", &Outside::default()).await;
    let mut call = client.call("greet", json!({})).await;
    let asked = call.question().await;
    let mut again = client.call("greet", json!({})).await;
    again.question().await;
    again.last_event.clone_from(&call.last_event);
    client.resume(&mut again);
    assert_eq!(call.next().await, None, "a message goes to one connection");
    client.accept(&asked, json!({ "name": "Ann" })).await;
    assert_eq!(again.question().await["params"]["message"], "And who else?");
}

#[tokio::test]
async fn what_cannot_be_resumed_is_refused() {
    let client = client("2025-11-25", &Outside::default()).await;
    for id in ["", "7.1", "1", "x.y", "01.1", "1.01", "1.-1", "99999999999999999999.1"] {
        assert_eq!(client.listen(Some(id)).unwrap_err(), ListenError::StreamGone, "{id:?}");
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_misses_notifications_and_nothing_else() {
    async fn talk(flow: Flow) -> Result<String, Failure> {
        let name: Name = flow.elicit("name", "Who?").await?;
        for part in 1..=1000 {
            flow.progress(part, Some(1000), "").await;
        }
        Ok(name.name)
    }
    let server = builder(&Outside::default(), &FixedClock::default()).tool(Tool::new("talk", talk)).build().unwrap();
    let client = Legacy::open(&server, "2025-11-25").await;
    let mut call = client.begin("tools/call", json!({ "name": "talk", "_meta": { "progressToken": 1 } })).await;
    let asked = call.question().await;
    call.disconnect();
    client.accept(&asked, json!({ "name": "Ann" })).await;
    until("the call has ended", || server.detached() == 0).await;
    client.resume(&mut call);
    let mut parts = Vec::new();
    let response = loop {
        let message = call.next().await.unwrap();
        match message["params"]["progress"].as_i64() {
            Some(part) => parts.push(part),
            None => break message,
        }
    };
    assert_eq!(crate::client::text(&response), "Ann");
    assert!(parts.len() <= 64 && parts.last() == Some(&1000), "the newest ones are kept: {parts:?}");
}
