//! A message that does not say its version: refused, or of the legacy era.

use bytes::Bytes;
use mrtr_schema::{RawParams, RequestId};

use super::reply::Reply;
use crate::definition::context::Context;
use crate::round::request::OwnedRequest;

/// A message that does not say its version in `_meta`, with what it is answered if it belongs to no session.
pub(crate) struct Versionless {
    pub(crate) message: Content,
    pub(crate) context: Context<'static>,
    /// The reply of a server that has no sessions.
    pub(crate) refusal: Reply,
}

/// What such a message is.
pub(crate) enum Content {
    /// A request, as it was taken apart.
    Request { id: RequestId, request: OwnedRequest },
    /// A notification or a response, to be taken apart by the session that it belongs to.
    Other(Bytes),
}

/// Whether a message says its version: then it is of the modern era, whatever else comes with it.
pub(super) fn says_version(params: &RawParams<'_>) -> bool {
    let meta = params.meta().ok().flatten();
    meta.is_some_and(|meta| meta.get(PROTOCOL_VERSION).is_some())
}

pub(super) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
