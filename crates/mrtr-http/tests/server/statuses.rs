//! DESIGN's table of errors, row by row and in its order: what is wrong twice is refused for the earlier reason.

use mrtr_http::{Authenticator, Challenge, Endpoint, Identity, RequestHead, Serve};
use mrtr_schema::tools::InputSchema;
use mrtr_server::{Caller, Failure, Flow, Prompt, ProtocolError, Server, Tool};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::Site;
use crate::support::message::{Post, call, request};
use crate::tools::{self, order};

/// A request that can be spoilt in several ways.
struct Draft {
    message: Value,
    spoil_message: Vec<fn(&mut Value)>,
    spoil_post: Vec<fn(Post) -> Post>,
}

impl Draft {
    fn post(mut self) -> Post {
        self.spoil_message.iter().for_each(|spoil| spoil(&mut self.message));
        let post = Post::of(&self.message).with("Authorization", "Bearer good").with("Mcp-Param-Item", "tea");
        self.spoil_post.iter().fold(post, |post, spoil| spoil(post))
    }
}

/// A way to spoil a request, and the answer that it gets.
struct Row {
    what: &'static str,
    in_message: fn(&mut Value),
    in_post: fn(Post) -> Post,
    status: u16,
    code: Option<i64>,
}

const NOT_THERE: fn(&mut Value) = |_| {};
const AS_IT_IS: fn(Post) -> Post = |post| post;
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

fn rows() -> Vec<Row> {
    let head = |what, in_post, status| Row { what, in_message: NOT_THERE, in_post, status, code: None };
    let post = |what, in_post, status, code| Row { what, in_message: NOT_THERE, in_post, status, code: Some(code) };
    let message =
        |what, in_message, status, code| Row { what, in_message, in_post: AS_IT_IS, status, code: Some(code) };
    vec![
        head("foreign origin", |post| post.with("Origin", "https://evil.example"), 403),
        head("not POST", |post| Post { method: "GET", ..post }, 405),
        head("no JSON", |post| post.with("Content-Type", "text/plain"), 415),
        head("compressed", |post| post.with("Content-Encoding", "gzip"), 415),
        head("no stream accepted", |post| post.with("Accept", "application/json"), 406),
        head(
            "two credentials",
            |post| post.with("Authorization", "Bearer good").also("Authorization", "Bearer x"),
            400,
        ),
        head("nobody", |post| post.without("Authorization"), 401),
        head("too large", |post| Post { body: post.body + &" ".repeat(4096), ..post }, 413),
        post("not JSON", |post| Post { body: post.body.replacen('{', "", 1), ..post }, 400, -32700),
        post("a batch", |post| Post { body: format!("[{}]", post.body), ..post }, 400, -32600),
        message("no version", |message| drop(meta(message).remove(VERSION)), 400, -32602),
        post("no version header", |post| post.without("MCP-Protocol-Version"), 400, -32020),
        message(
            "unknown version",
            |message| drop(meta(message).insert(VERSION.into(), json!("v999.0.0"))),
            400,
            -32022,
        ),
        message(
            "no capabilities",
            |message| drop(meta(message).remove("io.modelcontextprotocol/clientCapabilities")),
            400,
            -32602,
        ),
        post("other method in the header", |post| post.with("Mcp-Method", "tools/list"), 400, -32020),
        message("unknown method", |message| message["method"] = json!("no/such"), 404, -32601),
        post("other name in the header", |post| post.with("Mcp-Name", "hello"), 400, -32020),
        post("other argument in the header", |post| post.with("Mcp-Param-Item", "coffee"), 400, -32020),
        message("bad answers", |message| message["params"]["inputResponses"] = json!([]), 200, -32602),
        // Arguments that miss the schema are the model's mistake, and it reads of it in the result.
        Row {
            what: "unfit arguments",
            in_message: |message| message["params"]["arguments"]["size"] = json!({}),
            in_post: AS_IT_IS,
            status: 200,
            code: None,
        },
    ]
}

fn meta(message: &mut Value) -> &mut serde_json::Map<String, Value> {
    message["params"]["_meta"].as_object_mut().unwrap()
}

#[derive(Debug)]
struct Good;

#[async_trait::async_trait]
impl Authenticator for Good {
    async fn authenticate(&self, head: &RequestHead<'_>) -> Result<Identity, Challenge> {
        match head.headers.get("authorization").map(http::HeaderValue::as_bytes) {
            Some(b"Bearer good") => Ok(Identity::of(Caller::new("https://id.example.com", "ann"))),
            _ => Err(Challenge::bearer().parameter("realm", "test")),
        }
    }
}

