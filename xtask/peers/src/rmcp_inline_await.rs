//! The tracker as a server of 2025 has it in rmcp: the call awaits its answers inline, and is kept while a person thinks.
//!
//! GUIDE shows it as what one migrates from. The test shows that it works, for a client with a session.

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    Implementation, ServerCapabilities, ServerConfig,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, ElicitationError, RequestContext, ServiceExt};
use rmcp::{
    ClientHandler, ErrorData, RoleClient, RoleServer, ServerHandler, elicit_safe, tool, tool_handler, tool_router,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::closed;
use mrtr_fixtures::work_item::{HOW, WHICH, closed_as_duplicate};

struct Tracker {
    router: ToolRouter<Self>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Update {
    work_item_id: u64,
    fields: Map<String, Value>,
}

#[derive(PartialEq, Deserialize, JsonSchema)]
#[schemars(inline)]
enum Resolution {
    Fixed,
    Duplicate,
}

#[derive(Deserialize, JsonSchema)]
struct Resolved {
    resolution: Resolution,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Original {
    duplicate_of_id: u64,
}

elicit_safe!(Resolved, Original);

#[tool_router]
impl Tracker {
    #[tool(description = "Updates a work item")]
    async fn update_work_item(
        &self,
        Parameters(update): Parameters<Update>,
        context: RequestContext<RoleServer>,
    ) -> Result<String, ErrorData> {
        let answer = context.peer.elicit::<Resolved>(HOW).await.map_err(failed)?;
        let Resolved { resolution } = answer.ok_or_else(no_answer)?;
        if resolution != Resolution::Duplicate {
            return Ok(closed(update.work_item_id, update.fields.len()));
        }
        let answer = context.peer.elicit::<Original>(WHICH).await.map_err(failed)?;
        let Original { duplicate_of_id } = answer.ok_or_else(no_answer)?;
        link(update.work_item_id, duplicate_of_id).await;
        Ok(closed_as_duplicate(update.work_item_id, duplicate_of_id))
    }
}

#[tool_handler(router = self.router)]
impl ServerHandler for Tracker {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
}

#[expect(clippy::unused_async, reason = "a real tracker is asked over the network")]
async fn link(_duplicate: u64, _original: u64) {}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` hands errors over by value")]
fn failed(error: ElicitationError) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

fn no_answer() -> ErrorData {
    ErrorData::internal_error("there is no answer", None)
}

/// Answers as the person of the other clients does.
struct Person;

impl ClientHandler for Person {
    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder().enable_elicitation().build();
        ClientConfig::new(capabilities, Implementation::new("person", "1.0.0"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { requested_schema, .. } = request else {
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        };
        let answers = json!({ "resolution": "Duplicate", "duplicateOfId": 4301 });
        let fields = requested_schema.properties.keys();
        let content: Map<_, _> = fields.map(|field| (field.clone(), answers[field.as_str()].clone())).collect();
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(content)))
    }
}

#[tokio::test]
async fn an_inline_await_works_in_a_session() -> anyhow::Result<()> {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let tracker = Tracker { router: Tracker::tool_router() };
    let serving =
        tokio::spawn(async move { tracker.serve(theirs).await?.waiting().await.map_err(anyhow::Error::from) });
    let client = Person.serve_with_lifecycle(ours, ClientLifecycleMode::Initialize).await?;
    let arguments = json!({ "workItemId": 4522, "fields": {} }).as_object().cloned().unwrap_or_default();
    let result = client.call_tool(CallToolRequestParams::new("update_work_item").with_arguments(arguments)).await?;
    let text = result.content.first().and_then(|content| content.as_text()).map(|text| text.text.clone());
    assert_eq!(text.as_deref(), Some("Bug #4522 resolved as duplicate of #4301"));
    client.cancel().await?;
    serving.await??;
    Ok(())
}
