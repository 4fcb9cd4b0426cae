//! Nothing spins in a session: abandoned calls that report progress for ever leave the thread to all others.

use std::future::Future;
use std::sync::mpsc;
use std::time::Duration;

use mrtr_server::{Failure, Flow, Server, Tool};
use serde_json::json;

use crate::client::{Legacy, until};

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
