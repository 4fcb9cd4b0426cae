//! Cancellation: a transport that drops the reply cancels the round, and nothing goes on behind it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use mrtr_server::testing::FixedClock;
use mrtr_server::{Context, Failure, Flow, Reply, Server, Tool};
use mrtr_state::MemorySingleUse;
use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};

use crate::support::{builder, client, meta, serve};

/// Tells when it is dropped.
struct Alive(Option<oneshot::Sender<()>>);

impl Drop for Alive {
    fn drop(&mut self) {
        drop(self.0.take());
    }
}

/// A tool that says that it has begun and then never ends, and how to hear that it is gone.
fn endless() -> (Server, oneshot::Receiver<()>) {
    let (sender, gone) = oneshot::channel();
    let sender = std::sync::Mutex::new(Some(sender));
    let server = serve(move |flow: Flow| {
        let alive = Alive(sender.lock().unwrap().take());
        async move {
            let _alive = alive;
            flow.progress(1, None, "begun").await;
            std::future::pending::<()>().await;
            Ok::<_, Failure>("never")
        }
    });
    (server, gone)
}

fn body(progress: bool) -> String {
    let mut meta = meta();
    if progress {
        meta["progressToken"] = json!("t");
    }
    let params = json!({ "name": "tool", "_meta": meta });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
}

#[tokio::test]
async fn dropping_the_stream_drops_the_flow() {
    let (server, mut gone) = endless();
    let reply = server.handle(body(true).into(), Context::new()).await;
    let Reply::Stream(mut messages) = reply else { panic!("{reply:?}") };
    assert!(messages.next().await.unwrap().contains("begun"));
    assert_eq!(messages.next().now_or_never(), None);
    assert!(gone.try_recv().is_err_and(|error| error == oneshot::error::TryRecvError::Empty));
    drop(messages);
    assert!(gone.await.is_err());
}

#[tokio::test]
async fn dropping_the_call_before_its_reply_drops_the_flow() {
    for progress in [false, true] {
        let (server, gone) = endless();
        let mut handling = Box::pin(server.handle(body(progress).into(), Context::new()));
        let _first = (&mut handling).now_or_never();
        drop(handling);
        assert!(gone.await.is_err());
    }
}

#[tokio::test]
async fn a_round_that_was_dropped_is_no_longer_counted_as_load() {
    let (server, _gone) = endless();
    drop(Box::pin(server.handle(body(false).into(), Context::new())).now_or_never());
    let yields = async |flow: Flow| {
        flow.yield_point(&1).await;
        Ok::<_, Failure>("done")
    };
    let endless = async |_: Flow| {
        std::future::pending::<()>().await;
        Ok::<_, Failure>("never")
    };
    let server = builder()
        .shedder(mrtr_server::extend::ShedAbove(1))
        .tool(Tool::new("tool", endless))
        .tool(Tool::new("yields", yields))
        .build()
        .unwrap();
    for _ in 0..5 {
        assert!(Box::pin(server.handle(body(false).into(), Context::new())).now_or_never().is_none());
    }
    assert_eq!(client(&server).call_tool("yields", json!({})).await.expect_text(), "done");
}

#[tokio::test]
async fn a_guarded_round_finishes_its_step_and_stops_at_the_next_call() {
    let clock = FixedClock::default();
    let guard = MemorySingleUse::new(mrtr_flow::Clock::now(&clock));
    clock.advance(Duration::from_secs(1));
    let (begun, go_on, stepped) = (Arc::new(Notify::new()), Arc::new(Notify::new()), Arc::new(Notify::new()));
    let notes = (Arc::clone(&begun), Arc::clone(&go_on), Arc::clone(&stepped));
    let handler = move |flow: Flow| {
        let (begun, go_on, stepped) = notes.clone();
        async move {
            flow.roots("roots").await?;
            let first = async {
                begun.notify_one();
                go_on.notified().await;
                Ok::<_, Failure>(1)
            };
            let first: u32 = flow.step("first", first).await?;
            let second = async {
                stepped.notify_one();
                Ok::<_, Failure>(2)
            };
            let second: u32 = flow.step("second", second).await?;
            Ok::<_, Failure>(format!("{first} and {second}"))
        }
    };
    let server = builder().clock(clock).tool(Tool::new("tool", handler).single_use(guard)).build().unwrap();
    let asked = client(&server).call_tool("tool", json!({})).await.answer_raw("roots", json!({ "roots": [] }));
    let params = json!({
        "name": "tool", "arguments": {}, "_meta": meta(), "requestState": asked.state(),
        "inputResponses": { "roots": { "roots": [] } },
    });
    let body: Value = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params });
    let mut handling = Box::pin(server.handle(body.to_string().into(), Context::new()));
    assert!((&mut handling).now_or_never().is_none());
    begun.notified().await;
    drop(handling);
    go_on.notify_one();
    // The first step is not repeated, and the next request does the second.
    assert_eq!(asked.send().await.expect_text(), "1 and 2");
    assert_eq!(begun.notified().now_or_never(), None);
    stepped.notified().await;
}
