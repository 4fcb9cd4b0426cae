//! Headers that say what the body says: compared with it, decoded, and refused where they differ.

use mrtr_schema::tools::InputSchema;
use mrtr_server::{Server, Tool};
use serde_json::{Value, json};

use crate::support::Site;
use crate::support::message::{Post, call, request};
use crate::tools;

async fn code(site: &Site, post: Post) -> Option<i64> {
    let response = site.answer(&post).await;
    assert_eq!(response.status, if response.code() == Some(-32020) { 400 } else { 200 }, "{response:?}");
    response.code()
}

#[tokio::test]
async fn ht_2_each_header_must_be_there_once_and_say_what_the_body_says() {
    let site = Site::of(tools::server());
    let post = || Post::of(&call("hello", json!({})));
    assert_eq!(code(&site, post()).await, None);
    let values = [
        ("MCP-Protocol-Version", "2026-07-28", "2025-11-25"),
        ("Mcp-Method", "tools/call", "TOOLS/CALL"),
        ("Mcp-Name", "hello", "Hello"),
    ];
    for (name, right, other) in values {
        assert_eq!(code(&site, post().without(name)).await, Some(-32020), "{name} is missing");
        assert_eq!(code(&site, post().with(name, other)).await, Some(-32020), "{name} is {other}");
        assert_eq!(code(&site, post().with(name, "")).await, Some(-32020), "{name} is empty");
        assert_eq!(code(&site, post().also(name, right)).await, Some(-32020), "{name} stands twice, alike");
        assert_eq!(code(&site, post().also(name, other)).await, Some(-32020), "{name} stands twice");
        assert_eq!(code(&site, post().with(name, "hell\u{f6}")).await, Some(-32020), "{name} is not ASCII");
        assert_eq!(code(&site, post().with(&name.to_ascii_uppercase(), right)).await, None, "{name} in capitals");
        assert_eq!(code(&site, post().with(name, &format!(" \t {right} \t"))).await, None, "{name} in spaces");
    }
}

#[tokio::test]
async fn ht_2_a_header_without_a_counterpart_does_no_harm() {
    let site = Site::of(tools::server());
    let post = Post::of(&request("tools/list", json!({}))).with("Mcp-Name", "hello");
    assert_eq!(code(&site, post).await, None);
    let post = Post::of(&call("hello", json!({}))).with("Mcp-Param-Item", "tea");
    assert_eq!(code(&site, post).await, None);
}

#[tokio::test]
async fn ht_2_a_name_that_no_header_holds_is_encoded() {
    let server = Server::builder("test", "1.0.0").tool(Tool::new("grüße", tools::hello));
    let site = Site::of(server.build().unwrap());
    let post = || Post::of(&call("grüße", json!({})));
    assert_eq!(code(&site, post().with("Mcp-Name", "=?base64?Z3LDvMOfZQ==?=")).await, None);
    assert_eq!(code(&site, post()).await, Some(-32020), "as it is");
    assert_eq!(code(&site, post().with("Mcp-Name", "=?BASE64?Z3LDvMOfZQ==?=")).await, Some(-32020), "in capitals");
}

#[tokio::test]
async fn ht_2_what_is_routed_by_is_never_encoded() {
    let site = Site::of(tools::server());
    let post = Post::of(&call("hello", json!({})));
    let encoded = post.with("Mcp-Method", "=?base64?dG9vbHMvY2FsbA==?=");
    assert_eq!(code(&site, encoded).await, Some(-32020));
}

fn order(item: &Value) -> Post {
    Post::of(&call("order", json!({ "item": item })))
}

