//! Clients of the legacy era, on the same streams: a session from `initialize` on, and its questions as requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mrtr_server::{Failure, Flow, Legacy, Server, Tool};
use mrtr_stdio::Stdio;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::peer::{Peer, cancelled, request};

#[derive(Deserialize, JsonSchema)]
struct Port {
    name: String,
}

/// Books after it has asked where to, and counts what it booked.
fn harbour(booked: &Arc<AtomicUsize>) -> mrtr_server::Builder {
    let count = Arc::clone(booked);
    let book = move |flow: Flow| {
        let count = Arc::clone(&count);
        async move {
            let port: Port = flow.elicit("port", "Where to?").await?;
            flow.step("book", async { Ok::<_, Failure>(count.fetch_add(1, Ordering::SeqCst)) }).await?;
            let back: Port = flow.elicit("back", "And back to?").await?;
            Ok::<_, Failure>(format!("{} and back to {}", port.name, back.name))
        }
    };
    let hello = async |_: Flow| Ok::<_, Failure>("hello");
    Server::builder("harbour", "1.0.0").tool(Tool::new("book", book)).tool(Tool::new("hello", hello))
}

/// A request as clients of the legacy era send it.
#[expect(clippy::needless_pass_by_value, reason = "as `request` takes them")]
fn plain(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params })
}

fn call(id: impl Into<Value>, tool: &str) -> Value {
    plain(id, "tools/call", json!({ "name": tool, "arguments": {} }))
}

async fn initialize(peer: &mut Peer, version: &str) -> Value {
    let client = json!({ "name": "editor", "version": "1.0.0" });
    let params = json!({ "protocolVersion": version, "capabilities": { "elicitation": {} }, "clientInfo": client });
    peer.send(&plain("init", "initialize", params)).await;
    let result = peer.hear().await["result"].take();
    peer.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    result
}

/// Answers a question that was asked.
async fn answer(peer: &mut Peer, question: &Value, name: &str) {
    let result = json!({ "action": "accept", "content": { "name": name } });
    peer.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result })).await;
}

#[tokio::test]
async fn a_legacy_client_is_asked_by_requests_and_steps_run_once() {
    for version in ["2025-11-25", "2025-06-18"] {
        let booked = Arc::default();
        let mut peer = Peer::new(harbour(&booked).build().unwrap());
        assert_eq!(initialize(&mut peer, version).await["protocolVersion"], version);
        peer.send(&plain(1, "tools/list", json!({}))).await;
        assert_eq!(peer.hear().await["result"]["tools"][0]["name"], "book");
        peer.send(&call(2, "book")).await;
        for name in ["Kirkwall", "Stromness"] {
            let question = peer.hear().await;
            assert_eq!(question["method"], "elicitation/create", "{question}");
            answer(&mut peer, &question, name).await;
        }
        let reply = peer.hear().await;
        assert_eq!(
            (&reply["id"], &reply["result"]["content"][0]["text"]),
            (&json!(2), &json!("Kirkwall and back to Stromness"))
        );
        assert_eq!(booked.load(Ordering::SeqCst), 1);
        assert!(reply["result"].get("resultType").is_none());
        assert_eq!(peer.end().await, "");
    }
}

#[tokio::test]
async fn one_process_serves_both_eras() {
    let mut peer = Peer::new(harbour(&Arc::default()).build().unwrap());
    // Some clients look for a modern server first, more than once.
    for id in [1, 2] {
        peer.send(&request(id, "server/discover", json!({}))).await;
        assert_eq!(peer.hear().await["result"]["supportedVersions"], json!(["2026-07-28"]));
    }
    peer.send(&call(3, "hello")).await;
    let refused = peer.hear().await;
    assert_eq!(refused["error"]["code"], -32602, "there is no session yet");
    assert!(refused["error"]["message"].as_str().unwrap().contains("2025-11-25"), "{refused}");
    initialize(&mut peer, "2025-11-25").await;
    peer.send(&call(4, "hello")).await;
    let legacy = peer.hear().await;
    assert!(legacy["result"]["content"].is_array() && legacy["result"].get("resultType").is_none(), "{legacy}");
    peer.send(&request(5, "tools/call", json!({ "name": "hello", "arguments": {} }))).await;
    assert_eq!(peer.hear().await["result"]["resultType"], "complete", "what says its version is modern");
}

#[tokio::test]
async fn questions_of_calls_at_once_are_told_apart() {
    let mut peer = Peer::new(harbour(&Arc::default()).build().unwrap());
    initialize(&mut peer, "2025-11-25").await;
    peer.send(&call("a", "book")).await;
    let of_a = peer.hear().await;
    peer.send(&call("b", "book")).await;
    let of_b = peer.hear().await;
    assert_ne!(of_a["id"], of_b["id"]);
    answer(&mut peer, &of_b, "Bergen").await;
    let next_of_b = peer.hear().await;
    answer(&mut peer, &next_of_b, "Bergen").await;
    assert_eq!(peer.hear().await["id"], "b", "while the other one is open");
    answer(&mut peer, &of_a, "Aberdeen").await;
    let next_of_a = peer.hear().await;
    answer(&mut peer, &next_of_a, "Aberdeen").await;
    assert_eq!(peer.hear().await["result"]["content"][0]["text"], "Aberdeen and back to Aberdeen");
}

