//! Endpoints by path: as axum routers, and as the mounts of our own server.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use axum::Router;
use http::{Request, Response};
use hyper::body::Incoming;
use mrtr_schema::Revision;
use mrtr_server::Server;
use mrtr_server::transport::Inventory;

use super::connection::MAX_HEADERS;
use super::endpoint::Endpoint;
use super::link::Peer;
use super::rejection::Rejection;
use super::respond::reject;
use super::response_body::ResponseBody;

/// The path of the published revision.
///
/// ```
/// assert_eq!(mrtr_http::PATH, "/mcp");
/// ```
pub const PATH: &str = "/mcp";

/// Creates a router that serves the published revision at `/mcp`, to every caller that can reach it.
///
/// ```
/// use mrtr_server::Server;
///
/// let server = Server::builder("empty", "1.0.0").build()?;
/// let app = axum::Router::new().merge(mrtr_http::router(server));
/// # let _: axum::Router = app;
/// # Ok::<(), mrtr_server::BuildError>(())
/// ```
pub fn router(server: Server) -> Router {
    router_at(PATH, Endpoint::anonymous(server))
}

/// Creates a router that serves a draft of the pattern at a path of its own, such as `/sep-2322`.
///
/// # Panics
/// Panics with a revision of the legacy era: those have sessions, and no path of their own.
///
/// ```
/// use mrtr_schema::Revision;
/// use mrtr_server::Server;
///
/// let server = Server::builder("empty", "1.0.0").build()?;
/// let app = mrtr_http::router(server.clone()).merge(mrtr_http::router_for(server, Revision::Sep2322));
/// # let _: axum::Router = app;
/// # Ok::<(), mrtr_server::BuildError>(())
/// ```
pub fn router_for(server: Server, revision: Revision) -> Router {
    router_at(&format!("/{revision}"), Endpoint::anonymous(server).revision(revision))
}

/// Creates a router with this endpoint at this path.
///
/// ```
/// use mrtr_http::Endpoint;
/// use mrtr_server::Server;
///
/// let server = Server::builder("empty", "1.0.0").build()?;
/// let endpoint = Endpoint::anonymous(server).allow_host("mcp.example.com");
/// let app = axum::Router::new().merge(mrtr_http::router_at("/tools", endpoint));
/// # let _: axum::Router = app;
/// # Ok::<(), mrtr_server::BuildError>(())
/// ```
pub fn router_at(path: &str, endpoint: Endpoint) -> Router {
    Router::new().route_service(path, endpoint)
}

/// Endpoints by path.
#[derive(Debug, Clone)]
pub(super) struct Mounts(pub(super) BTreeMap<String, Endpoint>);

impl Mounts {
    pub(super) async fn respond(&self, request: Request<Incoming>, peer: Peer<'_>) -> Response<ResponseBody> {
        let version = request.version();
        let answered = match self.0.get(request.uri().path()) {
            // On HTTP/1, hyper counts the headers.
            _ if request.headers().len() > MAX_HEADERS => Err(Rejection::TooManyHeaders),
            Some(endpoint) => endpoint.answer(request, peer).await,
            None => Err(Rejection::NotFound),
        };
        answered.unwrap_or_else(|rejection| reject(rejection, version))
    }

    /// Logs what is served from now on, and where: a line for each path.
    pub(super) fn log(&self, address: SocketAddr) {
        for (path, endpoint) in &self.0 {
            let Inventory { name, version, tools, prompts, resources, states_outlive_process, .. } =
                endpoint.server().inventory();
            let key = if states_outlive_process { "given" } else { "of this process only" };
            tracing::info!(server = name, version, tools, prompts, resources, key, "serving http://{address}{path}");
            if !states_outlive_process && !address.ip().is_loopback() {
                tracing::warn!(
                    server = name,
                    "states are sealed with a key of this process, and others call this server: every restart refuses \
                     their open calls, and a second instance does; \
                     give the builder `.sealer(Sealer::from_env(\"MRTR_STATE_KEYS\")?)`"
                );
            }
        }
    }

    /// Tells each server to answer the requests that would wait for long, and to end its subscriptions.
    pub(super) fn begin_shutdown(&self) {
        self.0.values().for_each(|endpoint| endpoint.server().begin_shutdown());
    }

    /// Returns the number of rounds that continue without a connection.
    pub(super) fn detached(&self) -> usize {
        self.0.values().map(|endpoint| endpoint.server().detached()).sum()
    }
}
