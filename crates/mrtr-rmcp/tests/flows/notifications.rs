//! Progress and log messages from inside a flow.

use mrtr_rmcp::Flows;
use mrtr_schema::LoggingLevel;
use mrtr_server::{Failure, Flow, Tool};
use rmcp::model::RequestMetaObject;
use rmcp::service::PeerRequestOptions;
use serde_json::json;

use crate::person::{Person, call};
use crate::sites::{ALL, Lifecycle, PATIENCE, connect};

async fn copy(flow: Flow) -> Result<&'static str, Failure> {
    flow.progress(1, Some(2), "half").await;
    flow.log(LoggingLevel::Warning, "slow").await;
    flow.progress(2, Some(2), "all").await;
    Ok("copied")
}

#[tokio::test]
#[expect(deprecated, reason = "a session says so what it wants to hear")]
async fn progress_and_logs_reach_rmcps_client() {
    use rmcp::model::{CallToolRequest, ClientRequest, LoggingLevel, SetLevelRequestParams};

    for site in ALL {
        let person = Person::answering([]);
        let handler = Flows::of_tool(Tool::new("copy", copy)).expect("it is well made");
        let client = connect(handler, &person, site).await;
        if site.0 == Lifecycle::Initialize {
            client.set_level(SetLevelRequestParams::new(LoggingLevel::Info)).await.expect("it is taken");
        }
        let mut meta = RequestMetaObject::new();
        if site.0 == Lifecycle::Discover {
            meta.set_log_level(LoggingLevel::Info);
        }
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(call("copy", json!({}))));
        let options = PeerRequestOptions::no_options().with_meta(meta);
        let sent = client.send_request_with_option(request, options).await.expect("it is sent");
        tokio::time::timeout(PATIENCE, sent.await_response()).await.expect("in time").expect("it is answered");
        let mut heard = person.has_heard(3).await;
        heard.sort();
        assert_eq!(heard, ["log \"slow\"", "progress 1", "progress 2"], "{site:?}");
    }
}

/// The server keeps no notifications for a client that does not read: the flow waits, and ends with its client.
#[tokio::test]
async fn a_flood_of_notifications_is_heard_to_its_end() {
    for site in ALL {
        let flood = async |flow: Flow| {
            for number in 1..=2000 {
                flow.progress(number, None, "").await;
            }
            Ok::<_, Failure>("done")
        };
        let person = Person::answering([]);
        let handler = Flows::of_tool(Tool::new("flood", flood)).expect("it is well made");
        let client = connect(handler, &person, site).await;
        let flooded = tokio::time::timeout(PATIENCE, client.call_tool(call("flood", json!({})))).await;
        flooded.expect("in time").expect("it is answered");
        assert!(!person.has_heard(1).await.is_empty(), "{site:?}");
    }
}
