//! The sites where a handler is served, and the ways of rmcp's client to them.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ClientHandler, RoleClient, ServerHandler, ServiceExt};

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The way in which rmcp's client begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Lifecycle {
    Discover,
    Initialize,
}

/// The connection between client and server.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Way {
    Streams,
    Http,
}

pub(crate) const ALL: [(Lifecycle, Way); 4] = [
    (Lifecycle::Discover, Way::Streams),
    (Lifecycle::Discover, Way::Http),
    (Lifecycle::Initialize, Way::Streams),
    (Lifecycle::Initialize, Way::Http),
];

impl Lifecycle {
    fn mode(self) -> ClientLifecycleMode {
        match self {
            Self::Discover => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
            Self::Initialize => ClientLifecycleMode::Initialize,
        }
    }
}

/// Serves a handler, and returns a client that has begun.
pub(crate) async fn connect<C: ClientHandler + Clone>(
    handler: impl ServerHandler + Clone,
    client: &C,
    (lifecycle, way): (Lifecycle, Way),
) -> RunningService<RoleClient, C> {
    match way {
        Way::Streams => over_streams(handler, client, lifecycle).await,
        Way::Http => visit(serve(handler).await, client, lifecycle, None).await,
    }
}

async fn over_streams<C: ClientHandler + Clone>(
    handler: impl ServerHandler,
    client: &C,
    lifecycle: Lifecycle,
) -> RunningService<RoleClient, C> {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    tokio::spawn(async { handler.serve(theirs).await.expect("it begins").waiting().await });
    client.clone().serve_with_lifecycle(ours, lifecycle.mode()).await.expect("it begins")
}

/// Serves over HTTP, with a factory that gives each session a clone.
pub(crate) async fn serve(handler: impl ServerHandler + Clone) -> SocketAddr {
    serve_as(handler, StreamableHttpServerConfig::default()).await
}

pub(crate) async fn serve_as(handler: impl ServerHandler + Clone, config: StreamableHttpServerConfig) -> SocketAddr {
    let factory = move || Ok(handler.clone());
    let service = StreamableHttpService::new(factory, std::sync::Arc::<LocalSessionManager>::default(), config);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(axum::serve(listener, Router::new().nest_service("/mcp", service)).into_future());
    address
}

/// Begins as a client of a server over HTTP, as the user of a token if there is one.
pub(crate) async fn visit<C: ClientHandler + Clone>(
    address: SocketAddr,
    client: &C,
    lifecycle: Lifecycle,
    token: Option<&str>,
) -> RunningService<RoleClient, C> {
    let mut config = StreamableHttpClientTransportConfig::with_uri(format!("http://{address}/mcp"));
    if let Some(token) = token {
        config = config.auth_header(token);
    }
    let transport = StreamableHttpClientTransport::from_config(config);
    client.clone().serve_with_lifecycle(transport, lifecycle.mode()).await.expect("it begins")
}
