//! What is looked at before the parameters of a request, in the order of the protocol.

use std::sync::Arc;

use bytes::Bytes;
use mrtr_schema::error_object::UnsupportedVersionData;
use mrtr_schema::meta::RequestMeta;
use mrtr_schema::{Envelope, ErrorCode, ErrorObject, Feature, ReadError, RequestId, Revision, WireObject};
use tokio::sync::mpsc;

use super::client_meta::{self, ClientMeta};
use super::reply::{Refused, Reply};
use super::route::Route;
use crate::error::invalid_params;
use crate::register::context::{Context, HeaderClaim, Headers};
use crate::register::parts::Parts;
use crate::round::request::{OwnedRequest, Request};
use crate::support::echo;
use crate::support::notify::{Notifier, Receiver};

/// A request that has passed everything that comes before its parameters.
///
/// Only [`read`](Self::read) makes one of a message, and only [`handle`](super::dispatch::handle) has a message: what
/// outlives the borrow of it is made an [`OwnedAdmitted`].
pub(super) struct Admitted<'a> {
    pub(super) id: RequestId,
    pub(super) request: Request<'a>,
    pub(super) client: ClientMeta,
    pub(super) route: Route,
}

/// A request that was admitted and owns its message, to be moved into a stream.
pub(super) struct OwnedAdmitted {
    id: RequestId,
    request: OwnedRequest,
    client: ClientMeta,
    route: Route,
}

impl OwnedAdmitted {
    /// Has the client hear what it asked to hear.
    pub(super) fn notify(&mut self, sender: mpsc::Sender<String>, revision: Revision) {
        let (progress, log) = (self.client.progress.take(), self.client.log);
        self.request.notifier = Some(Notifier { progress, log, to: Receiver::Stream(sender), revision });
    }

    pub(super) fn admitted<'a>(&'a self, context: &'a Context<'a>) -> Result<Admitted<'a>, Reply> {
        let Self { id, request, client, route } = self;
        match request.request(context) {
            Ok(request) => Ok(Admitted { id: id.clone(), request, client: client.clone(), route: *route }),
            Err(error) => Err(Reply::error(Some(id.clone()), error.into(), context.revision)),
        }
    }
}

impl<'a> Admitted<'a> {
    /// Reads a message, or has the reply to it.
    pub(super) fn read(parts: &Parts, body: &'a Bytes, context: &'a Context<'a>) -> Result<Self, Reply> {
        let revision = context.revision;
        let (id, method, params) = match Envelope::parse(body) {
            Ok(Envelope::Request { id, method, params }) => (id, method, params),
            Ok(Envelope::Notification { .. }) => return Err(Reply::Accepted),
            Ok(Envelope::Result { id, .. }) => {
                return Err(Reply::error(Some(id), Refused::early(not_a_request()), revision));
            }
            Ok(Envelope::Error { id, .. }) => return Err(Reply::error(id, Refused::early(not_a_request()), revision)),
            Err(error) => {
                let object = ErrorObject::new(error.code(), echo::sentence(&error.to_string()));
                return Err(Reply::error(error.id().cloned(), Refused::early(object), revision));
            }
        };
        let request = Request::new(body, method, params, context);
        match Unchecked(request).check(parts) {
            Ok((request, client, route)) => Ok(Self { id, request, client, route }),
            Err(refused) => Err(Reply::error(Some(id), refused, revision)),
        }
    }

    /// With the message, for what outlives the borrow of it.
    pub(super) fn into_owned(self) -> Result<OwnedAdmitted, Reply> {
        let Self { id, request, client, route } = self;
        match request.to_owned() {
            Ok(request) => Ok(OwnedAdmitted { id, request, client, route }),
            Err(error) => Err(Reply::error(Some(id), error.into(), request.context.revision)),
        }
    }

    /// Whether the client wants to hear of what goes on before the response.
    pub(super) fn wants_notifications(&self) -> bool {
        self.client.progress.is_some() || self.client.log.is_some()
    }
}

/// A request of which nothing was looked at.
struct Unchecked<'a>(Request<'a>);

impl<'a> Unchecked<'a> {
    /// What is checked before the parameters are looked at, in the order of the protocol.
    fn check(mut self, parts: &Parts) -> Result<(Request<'a>, ClientMeta, Route), Refused> {
        let declared = self.declared().map_err(|error| Refused::early(self.naming_versions(error)))?;
        let Self(request) = &mut self;
        let revision = request.context.revision;
        // Whether there is the method at all comes before what it is called with.
        let route = Route::of(&request.method, &request.info, parts, revision);
        let route = route.ok_or_else(|| unknown_method(&request.method, revision))?;
        if let Some(member) = request.info.named_by {
            request.name = request.params.text(member).map_err(invalid_params)?;
            let name = self.0.name.as_deref();
            self.check_header("Mcp-Name", |headers| &headers.name, name)?;
        }
        self.0.params.check_values(self.read_as_types(route)).map_err(invalid_params)?;
        self.0.capabilities = Arc::clone(&declared.capabilities);
        Ok((self.0, declared, route))
    }

    /// Parameters of which all is looked at in any case, by what reads them.
    fn read_as_types(&self, route: Route) -> &'static [&'static str] {
        let may_ask = self.0.may_ask();
        match route {
            Route::CallTool if may_ask => &["_meta", "arguments", "inputResponses"],
            Route::CallTool => &["_meta", "arguments"],
            _ if may_ask && self.0.info.runs_flow => &["_meta", "inputResponses"],
            _ => &["_meta"],
        }
    }

    /// What the request declares of its client; on the way, everything that comes before the method is looked at.
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
        RequestMeta::read_members(meta, revision.strict()).map_err(in_meta)
    }

    /// In revisions whose requests do not say what the client can do, the context says it.
    fn declared_elsewhere(&self) -> Result<ClientMeta, ErrorObject> {
        let dialect = self.0.context.revision.lenient();
        let meta = self.0.params.meta().map_err(invalid_params)?;
        let meta = meta.map(|meta| RequestMeta::read_members(meta, dialect)).transpose().map_err(in_meta)?;
        let capabilities = self.0.context.capabilities.clone().unwrap_or_default();
        Ok(ClientMeta { capabilities, ..meta.unwrap_or_default().into() })
    }

    fn check_version_header(&self, version: &str) -> Result<(), ErrorObject> {
        self.check_header("MCP-Protocol-Version", |headers| &headers.version, Some(version))
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

const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

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
