//! Checks that come before the parameters of a request, in the order of the protocol.

use std::sync::Arc;

use bytes::Bytes;
use mrtr_flow::for_server::echo;
use mrtr_schema::error_object::UnsupportedVersionData;
use mrtr_schema::meta::{ProgressToken, RequestMeta};
use mrtr_schema::{
    Envelope, Era as RevisionEra, ErrorCode, ErrorObject, Feature, RawMembers, ReadError, RequestId, Revision,
    WireObject,
};
use tokio::sync::mpsc;

use super::client_meta::{self, ClientMeta};
use super::context::{Context, MessageClaims};
use super::era::{self, Era, Meta, PROTOCOL_VERSION, Versionless};
use super::reply::{Refused, Reply};
use super::route::Route;
use crate::definition::parts::Parts;
use crate::definition::tool::HeaderClaim;
use crate::error::invalid_params;
use crate::round::request::{CallerContext, OwnedRequest, Request};
use crate::support::notify::{Notifier, Receiver};

/// A request that has passed everything that comes before its parameters.
///
/// Only [`read`] makes one from a message, and only [`Server`](crate::Server) has a message: work that outlives the
/// borrow of it gets an [`OwnedAdmitted`].
pub(crate) struct Admitted<'a> {
    pub(crate) id: RequestId,
    pub(crate) request: Request<'a>,
    pub(crate) client: ClientMeta,
    pub(super) route: Route,
}

/// The outcome of admission for a message.
pub(crate) enum Admission<'a> {
    Admitted(Admitted<'a>),
    /// It has its reply.
    Replied(Reply),
    /// It may be of the legacy era.
    Versionless(Box<Versionless>),
}

/// A request that was admitted and owns its message, to be moved into a stream.
pub(crate) struct OwnedAdmitted {
    id: RequestId,
    request: OwnedRequest,
    client: ClientMeta,
    route: Route,
}

impl OwnedAdmitted {
    /// Sends the client the notifications that it asked for.
    pub(super) fn notify(&mut self, sender: mpsc::Sender<String>, revision: Revision) {
        let (progress, log) = (self.client.progress.take(), self.client.log);
        self.request.notifier = Some(Arc::new(Notifier { progress, log, to: Receiver::Stream(sender), revision }));
    }

    /// Sends the client the notifications that it asked for, by a notifier for its token.
    pub(crate) fn hear(&mut self, notifier: impl FnOnce(Option<ProgressToken>) -> Notifier) {
        self.request.notifier = Some(Arc::new(notifier(self.client.progress.take())));
    }

    pub(crate) fn admitted<'a>(&'a self, context: &'a CallerContext<'a>) -> Result<Admitted<'a>, Reply> {
        let Self { id, request, client, route } = self;
        match request.request(context) {
            Ok(request) => Ok(Admitted { id: id.clone(), request, client: client.clone(), route: *route }),
            Err(error) => Err(Reply::error(Some(id.clone()), error.into(), context.revision)),
        }
    }
}

/// Reads a message: tells its era first, and checks a modern one in the order of the protocol.
pub(crate) fn read<'a>(parts: &Parts, body: &'a Bytes, context: &'a Context<'a>) -> Admission<'a> {
    let revision = context.caller.revision;
    let message = match Envelope::parse(body) {
        Ok(message) => message,
        Err(error) => {
            let object = ErrorObject::new(error.code(), echo::sentence(&error.to_string()));
            return Admission::Replied(Reply::error(error.id().cloned(), Refused::early(object), revision));
        }
    };
    let reply = match era::of(message, body, context) {
        Ok(Era::Modern(Envelope::Request { id, method, params }, meta)) => {
            let mut unchecked = Unchecked { request: Request::new(body, method, params, &context.caller), context };
            match unchecked.check(parts, meta) {
                Ok((client, route)) => {
                    return Admission::Admitted(Admitted { id, request: unchecked.request, client, route });
                }
                Err(refused) => Reply::error(answered(id, &refused), refused, revision),
            }
        }
        Ok(Era::Modern(Envelope::Notification { method, .. }, _)) => reply_to_notification(&method, context),
        Ok(Era::Modern(Envelope::Result { id, .. }, _)) => Reply::error(Some(id), Refused::not_a_request(), revision),
        Ok(Era::Modern(Envelope::Error { id, .. }, _)) => Reply::error(id, Refused::not_a_request(), revision),
        Ok(Era::Versionless(message)) => return Admission::Versionless(message),
        Err(reply) => reply,
    };
    Admission::Replied(reply)
}

/// Refuses a request that does not say its version and is outside a session.
#[cold]
pub(super) fn refuse_versionless(id: RequestId, request: Request<'_>, context: &Context<'_>) -> Reply {
    let unchecked = Unchecked { request, context };
    let missing = || in_meta(ReadError::missing(PROTOCOL_VERSION));
    let error = unchecked.read_meta(Meta::Versionless).err().unwrap_or_else(missing);
    let refused = Refused::early(unchecked.naming_versions(error));
    Reply::error(answered(id, &refused), refused, context.caller.revision)
}

