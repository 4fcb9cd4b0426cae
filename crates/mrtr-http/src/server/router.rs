//! Endpoints as routers of axum's.

use axum::Router;
use mrtr_schema::Revision;
use mrtr_server::Server;

use super::endpoint::Endpoint;

/// Where the published revision is served.
///
/// ```
/// assert_eq!(mrtr_http::PATH, "/mcp");
/// ```
pub const PATH: &str = "/mcp";

/// A router that serves the published revision at `/mcp`, to every caller that can reach it.
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

/// A router that serves a draft of the pattern at a path of its own, such as `/sep-2322`.
///
/// # Panics
/// With a revision of the legacy era: those have sessions, and no path of their own.
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

/// A router with an endpoint at a path.
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
