//! The server side: one endpoint as a plain service, a router for axum, and a server to run them.

mod accept;
mod authenticate;
mod body;
mod body_buffer;
mod budget;
mod depth;
mod endpoint;
mod head;
mod mirrored_headers;
mod mounts;
mod origin;
mod pages;
mod read;
mod respond;
mod serve;
mod timeout_stream;

pub use authenticate::{Authenticator, Challenge, Identity};
pub use body::Body;
pub use endpoint::Endpoint;
pub use serve::{Bound, Serve, serve};

use axum::Router;
use mrtr_schema::Revision;
use mrtr_server::Server;

/// Where the published revision is served.
///
/// ```
/// assert_eq!(mrtr_http::PATH, "/mcp");
/// ```
pub const PATH: &str = "/mcp";

/// A router that serves the published revision at `/mcp`, to anybody who can reach it.
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

/// A router that serves an older revision at a path of its own, such as `/sep-2322`.
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
