//! What is looked at before the parameters of a request, in the order of the protocol.

use std::sync::Arc;

use bytes::Bytes;
use mrtr_flow::for_server::echo;
use mrtr_schema::error_object::UnsupportedVersionData;
use mrtr_schema::meta::{ProgressToken, RequestMeta};
use mrtr_schema::{
    Envelope, Era, ErrorCode, ErrorObject, Feature, RawParams, ReadError, RequestId, Revision, WireObject,
};
use tokio::sync::mpsc;

use super::client_meta::{self, ClientMeta};
use super::reply::{Refused, Reply};
use super::route::Route;
use super::versionless::{Content, PROTOCOL_VERSION, says_version};
use crate::error::invalid_params;
use crate::definition::context::{Context, HeaderClaim, Headers};
use crate::definition::parts::Parts;
use crate::round::request::{OwnedRequest, Request};
use crate::support::notify::{Notifier, Receiver};

/// A request that has passed everything that comes before its parameters.
///
/// Only [`read`](Self::read) makes one of a message, and only [`receive`](super::dispatch::receive) has a message: what
/// outlives the borrow of it is made an [`OwnedAdmitted`].
pub(crate) struct Admitted<'a> {
    pub(crate) id: RequestId,
    pub(crate) request: Request<'a>,
    pub(crate) client: ClientMeta,
    pub(super) route: Route,
}

/// Why a message is no request that was admitted.
pub(super) enum NotAdmitted {
    /// It has its reply.
    Replied(Reply),
    /// It does not say its version, and has this reply if it belongs to no session.
    Versionless(Box<(Content, Reply)>),
}

impl From<Reply> for NotAdmitted {
    fn from(reply: Reply) -> Self {
        Self::Replied(reply)
    }
}

/// A request that was admitted and owns its message, to be moved into a stream.
pub(crate) struct OwnedAdmitted {
    id: RequestId,
    request: OwnedRequest,
    client: ClientMeta,
    route: Route,
}

impl OwnedAdmitted {
    /// Has the client hear what it asked to hear.
    pub(super) fn notify(&mut self, sender: mpsc::Sender<String>, revision: Revision) {
        let (progress, log) = (self.client.progress.take(), self.client.log);
        self.request.notifier = Some(Arc::new(Notifier { progress, log, to: Receiver::Stream(sender), revision }));
    }

    /// Has the client hear what it asked to hear, by a notifier for its token.
    pub(crate) fn hear(&mut self, notifier: impl FnOnce(Option<ProgressToken>) -> Notifier) {
        self.request.notifier = Some(Arc::new(notifier(self.client.progress.take())));
    }

    pub(crate) fn admitted<'a>(&'a self, context: &'a Context<'a>) -> Result<Admitted<'a>, Reply> {
        let Self { id, request, client, route } = self;
        match request.request(context) {
            Ok(request) => Ok(Admitted { id: id.clone(), request, client: client.clone(), route: *route }),
            Err(error) => Err(Reply::error(Some(id.clone()), error.into(), context.revision)),
        }
    }
}

impl<'a> Admitted<'a> {
    /// Reads a message, or has the reply to it.
    pub(super) fn read(parts: &Parts, body: &'a Bytes, context: &'a Context<'a>) -> Result<Self, NotAdmitted> {
        let revision = context.revision;
        let (id, method, params) = match Envelope::parse(body) {
            Ok(Envelope::Request { id, method, params }) => (id, method, params),
            Ok(Envelope::Notification { method, params }) => {
                let reply = reply_to_notification(&method, context);
                return Err(not_admitted(body, &params, reply, revision));
            }
            Ok(Envelope::Result { id, .. }) => {
                let refusal = Reply::error(Some(id), Refused::early(not_a_request()), revision);
                return Err(not_admitted(body, &RawParams::default(), refusal, revision));
            }
            Ok(Envelope::Error { id, .. }) => {
                let refusal = Reply::error(id, Refused::early(not_a_request()), revision);
                return Err(not_admitted(body, &RawParams::default(), refusal, revision));
            }
            Err(error) => {
                let object = ErrorObject::new(error.code(), echo::sentence(&error.to_string()));
                return Err(Reply::error(error.id().cloned(), Refused::early(object), revision).into());
            }
        };
        let mut unchecked = Unchecked(Request::new(body, method, params, context));
        match unchecked.check(parts) {
            Ok((client, route)) => Ok(Self { id, request: unchecked.0, client, route }),
            Err(refused) => Err(unchecked.not_admitted(id, refused)),
        }
    }

