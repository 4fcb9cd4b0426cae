//! A client finds out which era a server speaks: once, at no cost where it is the modern one, and never by one code.

use mrtr_client::{CallError, CallErrorKind, Client, ObservedTransport, WireMessage};
use mrtr_schema::{Era, Revision};
use mrtr_server::Legacy;
use serde_json::json;

use crate::front::{Front, Refusal};
use crate::support::scripted::{Answer, Scripted};
use crate::tracker::{Outside, answering, builder, server, text};

const JSON: &str = "application/json";

/// The answers of servers of the legacy era to what they do not understand: each in its own way.
const REFUSALS: [Refusal; 9] = [
    (400, "text/plain", "Bad Request: Missing session ID"),
    (400, JSON, r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Missing session ID"}}"#),
    (
        400,
        JSON,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}"#,
    ),
    (400, JSON, r#"{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"Invalid request parameters"}}"#),
    (
        400,
        JSON,
        r#"{"jsonrpc":"2.0","id":$ID,"error":{"code":-32022,"message":"-","data":{"requested":"-","supported":["2025-11-25"]}}}"#,
    ),
    (404, JSON, r#"{"detail":"Not Found"}"#),
    (404, JSON, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}"#),
    (405, "text/plain", ""),
    (422, "text/plain", "Unexpected message, expect initialize request"),
];

#[tokio::test]
async fn er_4_a_server_that_refuses_in_its_own_way_is_called_in_a_session() {
    for refusal in REFUSALS {
        let front = Front::start(server(&Outside::default()), Some(refusal)).await;
        let client = front.client();
        assert_eq!(client.era(), None);
        assert_eq!(text(&client.call_tool("hello", json!({})).await.unwrap()), "Hello", "{refusal:?}");
        assert_eq!((client.era(), client.revision()), (Some(Era::Legacy), Revision::V2025_11_25));
        client.call_tool("hello", json!({})).await.unwrap();
        let began =
            ["tools/call", "server/discover", "initialize", "notifications/initialized", "tools/call", "tools/call"];
        assert_eq!(front.kinds(), began, "{refusal:?}");
        let seen = front.seen();
        assert!(seen[2].session.is_none() && seen[2].version.is_none(), "{:?}", seen[2]);
        assert!(seen[3..].iter().all(|seen| seen.session.is_some() && seen.version.as_deref() == Some("2025-11-25")));
    }
}

#[tokio::test]
async fn er_4_a_request_that_only_reads_goes_on_in_a_session_whatever_the_status() {
    for code in [-32601, -32602, -32000, 7] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":$ID,"error":{{"code":{code},"message":"no"}}}}"#);
        let front = Front::start(server(&Outside::default()), Some((200, JSON, body.leak()))).await;
        assert_eq!(front.client().list_tools().await.unwrap().len(), 5, "{code}");
        let client = front.client();
        let offer = client.discover().await.unwrap();
        assert_eq!((offer.supported_versions, client.era()), (vec!["2025-11-25".to_owned()], Some(Era::Legacy)));
    }
}

#[tokio::test]
async fn er_4_a_modern_server_is_called_at_the_cost_of_the_call() {
    for legacy in [Legacy::Sessions, Legacy::Refuse, Legacy::Stateless] {
        let front = Front::start(builder(&Outside::default()).legacy(legacy).build().unwrap(), None).await;
        let client = front.client();
        client.call_tool("hello", json!({})).await.unwrap();
        assert_eq!(client.era(), Some(Era::Modern));
        assert!(client.call_tool("no_such_tool", json!({})).await.is_err());
        assert_eq!(front.kinds(), ["tools/call", "tools/call"], "{legacy:?}");
    }
}

/// Both eras answer this error, and a server of both eras would accept `initialize`.
#[tokio::test]
async fn er_4_an_error_of_a_modern_server_moves_no_client_into_a_session() {
    let front = Front::start(server(&Outside::default()), None).await;
    let client = front.client();
    for _ in 0..2 {
        let error = client.call_tool("no_such_tool", json!({})).await.unwrap_err();
        assert!(matches!(&error.kind, CallErrorKind::Server { error, .. } if error.code.as_i64() == -32602), "{error}");
    }
    assert_eq!(client.era(), Some(Era::Modern));
    assert_eq!(front.kinds(), ["tools/call", "server/discover", "tools/call"], "it is found out once");
}

#[tokio::test]
async fn er_4_no_fallback_after_a_recognised_modern_error() {
    for error in [
        json!({ "code": -32020, "message": "header mismatch" }),
        json!({ "code": -32021, "message": "sampling", "data": { "requiredCapabilities": { "sampling": {} } } }),
        json!({ "code": -32022, "message": "version", "data": { "requested": "2026-07-28", "supported": ["2027-01-01"] } }),
    ] {
        let said = error.clone();
        let scripted = Scripted::start(move |_, asked| {
            Answer::with(400, "Content-Type: application/json\r\n", &asked.reply(json!({ "error": said })))
        })
        .await;
        let client = Client::builder(mrtr_http::HttpTransport::new(&scripted.url()).unwrap()).build();
        assert!(matches!(
            client.get_prompt("p", json!({})).await,
            Err(CallError { kind: CallErrorKind::Server { .. } | CallErrorKind::NoHandler { .. }, .. })
        ));
        assert_eq!((client.era(), scripted.asked().len()), (Some(Era::Modern), 1), "{error}");
    }
}

/// The first answer says nothing of the era, so the client asks the server for its versions, and speaks the latest that
/// both have from then on.
#[tokio::test]
async fn er_4_the_version_is_chosen_from_what_the_server_says_it_has() {
    for (versions, chosen) in [
        (json!(["draft-2026-02", "sep-2322", "2099-01-01"]), Revision::Sep2322),
        (json!(["sep-2322", "draft-2026-02", "2025-11-25"]), Revision::Sep2322),
        (json!(["draft-2026-02"]), Revision::Draft202602),
        (json!(["draft-2026-02", "2026-07-28"]), Revision::V2026_07_28),
        (json!(["2099-01-01"]), Revision::V2026_07_28),
    ] {
        let said = versions.clone();
        let scripted = Scripted::start(move |number, asked| match asked.message["method"].as_str() {
            Some("server/discover") => Answer::json(&asked.reply(json!({ "result": {
                "resultType": "complete", "supportedVersions": said, "capabilities": {}, "ttlMs": 0,
                "cacheScope": "private" } }))),
            _ if number == 1 => {
                Answer::json(&asked.reply(json!({ "error": { "code": -32000, "message": "not now" } })))
            }
            _ => Answer::json(&asked.reply(json!({ "result": { "resultType": "complete", "content": [] } }))),
        })
        .await;
        let client = Client::builder(mrtr_http::HttpTransport::new(&scripted.url()).unwrap()).build();
        assert!(client.call_tool("hello", json!({})).await.is_err());
        assert_eq!((client.era(), client.revision()), (Some(Era::Modern), chosen), "{versions}");
        client.call_tool("hello", json!({})).await.unwrap();
        let asked = scripted.asked();
        let version = &asked[2].message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
        let is_said = chosen == Revision::V2026_07_28;
        assert_eq!((asked.len(), version.is_string()), (3, is_said), "only the published one is said: {versions}");
    }
}

/// A server without sessions may run what it does not quite understand, and fail in it.
#[tokio::test]
async fn er_4_what_a_server_may_have_run_is_not_sent_again() {
    let scripted = Scripted::start(|_, asked| {
        let method = asked.message["method"].as_str().unwrap();
        match method {
            "initialize" => Answer::json(&asked.reply(json!({ "result": {
                "protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": { "name": "s", "version": "1" } } }))),
            "tools/call" if asked.header("mcp-protocol-version") == Some("2025-06-18") => {
                Answer::json(&asked.reply(json!({ "result": { "content": [{ "type": "text", "text": "charged" }] } })))
            }
            "tools/call" | "server/discover" => {
                Answer::json(&asked.reply(json!({ "error": { "code": -32603, "message": "failed half-way" } })))
            }
            _ => Answer::with(202, "", ""),
        }
    })
    .await;
    let client = Client::builder(mrtr_http::HttpTransport::new(&scripted.url()).unwrap()).build();
    let error = client.call_tool("charge", json!({})).await.unwrap_err();
    assert!(error.to_string().contains("failed half-way"), "{error}");
    let calls = || scripted.asked().iter().filter(|asked| asked.message["method"] == "tools/call").count();
    assert_eq!((calls(), client.era()), (1, Some(Era::Legacy)), "it is known for the next one");
    assert_eq!(text(&client.call_tool("charge", json!({})).await.unwrap()), "charged");
    assert_eq!((calls(), client.revision()), (2, Revision::V2025_06_18));
}

#[tokio::test]
async fn er_4_clients_that_share_a_transport_agree() {
    let front = Front::start(server(&Outside::default()), Some(REFUSALS[0])).await;
    let transport = front.transport();
    Client::builder(transport.clone()).build().list_tools().await.unwrap();
    let before = front.kinds().len();
    let other = answering(Client::builder(transport)).build();
    assert_eq!(other.era(), Some(Era::Legacy));
    other.list_tools().await.unwrap();
    let kinds: Vec<_> = front.kinds().split_off(before).into_iter().filter(|kind| kind != "DELETE").collect();
    assert_eq!(kinds, ["initialize", "notifications/initialized", "tools/list"]);
}

#[tokio::test]
async fn er_4_calls_that_begin_at_once_begin_one_session() {
    let front = Front::start(server(&Outside::default()), Some(REFUSALS[0])).await;
    let client = front.client();
    let calls = (0..10).map(|_| client.call_tool("hello", json!({})));
    for result in futures_util::future::join_all(calls).await {
        assert_eq!(text(&result.unwrap()), "Hello");
    }
    assert_eq!((front.count("initialize"), front.count("server/discover")), (1, 1));
}

#[tokio::test]
async fn er_4_an_era_can_be_forced() {
    let front = Front::start(server(&Outside::default()), None).await;
    let legacy = answering(Client::builder(front.transport())).revision(Revision::V2025_06_18).build();
    assert_eq!((legacy.era(), legacy.revision()), (Some(Era::Legacy), Revision::V2025_06_18));
    legacy.call_tool("hello", json!({})).await.unwrap();
    assert_eq!(front.kinds(), ["initialize", "notifications/initialized", "tools/call"]);

    let old = Front::start(server(&Outside::default()), Some(REFUSALS[0])).await;
    let modern = answering(Client::builder(old.transport())).revision(Revision::V2026_07_28).build();
    let error = modern.call_tool("hello", json!({})).await.unwrap_err();
    assert!(error.to_string().contains("Missing session ID"), "the server's reason is shown: {error}");
    assert_eq!(old.kinds(), ["tools/call"]);
}

/// A wrong address answers anything, and none of it is an MCP server's.
#[tokio::test]
async fn er_4_what_answers_neither_era_is_told_by_its_first_answer() {
    let scripted =
        Scripted::start(|_, _| Answer::with(404, "Content-Type: text/html\r\n", "<h1>Nothing here</h1>")).await;
    let client = Client::builder(mrtr_http::HttpTransport::new(&scripted.url()).unwrap()).build();
    let error = client.call_tool("hello", json!({})).await.unwrap_err();
    assert!(error.to_string().starts_with("there is no MCP server at http://127.0.0.1"), "{error}");
    assert_eq!((client.era(), scripted.asked().len()), (None, 3));
}

#[tokio::test]
async fn all_of_it_is_shown_to_an_observer() {
    let front = Front::start(server(&Outside::default()), Some(REFUSALS[0])).await;
    let (show, mut shown) = tokio::sync::mpsc::unbounded_channel();
    let transport = ObservedTransport::new(front.transport(), move |message: WireMessage<'_>| {
        let _ = show.send(match message {
            WireMessage::Request(text) => {
                format!("> {}", serde_json::from_str::<serde_json::Value>(text).unwrap()["method"])
            }
            WireMessage::OneWay(_) => "> one way".to_owned(),
            WireMessage::Question(request) => format!("< {}", request.method),
            WireMessage::Response(_) => "< response".to_owned(),
            WireMessage::Notification(notification) => format!("< {}", notification.method),
            WireMessage::Failure(error) => format!("! {}", error.status().unwrap()),
        });
    });
    let client = answering(Client::builder(transport)).build();
    client.call_tool("update_work_item", json!({ "workItemId": 4522 })).await.unwrap();
    let mut all = Vec::new();
    while let Ok(line) = shown.try_recv() {
        all.push(line);
    }
    assert_eq!(
        all,
        [
            "> \"tools/call\"",
            "! 400",
            "> \"server/discover\"",
            "! 400",
            "> \"initialize\"",
            "< response",
            "> one way",
            "> \"tools/call\"",
            "< elicitation/create",
            "> one way",
            "< elicitation/create",
            "> one way",
            "< response",
        ]
    );
}
