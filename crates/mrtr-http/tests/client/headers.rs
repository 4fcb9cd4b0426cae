//! The headers that a client sends, and the tools that it does not offer.

use mrtr_client::Client;
use mrtr_http::HttpTransport;
use mrtr_schema::Revision;
use mrtr_server::{Failure, Flow, Server, Tool};
use serde_json::{Value, json};

use crate::support::Site;
use crate::support::scripted::{Answer, Asked, Scripted};

fn client(url: &str) -> Client {
    Client::builder(HttpTransport::new(url).unwrap()).build()
}

fn done(asked: &Asked) -> Answer {
    Answer::json(&asked.reply(json!({ "result": { "resultType": "complete", "content": [], "tools": [] } })))
}

#[tokio::test]
async fn ht_2_headers_say_what_the_body_says() {
    let scripted = Scripted::start(|_, asked| done(asked)).await;
    let client = client(&scripted.url());
    client.call_tool("get_time", json!({})).await.unwrap();
    client.call_tool("grüße", json!({})).await.unwrap();
    client.call_tool(" padded ", json!({})).await.unwrap();
    client.list_tools().await.unwrap();
    let asked = scripted.asked();
    let names: Vec<_> = asked.iter().map(|asked| asked.header("mcp-name")).collect();
    let encoded = ["=?base64?Z3LDvMOfZQ==?=", "=?base64?IHBhZGRlZCA=?="];
    assert_eq!(names, [Some("get_time"), Some(encoded[0]), Some(encoded[1]), None]);
    for asked in &asked {
        assert_eq!(asked.header("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(asked.header("mcp-method"), asked.message["method"].as_str());
        assert_eq!(asked.header("content-type"), Some("application/json"));
        assert_eq!(asked.header("accept"), Some("application/json, text/event-stream"));
        assert_eq!(asked.header("mcp-session-id"), None);
    }
}

#[tokio::test]
async fn ht_2_older_revisions_have_no_such_headers() {
    let scripted = Scripted::start(|_, asked| done(asked)).await;
    let transport = HttpTransport::new(&scripted.url()).unwrap();
    let client = Client::builder(transport).revision(Revision::Sep2322).build();
    client.call_tool("get_time", json!({})).await.unwrap();
    let asked = &scripted.asked()[0];
    assert!(asked.headers.iter().all(|(name, _)| !name.starts_with("mcp-")), "{asked:?}");
}

#[tokio::test]
async fn headers_of_ones_own_go_with_each_request() {
    let scripted = Scripted::start(|_, asked| done(asked)).await;
    let transport = HttpTransport::new(&scripted.url()).unwrap();
    let transport = transport
        .header("x-tenant".parse().unwrap(), "acme".parse().unwrap())
        .header("content-type".parse().unwrap(), "text/plain".parse().unwrap());
    Client::builder(transport).build().call_tool("get_time", json!({})).await.unwrap();
    let asked = &scripted.asked()[0];
    assert_eq!((asked.header("x-tenant"), asked.header("content-type")), (Some("acme"), Some("application/json")));
}

fn tool(name: &str, properties: &Value) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object", "properties": properties } })
}

fn annotated(kind: &str, header: &Value) -> Value {
    json!({ "type": kind, "x-mcp-header": header })
}

#[tokio::test]
async fn ht_3_annotated_arguments_are_mirrored() {
    let list = json!([tool(
        "order",
        &json!({
            "item": annotated("string", &json!("Item")),
            "count": annotated("integer", &json!("Count")),
            "gift": annotated("boolean", &json!("Gift")),
            "note": { "type": "string" },
            "where": { "type": "object", "properties": { "city": annotated("string", &json!("City")) } },
        })
    )]);
    let result = json!({ "resultType": "complete", "content": [], "tools": list });
    let scripted = Scripted::start(move |_, asked| Answer::json(&asked.reply(json!({ "result": result })))).await;
    let client = client(&scripted.url());
    assert_eq!(client.list_tools().await.unwrap().len(), 1);
    let all = json!({ "item": "Käse", "count": 3, "gift": true, "note": "x", "where": { "city": "Bonn" } });
    client.call_tool("order", all).await.unwrap();
    client.call_tool("order", json!({ "item": null, "count": [] })).await.unwrap();
    client.call_tool("other", json!({ "item": "tea" })).await.unwrap();
    let params = |asked: &Asked| -> Vec<(String, String)> {
        let mut params: Vec<_> =
            asked.headers.iter().filter(|(name, _)| name.starts_with("mcp-param-")).cloned().collect();
        params.sort();
        params
    };
    let asked = scripted.asked();
    let expected = [("city", "Bonn"), ("count", "3"), ("gift", "true"), ("item", "=?base64?S8Okc2U=?=")];
    let expected = expected.map(|(name, value)| (format!("mcp-param-{name}"), value.to_owned()));
    assert_eq!(params(&asked[1]), expected);
    assert_eq!((params(&asked[2]).len(), params(&asked[3]).len()), (0, 0));
}

#[tokio::test]
async fn ht_3_tools_with_wrong_annotations_are_left_out() {
    let one = |property: Value| json!({ "item": property });
    let twice = json!({ "a": annotated("string", &json!("Item")), "b": annotated("string", &json!("ITEM")) });
    let list = json!([
        tool("good", &one(annotated("string", &json!("Item")))),
        tool("plain", &one(json!({ "type": "string" }))),
        tool("empty", &one(annotated("string", &json!("")))),
        tool("spaced", &one(annotated("string", &json!("My Item")))),
        tool("control", &one(annotated("string", &json!("a\r\nb")))),
        tool("not_ascii", &one(annotated("string", &json!("Käse")))),
        tool("no_text", &one(annotated("string", &json!(7)))),
        tool("an_object", &one(annotated("object", &json!("Item")))),
        tool("a_list", &one(annotated("array", &json!("Item")))),
        tool("untyped", &one(json!({ "x-mcp-header": "Item" }))),
        tool("twice", &twice),
        tool("in_a_list", &one(json!({ "type": "array", "items": annotated("string", &json!("Item")) }))),
    ]);
    let result = json!({ "resultType": "complete", "tools": list });
    let scripted = Scripted::start(move |_, asked| Answer::json(&asked.reply(json!({ "result": result })))).await;
    let tools = client(&scripted.url()).list_tools().await.unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["good", "plain"]);
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Order {
    #[schemars(extend("x-mcp-header" = "Item"))]
    item: String,
}

async fn order(_: Flow, order: Order) -> Result<String, Failure> {
    Ok(order.item)
}

#[tokio::test]
async fn ht_3_a_tool_that_was_never_listed_is_looked_up_when_its_headers_are_missed() {
    let pages = std::num::NonZeroUsize::new(1).unwrap();
    let server = Server::builder("test", "1.0.0").page_size(pages);
    let server = server.tool(Tool::new("other", order)).tool(Tool::new("order", order)).build().unwrap();
    let site = Site::of(server);
    let client = client(&site.url());
    for _ in 0..2 {
        let result = client.call_tool("order", json!({ "item": "tea" })).await.unwrap();
        assert_eq!(serde_json::to_value(&result).unwrap()["content"][0]["text"], "tea");
    }
}

#[tokio::test]
async fn ht_3_a_refusal_that_listing_does_not_explain_is_passed_on() {
    let scripted = Scripted::start(|_, asked| {
        if asked.message["method"] == "tools/list" {
            return done(asked);
        }
        let error = asked.reply(json!({ "error": { "code": -32020, "message": "no" } }));
        Answer::with(400, "Content-Type: application/json\r\n", &error)
    })
    .await;
    let error = client(&scripted.url()).call_tool("order", json!({})).await.unwrap_err();
    assert!(error.to_string().contains("-32020"), "{error}");
    let methods: Vec<_> = scripted.asked().iter().map(|asked| asked.message["method"].to_string()).collect();
    assert_eq!(methods, ["\"tools/call\"", "\"tools/list\""]);
}

#[tokio::test]
async fn ht_3_a_call_that_has_begun_is_not_sent_again_with_other_headers() {
    let scripted = Scripted::start(|_, asked| {
        if asked.message["method"] == "tools/list" {
            let list = json!([tool("order", &json!({ "item": annotated("string", &json!("Item")) }))]);
            return Answer::json(&asked.reply(json!({ "result": { "resultType": "complete", "tools": list } })));
        }
        let progress = json!({ "jsonrpc": "2.0", "method": "notifications/progress",
            "params": { "progressToken": 1, "progress": 1 } });
        let error = asked.reply(json!({ "error": { "code": -32020, "message": "no" } }));
        Answer::stream([progress.to_string(), error].map(|event| format!("data: {event}\n\n").into_bytes()).into())
    })
    .await;
    let error = client(&scripted.url()).call_tool("order", json!({ "item": "tea" })).await.unwrap_err();
    assert!(error.to_string().contains("-32020"), "{error}");
    assert_eq!(scripted.asked().len(), 1);
}

#[tokio::test]
async fn ht_3_annotations_that_are_gone_are_forgotten() {
    let scripted = Scripted::start(|number, asked| {
        let property = if number == 1 { annotated("string", &json!("Item")) } else { json!({ "type": "string" }) };
        let list = json!([tool("order", &json!({ "item": property }))]);
        Answer::json(&asked.reply(json!({ "result": { "resultType": "complete", "content": [], "tools": list } })))
    })
    .await;
    let client = client(&scripted.url());
    client.list_tools().await.unwrap();
    client.clear_cache();
    client.list_tools().await.unwrap();
    client.call_tool("order", json!({ "item": "tea" })).await.unwrap();
    assert_eq!(scripted.asked()[2].header("mcp-param-item"), None);
}
