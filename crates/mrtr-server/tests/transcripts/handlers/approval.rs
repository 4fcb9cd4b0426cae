//! A deployment that waits for another person's approval.

use mrtr_schema::{CallToolResult, Method, NamespacedInput};
use mrtr_server::{Flow, FlowError, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::done;

pub(crate) fn tool() -> Tool {
    Tool::new("deploy", deploy)
}

pub(crate) struct Approval;

/// What the client can show while the approval is pending.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Pending {
    approver: String,
    deadline: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Decision {
    approved: bool,
    by: String,
}

impl NamespacedInput for Approval {
    const METHOD: Method = Method::from_static("com.example/approval");
    type Params = Pending;
    type Response = Decision;
}

async fn deploy(flow: Flow) -> Result<CallToolResult, FlowError> {
    let pending = Pending { approver: "release managers".to_owned(), deadline: "2026-08-01T12:00:00Z".to_owned() };
    let Decision { approved, by } = flow.ask::<Approval>("sign_off", pending).await?;
    Ok(done(if approved { format!("Deployed, approved by {by}") } else { format!("Not deployed: {by} said no") }))
}