#[tokio::test]
async fn ht_3_an_argument_and_its_header_agree() {
    let site = Site::of(tools::server());
    let cases = [
        ("tea", "tea", None),
        ("tea", "Tea", Some(-32020)),
        ("Hello", "=?base64?SGVsbG8=?=", None),
        ("Hello", "=?base64?SGVsbG8?=", Some(-32020)),
        ("Hello", "=?base64?SGVs!!!?=", Some(-32020)),
        ("Hello", "=?base64?SGVsbG9=?=", Some(-32020)),
        ("=?base64?SGVsbG8=", "=?base64?SGVsbG8=", None),
        ("SGVsbG8=?=", "SGVsbG8=?=", None),
        ("=?base64?SGVsbG8=?=", "=?base64?SGVsbG8=?=", Some(-32020)),
        ("=?base64?SGVsbG8=?=", "=?base64?PT9iYXNlNjQ/U0dWc2JHOD0/PQ==?=", None),
        (" tea ", "=?base64?IHRlYSA=?=", None),
    ];
    for (item, header, expected) in cases {
        let post = order(&json!(item)).with("Mcp-Param-Item", header);
        assert_eq!(code(&site, post).await, expected, "{item}: {header}");
    }
    assert_eq!(code(&site, order(&json!("tea"))).await, Some(-32020), "missing");
    let twice = order(&json!("tea")).with("Mcp-Param-Item", "tea").also("mcp-param-item", "coffee");
    assert_eq!(code(&site, twice).await, Some(-32020), "twice");
}

#[tokio::test]
async fn ht_3_a_header_is_named_as_it_was_declared_and_called_missing_if_it_is() {
    let site = Site::of(tools::server());
    let cases = [
        (order(&json!("tea")), "Mcp-Param-Item is missing"),
        (order(&json!("tea")).with("mcp-param-item", "coffee"), "Mcp-Param-Item does not match the body"),
        (order(&json!("tea")).with("MCP-PARAM-ITEM", "=?base64?!?="), "Mcp-Param-Item does not match the body"),
        (Post::of(&call("order", json!({}))).with("Mcp-Param-Item", "x"), "Mcp-Param-Item does not match the body"),
    ];
    for (post, message) in cases {
        let response = site.answer(&post).await;
        assert_eq!((response.status, response.code()), (400, Some(-32020)));
        assert_eq!(response.json()["error"]["message"], message, "{:?}", post.headers);
    }
}

#[tokio::test]
async fn ht_3_arguments_of_every_kind_and_depth_are_compared() {
    let schema = json!({ "type": "object", "properties": {
        "count": { "type": "integer", "x-mcp-header": "Count" },
        "urgent": { "type": "boolean", "x-mcp-header": "Urgent" },
        "to": { "type": "object", "properties": { "city": { "type": "string", "x-mcp-header": "City" } } },
    } });
    let tool = Tool::new("send", tools::hello).define(|tool| {
        tool.input_schema = InputSchema::parse(&schema.to_string()).unwrap();
    });
    let site = Site::of(Server::builder("test", "1.0.0").tool(tool).build().unwrap());
    let send = || Post::of(&call("send", json!({ "count": 2, "urgent": true, "to": { "city": "Oslo" } })));
    let right = [("Mcp-Param-Count", "2"), ("Mcp-Param-Urgent", "true"), ("Mcp-Param-City", "Oslo")];
    let all = || right.iter().fold(send(), |post, (name, value)| post.with(name, value));
    assert_eq!(code(&site, all()).await, None);
    for (name, _) in right {
        assert_eq!(code(&site, all().without(name)).await, Some(-32020), "{name} is missing");
        assert_eq!(code(&site, all().with(name, "other")).await, Some(-32020), "{name}");
    }
    let nulls = Post::of(&call("send", json!({ "count": null, "to": {} })));
    assert_eq!(code(&site, nulls).await, None, "what is null or absent has no header");
}

#[tokio::test]
async fn ht_3_an_argument_that_is_absent_has_no_header() {
    let site = Site::of(tools::server());
    let without = || Post::of(&call("order", json!({})));
    assert_eq!(code(&site, without().with("Mcp-Param-Item", "tea")).await, Some(-32020));
    // Nothing to compare; that it is required is for the schema to say.
    let response = site.answer(&without()).await;
    assert_eq!(response.json()["result"]["isError"], true);
}
