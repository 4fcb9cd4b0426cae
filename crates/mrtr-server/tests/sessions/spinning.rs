//! Nothing spins in a session: neither calls that report for ever nor readers of many events keep others waiting.

use std::future::Future;
use std::sync::mpsc;
use std::time::Duration;

use futures_util::StreamExt;
use mrtr_server::{Failure, Flow, Server, SessionLimits, Tool};
use serde_json::json;

use crate::client::{Legacy, until};
use crate::tools::Name;

/// Runs on a thread of its own, which has no other: a test of something that spins must fail, and not spin.
fn on_one_thread(test: impl Future<Output = ()> + Send + 'static) {
    let (done, ended) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(test);
        done.send(()).ok();
    });
    match ended.recv_timeout(Duration::from_secs(20)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("nothing else runs beside it"),
        Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected) => thread.join().unwrap(),
    }
}

fn server() -> Server {
    async fn report(flow: Flow) -> Result<String, Failure> {
        loop {
            flow.progress(1, None, "on").await;
        }
    }
    async fn log(flow: Flow) -> Result<String, Failure> {
        loop {
            flow.log(mrtr_schema::LoggingLevel::Error, "on").await;
        }
    }
    let server = Server::builder("busy", "1.0.0").run_deadline(Duration::from_millis(200));
    server.tool(Tool::new("report", report)).tool(Tool::new("log", log)).build().unwrap()
}

#[test]
fn abandoned_calls_that_report_for_ever_leave_others_their_turns_and_end_by_their_deadline() {
    on_one_thread(async {
        let server = server();
        let (busy, other) = (Legacy::open(&server, "2025-11-25").await, Legacy::open(&server, "2025-11-25").await);
        let meta = json!({ "progressToken": 1 });
        for tool in ["report", "log"] {
            let mut call = busy.begin("tools/call", json!({ "name": tool, "_meta": meta })).await;
            assert!(call.next().await.unwrap().get("method").is_some(), "it begins to report");
            call.disconnect();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(other.request("ping", json!({})).await["result"], json!({}));
        until("both have ended", || server.detached() == 0).await;
    });
}

/// The number of questions that wait: more than a task of the runtime may take in one turn.
const MANY: usize = 300;

#[tokio::test]
async fn a_reader_that_finds_many_events_leaves_others_their_turns() {
    async fn ask(flow: Flow) -> Result<String, Failure> {
        let all = (0..MANY).map(|number| flow.elicit::<Name>(format!("name {number}"), "Who?"));
        flow.join_all(all).await?;
        Ok("all".to_owned())
    }
    let limits = SessionLimits { questions: MANY, ..SessionLimits::default() };
    let server = Server::builder("many", "1.0.0").session_limits(limits).tool(Tool::new("ask", ask)).build().unwrap();
    let client = Legacy::open(&server, "2025-11-25").await;
    let mut call = client.call("ask", json!({})).await;
    call.event().await.unwrap();
    let beginning = call.last_event.clone();
    for _ in 0..MANY {
        call.question().await;
    }
    call.disconnect();

    // All of them are there again for a client that resumes the stream at its beginning.
    let mut events = client.listen(beginning.as_deref()).unwrap();
    // A turn of its own, in which nothing was done before.
    tokio::task::yield_now().await;
    let other = tokio::spawn(async {});
    for _ in 0..MANY {
        events.next().await.unwrap();
    }
    assert!(other.is_finished(), "the reader took all {MANY} in one turn");
}