fn strict_tool() -> Tool {
    Tool::new("order", order).define(|tool| {
        let schema = json!({
            "type": "object", "additionalProperties": false, "required": ["item"],
            "properties": { "item": { "type": "string", "x-mcp-header": "Item" } },
        });
        tool.input_schema = InputSchema::parse(&schema.to_string()).unwrap();
    })
}

fn endpoint() -> Endpoint {
    let server = Server::builder("test", "1.0.0").tool(strict_tool()).tool(Tool::new("hello", tools::hello));
    Endpoint::new(server.build().unwrap(), Good).body_limit(2048)
}

/// Spoils a request in these ways. Later rows come first: earlier ones may take away what they changed.
fn spoilt(rows: &[&Row]) -> Post {
    let mut draft =
        Draft { message: call("order", json!({ "item": "tea" })), spoil_message: Vec::new(), spoil_post: Vec::new() };
    for row in rows.iter().rev() {
        draft.spoil_message.push(row.in_message);
        draft.spoil_post.push(row.in_post);
    }
    draft.post()
}

#[tokio::test]
async fn ht_7_each_row_has_its_status_and_its_code() {
    let site = Site::start(Serve::new(endpoint()));
    let unspoilt = site.answer(&spoilt(&[])).await;
    assert_eq!((unspoilt.status, &unspoilt.json()["result"]["resultType"]), (200, &json!("input_required")));
    for row in rows() {
        let response = site.answer(&spoilt(&[&row])).await;
        assert_eq!((response.status, response.code()), (row.status, row.code), "{}: {response:?}", row.what);
    }
}

#[tokio::test]
async fn ht_7_of_two_rows_the_earlier_one_decides() {
    let site = Site::start(Serve::new(endpoint()));
    let rows = rows();
    for (index, row) in rows.iter().enumerate() {
        for later in &rows[index + 1..] {
            let response = site.answer(&spoilt(&[row, later])).await;
            let both = format!("{} and {}", row.what, later.what);
            assert_eq!((response.status, response.code()), (row.status, row.code), "{both}: {response:?}");
        }
    }
}

#[tokio::test]
async fn ht_7_each_refusal_says_what_to_do() {
    let site = Site::start(Serve::new(endpoint()));
    let rows = rows();
    let of = |what: &str| spoilt(&[rows.iter().find(|row| row.what == what).unwrap()]);

    assert_eq!(site.answer(&of("not POST")).await.header("allow"), Some("POST"));
    assert_eq!(site.answer(&of("compressed")).await.header("accept-encoding"), Some("identity"));
    assert_eq!(site.answer(&of("nobody")).await.header("www-authenticate"), Some("Bearer realm=\"test\""));
    assert_eq!(site.answer(&of("too large")).await.header("connection"), Some("close"));

    let not_json = site.answer(&of("not JSON")).await.json();
    assert!(not_json.get("id").is_none(), "{not_json}");
    let unknown_version = site.answer(&of("unknown version")).await.json();
    assert_eq!(unknown_version["error"]["data"], json!({ "supported": ["2026-07-28"], "requested": "v999.0.0" }));
    assert_eq!(unknown_version["id"], 1);
    let unfit = site.answer(&of("unfit arguments")).await.json();
    assert_eq!(unfit["result"]["isError"], true, "{unfit}");
}

#[tokio::test]
async fn ht_7_a_capability_that_was_not_declared_is_named() {
    let site = Site::start(Serve::new(endpoint()));
    let mut message = call("order", json!({ "item": "tea" }));
    meta(&mut message).insert("io.modelcontextprotocol/clientCapabilities".into(), json!({}));
    let post = Post::of(&message).with("Authorization", "Bearer good").with("Mcp-Param-Item", "tea");
    let response = site.answer(&post).await;
    assert_eq!((response.status, response.code()), (400, Some(-32021)));
    assert_eq!(response.json()["error"]["data"], json!({ "requiredCapabilities": { "elicitation": { "form": {} } } }));
    // The headers come before it.
    let response = site.answer(&post.with("Mcp-Param-Item", "coffee")).await;
    assert_eq!((response.status, response.code()), (400, Some(-32020)));
}

#[tokio::test]
async fn ht_7_what_is_unknown_is_a_bad_parameter() {
    let site = Site::of(tools::server());
    for (method, params) in [("tools/call", json!({ "name": "no_such" })), ("tools/list", json!({ "cursor": "x" }))] {
        let response = site.answer(&Post::of(&request(method, params))).await;
        assert_eq!((response.status, response.code()), (200, Some(-32602)), "{method}");
    }
    let forged = request("tools/call", json!({ "name": "order", "arguments": { "item": "tea" }, "requestState": "x" }));
    let response = site.answer(&Post::of(&forged).with("Mcp-Param-Item", "tea")).await;
    assert_eq!((response.status, response.code()), (200, Some(-32602)));
}

