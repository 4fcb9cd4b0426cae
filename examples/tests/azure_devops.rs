//! The example that everything is measured by: short, and it does what it says.

use mrtr_client::{Client, FormRequest};
use mrtr_fixtures::Program;
use mrtr_http::HttpTransport;
use mrtr_schema::elicitation::ElicitResult;
use serde_json::json;

/// The bar for how little an author writes.
const MOST_LINES: usize = 35;

#[test]
fn its_handler_and_server_are_at_most_35_lines_with_their_use_lines() {
    let source = include_str!("../azure_devops.rs");
    let (author, _) = source.split_once("// ---- What plays").expect("the stand-in begins there");
    let lines = author.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("//!"));
    assert!(lines.clone().count() <= MOST_LINES, "{} lines", lines.count());
}

#[tokio::test]
async fn it_asks_twice_and_links_once() {
    let tracker = Program::start(env!("CARGO_BIN_EXE_azure_devops"), |command, address| {
        command.env("TRACKER_ADDRESS", address.to_string());
        command.env("MRTR_STATE_KEYS", "tracker=k1:BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=");
    });
    let transport = HttpTransport::new(&tracker.url("/mcp")).expect("it is a URL");
    let client = Client::builder(transport).on_elicit(answer).build();

    let arguments = json!({ "workItemId": 4522, "fields": { "System.State": "Resolved" } });
    let result = client.call_tool("update_work_item", arguments).await.expect("it is resolved");
    let result = serde_json::to_value(result).expect("a result is JSON");
    assert_eq!(result["content"][0]["text"], "Bug #4522 resolved as duplicate of #4301");
    assert_eq!(tracker.stop(), "tracker: #4522 is linked to #4301 (1 links made)\n");
}

async fn answer(form: FormRequest) -> Result<ElicitResult, String> {
    let content = match form.context().key.as_str() {
        "resolution" => json!({ "resolution": "Duplicate" }),
        "duplicate_of" => json!({ "duplicateOfId": 4301 }),
        other => return Err(format!("`{other}` was asked")),
    };
    form.accept(&content).map_err(|error| error.to_string())
}