#[tokio::test]
async fn a_call_that_is_cancelled_takes_its_question_back() {
    let mut peer = Peer::new(harbour(&Arc::default()).build().unwrap());
    initialize(&mut peer, "2025-11-25").await;
    peer.send(&call(1, "book")).await;
    let question = peer.hear().await;
    peer.send(&cancelled(1)).await;
    let taken_back = peer.hear().await;
    assert_eq!(taken_back["method"], "notifications/cancelled");
    assert_eq!(taken_back["params"]["requestId"], question["id"]);
    answer(&mut peer, &question, "too late").await;
    peer.send(&plain(2, "ping", json!({}))).await;
    assert_eq!(peer.hear().await["id"], 2, "and nothing more is said of it");
}

/// The cancellation stands on the line after the call, and both come in one piece.
#[tokio::test]
async fn a_cancellation_right_behind_its_call_finds_it() {
    let waiting = async |_: Flow| std::future::pending::<Result<&str, Failure>>().await;
    let server = Server::builder("slow", "1.0.0").tool(Tool::new("wait", waiting)).build().unwrap();
    let mut peer = Peer::new(server);
    initialize(&mut peer, "2025-11-25").await;
    peer.say(&format!("{}\n{}", call(1, "wait"), cancelled(1))).await;
    peer.write.shutdown().await.unwrap();
    let begun = std::time::Instant::now();
    peer.end().await;
    assert!(begun.elapsed() < Stdio::DEFAULT_SHUTDOWN_TIMEOUT, "the end has not waited for it");
}

#[tokio::test]
async fn a_session_hears_of_changes() {
    let server = harbour(&Arc::default()).build().unwrap();
    let mut peer = Peer::new(server.clone());
    initialize(&mut peer, "2025-11-25").await;
    // When this has its answer, the listening task has had its turn.
    peer.send(&plain(1, "ping", json!({}))).await;
    peer.hear().await;
    server.changes().tools_changed();
    assert_eq!(peer.hear().await["method"], "notifications/tools/list_changed");
}

#[tokio::test(start_paused = true)]
async fn a_session_ends_with_its_connection_and_open_questions_get_a_moment() {
    let server = harbour(&Arc::default()).build().unwrap();
    let mut peer = Peer::of(Stdio::new(server.clone()).shutdown_timeout(Duration::from_secs(3)), 1 << 16);
    initialize(&mut peer, "2025-11-25").await;
    peer.send(&call(1, "book")).await;
    assert_eq!(peer.hear().await["method"], "elicitation/create");
    assert_eq!(server.sessions().open(), 1);
    let begun = tokio::time::Instant::now();
    peer.end().await;
    assert_eq!((begun.elapsed().as_secs(), server.sessions().open()), (3, 0));
}

#[tokio::test]
async fn another_initialize_is_another_session() {
    let server = harbour(&Arc::default()).build().unwrap();
    let mut peer = Peer::new(server.clone());
    initialize(&mut peer, "2025-11-25").await;
    peer.send(&call(1, "book")).await;
    peer.hear().await;
    assert_eq!(initialize(&mut peer, "2025-06-18").await["protocolVersion"], "2025-06-18");
    assert_eq!(server.sessions().open(), 1, "the first one is over");
    peer.send(&call(1, "hello")).await;
    assert_eq!(peer.hear().await["result"]["content"][0]["text"], "hello", "and its call with it");
}

#[tokio::test]
async fn a_server_without_sessions_serves_plain_tools_or_says_its_versions() {
    let mut peer = Peer::new(harbour(&Arc::default()).legacy(Legacy::Stateless).build().unwrap());
    assert_eq!(initialize(&mut peer, "2025-11-25").await["protocolVersion"], "2025-11-25");
    peer.send(&call(1, "hello")).await;
    assert_eq!(peer.hear().await["result"]["content"][0]["text"], "hello");
    peer.send(&call(2, "book")).await;
    assert_eq!(peer.hear().await["result"]["isError"], true);

    let mut peer = Peer::new(harbour(&Arc::default()).legacy(Legacy::Refuse).build().unwrap());
    peer.send(&plain(1, "initialize", json!({ "protocolVersion": "2025-11-25" }))).await;
    assert!(peer.hear().await["error"]["message"].as_str().unwrap().contains("2026-07-28"));
    peer.send(&request(2, "server/discover", json!({}))).await;
    assert!(peer.hear().await["result"].is_object());
}

/// Twice as many calls as may run at a time, each with an open question: none of them holds a permit while it waits.
#[tokio::test]
async fn a_call_that_waits_for_its_client_does_not_count_as_running() {
    let mut peer = Peer::of(Stdio::new(harbour(&Arc::default()).build().unwrap()).concurrency(2), 1 << 16);
    initialize(&mut peer, "2025-11-25").await;
    for id in 0..4 {
        peer.send(&call(id, "book")).await;
        let question = peer.hear().await;
        assert_eq!(question["method"], "elicitation/create", "{question}");
    }
}
