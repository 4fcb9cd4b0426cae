//! `notifications/cancelled`: the request that it names is dropped where it is, and says nothing more.

use std::sync::Arc;

use mrtr_server::{Failure, Flow, Server, Tool};
use serde_json::json;
use tokio::sync::{Notify, mpsc};

use crate::peer::{PATIENCE, Peer, call, cancelled, request};

/// Tells that it was dropped.
struct Dropped(mpsc::UnboundedSender<()>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[tokio::test]
async fn a_cancelled_request_is_dropped_and_others_go_on() {
    let (dropped, mut drops) = mpsc::unbounded_channel();
    let release = Arc::new(Notify::new());
    let gate = Arc::clone(&release);
    let wait = move |flow: Flow| {
        let (dropped, gate) = (Dropped(dropped.clone()), Arc::clone(&gate));
        async move {
            flow.progress(1, None, "waiting").await;
            gate.notified().await;
            drop(dropped);
            Ok::<_, Failure>("done")
        }
    };
    let server = Server::builder("slow", "1.0.0").tool(Tool::new("wait", wait)).build().unwrap();
    let mut peer = Peer::new(server);
    for id in [1, 2] {
        let mut waiting = call(id, "wait");
        waiting["params"]["_meta"]["progressToken"] = json!(id);
        peer.send(&waiting).await;
        assert_eq!(peer.hear().await["params"]["progressToken"], id, "it runs");
    }
    peer.send(&cancelled(1)).await;
    tokio::time::timeout(PATIENCE, drops.recv()).await.expect("it is dropped");
    release.notify_waiters();
    let reply = peer.hear().await;
    assert_eq!((&reply["id"], &reply["result"]["content"][0]["text"]), (&json!(2), &json!("done")));
    peer.send(&request(1, "server/discover", json!({}))).await;
    assert!(peer.hear().await["result"].is_object(), "its id is free again");
    assert_eq!(peer.end().await, "", "and nothing was said of it");
}

/// A cancelled request's messages that are in the queue already do not go out either.
#[tokio::test]
async fn what_is_queued_for_a_cancelled_request_is_withdrawn() {
    let (said, mut saying) = mpsc::unbounded_channel();
    let chat = move |flow: Flow| {
        let said = said.clone();
        async move {
            for step in 0..1000 {
                flow.progress(step, None, "and another thing").await;
                let _ = said.send(step);
            }
            Ok::<_, Failure>("that was all")
        }
    };
    let server = Server::builder("chatter", "1.0.0").tool(Tool::new("chat", chat)).build().unwrap();
    // The pipe holds hardly more than a message, so that the others wait in the queue.
    let mut peer = Peer::of(mrtr_stdio::Stdio::new(server), 256);
    let mut chat = call(1, "chat");
    chat["params"]["_meta"]["progressToken"] = json!("p");
    peer.send(&chat).await;
    for _ in 0..20 {
        tokio::time::timeout(PATIENCE, saying.recv()).await.expect("it goes on");
    }
    peer.send(&cancelled(1)).await;
    peer.send(&request(2, "server/discover", json!({}))).await;
    // Those that the pipe held when the cancellation was read are heard; of the queue, none.
    let mut heard = 0;
    while peer.hear().await["id"] != 2 {
        heard += 1;
    }
    assert!(heard <= 6, "{heard} messages of a cancelled request");
}