impl<'a> Admitted<'a> {
    /// Checks a request that was taken apart before, in the revision of its session.
    pub(crate) fn in_session(
        parts: &Parts,
        id: RequestId,
        request: Request<'a>,
        context: &'a Context<'a>,
    ) -> Result<Self, Reply> {
        let mut unchecked = Unchecked { request, context };
        match unchecked.check(parts, Meta::Versionless) {
            Ok((client, route)) => Ok(Self { id, request: unchecked.request, client, route }),
            Err(refused) => Err(Reply::error(answered(id, &refused), refused, context.caller.revision)),
        }
    }

    /// Takes the message along, for work that outlives the borrow of it.
    pub(crate) fn into_owned(self) -> Result<OwnedAdmitted, Reply> {
        let Self { id, request, client, route } = self;
        match request.to_owned() {
            Ok(request) => Ok(OwnedAdmitted { id, request, client, route }),
            Err(error) => Err(Reply::error(Some(id), error.into(), request.context.revision)),
        }
    }

    /// Returns true if the client wants notifications before the response.
    pub(crate) fn wants_notifications(&self) -> bool {
        self.client.progress.is_some() || self.client.log.is_some()
    }
}

/// A request before any check.
struct Unchecked<'a> {
    request: Request<'a>,
    context: &'a Context<'a>,
}

impl<'a> Unchecked<'a> {
    /// Makes the checks that come before the parameters, in the order of the protocol.
    #[expect(clippy::inline_always, reason = "sessions call it too, and apart from `read` it takes more")]
    #[inline(always)]
    fn check(&mut self, parts: &Parts, meta: Meta<'a>) -> Result<(ClientMeta, Route), Refused> {
        let revision = self.context.caller.revision;
        let declared = match meta {
            Meta::Known(declared) => self.check_version_header(revision.as_str()).map(|()| declared),
            meta => self.read_meta(meta),
        };
        let checked = declared.and_then(|declared| {
            self.check_header("Mcp-Method", |claims| &claims.method, Some(&self.request.method))?;
            Ok(declared)
        });
        let declared = checked.map_err(|error| Refused::early(self.naming_versions(error)))?;
        let Self { request, .. } = self;
        // An unknown method is refused before its parameters are looked at.
        let route = Route::of(&request.method, &request.info, parts, revision)?;
        let route = route.ok_or_else(|| unknown_method(&request.method, revision))?;
        if let Some(member) = request.info.named_by {
            request.name = request.params.text(member).map_err(invalid_params)?;
            let name = self.request.name.as_deref();
            self.check_header("Mcp-Name", |claims| &claims.name, name)?;
        }
        self.request.params.check_values(self.read_as_types(route)).map_err(invalid_params)?;
        self.request.capabilities = Arc::clone(&declared.capabilities);
        Ok((declared, route))
    }

