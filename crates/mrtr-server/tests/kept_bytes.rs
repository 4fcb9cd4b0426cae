//! The bytes that sessions and subscriptions keep are counted as they are kept: at least three quarters of what they
//! really take, for shapes that a hostile client would choose.
//!
//! A test binary of its own, with one test, so that nothing else is in its memory.

#![allow(clippy::unwrap_used, reason = "a panic is the report")]
#![cfg(target_os = "linux")]

use std::fmt::Write as _;

use futures_util::StreamExt;
use mrtr_schema::MOST_MEMBERS;
use mrtr_server::transport::{HeaderClaim, LegacyReply, Received, ReplyStream, SessionStream};
use mrtr_server::{Context, Failure, Flow, Reply, Resource, Server, SessionLimits, Tool};
use serde_json::{Value, json};

fn server() -> Server {
    let done = async |_: Flow| Ok::<_, Failure>("done");
    let limits = SessionLimits { sessions: 1 << 20, bytes: 1 << 32, ..SessionLimits::default() };
    Server::builder("test", "1")
        .session_limits(limits)
        .resource(Resource::new("x:a", "a", done))
        .tool(Tool::new("count", count))
        .build()
        .unwrap()
}

/// Has many short entries in its journal when it asks.
async fn count(flow: Flow) -> Result<String, Failure> {
    for number in 0..STEPS {
        flow.step(format!("{number:x}"), async move { Ok::<_, Failure>(number) }).await?;
    }
    Ok(format!("{} roots", flow.roots("roots").await?.len()))
}

const STEPS: usize = 2000;

/// A call of a session, up to its question.
async fn call(server: &Server) -> SessionStream {
    let LegacyReply::Opened { session, .. } = open(server, r#"{"roots":{}}"#).await else { panic!("it opens") };
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count"}}"#;
    let Received::Legacy(message) = server.receive(message.into(), Context::new()).await else { panic!("legacy") };
    let reply = message.answer(Some(session.as_str()), &HeaderClaim::Missing).await;
    let LegacyReply::Events(mut events) = reply else { panic!("it asks") };
    while !events.next().await.expect("it asks").message.is_some_and(|text| text.contains("roots/list")) {}
    events
}

/// The memory that this process takes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

/// An object of so many members, each as short as can be.
fn members(many: usize) -> String {
    let mut text = String::from("{");
    for number in 0..many {
        write!(text, r#"{}"{number:x}":{{}}"#, if number == 0 { "" } else { "," }).unwrap();
    }
    text + "}"
}

fn initialize(capabilities: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"2025-11-25",
        "capabilities":{capabilities},"clientInfo":{{"name":"n","version":"1"}}}}}}"#
    )
}

async fn open(server: &Server, capabilities: &str) -> LegacyReply {
    let message = initialize(capabilities);
    let Received::Legacy(message) = server.receive(message.into(), Context::new()).await else { panic!("legacy") };
    message.answer(None, &HeaderClaim::Missing).await
}

fn modern(method: &str, params: &str) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = if params.is_empty() { String::new() } else { format!("{params},") };
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}"_meta":{meta}}}}}"#)
}

