//! Connections at a time: so many are served, and the others wait for one of them to close.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mrtr_http::{Endpoint, Serve};
use mrtr_server::{Failure, Flow, Server, Tool};
use serde_json::json;

use crate::support::Site;
use crate::support::message::{Post, call};
use crate::support::wire::Wire;
use crate::tools::{self, Gate};

#[tokio::test]
async fn ht_8_one_connection_too_many_waits_until_another_closes() {
    let site = Site::start(Serve::new(Endpoint::anonymous(counting())).connections(1));
    let mut first = site.connect().await;
    assert_eq!(number(&mut first).await, 1);
    let mut second = site.connect().await;
    second.send(count().text()).await;
    // It has sent its request before any of these, and is still not heard.
    for expected in 2..50 {
        assert_eq!(number(&mut first).await, expected);
    }
    drop(first);
    assert_eq!(text(&mut second).await, "50");
}

/// The threads share all places: none keeps a place free for itself, whichever thread a connection comes to.
#[tokio::test]
async fn ht_8_all_threads_together_serve_so_many_connections() {
    /// The places for one address: of four, one is kept for another address.
    const MOST: usize = 3;
    let gate = Gate::default();
    let serve = Serve::new(Endpoint::anonymous(tools::builder(&gate).build().unwrap())).connections(4);
    let site = Site::start(serve.runtimes(NonZeroUsize::new(3).unwrap()));
    let mut waiting = Vec::new();
    for _ in 0..40 {
        let mut wire = site.connect().await;
        wire.send(Post::of(&call("wait", json!({}))).with("Connection", "close").text()).await;
        waiting.push(tokio::spawn(async move { wire.response().await.status }));
    }
    for _ in 0..MOST {
        gate.reached().await;
    }
    for left in (0..waiting.len()).rev() {
        gate.open();
        gate.dropped().await;
        // The place of one that closed is taken by the next.
        if left >= MOST {
            gate.reached().await;
        }
        assert_eq!(gate.waiting(), MOST.min(left));
    }
    for status in waiting {
        assert_eq!(status.await.unwrap(), 200);
    }
}

#[tokio::test]
async fn a_server_that_serves_all_it_can_still_stops() {
    let gate = Gate::default();
    let serve = Serve::new(Endpoint::anonymous(tools::builder(&gate).build().unwrap())).connections(1);
    let site = Site::start(serve);
    let mut served = site.connect().await;
    served.send(Post::of(&call("wait", json!({}))).text()).await;
    gate.reached().await;
    let mut waiting = site.connect().await;
    waiting.send(count().text()).await;
    let stopping = site.stop();
    assert_eq!(waiting.rest().await, b"", "whoever waits for a place is let go");
    gate.open();
    assert_eq!(served.response().await.status, 200);
    stopping.await.unwrap().unwrap();
}

/// A server with a tool that counts how often it is called.
fn counting() -> Server {
    async fn count(flow: Flow) -> Result<String, Failure> {
        Ok((flow.state::<Arc<AtomicUsize>>().fetch_add(1, Ordering::SeqCst) + 1).to_string())
    }
    let calls = Arc::new(AtomicUsize::new(0));
    Server::builder("test", "1.0.0").state(calls).tool(Tool::new("count", count)).build().unwrap()
}

fn count() -> Post {
    Post::of(&call("count", json!({})))
}

async fn number(wire: &mut Wire) -> usize {
    wire.send(count().text()).await;
    text(wire).await.parse().unwrap()
}

async fn text(wire: &mut Wire) -> String {
    wire.response().await.json()["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}