    /// Checks a request that was taken apart before, in the revision of its session.
    pub(crate) fn in_session(parts: &Parts, id: RequestId, request: Request<'a>) -> Result<Self, Reply> {
        let mut unchecked = Unchecked(request);
        match unchecked.check(parts) {
            Ok((client, route)) => Ok(Self { id, request: unchecked.0, client, route }),
            Err(refused) => Err(Reply::error(answered(id, &refused), refused, unchecked.0.context.revision)),
        }
    }

    /// With the message, for what outlives the borrow of it.
    pub(crate) fn into_owned(self) -> Result<OwnedAdmitted, Reply> {
        let Self { id, request, client, route } = self;
        match request.to_owned() {
            Ok(request) => Ok(OwnedAdmitted { id, request, client, route }),
            Err(error) => Err(Reply::error(Some(id), error.into(), request.context.revision)),
        }
    }

    /// Whether the client wants to hear of what goes on before the response.
    pub(crate) fn wants_notifications(&self) -> bool {
        self.client.progress.is_some() || self.client.log.is_some()
    }
}

/// A request of which nothing was looked at.
struct Unchecked<'a>(Request<'a>);

impl Unchecked<'_> {
    /// What is checked before the parameters are looked at, in the order of the protocol.
    #[expect(clippy::inline_always, reason = "sessions call it too, and apart from `read` it takes more")]
    #[inline(always)]
    fn check(&mut self, parts: &Parts) -> Result<(ClientMeta, Route), Refused> {
        let declared = self.declared().map_err(|error| Refused::early(self.naming_versions(error)))?;
        let Self(request) = self;
        let revision = request.context.revision;
        // Whether there is the method at all comes before what it is called with.
        let route = Route::of(&request.method, &request.info, parts, revision)?;
        let route = route.ok_or_else(|| unknown_method(&request.method, revision))?;
        if let Some(member) = request.info.named_by {
            request.name = request.params.text(member).map_err(invalid_params)?;
            let name = self.0.name.as_deref();
            self.check_header("Mcp-Name", |headers| &headers.name, name)?;
        }
        self.0.params.check_values(self.read_as_types(route)).map_err(invalid_params)?;
        self.0.capabilities = Arc::clone(&declared.capabilities);
        Ok((declared, route))
    }

    /// One that does not say its version may be of the legacy era. Only what was refused is looked at for that, so that
    /// it costs a modern request nothing.
    #[cold]
    fn not_admitted(&self, id: RequestId, refused: Refused) -> NotAdmitted {
        let Self(request) = self;
        let revision = request.context.revision;
        let refusal = Reply::error(answered(id.clone(), &refused), refused, revision);
        if !revision.has(Feature::RequestMetadata) || says_version(&request.params) {
            return refusal.into();
        }
        match request.to_owned() {
            Ok(request) => NotAdmitted::Versionless(Box::new((Content::Request { id, request }, refusal))),
            Err(_) => refusal.into(),
        }
    }

    /// Parameters of which all is looked at in any case, by what reads them.
    fn read_as_types(&self, route: Route) -> &'static [&'static str] {
        let may_ask = self.0.brings_answers();
        match route {
            Route::CallTool if may_ask => &["_meta", "arguments", "inputResponses"],
            Route::CallTool => &["_meta", "arguments"],
            _ if may_ask && self.0.info.runs_flow => &["_meta", "inputResponses"],
            _ => &["_meta"],
        }
    }

    /// What the request declares of its client; on the way, everything that comes before the method is looked at.
    #[expect(clippy::inline_always, reason = "as for `check`, which calls it")]
    #[inline(always)]
    fn declared(&self) -> Result<ClientMeta, ErrorObject> {
        let revision = self.0.context.revision;
        if !revision.has(Feature::RequestMetadata) {
            return self.declared_elsewhere();
        }
        let text = self.0.params.get("_meta").ok_or_else(|| invalid_params(ReadError::missing("_meta")))?.get();
        let known = client_meta::recall(text);
        if known.is_some() {
            self.check_version_header(revision.as_str())?;
        }
        let declared = match known {
            Some(declared) => declared,
            None => client_meta::remember(text, self.checked_meta()?),
        };
        self.check_header("Mcp-Method", |headers| &headers.method, Some(&self.0.method))?;
        Ok(declared)
    }

    #[cold]
    /// A client of older revisions begins with `initialize`, and with no metadata or headers: whatever it lacks, it is
    /// told which versions there are.
    fn naming_versions(&self, error: ErrorObject) -> ErrorObject {
        let is_older = self.0.method == "initialize" && !self.0.context.revision.has(Feature::Sessions);
        if !is_older || error.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION {
            return error;
        }
        let versions = unknown_method(&self.0.method, self.0.context.revision).message;
        ErrorObject::new(error.code, format!("{versions} ({})", error.message))
    }

    /// The metadata, with everything in it looked at.
    fn checked_meta(&self) -> Result<RequestMeta, ErrorObject> {
        let revision = self.0.context.revision;
        let meta = self.0.params.meta().map_err(invalid_params)?.unwrap_or_default();
        let version = meta.text(PROTOCOL_VERSION).map_err(in_meta)?;
        let version = version.ok_or_else(|| in_meta(ReadError::missing(PROTOCOL_VERSION)))?;
        self.check_version_header(&version)?;
        if *version != *revision.as_str() {
            return Err(unsupported_version(&version, revision));
        }
        RequestMeta::read_members(meta, revision.strict()).map_err(in_meta).and_then(with_short_token)
    }

    /// In revisions whose requests do not say what the client can do, the context says it.
    fn declared_elsewhere(&self) -> Result<ClientMeta, ErrorObject> {
        let dialect = self.0.context.revision.lenient();
        let meta = self.0.params.meta().map_err(invalid_params)?;
        let meta = meta.map(|meta| RequestMeta::read_members(meta, dialect)).transpose().map_err(in_meta)?;
        let meta = meta.map(with_short_token).transpose()?;
        let client = self.0.context.client.as_ref();
        let capabilities = client.map(|client| Arc::clone(&client.capabilities)).unwrap_or_default();
        Ok(ClientMeta { capabilities, ..meta.unwrap_or_default().into() })
    }

    fn check_version_header(&self, version: &str) -> Result<(), ErrorObject> {
        let checked = self.check_header("MCP-Protocol-Version", |headers| &headers.version, Some(version));
        checked.map_err(|error| self.explained(error, version))
    }

    /// Some clients keep the header of a session they had begun, and say another version in `_meta`.
    #[cold]
    fn explained(&self, error: ErrorObject, version: &str) -> ErrorObject {
        let claimed = match self.0.context.headers.as_ref().map(|headers| &headers.version) {
            Some(HeaderClaim::Text(claimed)) => claimed.parse::<Revision>().ok(),
            _ => None,
        };
        let Some(claimed) = claimed.filter(|claimed| claimed.era() == Era::Legacy) else { return error };
        tracing::warn!(%claimed, version = &*echo::name(version), "a client names two protocol versions in one request");
        let text = format!(
            "{}: it claims {claimed}, whose requests say no version in `_meta` and belong to a session",
            error.message
        );
        ErrorObject::new(error.code, text)
    }

    fn check_header(
        &self,
        name: &str,
        claimed: impl for<'h> Fn(&'h Headers<'_>) -> &'h HeaderClaim<'h>,
        said: Option<&str>,
    ) -> Result<(), ErrorObject> {
        let Some(headers) = self.0.context.headers.as_ref().filter(|_| self.0.has_headers()) else { return Ok(()) };
        let mismatch = |reason| Err(header_mismatch(name, reason));
        match (claimed(headers), said) {
            (HeaderClaim::Missing, None) => Ok(()),
            (HeaderClaim::Missing, Some(_)) => mismatch("is missing"),
            (HeaderClaim::Text(claimed), Some(said)) if claimed == said => Ok(()),
            (HeaderClaim::Text(_) | HeaderClaim::Unreadable, _) => mismatch("is not what the body says"),
        }
    }
}

