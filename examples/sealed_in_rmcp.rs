//! Sealed state in a `#[tool]` of rmcp's: ten lines, and the rest is ordinary rmcp.
//!
//! ```sh
//! cargo run -p mrtr-examples --bin sealed_in_rmcp
//! ```
//!
//! The tool is that of `sealed_without_sdk`, in an rmcp server: it quotes a price that changes all the time, and asks
//! whether to book. The quote goes to the client and comes back with the answer, sealed and bound to its caller and
//! its arguments. The tool books one room, however often the client sends the answer.
//!
//! ```text
//! ada: A room in Oslo costs 101 euros. Shall it be booked?
//! bob, with ada's state: The request state is not valid
//! ada, for Paris: The request state is not valid
//! ada, twenty times at once: A room in Oslo is booked for 101 euros
//! rooms booked: 1
//! ```

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use mrtr::prelude::*;
use mrtr_rmcp::state::{Round, States, ToolCall};
use mrtr_server::Caller;
use mrtr_state::{JsonPayload, MemorySingleUse};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequest, ElicitRequestParams,
    ElicitationSchema, Extensions, InputRequest, InputRequests, InputResponses, ProtocolVersion,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RunningService, ServiceError};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleClient, ServerHandler, tool, tool_handler, tool_router};
use tokio::task::JoinSet;

/// What the server must remember.
#[derive(serde::Serialize, serde::Deserialize)]
struct Quote {
    euros: u64,
}

impl JsonPayload for Quote {
    const KIND: &'static str = "com.example/quote";
}

#[derive(Clone)]
struct Hotel {
    states: States,
    used: Arc<MemorySingleUse>,
    price: Arc<AtomicU64>,
    booked: Arc<AtomicU64>,
}

#[rustfmt::skip] #[data] struct Trip { city: String }

#[tool_router]
impl Hotel {
    #[tool(name = "book", description = "Books a room")]
    async fn room(&self, call: ToolCall, Parameters(trip): Parameters<Trip>) -> Result<CallToolResponse, ErrorData> {
        match self.states.open_tool::<Quote>(&call, &trip)? {
            Round::First(round) => {
                let euros = self.price.fetch_add(1, Ordering::Relaxed) + 1;
                Ok(round.ask(shall_it_be_booked(&trip.city, euros), &Quote { euros })?.into())
            }
            Round::Retry(round) if says_yes(call.answers()) => {
                Ok(round.once(&*self.used, self.book(&trip.city, round.state())).await?.into())
            }
            Round::Retry(_) => Ok(said("Nothing is booked").into()),
        }
    }
}

#[tool_handler]
impl ServerHandler for Hotel {}

impl Hotel {
    #[expect(clippy::unused_async, reason = "a real hotel is asked over the network")]
    async fn book(&self, city: &str, quote: &Quote) -> Result<CallToolResult, ErrorData> {
        self.booked.fetch_add(1, Ordering::Relaxed);
        Ok(said(&format!("A room in {city} is booked for {} euros", quote.euros)))
    }
}

fn shall_it_be_booked(city: &str, euros: u64) -> InputRequests {
    let question = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: format!("A room in {city} costs {euros} euros. Shall it be booked?"),
        requested_schema: ElicitationSchema::builder().required_bool("yes").build().expect("it is a form"),
    };
    InputRequests::from([("book".to_owned(), InputRequest::Elicitation(ElicitRequest::new(question)))])
}

fn says_yes(answers: Option<&InputResponses>) -> bool {
    let answer = answers.and_then(|answers| answers.get("book"));
    answer.is_some_and(|answer| answer["content"]["yes"] == true)
}

fn said(text: &str) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// A real server checks a signed token.
fn by_token(extensions: &Extensions) -> Option<Caller> {
    let header = extensions.get::<http::request::Parts>()?.headers.get("authorization")?;
    Some(Caller::new("https://id.example.com", header.to_str().ok()?.strip_prefix("Bearer ")?))
}

#[tokio::main]
async fn main() -> Result<()> {
    mrtr::init_logging();
    let hotel = Hotel {
        states: States::new(Sealer::this_process_only()).caller(by_token),
        used: Arc::new(MemorySingleUse::new(SystemTime::now().into())),
        price: Arc::new(AtomicU64::new(100)),
        booked: Arc::default(),
    };
    let address = serve(hotel.clone()).await?;
    let (ada, bob) = (Arc::new(visit(address, "ada").await?), visit(address, "bob").await?);

    let CallToolResponse::InputRequired(asked) = ada.call_tool_once(book("Oslo", None)).await? else {
        return Err("nothing is asked".into());
    };
    println!("ada: {}", message(asked.input_requests.as_ref()));
    let state = asked.request_state;
    println!("bob, with ada's state: {}", refusal(bob.call_tool_once(book("Oslo", state.clone())).await));
    println!("ada, for Paris: {}", refusal(ada.call_tool_once(book("Paris", state.clone())).await));
    let mut copies = JoinSet::new();
    for _ in 0..20 {
        let (ada, retry) = (Arc::clone(&ada), book("Oslo", state.clone()));
        copies.spawn(async move { ada.call_tool_once(retry).await });
    }
    let replies: BTreeSet<_> = copies.join_all().await.into_iter().map(reply).collect();
    println!("ada, twenty times at once: {}", replies.into_iter().collect::<Vec<_>>().join(" / "));
    println!("rooms booked: {}", hotel.booked.load(Ordering::Relaxed));
    Ok(())
}

// ---- rmcp's own server and client around it.

async fn serve(hotel: Hotel) -> Result<SocketAddr> {
    let (sessions, config) = (Arc::<LocalSessionManager>::default(), StreamableHttpServerConfig::default());
    let service = StreamableHttpService::new(move || Ok(hotel.clone()), sessions, config);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).into_future());
    Ok(address)
}

async fn visit(address: SocketAddr, token: &str) -> Result<RunningService<RoleClient, ()>> {
    let config = StreamableHttpClientTransportConfig::with_uri(format!("http://{address}/mcp")).auth_header(token);
    let discover = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    Ok(().serve_with_lifecycle(StreamableHttpClientTransport::from_config(config), discover).await?)
}

/// A call, and with a state the answer.
fn book(city: &str, state: Option<String>) -> CallToolRequestParams {
    let mut request = CallToolRequestParams::new("book");
    request.arguments = json!({ "city": city }).as_object().cloned();
    if state.is_some() {
        let answer = json!({ "action": "accept", "content": { "yes": true } });
        request.input_responses = Some(InputResponses::from([("book".to_owned(), answer)]));
    }
    request.request_state = state;
    request
}

fn message(asked: Option<&InputRequests>) -> String {
    match asked.and_then(|asked| asked.get("book")) {
        Some(InputRequest::Elicitation(ElicitRequest {
            params: ElicitRequestParams::FormElicitationParams { message, .. },
            ..
        })) => message.clone(),
        other => format!("{other:?}"),
    }
}

fn refusal(answered: Result<CallToolResponse, ServiceError>) -> String {
    match answered {
        Err(ServiceError::McpError(error)) => error.message.into_owned(),
        other => format!("{other:?}"),
    }
}

fn reply(answered: Result<CallToolResponse, ServiceError>) -> String {
    match answered {
        Ok(CallToolResponse::Complete(result)) => {
            result.content.iter().filter_map(|block| Some(block.as_text()?.text.as_str())).collect()
        }
        other => format!("{other:?}"),
    }
}
