//! Many requests at once: served beside each other, within bounds, on one output.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mrtr_schema::CallToolResult;
use mrtr_server::{Failure, Flow, Server, Tool};
use mrtr_stdio::Stdio;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Barrier;

use crate::peer::{Peer, call, cancelled, request};

#[tokio::test]
async fn two_hundred_requests_run_at_once_and_each_gets_its_own_answer() {
    let barrier = Arc::new(Barrier::new(200));
    let meet = move |_: Flow| {
        let barrier = Arc::clone(&barrier);
        async move {
            // None comes past this before all of them are there.
            barrier.wait().await;
            Ok::<_, Failure>("met")
        }
    };
    let server = Server::builder("meeting", "1.0.0").tool(Tool::new("meet", meet)).build().unwrap();
    let mut peer = Peer::new(server);
    for id in 0..200 {
        peer.send(&call(id, "meet")).await;
    }
    let mut answered = HashSet::new();
    for _ in 0..200 {
        let reply = peer.hear().await;
        assert_eq!(reply["result"]["content"][0]["text"], "met");
        assert!(answered.insert(reply["id"].as_u64().unwrap()));
    }
}

#[tokio::test]
async fn discovery_is_answered_while_others_take_their_time() {
    let server = Server::builder("slow", "1.0.0")
        .tool(Tool::new("wait", async |_: Flow| std::future::pending::<Result<&str, Failure>>().await))
        .build()
        .unwrap();
    let mut peer = Peer::new(server);
    peer.send(&call(1, "wait")).await;
    peer.send(&request(2, "server/discover", json!({}))).await;
    assert_eq!(peer.hear().await["id"], 2);
}

/// A server with a tool that waits until it is let go, and what lets it go.
fn gated() -> (Server, tokio::sync::watch::Sender<bool>) {
    let (release, gate) = tokio::sync::watch::channel(false);
    let wait = move |_: Flow| {
        let mut gate = gate.clone();
        async move {
            gate.wait_for(|open| *open).await.unwrap();
            Ok::<_, Failure>("done")
        }
    };
    (Server::builder("gate", "1.0.0").tool(Tool::new("wait", wait)).build().unwrap(), release)
}

#[tokio::test]
async fn more_requests_than_may_run_wait_and_each_is_answered() {
    let (server, release) = gated();
    let mut peer = Peer::of(Stdio::new(server).concurrency(2), 1 << 20);
    for id in 1..=1000 {
        peer.send(&call(id, "wait")).await;
    }
    // What is cancelled while it waits is not run, and not answered.
    peer.send(&cancelled(500)).await;
    release.send_replace(true);
    let mut answered = HashSet::new();
    for _ in 0..999 {
        let reply = peer.hear().await;
        assert_eq!(reply["result"]["content"][0]["text"], "done", "{reply}");
        assert!(answered.insert(reply["id"].as_u64().unwrap()));
    }
    assert!(!answered.contains(&500));
}

#[tokio::test]
async fn so_many_requests_wait_and_the_next_is_refused() {
    let (server, release) = gated();
    let mut peer = Peer::of(Stdio::new(server).concurrency(2).waiting(1), 1 << 16);
    for id in 1..=4 {
        peer.send(&call(id, "wait")).await;
    }
    let refused = peer.hear().await;
    assert_eq!((&refused["id"], &refused["error"]["message"]), (&json!(4), &json!("Too many requests at a time.")));
    peer.send(&call(3, "wait")).await;
    assert_eq!(peer.hear().await["error"]["message"], "Another request has this id.", "one that waits has its id");
    release.send_replace(true);
    for _ in 1..=3 {
        assert_eq!(peer.hear().await["result"]["content"][0]["text"], "done");
    }
    peer.send(&call(4, "wait")).await;
    assert_eq!(peer.hear().await["result"]["content"][0]["text"], "done");
}

