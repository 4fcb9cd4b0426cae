//! Calls whose rounds our client drives, over rmcp's.

use std::sync::atomic::Ordering;
use std::time::Duration;

use mrtr_client::{CallErrorKind, Client, FormRequest, RoundOutcome, TransportFailure};
use mrtr_rmcp::{Flows, RmcpTransport};
use mrtr_schema::elicitation::ElicitResult;
use mrtr_server::{Failure, Flow, Tool};
use rmcp::ServiceExt;
use rmcp::model::{ElicitRequestParams, ElicitationAction};
use rmcp::service::{ClientServiceExt, RequestContext};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::desk::{Desk, Silent, discover, serve, spawn, url, visit};

/// Answers what the desk asks.
pub(crate) async fn answer(form: FormRequest) -> ElicitResult {
    let answer = match form.message() {
        "From where?" => json!({ "city": "Oslo" }),
        "To where?" => json!({ "city": "Bergen" }),
        "On which day?" => json!({ "day": "Monday" }),
        other => panic!("{other}"),
    };
    form.accept(&answer).expect("it fits the form")
}

#[tokio::test]
async fn three_rounds_are_driven_on_a_server_that_is_not_ours() {
    let desk = Desk::default();
    let address = serve(desk.clone()).await;
    let rmcp = visit(&url(address)).await;
    let client = Client::builder(RmcpTransport::new(url(address), rmcp.peer().clone())).on_elicit(answer).build();
    let result = client.call_tool("book", json!({})).await.expect("it is answered");
    assert_eq!(result.text(), "booking 1: Oslo to Bergen, Monday");
    assert_eq!(desk.booked.load(Ordering::SeqCst), 1);
    assert_eq!(client.list_tools().await.expect("they are listed")[0].name, "book");
}

#[tokio::test]
async fn what_our_client_can_do_is_declared_and_not_what_rmcps_can() {
    #[derive(Deserialize, JsonSchema)]
    struct Word {
        word: String,
    }
    let ask = async |flow: Flow| {
        let Word { word } = flow.elicit("word", "A word?").await?;
        Ok::<_, Failure>(word)
    };
    let (ours, theirs) = tokio::io::duplex(4096);
    spawn(Flows::of_tool(Tool::new("ask", ask)).expect("it is well made"), theirs);
    let rmcp = Silent.serve_with_lifecycle(ours, discover()).await.expect("it begins");
    let transport = || RmcpTransport::new("words", rmcp.peer().clone());

    let deaf = Client::builder(transport()).build();
    let error = deaf.call_tool("ask", json!({})).await.expect_err("it cannot be asked");
    let is_explained = matches!(error.kind, CallErrorKind::NoHandler { key: None, handler: "on_elicit", .. });
    assert!(is_explained, "rmcp has handed the server's error on: {error:?}");
    let able =
        Client::builder(transport()).on_elicit(async |form: FormRequest| form.accept(&json!({ "word": "hi" }))).build();
    assert_eq!(able.call_tool("ask", json!({})).await.expect("it is answered").text(), "hi");
}

#[tokio::test]
async fn a_call_by_hand_goes_round_by_round() {
    let address = serve(Desk::default()).await;
    let rmcp = visit(&url(address)).await;
    let client = Client::builder(RmcpTransport::new(url(address), rmcp.peer().clone())).on_elicit(answer).build();
    let mut round = client.call_tool_once("book", json!({})).await.expect("it is answered");
    for (key, content) in
        [("from", json!({ "city": "A" })), ("to", json!({ "city": "B" })), ("when", json!({ "day": "C" }))]
    {
        let RoundOutcome::Asked(mut pending) = round else { panic!("{key}: {round:?}") };
        pending.accept(key, &content).expect("it fits the form");
        round = client.advance(pending).await.expect("it is answered");
    }
    let RoundOutcome::Complete(result) = round else { panic!("{round:?}") };
    assert!(result.as_str().contains("booking 1: A to B, C"), "{result:?}");
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled_at_the_server() {
    let desk = Desk::default();
    let (ours, theirs) = tokio::io::duplex(4096);
    spawn(desk.clone(), theirs);
    let rmcp = Silent.serve_with_lifecycle(ours, discover()).await.expect("it begins");
    let client = Client::builder(RmcpTransport::new("desk", rmcp.peer().clone())).build();
    let mut stalled = desk.stalled.subscribe();
    let calling = tokio::spawn(async move { client.call_tool("stall", json!({})).await });
    stalled.wait_for(|(begun, _)| *begun == 1).await.expect("it is told");
    calling.abort();
    let cancelled = stalled.wait_for(|(_, cancelled)| *cancelled == 1);
    tokio::time::timeout(Duration::from_secs(20), cancelled).await.expect("in time").expect("it is told");
}

#[tokio::test]
async fn a_server_that_is_gone_is_an_error_that_says_so() {
    let (ours, theirs) = tokio::io::duplex(4096);
    spawn(Desk::default(), theirs);
    let rmcp = Silent.serve_with_lifecycle(ours, discover()).await.expect("it begins");
    let client = Client::builder(RmcpTransport::new("desk", rmcp.peer().clone())).build();
    let peer = rmcp.peer().clone();
    rmcp.cancel().await.expect("it ends");
    assert!(peer.is_transport_closed());
    let error = client.call_tool("book", json!({})).await.expect_err("there is no server");
    let CallErrorKind::Transport { source, .. } = error.kind else { panic!("{error:?}") };
    assert_eq!(source.failure(), TransportFailure::Unreachable, "{source}");
}

/// In a session the server holds the call and asks by requests, which rmcp's handler answers.
#[tokio::test]
async fn in_a_session_rmcps_own_handler_is_asked() {
    #[derive(Clone)]
    struct Answering;
    impl rmcp::ClientHandler for Answering {
        fn get_info(&self) -> rmcp::model::ClientConfig {
            let capabilities = serde_json::from_value(json!({ "elicitation": {} })).expect("they are capabilities");
            rmcp::model::ClientConfig::new(capabilities, rmcp::model::Implementation::new("answering", "1.0.0"))
        }

        async fn create_elicitation(
            &self,
            _: ElicitRequestParams,
            _: RequestContext<rmcp::RoleClient>,
        ) -> Result<rmcp::model::ElicitResult, rmcp::ErrorData> {
            Ok(rmcp::model::ElicitResult::new(ElicitationAction::Accept).with_content(json!({ "word": "by rmcp" })))
        }
    }
    #[derive(Deserialize, JsonSchema)]
    struct Word {
        word: String,
    }
    let ask = async |flow: Flow| {
        let Word { word } = flow.elicit("word", "A word?").await?;
        Ok::<_, Failure>(word)
    };
    let (ours, theirs) = tokio::io::duplex(4096);
    spawn(Flows::of_tool(Tool::new("ask", ask)).expect("it is well made"), theirs);
    let rmcp = Answering.serve(ours).await.expect("it begins");
    let client = Client::builder(RmcpTransport::new("words", rmcp.peer().clone())).on_elicit(answer).build();
    assert_eq!(client.call_tool("ask", json!({})).await.expect("it is answered").text(), "by rmcp");
}
