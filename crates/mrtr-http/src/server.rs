//! The server side: one endpoint as a plain service, a router for axum, and a server to run them.

mod authenticate;
mod body;
mod endpoint;
mod origin;
mod read;
mod respond;
mod serve;

pub use authenticate::{Authenticator, Challenge, Identity};
pub use body::Body;
pub use endpoint::Endpoint;
pub use serve::{Bound, Serve, serve};

use axum::Router;
use mrtr_schema::Revision;
use mrtr_server::Server;

/// Where the published revision is served.
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
pub fn router_for(server: Server, revision: Revision) -> Router {
    router_at(&format!("/{revision}"), Endpoint::anonymous(server).revision(revision))
}

/// A router with an endpoint at a path.
pub fn router_at(path: &str, endpoint: Endpoint) -> Router {
    Router::new().route_service(path, endpoint)
}
