//! The configuration of an endpoint: whom it serves, and within which limits.

use std::sync::Arc;
use std::time::Duration;

use mrtr_schema::capabilities::{ElicitationCapability, RootsCapability, SamplingCapability};
use mrtr_schema::{ClientCapabilities, JsonObject, Revision};

use super::accounts::Pools;
use super::authenticate::Authenticator;
use super::budget::UNCOUNTED;
use super::forwarded::Proxies;
use super::origin::Allowed;
use super::public_url::PublicUrl;
use super::refusals::Refusals;

/// The options that the operator set on an endpoint. All of its clones share the pools.
#[derive(Debug, Clone)]
pub(super) struct EndpointConfig {
    pub(super) revision: Revision,
    pub(super) capabilities: Arc<ClientCapabilities>,
    pub(super) authenticator: Arc<dyn Authenticator>,
    pub(super) callers: Callers,
    pub(super) allowed: Allowed,
    pub(super) public_url: Option<PublicUrl>,
    /// The scopes that make basic use possible.
    pub(super) basic_scopes: Vec<String>,
    pub(super) refusals: Arc<Refusals>,
    pub(super) body_limit: usize,
    pub(super) json_depth: usize,
    pub(super) body_timeout: Duration,
    pub(super) keep_alive: Duration,
    pub(super) proxies: Proxies,
    pub(super) pools: Arc<Pools>,
}

/// The callers of an endpoint, for the log.
#[derive(Debug, Clone, Copy)]
pub(super) enum Callers {
    /// Every caller that can reach it.
    Anonymous,
    /// Those that its authenticator lets in.
    Authenticated,
}

impl Callers {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Anonymous => "anonymous",
            Self::Authenticated => "authenticated",
        }
    }
}

impl EndpointConfig {
    /// The largest body that there can be room for: one caller has at most three quarters of the budget.
    pub(super) fn largest_body(&self) -> usize {
        let budget = self.pools.bodies.capacity();
        self.body_limit.min((budget - budget / 4).max(UNCOUNTED))
    }
}

/// All that a client of an older revision can be asked for.
pub(super) fn all_capabilities() -> ClientCapabilities {
    let mut elicitation = ElicitationCapability::default();
    elicitation.form = Some(JsonObject::default());
    elicitation.url = Some(JsonObject::default());
    let mut sampling = SamplingCapability::default();
    sampling.tools = Some(JsonObject::default());
    sampling.context = Some(JsonObject::default());
    let mut capabilities = ClientCapabilities::default();
    capabilities.elicitation = Some(elicitation);
    capabilities.sampling = Some(sampling);
    capabilities.roots = Some(RootsCapability::default());
    capabilities
}
