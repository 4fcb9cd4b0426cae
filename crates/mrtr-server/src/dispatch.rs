//! The path of a message: taken apart, checked in the order of the protocol, and handed to its method.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use mrtr_schema::{
    ClientCapabilities, Envelope, ErrorCode, ErrorObject, Feature, MethodInfo, RawParams, ReadError, RequestId,
    RequestMeta, Revision, UnsupportedVersionData, WireObject,
};
use tokio::sync::mpsc;

use crate::context::{HeaderClaim, Headers};
use crate::declared::{self, Declared};
use crate::middleware::Call;
use crate::notify::Notifier;
use crate::reply::{Refused, ReplyStream};
use crate::run::{Contained, Panicked};
use crate::{Context, Middleware, ProtocolError, Reply, Server, catalog, echo, flows, round, subscription};

/// Answers one message. Where the request wants to hear of progress or logs, the answer may be a stream.
pub(crate) async fn handle(server: &Server, body: Bytes, context: Context<'_>) -> Reply {
    let declared = match Admitted::read(server, &body, &context) {
        Err(reply) => return reply,
        Ok(admitted) if admitted.wants_to_hear() => admitted.declared,
        Ok(admitted) => return admitted.answer(server).await,
    };
    answer_aloud(server.clone(), body, context.into_owned(), declared).await
}

/// Answers with a stream if anything is said before the response, and with the response alone otherwise.
async fn answer_aloud(server: Server, body: Bytes, context: Context<'static>, declared: Declared) -> Reply {
    let (sender, mut notifications) = mpsc::channel(NOTIFICATIONS_IN_FLIGHT);
    let notifier = Notifier { progress: declared.progress, log: declared.log, sender, revision: context.revision };
    let mut answering = Box::pin(async move {
        // The stream outlives this call, so it reads the message again from bytes of its own.
        match Admitted::read(&server, &body, &context) {
            Ok(mut admitted) => {
                admitted.request.notifier = Some(notifier);
                admitted.answer(&server).await
            }
            Err(reply) => reply,
        }
    });
    let first = tokio::select! {
        biased;
        Some(first) = notifications.recv() => first,
        reply = &mut answering => match notifications.try_recv() {
            Ok(first) => {
                let response = Box::pin(async { reply.last().await.unwrap_or_default() });
                return stream_from(first, notifications, response);
            }
            Err(_) => return reply,
        },
    };
    let response = Box::pin(async { answering.await.last().await.unwrap_or_default() });
    stream_from(first, notifications, response)
}

fn stream_from(
    first: String,
    notifications: mpsc::Receiver<String>,
    response: Pin<Box<dyn Future<Output = String> + Send>>,
) -> Reply {
    use futures_util::{StreamExt, stream};
    let rest = ReplyStream::until_response(notifications, response);
    Reply::Stream(ReplyStream::new(stream::once(async { first }).chain(rest)))
}

/// A request that has passed everything that comes before its parameters.
struct Admitted<'a> {
    id: RequestId,
    request: Request<'a>,
    declared: Declared,
}

impl<'a> Admitted<'a> {
    /// Reads a message, or has the reply to it.
    fn read(server: &Server, body: &'a Bytes, context: &'a Context<'a>) -> Result<Self, Reply> {
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
        let request = Request { body, method, params, context, notifier: None };
        match request.check(server) {
            Ok(declared) => Ok(Self { id, request, declared }),
            Err(refused) => Err(Reply::error(Some(id), refused, revision)),
        }
    }

    /// Whether the client wants to hear of what goes on before the response.
    fn wants_to_hear(&self) -> bool {
        self.declared.progress.is_some() || self.declared.log.is_some()
    }

    async fn answer(&self, server: &Server) -> Reply {
        let Self { id, request, declared } = self;
        match request.answer(server, id, &declared.capabilities).await {
            Ok(reply) => reply,
            Err(error) => Reply::error(Some(id.clone()), error.into(), request.context.revision),
        }
    }
}

