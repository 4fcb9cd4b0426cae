//! The end of a connection: requests that run have a moment, and no longer.

use std::sync::Arc;
use std::time::Duration;

use mrtr_server::{Failure, Flow, Server, Tool};
use mrtr_stdio::Stdio;
use tokio::io::AsyncWriteExt;
use tokio::sync::Notify;

use crate::peer::{PATIENCE, Peer, call};

fn gated(gate: Arc<Notify>) -> Server {
    let wait = move |flow: Flow| {
        let gate = Arc::clone(&gate);
        async move {
            flow.progress(1, None, "waiting").await;
            gate.notified().await;
            Ok::<_, Failure>("done")
        }
    };
    Server::builder("gate", "1.0.0").tool(Tool::new("wait", wait)).build().unwrap()
}

/// A call that is known to run.
async fn running(peer: &mut Peer) {
    let mut waiting = call(1, "wait");
    waiting["params"]["_meta"]["progressToken"] = "p".into();
    peer.send(&waiting).await;
    assert_eq!(peer.hear().await["method"], "notifications/progress");
}

#[tokio::test]
async fn a_request_that_runs_is_answered_after_the_input_has_ended() {
    let gate = Arc::new(Notify::new());
    let mut peer = Peer::new(gated(Arc::clone(&gate)));
    running(&mut peer).await;
    peer.write.shutdown().await.unwrap();
    gate.notify_one();
    assert!(peer.end().await.contains("done"));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_does_not_end_is_dropped_after_the_moment_is_over() {
    let mut peer = Peer::of(Stdio::new(gated(Arc::default())).shutdown_timeout(Duration::from_secs(3)), 1 << 16);
    running(&mut peer).await;
    let begun = tokio::time::Instant::now();
    assert_eq!(peer.end().await, "");
    assert_eq!(begun.elapsed().as_secs(), 3);
}

/// The server's input is still open, but the client can read no answers any more: then requests that run have no
/// moment.
#[tokio::test(start_paused = true)]
async fn a_client_that_reads_no_more_ends_the_connection_and_what_runs() {
    let gate = Arc::new(Notify::new());
    let mut peer = Peer::new(gated(Arc::clone(&gate)));
    running(&mut peer).await;
    let Peer { read, mut write, serving } = peer;
    drop(read);
    let begun = tokio::time::Instant::now();
    write.write_all(b"anything that is answered\n").await.unwrap();
    tokio::time::timeout(PATIENCE, serving).await.expect("it ends").unwrap().unwrap();
    assert_eq!(begun.elapsed().as_secs(), 0);
    assert_eq!(Arc::strong_count(&gate), 1, "what ran is dropped, and the server with it");
}

#[tokio::test]
async fn a_last_line_without_a_line_break_is_answered() {
    let mut peer = Peer::new(Server::builder("empty", "1.0.0").build().unwrap());
    peer.write.write_all(b"what?").await.unwrap();
    assert!(peer.end().await.contains("-32700"));
}
