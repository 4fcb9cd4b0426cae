//! Which endpoint a request is for: by its path.

use std::collections::BTreeMap;

use http::{Request, Response};
use hyper::body::Incoming;

use super::endpoint::Endpoint;
use super::rejection::Rejection;
use super::respond::reject;
use super::response_body::ResponseBody;

/// Endpoints by path.
#[derive(Debug, Clone)]
pub(super) struct Mounts(pub(super) BTreeMap<String, Endpoint>);

impl Mounts {
    pub(super) async fn respond(&self, request: Request<Incoming>) -> Response<ResponseBody> {
        if let Some(endpoint) = self.0.get(request.uri().path()) {
            return endpoint.respond(request).await;
        }
        reject(Rejection::NotFound, request.version())
    }

    pub(super) fn end_subscriptions(&self) {
        self.0.values().for_each(|endpoint| endpoint.server().changes().end_subscriptions());
    }

    /// How many rounds go on without a connection.
    pub(super) fn detached(&self) -> usize {
        self.0.values().map(|endpoint| endpoint.server().detached()).sum()
    }
}
