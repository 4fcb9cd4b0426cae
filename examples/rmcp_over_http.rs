//! Flows in an rmcp server over HTTP: middleware checks tokens, flows know their callers, and sessions are theirs alone.
//!
//! ```sh
//! cargo run -p mrtr-examples --bin rmcp_over_http
//! ```
//!
//! Server and clients are one program, and talk over HTTP. `add` is an ordinary tool of rmcp's; `sign` is a flow. Bob
//! gets hold of Ada's call, with its state and her answer, and can do nothing with it.
//!
//! ```text
//! 2 + 3 = 5
//! asked: What does ada sign?
//! ada signs the contract
//! bob with ada's call: The request state is not valid
//! without a token: 401 Unauthorized
//! ```

use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header, request::Parts};
use axum::middleware::Next;
use axum::response::Response;
use axum::{Router, middleware};
use mrtr::client::AnswerError;
use mrtr::prelude::*;
use mrtr::schema::elicitation::ElicitResult;
use mrtr::server::Caller;
use mrtr_rmcp::Flows;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, tool, tool_handler, tool_router};

#[rustfmt::skip] #[data] struct Paper { paper: String }
#[rustfmt::skip] #[data] struct Sum { a: i64, b: i64 }

async fn sign(flow: Flow) -> Result<String> {
    let caller = flow.principal().ok_or(ToolError::new("Say who you are"))?.subject();
    let Paper { paper } = flow.elicit("paper", format!("What does {caller} sign?")).await?;
    Ok(format!("{caller} signs {paper}"))
}

#[derive(Clone)]
struct Calculator;
#[tool_router]
impl Calculator {
    #[rustfmt::skip] #[tool(description = "Adds two numbers")]
    fn add(Parameters(Sum { a, b }): Parameters<Sum>) -> String { (a + b).to_string() }
}
#[tool_handler]
impl ServerHandler for Calculator {}

/// The user, as the middleware leaves it in the request.
#[derive(Clone)]
struct User(&'static str);

/// Checks tokens: a real one checks signatures.
async fn check_token(mut request: Request, next: Next) -> Result<Response, StatusCode> {
    let user = match request.headers().get(header::AUTHORIZATION).map(HeaderValue::as_bytes) {
        Some(b"Bearer token-of-ada") => User("ada"),
        Some(b"Bearer token-of-bob") => User("bob"),
        _ => return Err(StatusCode::UNAUTHORIZED),
    };
    request.extensions_mut().insert(user);
    Ok(next.run(request).await)
}

fn app(server: Server) -> Router {
    let flows = Flows::new(server).beside(Calculator).caller(|extensions| {
        // rmcp passes on the head of the HTTP request, with what the middleware left in it.
        let User(name) = extensions.get::<Parts>()?.extensions.get()?;
        Some(Caller::new("https://id.example.com", *name))
    });
    let owners = flows.session_owners();
    let sessions = Arc::new(LocalSessionManager::default());
    let service =
        StreamableHttpService::new(move || Ok(flows.clone()), sessions, StreamableHttpServerConfig::default());
    // The last layer is the outermost: tokens are checked before sessions are looked at.
    Router::new().nest_service("/mcp", service).layer(owners).layer(middleware::from_fn(check_token))
}

async fn answer(form: FormRequest) -> Result<ElicitResult, AnswerError> {
    println!("asked: {}", form.message());
    form.accept(&json!({ "paper": "the contract" }))
}

#[tokio::main]
async fn main() -> Result<()> {
    mrtr::init_logging();
    let server = Server::builder("office", "1.0.0").tool(Tool::new("sign", sign)).build()?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    tokio::spawn(axum::serve(listener, app(server)).into_future());

    let ada = Client::builder(HttpTransport::new(&url)?.bearer("token-of-ada")).on_elicit(answer).build();
    println!("2 + 3 = {}", ada.call_tool("add", json!({ "a": 2, "b": 3 })).await?.text());
    println!("{}", ada.call_tool("sign", json!({})).await?.text());

    let RoundOutcome::Asked(mut call) = ada.call_tool_once("sign", json!({})).await? else {
        return Err("it asks".into());
    };
    call.accept("paper", &json!({ "paper": "a cheque" }))?;
    let bob = Client::builder(HttpTransport::new(&url)?.bearer("token-of-bob")).on_elicit(answer).build();
    let refused = bob.resume(call).await.err().ok_or("it is ada's call")?;
    println!("bob with ada's call: {}", refused.untrusted_message().unwrap_or_default());

    let request = reqwest::Client::new().post(&url).header("content-type", "application/json").body("{}");
    println!("without a token: {}", request.send().await?.status());
    Ok(())
}
