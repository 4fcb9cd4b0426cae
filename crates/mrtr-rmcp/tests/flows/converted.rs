//! Errors and results of rmcp's that a flow passes on.

use mrtr_rmcp::{Flows, IntoMrtr};
use mrtr_server::{Failure, Flow, Server, Tool};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, ErrorCode};
use rmcp::service::ServiceError;
use serde_json::json;

use crate::person::{Person, call, text};
use crate::sites::{ALL, connect};

fn flows() -> Flows {
    let refuse = async |_: Flow| {
        let error = ErrorData::invalid_params("there is no such room", Some(json!({ "room": 13 })));
        Err::<String, Failure>(error.into_mrtr().into())
    };
    let answer = async |_: Flow| {
        let mut result = CallToolResult::success(vec![ContentBlock::text("clean")]);
        result.structured_content = Some(json!({ "floor": 12 }));
        result.into_mrtr()
    };
    let server = Server::builder("hotel", "1.0.0").tool(Tool::new("refuse", refuse)).tool(Tool::new("answer", answer));
    Flows::new(server.build().expect("it is well made"))
}

#[tokio::test]
async fn they_arrive_as_they_do_from_a_tool_of_rmcps() {
    for site in ALL {
        let client = connect(flows(), &Person::answering([]), site).await;
        let Err(ServiceError::McpError(error)) = client.call_tool(call("refuse", json!({}))).await else { panic!() };
        assert_eq!((error.code, &*error.message), (ErrorCode::INVALID_PARAMS, "there is no such room"), "{site:?}");
        assert_eq!(error.data, Some(json!({ "room": 13 })), "{site:?}");
        let result = client.call_tool(call("answer", json!({}))).await.expect("it is answered");
        assert_eq!(text(&result), "clean", "{site:?}");
        assert_eq!(result.structured_content, Some(json!({ "floor": 12 })), "{site:?}");
    }
}
