//! The path of a message: taken apart, checked in the order of the protocol, and handed to its method.

use std::borrow::Cow;

use bytes::Bytes;
use mrtr_schema::{
    ClientCapabilities, Envelope, ErrorCode, ErrorObject, Feature, InRevision, ListToolsResult, RawParams, ReadError,
    RequestMeta, Revision, UnsupportedVersionData, Wire, WireObject,
};

use crate::context::Headers;
use crate::{Context, Reply, Server, round};

pub(crate) async fn handle(server: &Server, body: Bytes, context: Context) -> Reply {
    let revision = context.revision;
    match Envelope::parse(&body) {
        Err(error) => {
            let object = ErrorObject::new(error.code(), error.to_string());
            Reply::error(error.id().cloned(), object, revision)
        }
        Ok(Envelope::Notification { .. }) => Reply::Accepted,
        Ok(Envelope::Result { id, .. }) => Reply::error(Some(id), not_a_request(), revision),
        Ok(Envelope::Error { id, .. }) => Reply::error(id, not_a_request(), revision),
        Ok(Envelope::Request { id, method, params }) => {
            let request = Request { body: &body, method, params, context: &context };
            match request.answer(server).await {
                Ok(result) => Reply::result(&id, &result),
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
}

impl Request<'_> {
    /// The result as JSON text, or the error.
    async fn answer(&self, server: &Server) -> Result<String, ErrorObject> {
        let capabilities = self.declared_capabilities()?;
        let revision = self.context.revision;
        match &*self.method {
            "tools/call" => {
                self.check_name_header()?;
                round::call_tool(server, self, capabilities).await
            }
            "tools/list" => list_tools(server, revision),
            method => match server.0.extensions.iter().find(|extension| extension.owns(method, revision)) {
                Some(extension) => {
                    let answer = extension.handle(method, &self.params, self.context, &capabilities).await;
                    answer.map(|result| result.as_str().to_owned()).map_err(crate::ProtocolError::into_object)
                }
                None => Err(unknown_method(method)),
            },
        }
    }

    /// What the client can do; on the way, everything that comes before the method is looked at.
    pub(crate) fn declared_capabilities(&self) -> Result<ClientCapabilities, ErrorObject> {
        let revision = self.context.revision;
        if !revision.has(Feature::RequestMetadata) {
            return Ok(self.context.capabilities.clone().unwrap_or_default());
        }
        let headers = self.context.headers.as_ref();
        let meta = self.params.meta().map_err(invalid_params)?;
        let meta = meta.ok_or_else(|| invalid_params(ReadError::missing("_meta")))?;
        let version = meta.text(PROTOCOL_VERSION).map_err(invalid_params)?;
        let version = version.ok_or_else(|| invalid_params(ReadError::missing(PROTOCOL_VERSION)))?;
        check_header(headers, "MCP-Protocol-Version", |headers| headers.version.as_deref(), &version)?;
        if *version != *revision.as_str() {
            return Err(unsupported_version(&version));
        }
        let meta = RequestMeta::read_members(meta, revision.strict()).map_err(invalid_params)?;
        check_header(headers, "Mcp-Method", |headers| headers.method.as_deref(), &self.method)?;
        Ok(meta.client_capabilities.unwrap_or_default())
    }

    fn check_name_header(&self) -> Result<(), ErrorObject> {
        if !self.context.revision.has(Feature::RequestMetadata) {
            return Ok(());
        }
        let headers = self.context.headers.as_ref();
        let name = self.params.text("name").map_err(invalid_params)?.unwrap_or_default();
        check_header(headers, "Mcp-Name", |headers| headers.name.as_deref(), &name)
    }
}

const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

fn check_header(
    headers: Option<&Headers>,
    name: &str,
    claimed: impl Fn(&Headers) -> Option<&str>,
    said: &str,
) -> Result<(), ErrorObject> {
    let Some(headers) = headers else { return Ok(()) };
    match claimed(headers) {
        Some(claimed) if claimed == said => Ok(()),
        Some(_) => Err(ErrorObject::new(ErrorCode::HEADER_MISMATCH, format!("{name} is not what the body says"))),
        None => Err(ErrorObject::new(ErrorCode::HEADER_MISMATCH, format!("{name} is missing"))),
    }
}

fn list_tools(server: &Server, revision: Revision) -> Result<String, ErrorObject> {
    let tools: Vec<_> = server.0.tools.values().map(|tool| tool.definition.clone()).collect();
    write(&ListToolsResult::new(tools), revision)
}

/// Writes a result in a revision.
pub(crate) fn write<T: Wire>(result: &T, revision: Revision) -> Result<String, ErrorObject> {
    serde_json::to_string(&InRevision::new(result, revision)).map_err(|error| {
        tracing::error!(%error, "a result cannot be written in this revision");
        internal_error()
    })
}

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
