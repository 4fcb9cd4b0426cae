//! Calls that must do the same in each of the three revisions.

use mrtr_client::Client;
use mrtr_client::testing::Script;
use mrtr_schema::Revision;
use serde_json::json;

use super::common::{InMemory, greeter, sent, text};

#[tokio::test]
async fn a_tool_that_asks_is_called_in_every_revision() {
    for revision in Revision::MODERN {
        let transport = InMemory::new(greeter());
        let client = Client::builder(transport.clone())
            .revision(revision)
            .on_elicit(|form| async move { form.accept(&json!({ "name": "Ada" })) })
            .build();
        assert_eq!(text(&client.call_tool("greet", json!({})).await.unwrap()), "Hello, Ada", "{revision}");
        assert_eq!(client.list_tools().await.unwrap().len(), 1);
        let has_meta = transport.sent().iter().all(|sent| sent["params"].get("_meta").is_some());
        assert_eq!(has_meta, revision == Revision::V2026_07_28);
    }
}

#[tokio::test]
async fn the_draft_may_ask_on_any_request_and_knows_no_roots() {
    let form = json!({ "type": "object", "properties": {} });
    let script = Script::new()
        .result(json!({ "inputRequests": {
            "known": { "method": "elicitation/create", "params": { "message": "?", "requestedSchema": form } },
            "unknown": { "method": "roots/list" } } }))
        .result(json!({ "tools": [] }));
    let client = Client::builder(script.clone())
        .revision(Revision::Draft202602)
        .on_elicit(|form| async move { form.decline() })
        .on_roots(|_| async { Ok::<_, String>(Vec::new()) })
        .build();
    client.list_tools().await.unwrap();
    assert_eq!(sent(&script)[1]["params"], json!({ "inputResponses": { "known": { "action": "decline" } } }));
}
