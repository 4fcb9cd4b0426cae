//! What an endpoint was told: whom it serves, and within which limits.

use std::sync::Arc;
use std::time::Duration;

use mrtr_schema::capabilities::{ElicitationCapability, RootsCapability, SamplingCapability};
use mrtr_schema::{ClientCapabilities, JsonObject, Revision};
use tokio::sync::Semaphore;

use super::authenticate::Authenticator;
use super::budget::BodyBudget;
use super::origin::Allowed;

/// What the operator set on an endpoint. The permits and the budget are shared by all of its clones.
#[derive(Debug, Clone)]
pub(super) struct EndpointConfig {
    pub(super) revision: Revision,
    pub(super) capabilities: Arc<ClientCapabilities>,
    pub(super) authenticator: Arc<dyn Authenticator>,
    pub(super) allowed: Allowed,
    pub(super) body_limit: usize,
    pub(super) budget: BodyBudget,
    pub(super) json_depth: usize,
    pub(super) body_timeout: Duration,
    pub(super) keep_alive: Duration,
    pub(super) request_permits: Arc<Semaphore>,
    pub(super) subscription_permits: Arc<Semaphore>,
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
