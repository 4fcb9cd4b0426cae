//! The Azure DevOps flow of the founding document, for clients of both legacy revisions.

use mrtr_server::{Failure, Flow, Server, Tool};
use serde_json::json;

use crate::client::{Legacy, text};
use crate::fixture::{Update, resolve};
use crate::tools::Outside;

async fn update_work_item(flow: Flow, update: Update) -> Result<String, Failure> {
    let tracker = flow.state::<Outside>();
    tracker.ran();
    resolve(&flow, &update, |bug, original| tracker.does(format!("link {bug} to {original}"))).await
}

#[tokio::test]
async fn the_azure_devops_flow_makes_its_link_once_for_either_revision() {
    for version in ["2025-11-25", "2025-06-18"] {
        let tracker = Outside::default();
        let tool = Tool::new("update_work_item", update_work_item);
        let server = Server::builder("tracker", "1.0.0").state(tracker.clone()).tool(tool).build().unwrap();
        let client = Legacy::open(&server, version).await;
        assert_eq!(client.opened["protocolVersion"], version);
        client.notify("notifications/initialized", json!({})).await;
        let listed = client.request("tools/list", json!({})).await;
        assert_eq!(listed["result"]["tools"][0]["name"], "update_work_item");

        let mut call = client.call("update_work_item", json!({ "workItemId": 4522 })).await;
        let asked = call.question().await;
        assert_eq!(asked["method"], "elicitation/create");
        assert_eq!(asked["params"]["message"], "How was this bug resolved?");
        assert_eq!(asked["params"].get("mode").is_some(), version == "2025-11-25", "{asked}");
        let resolution = &asked["params"]["requestedSchema"]["properties"]["resolution"];
        assert_eq!(resolution["enum"], json!(["Fixed", "Won't Fix", "Duplicate", "By Design"]), "{asked}");
        client.accept(&asked, json!({ "resolution": "Duplicate" })).await;

        let which = call.question().await;
        assert_ne!(which["id"], asked["id"], "each question has an id of its own");
        assert_eq!(which["params"]["message"], "Which work item is the original?");
        client.accept(&which, json!({ "duplicateOfId": 4301 })).await;

        let response = call.response().await;
        assert_eq!(text(&response), "Bug #4522 resolved as duplicate of #4301");
        assert_eq!(response["result"].get("resultType"), None, "{response}");
        assert_eq!(tracker.effects(), ["link 4522 to 4301"]);
        assert_eq!(tracker.runs(), 3, "as in three rounds");
    }
}

#[tokio::test]
async fn a_call_that_asks_nothing_is_answered_by_one_message() {
    let hello = Tool::new("hello", async |_: Flow| Ok::<_, Failure>("Hello"));
    let server = Server::builder("greeter", "1.0.0").tool(hello).build().unwrap();
    let client = Legacy::open(&server, "2025-11-25").await;
    let mut call = client.call("hello", json!({})).await;
    assert!(call.is_single());
    let response = call.response().await;
    assert_eq!((text(&response), response["result"].get("_meta")), ("Hello".to_owned(), None));
    assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
    let unknown = client.request("tools/fly", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32601);
    let unknown = client.request("server/discover", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32601, "a session has no discovery");
}