#[tokio::test]
async fn what_waits_when_the_input_ends_is_still_answered() {
    let (server, release) = gated();
    let mut peer = Peer::of(Stdio::new(server).concurrency(1), 1 << 16);
    for id in 1..=5 {
        peer.send(&call(id, "wait")).await;
    }
    release.send_replace(true);
    let rest = peer.end().await;
    assert_eq!(rest.lines().filter(|line| line.contains("done")).count(), 5, "{rest}");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_cut_off() {
    let large = async |_: Flow| Ok::<_, Failure>("x".repeat(100_000));
    let server = Server::builder("large", "1.0.0").tool(Tool::new("large", large)).build().unwrap();
    let (ours, theirs) = tokio::io::duplex(1000);
    let (read, write) = tokio::io::split(ours);
    let limit = Duration::from_secs(30);
    let serving = tokio::spawn(Stdio::new(server).over(read, write));
    let (mut heard, mut told) = tokio::io::split(theirs);
    told.write_all(format!("{}\n", call(1, "large")).as_bytes()).await.unwrap();
    // It is enough to read some of it now and then.
    for _ in 0..5 {
        tokio::time::sleep(limit.saturating_sub(Duration::from_secs(1))).await;
        heard.read_exact(&mut [0; 500]).await.unwrap();
    }
    let before = tokio::time::Instant::now();
    let ended = tokio::time::timeout(limit * 10, serving).await.expect("it is cut off").unwrap().unwrap_err();
    assert_eq!((ended.kind(), before.elapsed() < limit * 2), (std::io::ErrorKind::TimedOut, true));
}

#[tokio::test]
async fn an_id_that_is_in_use_is_refused() {
    let server = Server::builder("slow", "1.0.0")
        .tool(Tool::new("wait", async |_: Flow| std::future::pending::<Result<&str, Failure>>().await))
        .build()
        .unwrap();
    let mut peer = Peer::new(server);
    peer.send(&call("a", "wait")).await;
    peer.send(&call("a", "wait")).await;
    assert_eq!(peer.hear().await["error"]["message"], "Another request has this id.");
}

/// A handler that says more than its client reads has to wait: queues and pipes bound what is on the way, not what
/// there is to say.
#[tokio::test]
async fn a_client_that_does_not_read_holds_the_handler_up() {
    const ALL: usize = 10_000;
    let said = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&said);
    let chatter = move |flow: Flow| {
        let count = Arc::clone(&count);
        async move {
            for step in 0..ALL {
                flow.progress(i64::try_from(step).unwrap(), None, "and another thing").await;
                count.fetch_add(1, Ordering::SeqCst);
            }
            Ok::<_, Failure>("that was all")
        }
    };
    let server = Server::builder("chatter", "1.0.0").tool(Tool::new("chat", chatter)).build().unwrap();
    let mut peer = Peer::of(Stdio::new(server), 1024);
    let mut chat = call(1, "chat");
    chat["params"]["_meta"]["progressToken"] = json!("p");
    peer.send(&chat).await;
    peer.hear().await;
    // After many rounds, everything that can go on without the client has gone on.
    for _ in 0..10_000 {
        tokio::task::yield_now().await;
    }
    let held_up_at = said.load(Ordering::SeqCst);
    assert!(held_up_at < 200, "{held_up_at} were said, and the client has read one");
    let mut heard = 1;
    while peer.hear().await["id"] != 1 {
        heard += 1;
    }
    assert_eq!((heard, said.load(Ordering::SeqCst)), (ALL, ALL), "and then all of it arrives");
}

#[tokio::test]
async fn a_result_over_several_lines_goes_out_on_one() {
    // JSON that its author wrote is kept as it is, with its line breaks.
    let report = async |_: Flow| {
        let result: CallToolResult =
            serde_json::from_str("{\"content\": [], \"structuredContent\": {\n\"ports\":\n2}}").unwrap();
        Ok::<_, Failure>(result)
    };
    let server = Server::builder("report", "1.0.0").tool(Tool::new("report", report)).build().unwrap();
    let mut peer = Peer::new(server);
    peer.send(&call(1, "report")).await;
    assert_eq!(peer.hear().await["result"]["structuredContent"]["ports"], 2);
}
