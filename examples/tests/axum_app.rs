//! The application that exists: its own routes, CORS, readiness and base path, and its end in order, over real sockets.

#[path = "axum_app/users.rs"]
mod users;

use std::time::Duration;

use mrtr_client::{Client, FormRequest};
use mrtr_fixtures::Program;
use mrtr_http::HttpTransport;
use mrtr_schema::elicitation::ElicitResult;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

fn start() -> Program {
    Program::start(env!("CARGO_BIN_EXE_axum_app"), |command, address| {
        command.env("SHOP_ADDRESS", address.to_string());
        command.env("MRTR_STATE_KEYS", "shop=k1:BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=");
        command.env("WAREHOUSE_MS", "3000");
    })
}

/// Orders something, and says yes when asked.
async fn order(url: String, what: &'static str) -> String {
    async fn yes(form: FormRequest) -> Result<ElicitResult, String> {
        form.accept(&json!({ "confirmed": true })).map_err(|error| error.to_string())
    }
    let client = Client::builder(HttpTransport::new(&url).expect("it is a URL")).on_elicit(yes).build();
    let result = client.call_tool("order", json!({ "what": what })).await.expect("it is ordered");
    let result = serde_json::to_value(result).expect("a result is JSON");
    result["content"][0]["text"].as_str().expect("it says so").to_owned()
}

async fn get(shop: &Program, path: &str) -> (StatusCode, String) {
    let response = reqwest::get(shop.url(path)).await.expect("it is served");
    (response.status(), response.text().await.expect("it is text"))
}

/// Waits until this many orders are being placed, or have been.
async fn until_orders(shop: &Program, count: usize) {
    loop {
        let orders: Vec<Value> = serde_json::from_str(&get(shop, "/orders").await.1).expect("it is a list");
        if orders.len() == count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn its_own_routes_and_the_endpoint_stand_side_by_side() {
    let shop = start();
    assert_eq!(get(&shop, "/healthz").await, (StatusCode::OK, "alive".to_owned()));
    assert_eq!(get(&shop, "/readyz").await, (StatusCode::OK, "ready".to_owned()));
    assert_eq!(get(&shop, "/mcp").await.0, StatusCode::NOT_FOUND, "it is under its base path alone");
    assert_eq!(order(shop.url("/assistant/mcp"), "tea").await, "Order 1 is placed");
    assert_eq!(get(&shop, "/orders").await.1, r#"[{"what":"tea","placed":true}]"#);

    for (origin, allowed) in [("https://shop.example.com", true), ("https://evil.example", false)] {
        let preflight = reqwest::Client::new().request(Method::OPTIONS, shop.url("/assistant/mcp"));
        let preflight = preflight.header("origin", origin).header("access-control-request-method", "POST");
        let response = preflight.header("access-control-request-headers", "mcp-method").send().await.expect("served");
        let told = response.headers().get("access-control-allow-origin");
        assert_eq!(told.is_some_and(|told| told == origin), allowed, "{origin}: {response:?}");
        let call = reqwest::Client::new().post(shop.url("/assistant/mcp")).header("origin", origin).body("{}");
        let status = call.send().await.expect("served").status();
        assert_eq!(status == StatusCode::FORBIDDEN, !allowed, "{origin}: {status}");
    }
}

/// Two orders, one under way with its client, and a later one whose client went away, are both placed before the end.
#[cfg(unix)]
#[tokio::test]
async fn it_ends_in_order() {
    let shop = start();
    let waited_for = tokio::spawn(order(shop.url("/assistant/mcp"), "tea"));
    until_orders(&shop, 1).await;
    let abandoned = tokio::spawn(order(shop.url("/assistant/mcp"), "milk"));
    until_orders(&shop, 2).await;
    abandoned.abort();
    let _ = abandoned.await;

    shop.terminate();
    // It is served until a probe has seen that it is not ready, and that is the probe.
    while get(&shop, "/readyz").await != (StatusCode::SERVICE_UNAVAILABLE, "stopping".to_owned()) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(waited_for.await.expect("it is answered"), "Order 1 is placed");
    let (status, printed) = shop.wait();
    assert!(status.success(), "{status}: {printed}");
    let mut rest = printed.as_str();
    for line in ["serving http://", "not ready", "draining", "order 1 is placed", "order 2 is placed", "drained"] {
        let found = rest.split_once(line);
        rest = found.unwrap_or_else(|| panic!("no {line:?} in {rest}, of {printed}")).1;
    }
}

/// Each block of the page stands in the example word for word.
#[test]
fn the_page_shows_parts_of_the_example() {
    let example = unindented(include_str!("../axum_app.rs"));
    let users = unindented(include_str!("axum_app/users.rs"));
    let page = include_str!("../../docs/EXISTING_APP.md");
    let blocks: Vec<_> = page.split("```rust\n").skip(1).filter_map(|rest| rest.split_once("```")).collect();
    assert!(blocks.len() >= 5, "{} blocks", blocks.len());
    for (block, _) in blocks {
        let block = unindented(block);
        assert!(example.contains(&block) || users.contains(&block), "not in the example:\n{block}");
    }
}

fn unindented(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join("\n")
}
