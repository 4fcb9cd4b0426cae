//! What is looked at before the parameters of a request, in the order of the protocol.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use mrtr_schema::error_object::UnsupportedVersionData;
use mrtr_schema::meta::RequestMeta;
use mrtr_schema::{
    Envelope, ErrorCode, ErrorObject, Feature, MethodInfo, RawParams, ReadError, RequestId, Revision, WireObject,
};

use super::client_meta::{self, ClientMeta};
use super::reply::{Refused, Reply};
use super::route::Route;
use crate::error::invalid_params;
use crate::register::context::{Context, HeaderClaim, Headers};
use crate::register::parts::Parts;
use crate::round::request::Request;
use crate::support::echo;

/// A request that has passed everything that comes before its parameters.
pub(super) struct Admitted<'a> {
    pub(super) id: RequestId,
    pub(super) request: Request<'a>,
    pub(super) client: ClientMeta,
    pub(super) route: Route,
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
        let info = MethodInfo::of(&method);
        let unchecked = Unchecked { method, info, params, context };
        match unchecked.check(parts) {
            Ok((client, route)) => {
                let Unchecked { method, info, params, context } = unchecked;
                let capabilities = Arc::clone(&client.capabilities);
                let request = Request { body, method, info, params, context, capabilities, notifier: None };
                Ok(Self { id, request, client, route })
            }
            Err(refused) => Err(Reply::error(Some(id), refused, revision)),
        }
    }

    /// Whether the client wants to hear of what goes on before the response.
    pub(super) fn wants_notifications(&self) -> bool {
        self.client.progress.is_some() || self.client.log.is_some()
    }
}

/// A request of which nothing was looked at.
struct Unchecked<'a> {
    method: Cow<'a, str>,
    /// What is known of the method, looked up once.
    info: MethodInfo,
    params: RawParams<'a>,
    context: &'a Context<'a>,
}

impl Unchecked<'_> {
    /// What is checked before the parameters are looked at, in the order of the protocol.
    fn check(&self, parts: &Parts) -> Result<(ClientMeta, Route), Refused> {
        let declared = self.declared().map_err(|error| Refused::early(self.naming_versions(error)))?;
        let (method, revision) = (&*self.method, self.context.revision);
        // Whether there is the method at all comes before what it is called with.
        let route = Route::of(method, &self.info, parts, revision).ok_or_else(|| unknown_method(method, revision))?;
        if let Some(member) = self.info.named_by {
            let name = self.params.text(member).map_err(invalid_params)?;
            self.check_header("Mcp-Name", |headers| &headers.name, name.as_deref())?;
        }
        self.params.check_values(self.read_as_types(route)).map_err(invalid_params)?;
        Ok((declared, route))
    }

    /// Parameters of which all is looked at in any case, by what reads them.
    fn read_as_types(&self, route: Route) -> &'static [&'static str] {
        match route {
            Route::CallTool if self.may_ask() => &["_meta", "arguments", "inputResponses"],
            Route::CallTool => &["_meta", "arguments"],
            _ if self.may_ask() && self.info.runs_flow => &["_meta", "inputResponses"],
            _ => &["_meta"],
        }
    }

    fn may_ask(&self) -> bool {
        self.info.may_ask_in(self.context.revision)
    }

    /// What the request declares of its client; on the way, everything that comes before the method is looked at.
    fn declared(&self) -> Result<ClientMeta, ErrorObject> {
        let revision = self.context.revision;
        if !revision.has(Feature::RequestMetadata) {
            return self.declared_elsewhere();
        }
        let text = self.params.get("_meta").ok_or_else(|| invalid_params(ReadError::missing("_meta")))?.get();
        let known = client_meta::recall(text);
        if known.is_some() {
            self.check_version_header(revision.as_str())?;
        }
        let declared = match known {
            Some(declared) => declared,
            None => client_meta::remember(text, self.checked_meta()?),
        };
        self.check_header("Mcp-Method", |headers| &headers.method, Some(&self.method))?;
        Ok(declared)
    }

    /// A client of older revisions begins with `initialize`, and with no metadata or headers: whatever it lacks, it is
    /// told which versions there are.
    fn naming_versions(&self, error: ErrorObject) -> ErrorObject {
        let is_older = self.method == "initialize" && !self.context.revision.has(Feature::Sessions);
        if !is_older || error.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION {
            return error;
        }
        let versions = unknown_method(&self.method, self.context.revision).message;
        ErrorObject::new(error.code, format!("{versions} ({})", error.message))
    }

    /// The metadata, with everything in it looked at.
    fn checked_meta(&self) -> Result<RequestMeta, ErrorObject> {
        let revision = self.context.revision;
        let meta = self.params.meta().map_err(invalid_params)?.unwrap_or_default();
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
        let dialect = self.context.revision.lenient();
        let meta = self.params.meta().map_err(invalid_params)?;
        let meta = meta.map(|meta| RequestMeta::read_members(meta, dialect)).transpose().map_err(in_meta)?;
        let capabilities = self.context.capabilities.clone().unwrap_or_default();
        Ok(ClientMeta { capabilities, ..meta.unwrap_or_default().into() })
    }

    fn check_version_header(&self, version: &str) -> Result<(), ErrorObject> {
        self.check_header("MCP-Protocol-Version", |headers| &headers.version, Some(version))
    }

    /// Whether headers say what the body does: older revisions have neither these headers nor a code for them.
    fn has_headers(&self) -> bool {
        self.context.revision.has(Feature::MirroredHeaders)
    }

    fn check_header(
        &self,
        name: &str,
        claimed: impl for<'h> Fn(&'h Headers<'_>) -> &'h HeaderClaim<'h>,
        said: Option<&str>,
    ) -> Result<(), ErrorObject> {
        let Some(headers) = self.context.headers.as_ref().filter(|_| self.has_headers()) else { return Ok(()) };
        let mismatch = |reason| Err(ErrorObject::new(ErrorCode::HEADER_MISMATCH, format!("{name} {reason}")));
        match (claimed(headers), said) {
            (HeaderClaim::Missing, None) => Ok(()),
            (HeaderClaim::Missing, Some(_)) => mismatch("is missing"),
            (HeaderClaim::Text(claimed), Some(said)) if claimed == said => Ok(()),
            (HeaderClaim::Text(_) | HeaderClaim::Unreadable, _) => mismatch("is not what the body says"),
        }
    }
}

const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

fn in_meta(error: ReadError) -> ErrorObject {
    invalid_params(error.in_member("_meta"))
}

fn not_a_request() -> ErrorObject {
    ErrorObject::new(ErrorCode::INVALID_REQUEST, "A response was sent where a request is expected")
}

fn unknown_method(method: &str, revision: Revision) -> ErrorObject {
    let message = if method == "initialize" {
        format!("There is no `initialize`: each request says its version. This server has {revision}")
    } else {
        "Method not found".to_owned()
    };
    ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, message)
}

fn unsupported_version(requested: &str, revision: Revision) -> ErrorObject {
    let data = UnsupportedVersionData::new(echo::name(requested), [revision.to_string()]);
    ErrorObject::with_data("This protocol version is not supported", &data)
}
