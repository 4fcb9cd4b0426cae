//! The era that a message is of, and the version that a session gets.

use mrtr_server::testing::FixedClock;
use mrtr_server::transport::{HeaderClaim, Headers, LegacyReply};
use mrtr_server::{Context, Failure, Flow, Legacy as LegacyMode, Reply, Server, Tool};
use serde_json::{Value, json};

use crate::client::{Legacy, everything, initialize, send, text};
use crate::log::Log;
use crate::tools::{Outside, builder, greet, perhaps};

fn server(legacy: LegacyMode) -> Server {
    let hello = Tool::new("hello", async |_: Flow| Ok::<_, Failure>("Hello"));
    builder(&Outside::default(), &FixedClock::default())
        .legacy(legacy)
        .tool(hello)
        .tool(Tool::new("greet", greet))
        .tool(Tool::new("perhaps", perhaps))
        .build()
        .unwrap()
}

fn modern(method: &str, version: &str) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": { "_meta": meta } })
}

async fn sent(server: &Server, session: Option<&str>, version: &'static str, message: &Value) -> LegacyReply {
    let version = if version.is_empty() { HeaderClaim::Missing } else { HeaderClaim::Text(version.into()) };
    send(server, None, session, version, message).await
}

/// The error of a reply of the modern era.
fn modern_error(reply: LegacyReply) -> Value {
    match reply {
        LegacyReply::Modern(Reply::Message { body, .. }) => {
            serde_json::from_str::<Value>(&body).unwrap()["error"].clone()
        }
        reply => panic!("not of the modern era: {reply:?}"),
    }
}

#[tokio::test]
async fn a_session_gets_the_version_that_both_have() {
    let server = server(LegacyMode::Sessions);
    let versions = [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-06-18"),
        ("2024-11-05", "2025-06-18"),
        ("2026-07-28", "2025-11-25"),
        ("2030-01-01", "2025-11-25"),
    ];
    for (asked, given) in versions {
        assert_eq!(Legacy::open(&server, asked).await.opened["protocolVersion"], given, "{asked}");
    }
    let capabilities = &Legacy::open(&server, "2025-11-25").await.opened["capabilities"];
    assert_eq!(capabilities, &json!({ "tools": { "listChanged": true }, "logging": {} }));
}

#[tokio::test]
async fn a_version_in_the_metadata_is_modern_whatever_else_comes_with_it() {
    let server = server(LegacyMode::Sessions);
    let client = Legacy::open(&server, "2025-11-25").await;
    let listed = sent(&server, Some(&client.session), "", &modern("tools/list", "2026-07-28")).await;
    assert!(matches!(listed, LegacyReply::Modern(Reply::Message { error: None, .. })), "{listed:?}");
    for method in ["initialize", "ping"] {
        let reply = sent(&server, Some(&client.session), "", &modern(method, "2026-07-28")).await;
        assert_eq!(modern_error(reply)["code"], -32601, "{method}");
    }
    let error = modern_error(sent(&server, Some(&client.session), "", &modern("tools/list", "2025-11-25")).await);
    assert_eq!((&error["code"], &error["data"]["supported"]), (&json!(-32022), &json!(["2026-07-28"])));
}

#[tokio::test]
async fn without_a_version_and_a_session_the_versions_are_named() {
    let server = server(LegacyMode::Sessions);
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let error = modern_error(sent(&server, None, "", &list).await);
    assert_eq!(error["code"], -32602);
    for version in ["2026-07-28", "2025-11-25", "2025-06-18", "initialize"] {
        assert!(error["message"].as_str().unwrap().contains(version), "{error}");
    }
    let response = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
    assert_eq!(modern_error(sent(&server, None, "", &response).await)["code"], -32600, "a response needs a session");
    let unknown = sent(&server, Some("0123"), "", &list).await;
    assert!(matches!(unknown, LegacyReply::NoSession { .. }), "{unknown:?}");
}

#[tokio::test]
async fn the_version_header_of_a_session_is_the_negotiated_one_or_absent() {
    let server = server(LegacyMode::Sessions);
    let client = Legacy::open(&server, "2025-06-18").await;
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    for (version, is_taken) in [("", true), ("2025-06-18", true), ("2025-11-25", false), ("2026-07-28", false)] {
        let reply = sent(&server, Some(&client.session), version, &ping).await;
        let LegacyReply::Message { error, .. } = reply else { panic!("{reply:?}") };
        assert_eq!(error.is_none(), is_taken, "{version}");
    }
}

#[tokio::test]
async fn two_versions_in_one_request_are_refused_explained_and_logged() {
    let server = server(LegacyMode::Sessions);
    let headers = Headers {
        version: HeaderClaim::Text("2025-11-25".into()),
        method: HeaderClaim::Text("tools/list".into()),
        ..Headers::default()
    };
    let log = Log::start();
    let body = modern("tools/list", "2026-07-28").to_string();
    let Reply::Message { body, error } = server.handle(body.into(), Context::new().headers(headers)).await else {
        panic!("it is refused")
    };
    assert_eq!(error.unwrap().0.as_i64(), -32020);
    assert!(body.contains("it names 2025-11-25") && body.contains("session"), "{body}");
    let logged = log.text();
    assert!(logged.contains("two protocol versions") && logged.contains("2025-11-25"), "{logged}");
}

#[tokio::test]
async fn a_server_without_sessions_serves_what_asks_nothing() {
    let server = server(LegacyMode::Stateless);
    let LegacyReply::Message { body, .. } = sent(&server, None, "", &initialize("2025-11-25", &everything())).await
    else {
        panic!("no session is opened")
    };
    let opened = serde_json::from_str::<Value>(&body).unwrap()["result"].clone();
    assert_eq!(opened["protocolVersion"], "2025-11-25");
    assert_eq!(opened["capabilities"], json!({ "tools": {} }), "it tells of no changes");
    let mut answered = Vec::new();
    for tool in ["hello", "greet", "perhaps"] {
        let params = json!({ "name": tool, "arguments": {} });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let LegacyReply::Message { body, .. } = sent(&server, None, "2025-11-25", &call).await else {
            panic!("{tool}")
        };
        answered.push(serde_json::from_str::<Value>(&body).unwrap());
    }
    assert_eq!(text(&answered[0]), "Hello");
    assert_eq!(answered[1]["result"]["isError"], true);
    assert!(text(&answered[1]).contains("`one`") && text(&answered[1]).contains("no sessions"), "{answered:?}");
    assert_eq!(text(&answered[2]), "nobody", "an optional question is skipped");
    assert_eq!(server.sessions().open(), 0);
}

#[tokio::test]
async fn a_server_that_refuses_names_the_modern_version() {
    let server = server(LegacyMode::Refuse);
    let error = modern_error(sent(&server, None, "", &initialize("2025-11-25", &everything())).await);
    assert!(error["message"].as_str().unwrap().contains("2026-07-28"), "{error}");
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    assert_eq!(modern_error(sent(&server, Some("0123"), "", &list).await)["code"], -32602);
}

#[tokio::test]
async fn an_initialize_that_cannot_be_read_opens_nothing() {
    let server = server(LegacyMode::Sessions);
    for params in [json!({}), json!({ "protocolVersion": 7 }), json!({ "protocolVersion": "2025-11-25" })] {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        assert_eq!(modern_error(sent(&server, None, "", &message).await)["code"], -32602, "{params}");
    }
    assert_eq!(server.sessions().open(), 0);
}