/// What a notification is answered: nothing, unless a proxy that goes by its header took it for another.
#[cold]
fn reply_to_notification(method: &str, context: &Context<'_>) -> Reply {
    let revision = context.revision;
    let headers = context.headers.as_ref().filter(|_| revision.has(Feature::MirroredHeaders));
    match headers.map(|headers| &headers.method) {
        None | Some(HeaderClaim::Missing) => Reply::Accepted,
        Some(HeaderClaim::Text(claimed)) if claimed == method => Reply::Accepted,
        Some(HeaderClaim::Text(_) | HeaderClaim::Unreadable) => {
            let error = header_mismatch("Mcp-Method", "is not what the body says");
            Reply::error(None, Refused::early(error), revision)
        }
    }
}

/// What is no request, with the reply that it has outside a session.
#[cold]
fn not_admitted(body: &Bytes, params: &RawParams<'_>, refusal: Reply, revision: Revision) -> NotAdmitted {
    if !revision.has(Feature::RequestMetadata) || says_version(params) {
        return refusal.into();
    }
    NotAdmitted::Versionless(Box::new((Content::Other(body.clone()), refusal)))
}

/// Metadata whose progress token may be repeated in every notification. A longer one is none, as a longer id is none.
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
fn not_a_request() -> ErrorObject {
    ErrorObject::new(ErrorCode::INVALID_REQUEST, "A response was sent where a request is expected")
}

#[cold]
fn unknown_method(method: &str, revision: Revision) -> ErrorObject {
    let message = if method == "initialize" {
        format!("There is no `initialize`: each request says its version. This server has {revision}")
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
