//! The end of a process that serves, on a signal: as any process, and as process 1 of a container.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a panic is the report")]

#[path = "../support/mod.rs"]
mod support;

mod process;

use std::process::Command;
use std::time::{Duration, Instant};

use mrtr_client::{Client, RoundOutcome};
use mrtr_http::HttpTransport;
use serde_json::json;

use process::{PROGRAM, Process};
use support::message::{Post, call, request};
use support::within;

#[tokio::test]
async fn told_to_end_it_answers_what_runs_and_hands_its_task_over_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = Process::start(folder.path(), &[("NOTICE_MS", "20")]);
    let mut waiting = first.connect().await;
    waiting.send(Post::of(&call("wait", json!({}))).text()).await;
    first.line("at the gate");
    let mut subscribed = first.connect().await;
    let listen = request("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
    subscribed.send(Post::of(&listen).text()).await;
    subscribed.head().await;
    subscribed.event().await.unwrap();
    let client = Client::builder(HttpTransport::new(&first.url()).unwrap()).build();
    let RoundOutcome::Task(task, _) = client.call_tool_once("pack", json!({})).await.unwrap() else { panic!() };
    first.line("packs");

    first.signal("TERM");
    first.line("shutting down: no new connections connections=");
    let last = within("the subscription's result", subscribed.event()).await.unwrap();
    assert!(last["result"].is_object(), "{last}");
    assert_eq!(subscribed.event().await, None);
    first.open_gate();
    assert_eq!(within("the answer", waiting.response()).await.status, 200);
    let address = first.address;
    let (status, log) = first.end();
    assert_eq!(status.code(), Some(0), "{log}");
    let told = [
        "INFO told to end; a second signal ends the process at once signal=\"SIGTERM\"",
        "INFO shutting down: not ready notice=20ms limit=60s",
        "INFO shutting down: no new connections connections=",
        "requests=1 subscriptions=1",
        "INFO shutting down: no requests are under way",
        "INFO shutting down: running tasks are done or handed over tasks=1",
        "INFO shut down",
    ];
    let mut rest = &*log;
    for words in told {
        let at = rest.find(words).unwrap_or_else(|| panic!("{words:?} is not told, or not in its place: {log}"));
        rest = &rest[at + words.len()..];
    }

    // The lease of the first process would have lasted for half a minute more.
    let begun = Instant::now();
    let second = Process::start(folder.path(), &[("ADDRESS", &address.to_string())]);
    let result = within("the task's result", client.resume(task)).await.unwrap();
    assert_eq!(result.text(), "packed by another, and shipped");
    assert!(begun.elapsed() < Duration::from_secs(20), "it took {:?}", begun.elapsed());
    second.signal("INT");
    assert_eq!(second.end().0.code(), Some(0));
}

#[tokio::test]
async fn readiness_fails_while_a_slow_request_is_served_and_a_second_signal_ends_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = Process::start(folder.path(), &[("NOTICE_MS", "50000")]);
    let mut waiting = process.connect().await;
    waiting.send(Post::of(&call("wait", json!({}))).text()).await;
    process.line("at the gate");
    assert_eq!(process.get("/readyz").await, (200, "ready\n".to_owned()));

    process.signal("INT");
    process.line("shutting down: not ready notice=50s limit=60s");
    assert_eq!(process.get("/readyz").await, (503, "shutting down\n".to_owned()));
    assert_eq!(process.get("/healthz").await, (200, "alive\n".to_owned()));
    let mut late = process.connect().await;
    late.send(Post::of(&call("hello", json!({}))).text()).await;
    assert_eq!(late.response().await.status, 200, "it serves what still comes");
    process.open_gate();
    assert_eq!(waiting.response().await.status, 200);

    let begun = Instant::now();
    process.signal("TERM");
    let (status, log) = process.end();
    assert_eq!(status.code(), Some(143), "{log}");
    assert!(begun.elapsed() < Duration::from_secs(25), "not when the notice is over, but after {:?}", begun.elapsed());
}

/// The system gives SIGTERM no default action for process 1, so a program without a handler does not end.
#[tokio::test]
async fn it_ends_on_sigterm_as_process_1() {
    let namespace = ["--pid", "--fork", "--kill-child", "--mount-proc"];
    let can = Command::new("unshare").args(namespace).arg("true").output();
    if !can.as_ref().is_ok_and(|output| output.status.success()) {
        let is_root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
        assert!(std::env::var_os("CI").is_none() || !is_root, "no namespace of processes can be had: {can:?}");
        eprintln!("left out: `unshare {}` does not work here, which needs root", namespace.join(" "));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut unshare = Command::new("unshare");
    unshare.args(namespace).arg(std::env::current_exe().unwrap());
    let mut process = Process::spawn(unshare, folder.path(), &[("IN_ONE_LINE", "1")]);
    process.line("process 1\n");
    let mut waiting = process.connect().await;
    waiting.send(Post::of(&call("wait", json!({}))).text()).await;
    process.line("at the gate");
    process.signal_child("TERM");
    process.line("shutting down: no new connections connections=");
    process.open_gate();
    assert_eq!(within("the answer", waiting.response()).await.status, 200);
    let (status, log) = process.end();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains("INFO shut down"), "{log}");
}

/// Not a test but the server, when this binary is run as one.
#[test]
fn server_process() {
    if std::env::var_os(PROGRAM).is_some() {
        process::serve();
    }
}
