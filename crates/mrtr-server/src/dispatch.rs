//! The path of a message: taken apart, checked in the order of the protocol, and handed to its method.

use std::borrow::Cow;

use bytes::Bytes;
use mrtr_schema::{
    ClientCapabilities, Envelope, ErrorCode, ErrorObject, Feature, RawMembers, RawParams, ReadError, RequestId,
    RequestMeta, Revision, UnsupportedVersionData, WireObject,
};
use tokio::sync::mpsc;

use crate::context::{HeaderClaim, Headers};
use crate::middleware::Call;
use crate::notify::Notifier;
use crate::reply::{Refused, ReplyStream};
use crate::{Context, ProtocolError, Reply, Server, catalog, flows, round, subscription};

/// Answers one message. Where the request wants to hear of progress or logs, the answer may be a stream.
pub(crate) async fn handle(server: &Server, body: Bytes, context: Context) -> Reply {
    match wish(&body, context.revision) {
        None => answer(server, &body, &context, None).await,
        Some(wish) => answer_aloud(server.clone(), body, context, wish).await,
    }
}

/// What a request wants to hear of while it runs.
fn wish(body: &Bytes, revision: Revision) -> Option<RequestMeta> {
    let Ok(Envelope::Request { params, .. }) = Envelope::parse(body) else { return None };
    let meta = params.meta().ok().flatten()?;
    if meta.get("progressToken").is_none() && meta.get(LOG_LEVEL).is_none() {
        return None;
    }
    RequestMeta::read_members(meta, revision.lenient()).ok()
}

/// Answers with a stream if anything is said before the response, and with the response alone otherwise.
async fn answer_aloud(server: Server, body: Bytes, context: Context, wish: RequestMeta) -> Reply {
    let (sender, mut notifications) = mpsc::channel(NOTIFICATIONS_IN_FLIGHT);
    let revision = context.revision;
    let notifier = Notifier { progress: wish.progress_token, log: wish.log_level, sender, revision };
    let mut answering = Box::pin(async move { answer(&server, &body, &context, Some(notifier)).await });
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
    response: std::pin::Pin<Box<dyn Future<Output = String> + Send>>,
) -> Reply {
    use futures_util::{StreamExt, stream};
    let rest = ReplyStream::until_response(notifications, response);
    Reply::Stream(ReplyStream::new(stream::once(async { first }).chain(rest)))
}

async fn answer(server: &Server, body: &Bytes, context: &Context, notifier: Option<Notifier>) -> Reply {
    let revision = context.revision;
    match Envelope::parse(body) {
        Err(error) => {
            let object = ErrorObject::new(error.code(), error.to_string());
            Reply::error(error.id().cloned(), Refused::early(object), revision)
        }
        Ok(Envelope::Notification { .. }) => Reply::Accepted,
        Ok(Envelope::Result { id, .. }) => Reply::error(Some(id), Refused::early(not_a_request()), revision),
        Ok(Envelope::Error { id, .. }) => Reply::error(id, Refused::early(not_a_request()), revision),
        Ok(Envelope::Request { id, method, params }) => {
            let request = Request { body, method, params, context, notifier };
            match request.answer(server, &id).await {
                Ok(reply) => reply,
                Err(error) => Reply::error(Some(id), error, revision),
            }
        }
    }
}

/// A request whose parameters are still raw.
pub(crate) struct Request<'a> {
    pub(crate) body: &'a Bytes,
    pub(crate) method: Cow<'a, str>,
    pub(crate) params: RawParams<'a>,
    pub(crate) context: &'a Context,
    pub(crate) notifier: Option<Notifier>,
}