    /// The parameters that are checked in full anyway, by the code that reads them.
    fn read_as_types(&self, route: Route) -> &'static [&'static str] {
        let may_ask = self.request.brings_answers();
        match route {
            Route::CallTool if may_ask => &["_meta", "arguments", "inputResponses"],
            Route::CallTool => &["_meta", "arguments"],
            _ if may_ask && self.request.info.runs_flow => &["_meta", "inputResponses"],
            _ => &["_meta"],
        }
    }

    /// Reads what a request declares of its client, in metadata that was not read before.
    fn read_meta(&self, meta: Meta<'_>) -> Result<ClientMeta, ErrorObject> {
        if !self.context.caller.revision.has(Feature::RequestMetadata) {
            return self.declared_elsewhere();
        }
        let text = self.request.params.get("_meta").ok_or_else(|| invalid_params(ReadError::missing("_meta")))?.get();
        let members = match meta {
            Meta::Versioned(members) => members,
            Meta::Known(_) | Meta::Versionless => {
                self.request.params.meta().map_err(invalid_params)?.unwrap_or_default()
            }
        };
        Ok(client_meta::remember(text, self.checked_meta(members)?))
    }

    #[cold]
    /// Names the server's versions in an error. A client of older revisions begins with `initialize`, and with no
    /// metadata or headers: whatever it lacks, it learns which versions there are.
    fn naming_versions(&self, error: ErrorObject) -> ErrorObject {
        let revision = self.context.caller.revision;
        let is_older = self.request.method == "initialize" && !revision.has(Feature::Sessions);
        if !is_older || error.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION {
            return error;
        }
        let versions = unknown_method(&self.request.method, revision).message;
        ErrorObject::new(error.code, format!("{versions} ({})", error.message))
    }

    /// The metadata, with everything in it looked at.
    fn checked_meta(&self, meta: RawMembers<'_>) -> Result<RequestMeta, ErrorObject> {
        let revision = self.context.caller.revision;
        let version = meta.text(PROTOCOL_VERSION).map_err(in_meta)?;
        let version = version.ok_or_else(|| in_meta(ReadError::missing(PROTOCOL_VERSION)))?;
        self.check_version_header(&version)?;
        if *version != *revision.as_str() {
            return Err(unsupported_version(&version, revision));
        }
        RequestMeta::read_members(meta, revision.strict()).map_err(in_meta).and_then(with_short_token)
    }

    /// Returns what the context says of the client, in revisions whose requests do not say it.
    fn declared_elsewhere(&self) -> Result<ClientMeta, ErrorObject> {
        let context = &self.context.caller;
        let dialect = context.revision.lenient();
        let meta = self.request.params.meta().map_err(invalid_params)?;
        let meta = meta.map(|meta| RequestMeta::read_members(meta, dialect)).transpose().map_err(in_meta)?;
        let meta = meta.map(with_short_token).transpose()?;
        let client = context.client.as_ref();
        let capabilities = client.map(|client| Arc::clone(&client.capabilities)).unwrap_or_default();
        Ok(ClientMeta { capabilities, ..meta.unwrap_or_default().into() })
    }

    fn check_version_header(&self, version: &str) -> Result<(), ErrorObject> {
        let checked = self.check_header("MCP-Protocol-Version", |claims| &claims.version, Some(version));
        checked.map_err(|error| self.explained(error, version))
    }

    /// Explains an error to clients that keep the header of a session they had begun, and say another version in
    /// `_meta`.
    #[cold]
    fn explained(&self, error: ErrorObject, version: &str) -> ErrorObject {
        let claimed = match self.context.claims.as_ref().map(|claims| &claims.version) {
            Some(HeaderClaim::Text(claimed)) => claimed.parse::<Revision>().ok(),
            _ => None,
        };
        let Some(claimed) = claimed.filter(|claimed| claimed.era() == RevisionEra::Legacy) else { return error };
        tracing::warn!(%claimed, version = &*echo::name(version), "a client names two protocol versions in one request");
        let text = format!(
            "{}: it names {claimed}, in which a request belongs to a session and states no version in `_meta`",
            error.message
        );
        ErrorObject::new(error.code, text)
    }

    fn check_header(
        &self,
        name: &str,
        claimed: impl for<'h> Fn(&'h MessageClaims<'_>) -> &'h HeaderClaim<'h>,
        said: Option<&str>,
    ) -> Result<(), ErrorObject> {
        let Some(claims) = self.context.claims.as_ref().filter(|_| self.request.has_headers()) else { return Ok(()) };
        let mismatch = |reason| Err(header_mismatch(name, reason));
        match (claimed(claims), said) {
            (HeaderClaim::Missing, None) => Ok(()),
            (HeaderClaim::Missing, Some(_)) => mismatch("is missing"),
            (HeaderClaim::Text(claimed), Some(said)) if claimed == said => Ok(()),
            (HeaderClaim::Text(_) | HeaderClaim::Unreadable, _) => mismatch("does not match the body"),
        }
    }
}

/// Replies to a notification: with nothing, unless a proxy that goes by its header took it for another.
#[cold]
pub(super) fn reply_to_notification(method: &str, context: &Context<'_>) -> Reply {
    let revision = context.caller.revision;
    let claims = context.claims.as_ref().filter(|_| revision.has(Feature::MirroredHeaders));
    match claims.map(|claims| &claims.method) {
        None | Some(HeaderClaim::Missing) => Reply::Accepted,
        Some(HeaderClaim::Text(claimed)) if claimed == method => Reply::Accepted,
        Some(HeaderClaim::Text(_) | HeaderClaim::Unreadable) => {
            let error = header_mismatch("Mcp-Method", "does not match the body");
            Reply::error(None, Refused::early(error), revision)
        }
    }
}

/// Metadata whose progress token may be repeated in every notification. A request with a longer one is refused, like
/// one with a longer id.
fn with_short_token(meta: RequestMeta) -> Result<RequestMeta, ErrorObject> {
    if meta.progress_token.as_ref().is_some_and(|token| token.0.is_too_long()) {
        let text = format!("The progress token is longer than {} bytes", RequestId::MAX_BYTES);
        return Err(ErrorObject::new(ErrorCode::INVALID_REQUEST, text));
    }
    Ok(meta)
}

/// The id that a refusal carries: none if the message is no request.
fn answered(id: RequestId, refused: &Refused) -> Option<RequestId> {
    (refused.error.code != ErrorCode::INVALID_REQUEST).then_some(id)
}

#[cold]
fn in_meta(error: ReadError) -> ErrorObject {
    invalid_params(error.in_member("_meta"))
}

#[cold]
fn header_mismatch(name: &str, reason: &str) -> ErrorObject {
    ErrorObject::new(ErrorCode::HEADER_MISMATCH, format!("{name} {reason}"))
}

#[cold]
fn unknown_method(method: &str, revision: Revision) -> ErrorObject {
    let message = if method == "initialize" {
        format!("This server has no `initialize`: each request states its protocol version. It supports {revision}")
    } else {
        "Method not found".to_owned()
    };
    ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, message)
}

#[cold]
fn unsupported_version(requested: &str, revision: Revision) -> ErrorObject {
    let data = UnsupportedVersionData::new(echo::name(requested), [revision.to_string()]);
    ErrorObject::with_data("This protocol version is not supported", &data)
}
