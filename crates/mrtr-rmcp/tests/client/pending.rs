//! A call that is put down here and picked up by another process.

use std::process::Command;
use std::sync::atomic::Ordering;

use mrtr_client::{CallErrorKind, Client, PendingCall, RoundOutcome};
use mrtr_rmcp::RmcpTransport;
use serde_json::json;

use crate::desk::{Desk, serve, url, visit};
use crate::rounds::answer;

const SAVED: &str = "MRTR_RMCP_SAVED_CALL";
const SERVER: &str = "MRTR_RMCP_SERVER";

#[tokio::test]
async fn a_call_that_was_put_down_is_resumed_in_another_process() {
    let desk = Desk::default();
    let server = url(serve(desk.clone()).await);
    let rmcp = visit(&server).await;
    // It answers the first question, and is then put down.
    let client = Client::builder(RmcpTransport::new(&server, rmcp.peer().clone())).on_elicit(answer).build();
    let RoundOutcome::Asked(mut pending) = client.call_tool_once("book", json!({})).await.expect("it is answered")
    else {
        panic!("it asks")
    };
    pending.accept("from", &json!({ "city": "Tromsø" })).expect("it fits the form");
    let RoundOutcome::Asked(pending) = client.advance(pending).await.expect("it is answered") else {
        panic!("it asks")
    };
    rmcp.cancel().await.expect("it ends");
    let folder = tempfile::tempdir().expect("there is room");
    let saved = folder.path().join("call.json");
    std::fs::write(&saved, serde_json::to_vec(&pending).expect("it is data")).expect("there is room");

    let mut other = Command::new(std::env::current_exe().expect("it has a name"));
    other.args(["--exact", "pending::the_other_process", "--nocapture"]).env(SAVED, &saved).env(SERVER, &server);
    let output = tokio::task::spawn_blocking(move || other.output()).await.expect("it runs").expect("it starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}");
    assert!(printed.contains("booking 1: Tromsø to Bergen, Monday"), "{printed}");
    assert_eq!(desk.booked.load(Ordering::SeqCst), 1);

    // The call does not go on at another server, whatever name that server gives itself.
    let elsewhere = visit(&server).await;
    let client = Client::builder(RmcpTransport::new("https://other.example.com", elsewhere.peer().clone())).build();
    let error = client.resume(pending).await.expect_err("it is another server");
    assert!(matches!(error.kind, CallErrorKind::OtherServer { .. }), "{error:?}");
}

/// Does nothing unless the test above has started it.
#[tokio::test]
async fn the_other_process() {
    let (Ok(saved), Ok(server)) = (std::env::var(SAVED), std::env::var(SERVER)) else { return };
    let saved = std::fs::read(saved).expect("it is there");
    let pending: PendingCall = serde_json::from_slice(&saved).expect("it is a call");
    let rmcp = visit(&server).await;
    let client = Client::builder(RmcpTransport::new(&server, rmcp.peer().clone())).on_elicit(answer).build();
    println!("{}", client.resume(pending).await.expect("it is answered").text());
}