fn filter(uris: usize, tasks: usize) -> String {
    let names = |count: usize, scheme: &str| {
        (0..count).map(|number| format!("\"{scheme}{number:x}\"")).collect::<Vec<_>>().join(",")
    };
    format!(r#""notifications":{{"resourceSubscriptions":[{}],"taskIds":[{}]}}"#, names(uris, "x:"), names(tasks, ""))
}

async fn subscribe(server: &Server, filter: &str) -> Result<ReplyStream, Value> {
    match server.handle(modern("subscriptions/listen", filter).into(), Context::new()).await {
        Reply::Subscription(mut messages) => {
            messages.next().await.expect("it is acknowledged");
            Ok(messages)
        }
        other => Err(serde_json::from_str(&other.last().await.unwrap()).unwrap()),
    }
}

/// Makes sure that at least three quarters of what something takes were counted, and not several times as much.
fn check(what: &str, counted: usize, taken: usize) {
    println!("{what}: {} KiB counted, {} KiB taken", counted >> 10, taken >> 10);
    assert!(counted >= taken / 4 * 3, "{what}: {counted} bytes were counted, and {taken} are kept");
    assert!(counted <= taken * 3, "{what}: {counted} bytes were counted, and only {taken} are kept");
}

#[tokio::test]
async fn what_is_kept_is_counted_as_it_is_kept() {
    let server = server();
    let shapes = [
        ("nothing declared", "{}".to_owned(), 5000),
        ("experimental", format!(r#"{{"experimental":{}}}"#, members(MOST_MEMBERS)), 100),
        ("unknown capabilities", members(MOST_MEMBERS), 100),
        ("unknown members of a capability", format!(r#"{{"elicitation":{}}}"#, members(MOST_MEMBERS)), 100),
        ("one long text", format!(r#"{{"experimental":{{"x":{{"y":"{}"}}}}}}"#, "z".repeat(1 << 20)), 40),
    ];
    for (what, capabilities, sessions) in shapes {
        // What the first ones take for good is not counted against the rest.
        for _ in 0..sessions / 10 {
            open(&server, &capabilities).await;
        }
        let (before, counted) = (resident(), server.sessions().bytes());
        for _ in 0..sessions {
            assert!(matches!(open(&server, &capabilities).await, LegacyReply::Opened { .. }), "{what}");
        }
        check(what, server.sessions().bytes() - counted, resident().saturating_sub(before));
    }
    let mut subscriptions = Vec::with_capacity(4000);
    for (what, filter, count) in [("no names", filter(0, 0), 3000), ("short URIs", filter(MOST_MEMBERS, 0), 500)] {
        for _ in 0..count / 10 {
            subscriptions.push(subscribe(&server, &filter).await.unwrap());
        }
        let before = resident();
        let mut counted = 0;
        for _ in 0..count {
            let subscription = subscribe(&server, &filter).await.unwrap();
            counted += subscription.kept_bytes();
            subscriptions.push(subscription);
        }
        check(what, counted, resident().saturating_sub(before));
    }
    let mut calls = Vec::with_capacity(120);
    for _ in 0..10 {
        calls.push(call(&server).await);
    }
    let (before, counted) = (resident(), server.sessions().bytes());
    for _ in 0..100 {
        calls.push(call(&server).await);
    }
    check("journals in waiting", server.sessions().bytes() - counted, resident().saturating_sub(before));
    refuses_what_has_too_many_members(&server).await;
}

/// The server keeps nothing of an object with too many members, and the error says how many there may be.
async fn refuses_what_has_too_many_members(server: &Server) {
    let open_before = server.sessions().open();
    let is_refused = |text: &str| {
        let error = serde_json::from_str::<Value>(text).unwrap()["error"].clone();
        assert_eq!(error["code"], -32602, "{error}");
        assert!(error["message"].as_str().unwrap().contains("1024"), "{error}");
    };
    for many in [MOST_MEMBERS + 1, 50_000] {
        for capabilities in [format!(r#"{{"experimental":{}}}"#, members(many)), members(many)] {
            let LegacyReply::Modern(reply) = open(server, &capabilities).await else { panic!("it is refused") };
            is_refused(&reply.last().await.unwrap());
        }
        let object = members(many);
        let inner = &object[1..object.len() - 1];
        for message in [
            modern("server/discover", inner),
            modern("server/discover", "").replace(r#""_meta":{"#, &format!(r#""_meta":{{{inner},"#)),
        ] {
            is_refused(&server.handle(message.into(), Context::new()).await.last().await.unwrap());
        }
    }
    for filter in [filter(1025, 0), filter(0, 1025), filter(512, 513), filter(50_000, 0)] {
        is_refused(&subscribe(server, &filter).await.unwrap_err().to_string());
    }
    assert_eq!(server.sessions().open(), open_before);
}
