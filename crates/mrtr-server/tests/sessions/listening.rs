//! Messages that a session hears outside its calls.

use futures_util::StreamExt;
use mrtr_server::testing::FixedClock;
use mrtr_server::transport::{ListenError, SessionStream};
use mrtr_server::{Resource, Server, Tool};
use serde_json::{Value, json};

use crate::client::{Legacy, within};
use crate::tools::{Outside, builder, perhaps};

fn server() -> Server {
    builder(&Outside::default(), &FixedClock::default())
        .tool(Tool::new("perhaps", perhaps))
        .resource(Resource::new("test://one", "one", perhaps))
        .build()
        .unwrap()
}

/// The next message that a listener hears.
async fn heard(events: &mut SessionStream) -> Option<Value> {
    loop {
        let event = within("an event", events.next()).await?;
        if let Some(message) = event.message {
            return Some(serde_json::from_str(&message).unwrap());
        }
    }
}

#[tokio::test]
async fn lists_that_change_and_resources_that_are_watched_are_heard() {
    let server = server();
    let client = Legacy::open(&server, "2025-11-25").await;
    let mut events = client.listen(None).unwrap();
    let prime = events.next().await.unwrap();
    assert_eq!((prime.message, prime.retry.is_some()), (None, true), "it begins with an id");
    assert_eq!(client.request("resources/subscribe", json!({ "uri": "test://one" })).await["result"], json!({}));
    server.changes().resource_updated("test://other");
    server.changes().resource_updated("test://one");
    server.changes().tools_changed();
    let first = heard(&mut events).await.unwrap();
    assert_eq!(
        (&first["method"], &first["params"]["uri"]),
        (&json!("notifications/resources/updated"), &json!("test://one"))
    );
    assert_eq!(heard(&mut events).await.unwrap()["method"], "notifications/tools/list_changed");
    client.request("resources/unsubscribe", json!({ "uri": "test://one" })).await;
    server.changes().resource_updated("test://one");
    server.changes().prompts_changed();
    assert_eq!(heard(&mut events).await.unwrap()["method"], "notifications/prompts/list_changed");
    server.changes().end_subscriptions();
    assert_eq!(heard(&mut events).await, None);
}

#[tokio::test]
async fn an_older_session_has_no_event_without_a_message() {
    let server = server();
    let client = Legacy::open(&server, "2025-06-18").await;
    let mut events = client.listen(None).unwrap();
    server.changes().tools_changed();
    assert!(events.next().await.unwrap().message.is_some());
}

#[tokio::test]
async fn one_listens_at_a_time_and_none_when_the_session_has_ended() {
    let server = server();
    let client = Legacy::open(&server, "2025-11-25").await;
    let mut first = client.listen(None).unwrap();
    let mut second = client.listen(Some("0.7")).unwrap();
    assert_eq!(second.next().await.unwrap().id, "0.7", "it goes on where the other was");
    assert_eq!(heard(&mut first).await, None, "another listens in its stead");
    server.changes().tools_changed();
    assert_eq!(second.next().await.unwrap().id, "0.8");
    assert!(client.end());
    assert_eq!(heard(&mut second).await, None);
    assert_eq!(client.listen(None).unwrap_err(), ListenError::NoSession);
}

#[tokio::test]
async fn there_is_nothing_to_hear_of_an_empty_server() {
    let server = Server::builder("empty", "1.0.0").build().unwrap();
    let client = Legacy::open(&server, "2025-11-25").await;
    assert_eq!(client.listen(None).unwrap_err(), ListenError::Nothing);
    assert_eq!(client.request("resources/subscribe", json!({ "uri": "test://one" })).await["error"]["code"], -32601);
}