impl Request<'_> {
    async fn answer(&self, server: &Server, id: &RequestId) -> Result<Reply, Refused> {
        let capabilities = self.declared_capabilities().map_err(Refused::early)?;
        self.check_known(server)?;
        let name = self.name()?;
        if let Some(name) = &name {
            self.check_header("Mcp-Name", |headers| &headers.name, name)?;
        }
        let call = Call {
            method: &self.method,
            name: name.as_deref(),
            caller: self.context.caller.as_ref(),
            tenant: self.context.tenant.as_deref(),
            revision: self.context.revision,
            is_retry: self.params.get("requestState").is_some(),
        };
        for middleware in &server.0.middleware {
            middleware.before(&call).await.map_err(ProtocolError::into_object)?;
        }
        let answered = match &*self.method {
            LISTEN => subscription::listen(server, id, self, &capabilities),
            _ => self.result(server, &capabilities).await.map(|result| Reply::result(id, &result)),
        };
        for middleware in &server.0.middleware {
            middleware.after(&call, answered.as_ref().map(drop)).await;
        }
        Ok(answered?)
    }

    /// The result as JSON text, or the error.
    async fn result(&self, server: &Server, capabilities: &ClientCapabilities) -> Result<String, ErrorObject> {
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
            "initialize" => catalog::initialize(server, revision),
            "ping" => Ok("{}".to_owned()),
            method => match server.0.extensions.iter().find(|extension| extension.owns(method, revision)) {
                Some(extension) => {
                    let answer = extension.handle(method, &self.params, self.context, capabilities).await;
                    server.adopt(&answer.map_err(ProtocolError::into_object)?, revision)
                }
                None => Err(unknown_method(method)),
            },
        }
    }

    /// Whether the revision has the method at all: that comes before what it is called with.
    fn check_known(&self, server: &Server) -> Result<(), ErrorObject> {
        let (method, revision) = (&*self.method, self.context.revision);
        let known = match method {
            "tools/call" | "tools/list" => true,
            "prompts/get" | "prompts/list" => !server.0.prompts.is_empty(),
            "resources/read" | "resources/list" | "resources/templates/list" => server.0.has_resources(),
            "completion/complete" => server.0.completes(),
            "server/discover" | LISTEN => revision.has(Feature::Discovery),
            "initialize" | "ping" => revision.has(Feature::Sessions),
            method => server.0.extensions.iter().any(|extension| extension.owns(method, revision)),
        };
        if known { Ok(()) } else { Err(unknown_method(method)) }
    }

    /// What the client can do; on the way, everything that comes before the method is looked at.
    pub(crate) fn declared_capabilities(&self) -> Result<ClientCapabilities, ErrorObject> {
        let revision = self.context.revision;
        if !revision.has(Feature::RequestMetadata) {
            return Ok(self.context.capabilities.clone().unwrap_or_default());
        }
        let meta = self.params.meta().map_err(invalid_params)?;
        let meta = meta.ok_or_else(|| invalid_params(ReadError::missing("_meta")))?;
        let version = meta.text(PROTOCOL_VERSION).map_err(invalid_params)?;
        let version = version.ok_or_else(|| invalid_params(ReadError::missing(PROTOCOL_VERSION)))?;
        self.check_header("MCP-Protocol-Version", |headers| &headers.version, &version)?;
        if *version != *revision.as_str() {
            return Err(unsupported_version(&version));
        }
        let capabilities = self.read_meta(meta)?;
        self.check_header("Mcp-Method", |headers| &headers.method, &self.method)?;
        Ok(capabilities)
    }

    fn read_meta(&self, meta: RawMembers<'_>) -> Result<ClientCapabilities, ErrorObject> {
        let meta = RequestMeta::read_members(meta, self.context.revision.strict()).map_err(invalid_params)?;
        Ok(meta.client_capabilities.unwrap_or_default())
    }

    /// Whether headers say what the body does: older revisions have neither these headers nor a code for them.
    pub(crate) fn has_headers(&self) -> bool {
        self.context.revision.has(Feature::RequestMetadata)
    }

    /// The tool or prompt by name, the resource by URI, or the task by id.
    fn name(&self) -> Result<Option<Cow<'_, str>>, ErrorObject> {
        let member = match &*self.method {
            "tools/call" | "prompts/get" => "name",
            "resources/read" => "uri",
            method if method.starts_with("tasks/") => "taskId",
            _ => return Ok(None),
        };
        self.params.text(member).map_err(invalid_params)
    }

    fn check_header(
        &self,
        name: &str,
        claimed: impl Fn(&Headers) -> &HeaderClaim,
        said: &str,
    ) -> Result<(), ErrorObject> {
        let Some(headers) = self.context.headers.as_ref().filter(|_| self.has_headers()) else { return Ok(()) };
        match claimed(headers) {
            HeaderClaim::Text(claimed) if claimed == said => Ok(()),
            HeaderClaim::Text(_) | HeaderClaim::Unreadable => {
                Err(ErrorObject::new(ErrorCode::HEADER_MISMATCH, format!("{name} is not what the body says")))
            }
            HeaderClaim::Missing => Err(ErrorObject::new(ErrorCode::HEADER_MISMATCH, format!("{name} is missing"))),
        }
    }
}

const LISTEN: &str = "subscriptions/listen";
const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const NOTIFICATIONS_IN_FLIGHT: usize = 16;

#[expect(clippy::needless_pass_by_value, reason = "used as a function that maps errors")]
pub(crate) fn invalid_params(error: ReadError) -> ErrorObject {
    ErrorObject::new(ErrorCode::INVALID_PARAMS, error.to_string())
}

pub(crate) fn internal_error() -> ErrorObject {
    ErrorObject::new(ErrorCode::INTERNAL_ERROR, "Internal error")
}

fn not_a_request() -> ErrorObject {
    ErrorObject::new(ErrorCode::INVALID_REQUEST, "A response was sent where a request is expected")
}

fn unknown_method(method: &str) -> ErrorObject {
    let message = if method == "initialize" {
        format!("There is no `initialize`: each request says its version. This server has {}", Revision::Published)
    } else {
        "Method not found".to_owned()
    };
    ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, message)
}

fn unsupported_version(requested: &str) -> ErrorObject {
    let data = UnsupportedVersionData::new(requested, [Revision::Published.to_string()]);
    ErrorObject::with_data("This protocol version is not supported", &data)
}
