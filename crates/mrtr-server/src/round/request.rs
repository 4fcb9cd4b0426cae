//! A request, as a round sees it.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use mrtr_schema::{ClientCapabilities, ErrorObject, Feature, MethodInfo, RawParams, ReadError};

use crate::error::invalid_params;
use crate::register::context::Context;
use crate::support::notify::Notifier;

/// A request that was admitted: its parameters are still raw.
pub(crate) struct Request<'a> {
    pub(crate) body: &'a Bytes,
    pub(crate) method: Cow<'a, str>,
    /// What is known of the method.
    pub(crate) info: MethodInfo,
    pub(crate) params: RawParams<'a>,
    pub(crate) context: &'a Context<'a>,
    /// What the client declared.
    pub(crate) capabilities: Arc<ClientCapabilities>,
    pub(crate) notifier: Option<Notifier>,
}

impl Request<'_> {
    /// Whether headers say what the body does: older revisions have neither these headers nor a code for them.
    pub(super) fn has_headers(&self) -> bool {
        self.context.revision.has(Feature::MirroredHeaders)
    }

    /// A member that must be there, and a text.
    pub(super) fn required_text(&self, member: &'static str) -> Result<Cow<'_, str>, ErrorObject> {
        let text = self.params.text(member).map_err(invalid_params)?;
        text.ok_or_else(|| invalid_params(ReadError::missing(member)))
    }
}
