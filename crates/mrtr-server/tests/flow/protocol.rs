//! The order in which a message is checked, and the code of each refusal.

use mrtr_schema::Revision;
use mrtr_server::transport::{HeaderClaim, Headers};
use mrtr_server::{Context, Failure, Flow, Reply, Server, Tool};
use serde_json::{Value, json};

fn server() -> Server {
    let tool = Tool::new("greet", async |_: Flow| Ok::<_, Failure>("hello"));
    Server::builder("test", "1").tool(tool).build().unwrap()
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn request(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params })
}

fn greet(meta: &Value) -> Value {
    request("tools/call", &json!({ "name": "greet", "arguments": {}, "_meta": meta }))
}

fn headers(version: &str, method: &str, name: &str) -> Headers<'static> {
    let claim = |text: &str| match text {
        "" => HeaderClaim::Missing,
        "?" => HeaderClaim::Unreadable,
        text => HeaderClaim::Text(text.to_owned().into()),
    };
    Headers { version: claim(version), method: claim(method), name: claim(name), ..Headers::default() }
}

async fn code(message: &Value, context: Context<'_>) -> Option<i64> {
    let reply = server().handle_value(message.clone(), context).await.unwrap();
    if reply.get("error").is_some() {
        assert_eq!(reply["id"], 7, "{reply}");
    }
    reply["error"]["code"].as_i64()
}

#[tokio::test]
async fn what_is_no_request_is_refused() {
    for (body, expected, id) in [
        ("{", -32700, Value::Null),
        ("[]", -32600, Value::Null),
        (r#"[{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}]"#, -32600, Value::Null),
        ("7", -32600, Value::Null),
        (r#"{"jsonrpc": "1.0", "id": 1, "method": "tools/list"}"#, -32600, json!(1)),
        (r#"{"jsonrpc": "2.0", "id": 1, "result": {}}"#, -32600, json!(1)),
        (r#"{"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x"}}"#, -32600, json!(1)),
    ] {
        let reply = server().handle(body.into(), Context::new()).await;
        let Reply::Message { body: text, error } = &reply else { panic!("{body} was accepted") };
        let message: Value = serde_json::from_str(text).unwrap();
        assert_eq!(error.map(|(code, _)| code.as_i64()), Some(expected), "{body}: {text}");
        assert_eq!((&message["error"]["code"], &message["id"]), (&json!(expected), &id), "{body}: {text}");
    }
}

#[tokio::test]
async fn a_notification_is_not_answered() {
    let reply = server().handle(r#"{"jsonrpc": "2.0", "method": "notifications/x"}"#.into(), Context::new()).await;
    assert!(matches!(reply, Reply::Accepted));
}

#[tokio::test]
async fn metadata_is_checked_in_order() {
    let version = "io.modelcontextprotocol/protocolVersion";
    let context = Context::new;
    assert_eq!(code(&request("tools/list", &json!({})), context()).await, Some(-32602));
    assert_eq!(code(&request("nonsense", &json!({})), context()).await, Some(-32602), "before the method is looked at");
    assert_eq!(code(&greet(&json!({})), context()).await, Some(-32602));
    let old = json!({ version: "2025-11-25" });
    assert_eq!(code(&greet(&old), context()).await, Some(-32022), "before the rest of the metadata");
    let reply = server().handle_value(greet(&old), context()).await.unwrap();
    let data = &reply["error"]["data"];
    assert_eq!(data, &json!({ "requested": "2025-11-25", "supported": ["2026-07-28"] }));
    assert_eq!(code(&greet(&json!({ version: "2026-07-28" })), context()).await, Some(-32602), "no capabilities");
    assert_eq!(code(&greet(&meta()), context()).await, None);
}

#[tokio::test]
async fn headers_must_say_what_the_body_says() {
    let with = |version: &str, method: &str, name: &str| Context::new().headers(headers(version, method, name));
    let request = greet(&meta());
    assert_eq!(code(&request, with("2026-07-28", "tools/call", "greet")).await, None);
    for (version, method, name) in [
        ("", "tools/call", "greet"),
        ("2025-11-25", "tools/call", "greet"),
        ("2026-07-28", "", "greet"),
        ("2026-07-28", "tools/list", "greet"),
        ("2026-07-28", "tools/call", ""),
        ("2026-07-28", "tools/call", "other"),
        ("?", "tools/call", "greet"),
        ("2026-07-28", "tools/call", "?"),
    ] {
        assert_eq!(code(&request, with(version, method, name)).await, Some(-32020), "{version} {method} {name}");
    }
    let unknown = self::request("no/such", &json!({ "_meta": meta() }));
    assert_eq!(
        code(&unknown, with("2026-07-28", "no/other", "")).await,
        Some(-32020),
        "before the method is looked up"
    );
    assert_eq!(code(&unknown, with("2026-07-28", "no/such", "")).await, Some(-32601));
    let list = self::request("tools/list", &json!({ "_meta": meta() }));
    assert_eq!(code(&list, with("2026-07-28", "tools/list", "")).await, None, "a list has no name");
    let missing = self::request("tools/call", &json!({ "name": "gone", "_meta": meta() }));
    assert_eq!(code(&missing, with("2026-07-28", "tools/call", "other")).await, Some(-32020), "before the tool is");
    assert_eq!(code(&missing, with("2026-07-28", "tools/call", "gone")).await, Some(-32602));
}

#[tokio::test]
async fn older_revisions_have_neither_metadata_nor_headers_to_compare() {
    let context = || Context::new().revision(Revision::Sep2322).headers(headers("x", "y", "z"));
    let request = request("tools/call", &json!({ "name": "greet", "arguments": {} }));
    assert_eq!(code(&request, context()).await, None);
}

#[tokio::test]
async fn an_unknown_method_is_named_so_and_initialize_tells_the_version() {
    let unknown = request("no/such", &json!({ "_meta": meta() }));
    assert_eq!(code(&unknown, Context::new()).await, Some(-32601));
    let reply =
        server().handle_value(request("initialize", &json!({ "_meta": meta() })), Context::new()).await.unwrap();
    assert_eq!(reply["error"]["code"], -32601);
    assert!(reply["error"]["message"].as_str().unwrap().contains("2026-07-28"), "{reply}");
}

#[tokio::test]
async fn a_state_must_be_a_text() {
    let params = json!({ "name": "greet", "requestState": 7, "_meta": meta() });
    assert_eq!(code(&request("tools/call", &params), Context::new()).await, Some(-32602));
}
