//! Subscriptions: beside requests on the one output, until they are cancelled or the server ends them.

use mrtr_server::{Failure, Flow, Server, Tool};
use mrtr_stdio::Stdio;
use serde_json::{Value, json};

use crate::peer::{Peer, call, cancelled, request};

fn server() -> Server {
    let hello = async |_: Flow| Ok::<_, Failure>("hello");
    Server::builder("changing", "1.0.0").tool(Tool::new("hello", hello)).build().unwrap()
}

fn listen(id: impl Into<Value>) -> Value {
    request(id, "subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }))
}

fn subscription(message: &Value) -> &Value {
    &message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
}

#[tokio::test]
async fn a_subscriber_hears_of_changes_until_it_cancels() {
    let server = server();
    let mut peer = Peer::new(server.clone());
    peer.send(&listen("s-1")).await;
    assert_eq!(peer.hear().await["method"], "notifications/subscriptions/acknowledged");
    server.changes().tools_changed();
    let changed = peer.hear().await;
    assert_eq!(
        (&changed["method"], subscription(&changed)),
        (&json!("notifications/tools/list_changed"), &json!("s-1"))
    );
    peer.send(&call(1, "hello")).await;
    assert_eq!(peer.hear().await["id"], 1, "requests are answered meanwhile");

    peer.send(&cancelled("s-1")).await;
    peer.send(&call(2, "hello")).await;
    assert_eq!(peer.hear().await["id"], 2);
    server.changes().tools_changed();
    assert_eq!(peer.end().await, "", "it is told no more");
}

#[tokio::test]
async fn two_subscriptions_are_told_apart_and_the_server_may_end_them() {
    let server = server();
    let mut peer = Peer::new(server.clone());
    for id in ["s-1", "s-2"] {
        peer.send(&listen(id)).await;
        assert_eq!(subscription(&peer.hear().await), id);
    }
    server.changes().tools_changed();
    let mut told = [subscription(&peer.hear().await).clone(), subscription(&peer.hear().await).clone()];
    told.sort_by_key(ToString::to_string);
    assert_eq!(told, [json!("s-1"), json!("s-2")]);
    server.changes().end_subscriptions();
    for _ in 0..2 {
        assert_eq!(peer.hear().await["result"]["resultType"], "complete");
    }
}

#[tokio::test]
async fn there_are_only_so_many_subscriptions_and_they_are_no_requests_that_run() {
    let mut peer = Peer::of(Stdio::new(server()).concurrency(1).subscriptions(2), 1 << 16);
    for id in [1, 2] {
        peer.send(&listen(id)).await;
        assert_eq!(peer.hear().await["method"], "notifications/subscriptions/acknowledged");
    }
    peer.send(&listen(3)).await;
    assert_eq!(peer.hear().await["error"]["message"], "Too many subscriptions at a time.");
    peer.send(&cancelled(1)).await;
    peer.send(&call(4, "hello")).await;
    assert_eq!(peer.hear().await["id"], 4);
    peer.send(&listen(5)).await;
    assert_eq!(peer.hear().await["method"], "notifications/subscriptions/acknowledged");
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_input_ends_them_at_once() {
    let mut peer = Peer::new(server());
    peer.send(&listen(1)).await;
    peer.hear().await;
    let begun = tokio::time::Instant::now();
    assert_eq!(peer.end().await, "");
    assert_eq!(begun.elapsed().as_secs(), 0);
}
