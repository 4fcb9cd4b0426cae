//! Which endpoint a request is for: by its path.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use http::{Request, Response};
use hyper::body::Incoming;
use mrtr_server::transport::Inventory;

use super::connection::MAX_HEADERS;
use super::endpoint::Endpoint;
use super::peer::Peer;
use super::rejection::Rejection;
use super::respond::reject;
use super::response_body::ResponseBody;

/// Endpoints by path.
#[derive(Debug, Clone)]
pub(super) struct Mounts(pub(super) BTreeMap<String, Endpoint>);

impl Mounts {
    pub(super) async fn respond(&self, request: Request<Incoming>, peer: Peer<'_>) -> Response<ResponseBody> {
        let version = request.version();
        let answered = match self.0.get(request.uri().path()) {
            // On HTTP/1, hyper counts them.
            _ if request.headers().len() > MAX_HEADERS => Err(Rejection::TooManyHeaders),
            Some(endpoint) => endpoint.answer(request, peer).await,
            None => Err(Rejection::NotFound),
        };
        answered.unwrap_or_else(|rejection| reject(rejection, version))
    }

    /// Says what is served from now on, and where: a line for each path.
    pub(super) fn log(&self, address: SocketAddr) {
        for (path, endpoint) in &self.0 {
            let Inventory { name, version, tools, prompts, resources, states_outlive_process, .. } =
                endpoint.server().inventory();
            let key = if states_outlive_process { "given" } else { "of this process only" };
            tracing::info!(server = name, version, tools, prompts, resources, key, "serving http://{address}{path}");
        }
    }

    /// Has each server answer what would wait for long, and end its subscriptions.
    pub(super) fn begin_shutdown(&self) {
        self.0.values().for_each(|endpoint| endpoint.server().begin_shutdown());
    }

    /// How many rounds go on without a connection.
    pub(super) fn detached(&self) -> usize {
        self.0.values().map(|endpoint| endpoint.server().detached()).sum()
    }
}
