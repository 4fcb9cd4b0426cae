//! Several threads, each with a runtime and a socket of its own, on one address.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::time::Duration;

use mrtr_http::{Endpoint, Serve};
use mrtr_server::{Failure, Flow, Server, Tool};
use serde_json::json;

use crate::support::Site;
use crate::support::message::{Post, call, request};
use crate::tools::{self, Gate};

async fn thread(_: Flow) -> Result<String, Failure> {
    Ok(format!("{:?}", std::thread::current().id()))
}

fn serve(server: Server) -> Serve {
    Serve::new(Endpoint::anonymous(server)).runtimes(NonZeroUsize::new(3).unwrap())
}

#[tokio::test]
async fn each_thread_takes_its_share() {
    let site = Site::start(serve(Server::builder("test", "1.0.0").tool(Tool::new("thread", thread)).build().unwrap()));
    let post = Post::of(&call("thread", json!({})));
    let mut threads = HashSet::new();
    // The system spreads connections by their ports: it takes a few until each thread had one.
    for _ in 0..1000 {
        threads.insert(site.answer(&post).await.json()["result"]["content"][0]["text"].to_string());
        if threads.len() == 3 {
            break;
        }
    }
    assert_eq!(threads.len(), 3);
    site.stop().await.unwrap().unwrap();
}

#[tokio::test]
async fn they_stop_together_and_finish_what_runs() {
    let gate = Gate::default();
    let server = tools::builder(&gate).build().unwrap();
    let site = Site::start(serve(server));
    let mut waiting = Vec::new();
    for _ in 0..12 {
        let mut wire = site.connect().await;
        wire.send(Post::of(&call("wait", json!({}))).text()).await;
        gate.reached().await;
        waiting.push(wire);
    }
    let mut listening = site.connect().await;
    listening.send(Post::of(&request("subscriptions/listen", json!({ "notifications": {} }))).text()).await;
    listening.head().await;
    listening.event().await.unwrap();

    let mut stopping = site.stop();
    assert!(listening.event().await.unwrap()["result"].is_object());
    assert!(tokio::time::timeout(Duration::from_millis(20), &mut stopping).await.is_err());
    for _ in 0..12 {
        gate.open();
    }
    for mut wire in waiting {
        assert_eq!(wire.response().await.status, 200);
    }
    stopping.await.unwrap().unwrap();
}