#[tokio::test]
async fn ht_7_removed_methods_are_not_found_and_initialize_names_the_version() {
    let site = Site::of(tools::server());
    for method in ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"] {
        let response = site.answer(&Post::of(&request(method, json!({})))).await;
        assert_eq!((response.status, response.code()), (404, Some(-32601)), "{method}");
        assert_eq!(response.json()["id"], 1, "{method}");
        let names_it = response.json()["error"]["message"].as_str().unwrap().contains("2026-07-28");
        assert_eq!(names_it, method == "initialize", "{method}");
    }
}

/// A server without sessions refuses the first request of clients of older revisions: it has neither metadata nor
/// headers.
#[tokio::test]
async fn er_2_initialize_is_told_the_versions_whatever_it_lacks() {
    let site = Site::of(tools::builder(&tools::Gate::default()).legacy(mrtr_server::Legacy::Refuse).build().unwrap());
    let legacy =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
    let bare = json!({ "jsonrpc": "2.0", "id": 7, "method": "initialize", "params": legacy });
    let modern = request("initialize", legacy.clone());
    let broken = request("initialize", json!({ "_meta": 7 }));
    let older = json!({ VERSION: "2025-11-25" });
    // Each is refused for what it lacks first, as any other request.
    let posts = [
        (Post::plain(bare.to_string()), 400, -32602),
        (Post::plain(json!({ "jsonrpc": "2.0", "id": 7, "method": "initialize" }).to_string()), 400, -32602),
        (Post::of(&bare), 400, -32602),
        (Post::of(&bare).with("MCP-Protocol-Version", "2025-11-25"), 400, -32602),
        (Post::of(&broken), 400, -32602),
        (Post::plain(modern.to_string()), 400, -32020),
        (Post::of(&modern).with("Mcp-Method", "ping"), 400, -32020),
        (Post::of(&modern), 404, -32601),
    ];
    for (post, status, code) in posts {
        let response = site.answer(&post).await;
        assert_eq!((response.status, response.code()), (status, Some(code)), "{:?}: {response:?}", post.headers);
        let message = response.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("2026-07-28"), "{message}");
    }
    let response = site.answer(&Post::of(&request("initialize", json!({ "_meta": older })))).await;
    assert_eq!((response.status, response.code()), (400, Some(-32022)));
    assert_eq!(response.json()["error"]["data"]["supported"], json!(["2026-07-28"]));
    // Other methods are told what they lack.
    let other = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/list" });
    assert_eq!(site.answer(&Post::plain(other.to_string())).await.code(), Some(-32602));
}

static PANICS: AtomicBool = AtomicBool::new(true);

async fn broken_prompt(_: Flow) -> Result<String, Failure> {
    assert!(!PANICS.swap(false, Ordering::Relaxed), "the secret");
    Err(std::io::Error::other("the secret").into())
}

#[tokio::test]
async fn ht_7_our_own_faults_are_200_and_tell_nothing() {
    let server = Server::builder("test", "1.0.0").prompt(Prompt::new("broken", broken_prompt));
    let site = Site::of(server.build().unwrap());
    for _ in 0..2 {
        let response = site.answer(&Post::of(&request("prompts/get", json!({ "name": "broken" })))).await;
        assert_eq!((response.status, response.code()), (200, Some(-32603)));
        assert!(!String::from_utf8_lossy(&response.body).contains("secret"), "{response:?}");
    }
}

async fn busy_prompt(_: Flow) -> Result<String, Failure> {
    Err(ProtocolError::busy().into())
}

/// Its status is that of a request that did not reach the server because too much was going on.
#[tokio::test]
async fn ht_7_a_request_that_a_busy_store_turned_away_may_come_back_soon() {
    let server = Server::builder("test", "1.0.0").prompt(Prompt::new("busy", busy_prompt));
    let site = Site::of(server.build().unwrap());
    let response = site.answer(&Post::of(&request("prompts/get", json!({ "name": "busy" })))).await;
    assert_eq!((response.status, response.code(), response.header("retry-after")), (503, Some(-3), Some("1")));
}

#[tokio::test]
async fn ht_1_only_post_is_taken() {
    let site = Site::of(tools::server());
    let post = Post::of(&call("hello", json!({})));
    for method in ["GET", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS", "TRACE"] {
        let mut wire = site.connect().await;
        wire.send(Post { method, ..post.clone() }.text()).await;
        let head = wire.head().await;
        assert_eq!((head.status, head.header("allow")), (405, Some("POST")), "{method}");
    }
    assert_eq!(site.answer(&post).await.status, 200);
}

