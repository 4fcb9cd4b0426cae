//! The era of a message: one look at its metadata tells it, before anything is checked.

use bytes::Bytes;
use mrtr_flow::for_server::internal_error;
use mrtr_schema::{Envelope, Feature, OwnedParams, RawMembers, RawParams, RequestId};
use serde_json::value::RawValue;

use super::admit;
use super::client_meta::{self, ClientMeta};
use super::context::Context;
use super::reply::{Refused, Reply};
use crate::round::request::{OwnedRequest, Request};

/// The result of the look at a request's metadata.
pub(super) enum Meta<'a> {
    /// The words of an earlier request, which said its version: what it declares is known.
    Known(ClientMeta),
    /// These members, with a version among them.
    Versioned(RawMembers<'a>),
    /// No member that says a version.
    Versionless,
}

impl<'a> Meta<'a> {
    /// Looks for a version: in what was read before, and otherwise among the members.
    pub(super) fn look(params: &RawParams<'a>) -> Self {
        if let Some(known) = params.get("_meta").and_then(|text| client_meta::recall(text.get())) {
            return Self::Known(known);
        }
        // Metadata that cannot be read says no version. A refusal of it says why it cannot be read.
        let versioned = params.meta().ok().flatten().filter(|meta| meta.get(PROTOCOL_VERSION).is_some());
        versioned.map_or(Self::Versionless, Self::Versioned)
    }
}

/// A message that does not say its version in `_meta`. It is of the legacy era if it belongs to a session or begins
/// one.
pub(crate) struct Versionless {
    pub(crate) message: OwnedMessage,
    pub(crate) context: Context<'static>,
}

/// A message that was taken apart, and owns what of it is needed.
pub(crate) enum OwnedMessage {
    Request {
        id: RequestId,
        request: OwnedRequest,
    },
    Notification {
        method: String,
        params: OwnedParams<Bytes>,
    },
    /// A response with a result.
    Result {
        id: RequestId,
        result: Box<RawValue>,
    },
    /// A response with an error.
    Error {
        id: Option<RequestId>,
        error: Box<RawValue>,
    },
}

impl OwnedMessage {
    /// A message with the bytes that it stands in; `None` if they are another's.
    fn of(message: Envelope<'_>, body: &Bytes, context: &Context<'_>) -> Option<Self> {
        Some(match message {
            Envelope::Request { id, method, params } => {
                let request = Request::new(body, method, params, &context.caller);
                Self::Request { id, request: request.to_owned().ok()? }
            }
            Envelope::Notification { method, params } => {
                let params = OwnedParams::new(body.clone(), &params)?;
                Self::Notification { method: method.into_owned(), params }
            }
            // Copied, so that an answer which waits for others does not keep the message that it came in.
            Envelope::Result { id, result } => Self::Result { id, result: result.to_owned() },
            Envelope::Error { id, error } => Self::Error { id, error: error.to_owned() },
        })
    }
}

/// The era of a message.
pub(super) enum Era<'a> {
    Modern(Envelope<'a>, Meta<'a>),
    Versionless(Box<Versionless>),
}

/// Tells the era of a message. In a revision whose requests say no version, every message passes as modern.
pub(super) fn of<'a>(message: Envelope<'a>, body: &Bytes, context: &Context<'_>) -> Result<Era<'a>, Reply> {
    let revision = context.caller.revision;
    if !revision.has(Feature::RequestMetadata) {
        return Ok(Era::Modern(message, Meta::Versionless));
    }
    let meta = match &message {
        Envelope::Request { params, .. } | Envelope::Notification { params, .. } => Meta::look(params),
        Envelope::Result { .. } | Envelope::Error { .. } => Meta::Versionless,
    };
    match meta {
        Meta::Versionless => {
            let owned = OwnedMessage::of(message, body, context);
            let message = owned.ok_or_else(|| Reply::error(None, internal_error().into(), revision))?;
            let context = context.clone().into_owned();
            Ok(Era::Versionless(Box::new(Versionless { message, context })))
        }
        meta => Ok(Era::Modern(message, meta)),
    }
}

impl Versionless {
    /// The reply of a server that has no sessions.
    pub(crate) fn refusal(self) -> Reply {
        let Self { message, context } = self;
        let revision = context.caller.revision;
        match message {
            OwnedMessage::Request { id, request } => match request.request(&context.caller) {
                Ok(request) => admit::refuse_versionless(id, request, &context),
                Err(error) => Reply::error(Some(id), error.into(), revision),
            },
            OwnedMessage::Notification { method, .. } => admit::reply_to_notification(&method, &context),
            OwnedMessage::Result { id, .. } => Reply::error(Some(id), Refused::not_a_request(), revision),
            OwnedMessage::Error { id, .. } => Reply::error(id, Refused::not_a_request(), revision),
        }
    }
}

pub(super) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