/// A request whose parameters are still raw.
pub(crate) struct Request<'a> {
    pub(crate) body: &'a Bytes,
    pub(crate) method: Cow<'a, str>,
    pub(crate) params: RawParams<'a>,
    pub(crate) context: &'a Context<'a>,
    pub(crate) notifier: Option<Notifier>,
}

impl Request<'_> {
    /// What is checked before the parameters are looked at, in the order of the protocol.
    fn check(&self, server: &Server) -> Result<Declared, Refused> {
        let declared = self.declared().map_err(|error| Refused::early(self.naming_versions(error)))?;
        self.check_known(server)?;
        if let Some(member) = self.named_by() {
            let name = self.params.text(member).map_err(invalid_params)?;
            self.check_header("Mcp-Name", |headers| &headers.name, name.as_deref())?;
        }
        self.params.check_values(self.read_as_types()).map_err(invalid_params)?;
        Ok(declared)
    }

    /// Parameters of which all is looked at in any case, by what reads them.
    fn read_as_types(&self) -> &'static [&'static str] {
        match &*self.method {
            "tools/call" if self.may_ask() => &["_meta", "arguments", "inputResponses"],
            "tools/call" => &["_meta", "arguments"],
            method if self.may_ask() && MethodInfo::of(method).runs_flow => &["_meta", "inputResponses"],
            _ => &["_meta"],
        }
    }

    fn may_ask(&self) -> bool {
        self.context.revision.may_ask_on(&self.method)
    }

    async fn answer(
        &self,
        server: &Server,
        id: &RequestId,
        capabilities: &Arc<ClientCapabilities>,
    ) -> Result<Reply, ErrorObject> {
        let name = self.named_by().and_then(|member| self.params.text(member).ok().flatten());
        let call = Call {
            method: &self.method,
            name: name.as_deref(),
            caller: self.context.caller.as_ref(),
            tenant: self.context.tenant.as_deref(),
            revision: self.context.revision,
            is_retry: self.params.get("requestState").is_some(),
        };
        let (passed, refused) = pass(&server.0.middleware, &call).await;
        let answered = match refused {
            Some(error) => Err(error),
            None if self.method == LISTEN => subscription::listen(server, id, self, capabilities),
            None => self.result(server, capabilities).await.map(|result| Reply::result(id, result)),
        };
        for middleware in passed.iter().rev() {
            let outcome = answered.as_ref().map(drop);
            contained("middleware", Box::pin(async { middleware.after(&call, outcome).await })).await.ok();
        }
        answered
    }

    /// The result as JSON text, or the error.
    async fn result(&self, server: &Server, capabilities: &Arc<ClientCapabilities>) -> Result<String, ErrorObject> {
        let revision = self.context.revision;
        match &*self.method {
            "tools/call" => round::call_tool(server, self, capabilities).await,
            "prompts/get" => flows::get_prompt(server, self, capabilities).await,
            "resources/read" => flows::read_resource(server, self, capabilities).await,
            "completion/complete" => flows::complete(server, self, capabilities).await,
            "tools/list" => catalog::tools(server, self),
            "prompts/list" => catalog::prompts(server, self),
            "resources/list" => catalog::resources(server, self),
            "resources/templates/list" => catalog::templates(server, self),
            "server/discover" => catalog::discover(server, revision),
            "initialize" => catalog::initialize(server, self),
            "ping" => catalog::ping(server, revision),
            method => match server.0.extensions.iter().find(|extension| extension.owns(method, revision)) {
                Some(extension) => {
                    let answer = extension.handle(method, &self.params, self.context, capabilities);
                    let answer = contained(extension.name(), answer).await?;
                    server.adopt(&answer.map_err(ProtocolError::into_object)?, revision)
                }
                None => Err(unknown_method(method, revision)),
            },
        }
    }

    /// Whether the revision has the method at all: that comes before what it is called with.
    fn check_known(&self, server: &Server) -> Result<(), ErrorObject> {
        let (method, revision) = (&*self.method, self.context.revision);
        let known = match method {
            "tools/call" | "tools/list" => !server.0.tools.is_empty(),
            "prompts/get" | "prompts/list" => !server.0.prompts.is_empty(),
            "resources/read" | "resources/list" | "resources/templates/list" => server.0.has_resources(),
            "completion/complete" => server.0.completes(),
            "server/discover" | LISTEN | "initialize" | "ping" => MethodInfo::of(method).exists_in(revision),
            method => server.0.extensions.iter().any(|extension| extension.owns(method, revision)),
        };
        if known { Ok(()) } else { Err(unknown_method(method, revision)) }
    }

    /// What the request declares of its client; on the way, everything that comes before the method is looked at.
    pub(crate) fn declared(&self) -> Result<Declared, ErrorObject> {
        let revision = self.context.revision;
        if !revision.has(Feature::RequestMetadata) {
            return self.declared_elsewhere();
        }
        let text = self.params.get("_meta").ok_or_else(|| invalid_params(ReadError::missing("_meta")))?.get();
        let known = declared::recall(text);
        if known.is_some() {
            self.check_version_header(revision.as_str())?;
        }
        let declared = match known {
            Some(declared) => declared,
            None => declared::remember(text, self.checked_meta()?),
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
    fn declared_elsewhere(&self) -> Result<Declared, ErrorObject> {
        let dialect = self.context.revision.lenient();
        let meta = self.params.meta().map_err(invalid_params)?;
        let meta = meta.map(|meta| RequestMeta::read_members(meta, dialect)).transpose().map_err(in_meta)?;
        let capabilities = self.context.capabilities.clone().unwrap_or_default();
        Ok(Declared { capabilities, ..meta.unwrap_or_default().into() })
    }

    fn check_version_header(&self, version: &str) -> Result<(), ErrorObject> {
        self.check_header("MCP-Protocol-Version", |headers| &headers.version, Some(version))
    }

    /// Whether headers say what the body does: older revisions have neither these headers nor a code for them.
    pub(crate) fn has_headers(&self) -> bool {
        self.context.revision.has(Feature::MirroredHeaders)
    }

    /// The member that names the tool, prompt, resource or task.
    fn named_by(&self) -> Option<&'static str> {
        MethodInfo::of(&self.method).subject
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

/// Runs code that was added to the server. If it panics, the caller gets an internal error, and the log the rest. It
/// stands in a box, so that nothing large is moved.
pub(crate) async fn contained<T>(
    who: &str,
    code: Pin<Box<dyn Future<Output = T> + Send + '_>>,
) -> Result<T, ErrorObject> {
    Contained::new(code).await.map_err(|Panicked(text)| {
        tracing::error!(who, panic = &*echo::logged(&text), "what was added to the server panicked");
        internal_error()
    })
}

/// Asks middleware in turn: who let the request through, and the refusal if one did not.
async fn pass<'a>(all: &'a [Arc<dyn Middleware>], call: &Call<'_>) -> (&'a [Arc<dyn Middleware>], Option<ErrorObject>) {
    for (place, middleware) in all.iter().enumerate() {
        let refusal = match contained("middleware", Box::pin(async { middleware.before(call).await })).await {
            Ok(passed) => passed.map_err(ProtocolError::into_object).err(),
            Err(error) => Some(error),
        };
        if refusal.is_some() {
            return (&all[..place], refusal);
        }
    }
    (all, None)
}

const LISTEN: &str = "subscriptions/listen";
const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const NOTIFICATIONS_IN_FLIGHT: usize = 16;

#[expect(clippy::needless_pass_by_value, reason = "used as a function that maps errors")]
pub(crate) fn invalid_params(error: ReadError) -> ErrorObject {
    ErrorObject::new(ErrorCode::INVALID_PARAMS, echo::sentence(&error.to_string()))
}

fn in_meta(error: ReadError) -> ErrorObject {
    invalid_params(error.in_member("_meta"))
}

pub(crate) fn internal_error() -> ErrorObject {
    ErrorObject::new(ErrorCode::INTERNAL_ERROR, "Internal error")
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