#[tokio::test]
async fn ht_1_a_notification_is_accepted_and_a_response_is_not() {
    let site = Site::of(tools::server());
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } });
    let response = site.answer(&Post::plain(notification.to_string())).await;
    assert_eq!((response.status, response.body.len()), (202, 0));
    assert_eq!(response.header("content-type"), None);
    let response = site.answer(&Post::plain(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#)).await;
    assert_eq!((response.status, response.code()), (400, Some(-32600)));
    let response = site.answer(&Post::plain("[]")).await;
    assert_eq!((response.status, response.code()), (400, Some(-32600)));
}

#[tokio::test]
async fn ht_2_a_notification_is_what_its_header_says() {
    let site = Site::of(tools::server());
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } });
    let post = Post::of(&notification);
    assert_eq!(site.answer(&post).await.status, 202);
    for other in ["tools/call", "notifications/progress", "\u{e4}"] {
        let response = site.answer(&post.clone().with("Mcp-Method", other)).await;
        assert_eq!((response.status, response.code()), (400, Some(-32020)), "{other}");
    }
}

/// The answer repeats both, and the server would keep them for as long as the client does not read it.
#[tokio::test]
async fn ht_8_ids_and_progress_tokens_have_a_length() {
    let site = Site::of(tools::server());
    let of = |id: &str, token: &str| {
        let mut message = call("hello", json!({}));
        message["id"] = json!(id);
        message["params"]["_meta"]["progressToken"] = json!(token);
        Post::of(&message)
    };
    let (longest, longer) = ("x".repeat(256), "x".repeat(257));
    assert_eq!(site.answer(&of(&longest, &longest)).await.json()["id"], json!(longest));
    for post in [of(&longer, "short"), of("short", &longer), of(&longer, &longer)] {
        let response = site.answer(&post).await;
        assert_eq!((response.status, response.code()), (400, Some(-32600)));
        assert!(response.json().get("id").is_none());
    }
}

#[tokio::test]
async fn ht_1_headers_of_sessions_are_ignored() {
    let site = Site::of(tools::server());
    let post = Post::of(&call("hello", json!({}))).with("Mcp-Session-Id", "abc").with("Last-Event-ID", "7");
    let response = site.answer(&post).await;
    assert_eq!((response.status, response.header("mcp-session-id")), (200, None));
}

#[tokio::test]
async fn ht_1_media_types_are_compared_as_media_types() {
    let site = Site::of(tools::server());
    let post = Post::of(&call("hello", json!({})));
    let cases = [
        ("Content-Type", "Application/JSON; charset=utf-8", 200),
        ("Content-Type", "application/json;x=y ; Charset = \"UTF-8\"", 200),
        ("Content-Type", "application/json; charset=utf8", 200),
        ("Content-Type", "application/json; charset=utf-16", 415),
        ("Content-Type", "application/json; charset=\"iso-8859-1\"", 415),
        ("Content-Type", "application/json; charset=utf-8; charset=utf-16", 415),
        ("Content-Type", "application/json; charset=", 415),
        ("Content-Encoding", "identity", 200),
        ("Content-Encoding", "Identity", 200),
        ("Content-Encoding", "gzip", 415),
        ("Content-Encoding", "identity, gzip", 415),
        ("Content-Encoding", "x-unknown", 415),
        ("Content-Type", "application/json-seq", 415),
        ("Content-Type", "", 415),
        ("Accept", "*/*", 200),
        ("Accept", "text/*;q=0.1, APPLICATION/*", 200),
        ("Accept", "text/event-stream", 406),
        ("Accept", "application/json, text/event-stream;q=0", 406),
        ("Accept", "application/json, text/event-stream-ish", 406),
        ("Accept", "", 406),
    ];
    for (name, value, status) in cases {
        assert_eq!(site.answer(&post.clone().with(name, value)).await.status, status, "{name}: {value}");
    }
    let twice = post.clone().without("Accept").also("Accept", "application/json").also("Accept", "text/event-stream");
    assert_eq!(site.answer(&twice).await.status, 200);
    assert_eq!(site.answer(&post.clone().without("Accept")).await.status, 406);
    assert_eq!(site.answer(&post.clone().without("Content-Type")).await.status, 415);
    let encodings = post.clone().also("Content-Encoding", "identity").also("Content-Encoding", "br");
    assert_eq!(site.answer(&encodings).await.status, 415);
    assert_eq!(site.answer(&post.also("Content-Type", "text/plain")).await.status, 415, "which of the two?");
}

#[tokio::test]
async fn a_path_that_is_nobodys_is_not_found() {
    let site = Site::of(tools::server());
    for path in ["/", "/mcp/", "/sep-2322", "/mcpx"] {
        assert_eq!(site.answer(&Post::of(&call("hello", json!({}))).to(path)).await.status, 404, "{path}");
    }
    assert_eq!(site.answer(&Post::of(&call("hello", json!({}))).to("/mcp?x=1")).await.status, 200);
}
