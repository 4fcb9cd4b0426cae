//! rmcp, the official SDK: a tool gets the state and the answers, opens the state itself and seals the next one.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::serve::ListenerExt;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::tool::{InputResponses, RequestState};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    CallToolResponse, CallToolResult, ContentBlock, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationSchema, EnumSchema, InputRequest, InputRequests, InputRequiredResult, IntegerSchema,
    PrimitiveSchemaDefinition, ProtocolVersion, RequestStateCodec, SealOptions, ServerCapabilities, ServerConfig,
};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, ServerHandler, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::net::TcpListener;

use crate::{SECRET, closed, resolutions};
use mrtr_fixtures::work_item::{HOW, Original, Resolution, Resolved, WHICH, closed_as_duplicate};

/// Serves on the current thread, with plain JSON replies and without sessions.
pub(crate) async fn serve(port: u16) -> anyhow::Result<()> {
    let tracker = Arc::new(Tracker::new()?);
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_allowed_hosts([Ipv4Addr::LOCALHOST.to_string()]);
    let service =
        StreamableHttpService::new(move || Ok(Arc::clone(&tracker)), Arc::new(NeverSessionManager::default()), config);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?.tap_io(|stream| {
        stream.set_nodelay(true).expect("a connection that was just accepted");
    });
    Ok(axum::serve(listener, Router::new().route_service("/mcp", service)).await?)
}

struct Tracker {
    codec: RequestStateCodec,
    router: ToolRouter<Self>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Update {
    work_item_id: u64,
    fields: Map<String, Value>,
}

/// The answer that the server waits for, and the answers before it.
#[derive(Serialize, Deserialize)]
enum Awaiting {
    Resolution,
    Original { resolution: Resolution },
}

#[tool_router]
impl Tracker {
    fn new() -> anyhow::Result<Self> {
        Ok(Self { codec: RequestStateCodec::try_new(SECRET)?, router: Self::tool_router() })
    }

    #[tool(description = "Closes a work item")]
    async fn close_work_item(&self, Parameters(update): Parameters<Update>) -> String {
        closed(update.work_item_id, update.fields.len())
    }

    #[tool(description = "Updates a work item")]
    async fn update_work_item(
        &self,
        Parameters(update): Parameters<Update>,
        RequestState(state): RequestState,
        InputResponses(answers): InputResponses,
    ) -> Result<CallToolResponse, ErrorData> {
        let context = format!("tools/call:update_work_item:{}", update.work_item_id);
        let Some(state) = state else {
            return self.ask("resolution", HOW, resolution_form(), &Awaiting::Resolution, &context);
        };
        let awaiting = self.codec.open_json_with(&state, context.as_bytes()).map_err(invalid)?;
        let mut answers = answers.unwrap_or_default();
        match awaiting {
            Awaiting::Resolution => {
                let Resolved { resolution } = answer(answers.remove("resolution"))?;
                if resolution != Resolution::Duplicate {
                    return Ok(text(closed(update.work_item_id, update.fields.len())));
                }
                let next = Awaiting::Original { resolution };
                self.ask("duplicate_of", WHICH, original_form(), &next, &context)
            }
            Awaiting::Original { resolution: Resolution::Duplicate } => {
                let Original { duplicate_of_id } = answer(answers.remove("duplicate_of"))?;
                link(update.work_item_id, duplicate_of_id).await;
                Ok(text(closed_as_duplicate(update.work_item_id, duplicate_of_id)))
            }
            Awaiting::Original { .. } => Err(invalid("only a duplicate has an original")),
        }
    }

    fn ask(
        &self,
        key: &str,
        message: &str,
        requested_schema: ElicitationSchema,
        awaiting: &Awaiting,
        context: &str,
    ) -> Result<CallToolResponse, ErrorData> {
        let options = SealOptions::new().associated_data(context.as_bytes()).ttl(LIFETIME);
        let state = self.codec.seal_json_with(awaiting, &options).map_err(invalid)?;
        let question = ElicitRequest::new(ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: message.to_owned(),
            requested_schema,
        });
        let requests = InputRequests::from([(key.to_owned(), InputRequest::Elicitation(question))]);
        Ok(InputRequiredResult::new(Some(requests), Some(state)).into())
    }
}

#[tool_handler(router = self.router)]
impl ServerHandler for Tracker {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.protocol_version = ProtocolVersion::V_2026_07_28;
        info
    }
}

#[expect(clippy::unused_async, reason = "a real tracker is asked over the network")]
async fn link(_duplicate: u64, _original: u64) {}

pub(crate) fn resolution_form() -> ElicitationSchema {
    let resolution = EnumSchema::builder(resolutions()).untitled().build();
    ElicitationSchema::builder().required_enum_schema("resolution", resolution).build_unchecked()
}

pub(crate) fn original_form() -> ElicitationSchema {
    let id = PrimitiveSchemaDefinition::Integer(IntegerSchema::new());
    ElicitationSchema::builder().required_property("duplicateOfId", id).build_unchecked()
}

fn answer<T: DeserializeOwned>(answer: Option<Value>) -> Result<T, ErrorData> {
    let result: ElicitResult = serde_json::from_value(answer.unwrap_or_default()).map_err(invalid)?;
    serde_json::from_value(result.content.unwrap_or_default()).map_err(invalid)
}

pub(crate) fn text(message: String) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(message)]).into()
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` hands errors over by value")]
pub(crate) fn invalid(reason: impl ToString) -> ErrorData {
    ErrorData::invalid_params(reason.to_string(), None)
}

/// Longer than a run of the bench, which sends the same state again and again.
const LIFETIME: Duration = Duration::from_hours(1);
