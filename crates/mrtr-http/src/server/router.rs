//! Endpoints by path: as axum routers, and as the mounts of our own server.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use axum::Router;
use http::{Method, Request, Response, Version};
use hyper::body::Incoming;
use mrtr_schema::Revision;
use mrtr_server::Server;
use mrtr_server::transport::Inventory;

use super::connection::MAX_HEADERS;
use super::endpoint::Endpoint;
use super::link::Peer;
use super::metadata;
use super::probes::{HEALTH, Probes, READINESS};
use super::public_url::WELL_KNOWN;
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
    endpoint.log(&format!("{path}, as a route of the application's"));
    let router = Router::new();
    let router = endpoint.metadata_paths(path).into_iter().fold(router, |router, at| {
        let endpoint = endpoint.clone();
        let answer = async move |method: Method| match endpoint.metadata() {
            Some(document) => metadata::answer(&method, document).map(axum::body::Body::new),
            None => reject(Rejection::NotFound, Version::HTTP_11).map(axum::body::Body::new),
        };
        router.route(&at, axum::routing::any(answer))
    });
    router.route_service(path, endpoint)
}

/// Everything that a server of ours serves: endpoints by path, and the routes for probes.
#[derive(Debug)]
pub(super) struct Mounts {
    pub(super) endpoints: BTreeMap<String, Endpoint>,
    pub(super) probes: Option<Probes>,
}

impl Mounts {
    pub(super) async fn respond(&self, request: Request<Incoming>, peer: Peer<'_>) -> Response<ResponseBody> {
        let version = request.version();
        let path = request.uri().path();
        let answered = match self.endpoints.get(path) {
            // On HTTP/1, hyper counts the headers.
            _ if request.headers().len() > MAX_HEADERS => Err(Rejection::TooManyHeaders),
            Some(endpoint) => endpoint.answer(request, peer).await,
            None => self.probe(request.method(), path).or_else(|| self.metadata(&request)).ok_or(Rejection::NotFound),
        };
        answered.unwrap_or_else(|rejection| reject(rejection, version))
    }

    /// Logs what is served from now on, and where: a line for each path.
    pub(super) fn log(&self, address: SocketAddr) {
        for (path, endpoint) in &self.endpoints {
            endpoint.log(&format!("http://{address}{path}"));
            let Inventory { name, states_outlive_process, .. } = endpoint.server().inventory();
            if !states_outlive_process && !address.ip().is_loopback() {
                tracing::warn!(
                    server = name,
                    "states are sealed with a key of this process, and others call this server: every restart refuses \
                     their open calls, and a second instance does; \
                     give the builder `.sealer(Sealer::from_env(\"MRTR_STATE_KEYS\")?)`"
                );
            }
        }
        if self.probes.is_some() {
            tracing::info!("serving probes: http://{address}{HEALTH} and http://{address}{READINESS}");
        }
    }

    /// Answers a probe, if this is one.
    fn probe(&self, method: &Method, path: &str) -> Option<Response<ResponseBody>> {
        self.probes.as_ref()?.answer(method, path)
    }

    /// Answers a request for the metadata of an endpoint, if this is one. At the root it is that of the endpoint that
    /// is alone.
    fn metadata(&self, request: &Request<Incoming>) -> Option<Response<ResponseBody>> {
        let path = request.uri().path();
        let mut named = self.endpoints.iter().filter(|(mounted, endpoint)| endpoint.has_metadata_at(path, mounted));
        let endpoint = match named.next() {
            Some((_, endpoint)) => endpoint,
            None if path == WELL_KNOWN && self.endpoints.len() == 1 => self.endpoints.values().next()?,
            None => return None,
        };
        Some(metadata::answer(request.method(), endpoint.metadata()?))
    }

    /// Fails the readiness probe from now on.
    pub(super) fn begin_end(&self) {
        if let Some(probes) = &self.probes {
            probes.begin_end();
        }
    }

    /// Tells each server to answer the requests that would wait for long, and to end its subscriptions.
    pub(super) fn begin_shutdown(&self) {
        self.endpoints.values().for_each(|endpoint| endpoint.server().begin_shutdown());
    }

    /// Ends the work of each server beside its requests.
    pub(super) async fn shut_down(&self) {
        for endpoint in self.endpoints.values() {
            endpoint.server().shut_down().await;
        }
    }

    /// Counts the requests that run, and the subscriptions.
    pub(super) fn under_way(&self) -> (usize, usize) {
        let pools = || self.endpoints.values().map(|endpoint| &endpoint.config.pools);
        (pools().map(|pools| pools.requests.used()).sum(), pools().map(|pools| pools.subscriptions.used()).sum())
    }
}
