//! A server of rmcp's, written by hand and without any of our crates: a booking in three rounds.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequest, ElicitRequestParams,
    InputRequest, InputRequests, InputRequiredResult, JsonObject, ListToolsResult, PaginatedRequestParams,
    ProtocolVersion, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RequestContext, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ClientHandler, ErrorData, RoleClient, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};
use tokio::io::DuplexStream;
use tokio::sync::watch;

#[derive(Clone, Default)]
pub(crate) struct Desk {
    pub(crate) booked: Arc<AtomicU32>,
    /// The number of calls of `stall` that have begun, and of those that were cancelled.
    pub(crate) stalled: Arc<watch::Sender<(u32, u32)>>,
}

/// The schema of a tool without arguments.
fn schema() -> Arc<JsonObject> {
    Arc::new(JsonObject::from_iter([("type".to_owned(), json!("object"))]))
}

fn asking(key: &str, message: &str, property: &str, state: &str) -> CallToolResponse {
    let schema = json!({ "type": "object", "properties": { property: { "type": "string" } }, "required": [property] });
    let question = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message.to_owned(),
        requested_schema: serde_json::from_value(schema).expect("it is a form"),
    };
    let question = InputRequest::Elicitation(ElicitRequest::new(question));
    InputRequiredResult::new(Some(InputRequests::from([(key.to_owned(), question)])), Some(state.to_owned())).into()
}

impl ServerHandler for Desk {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(vec![Tool::new("book", "Books a journey", schema())]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name == "stall" {
            self.stalled.send_modify(|(begun, _)| *begun += 1);
            context.ct.cancelled().await;
            self.stalled.send_modify(|(_, cancelled)| *cancelled += 1);
        }
        let answer = |key: &str, property: &str| {
            let answers = request.input_responses.as_ref()?;
            answers.get(key)?["content"][property].as_str().map(str::to_owned)
        };
        // An honest client sends it back as it is, and this server is too trusting to check.
        match request.request_state.as_deref() {
            None => Ok(asking("from", "From where?", "city", "{}")),
            Some("{}") => {
                let from = answer("from", "city").unwrap_or_default();
                Ok(asking("to", "To where?", "city", &json!({ "from": from }).to_string()))
            }
            Some(state) => {
                let mut known: Value = serde_json::from_str(state).expect("it is what was sent");
                if let Some(to) = answer("to", "city") {
                    known["to"] = to.into();
                    return Ok(asking("when", "On which day?", "day", &known.to_string()));
                }
                let number = self.booked.fetch_add(1, Ordering::SeqCst) + 1;
                let text = format!(
                    "booking {number}: {} to {}, {}",
                    known["from"].as_str().unwrap_or("?"),
                    known["to"].as_str().unwrap_or("?"),
                    answer("when", "day").unwrap_or_default()
                );
                Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
            }
        }
    }
}

pub(crate) async fn serve(desk: Desk) -> SocketAddr {
    let sessions = Arc::<LocalSessionManager>::default();
    let service = StreamableHttpService::new(move || Ok(desk.clone()), sessions, StreamableHttpServerConfig::default());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).into_future());
    address
}

/// Serves over a stream, as long as that lasts.
pub(crate) fn spawn(handler: impl ServerHandler, stream: DuplexStream) {
    tokio::spawn(async { handler.serve(stream).await.expect("it begins").waiting().await });
}

pub(crate) fn url(address: SocketAddr) -> String {
    format!("http://{address}/mcp")
}

pub(crate) fn discover() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

/// A client of rmcp's that answers nothing itself.
pub(crate) async fn visit(url: &str) -> RunningService<RoleClient, Silent> {
    let transport = StreamableHttpClientTransport::from_uri(url);
    Silent.serve_with_lifecycle(transport, discover()).await.expect("it begins")
}

/// A handler that fails if rmcp asks it: our client has answered, or nothing has.
#[derive(Clone)]
pub(crate) struct Silent;

impl ClientHandler for Silent {
    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<rmcp::model::ElicitResult, ErrorData> {
        panic!("rmcp's own retries are in the way")
    }
}
