//! The way from a client to a server: one request out, notifications, in a session also questions, and one reply back.

mod era;
mod error;
mod observed;

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use mrtr_schema::{RequestId, Revision};
use serde_json::value::RawValue;

pub(crate) use era::{Detection, NEWEST_LEGACY};
pub use era::{EraMemory, OneWayMessage, ServerMessage, ServerNotification, ServerRequest, SessionId};
pub use error::{TransportError, TransportFailure};
pub use observed::{ObservedTransport, WireMessage};

/// A transport to one server. Dropping the future of an exchange cancels it, and the transport tells the server.
///
/// ```
/// use mrtr_client::{ServerMessage, Transport, TransportError, TransportRequest, TransportResponse};
///
/// #[derive(Debug)]
/// struct Deaf;
///
/// #[async_trait::async_trait]
/// impl Transport for Deaf {
///     fn server(&self) -> &str {
///         "unreachable"
///     }
///
///     async fn exchange(
///         &self,
///         _: TransportRequest<'_>,
///         _: &mut (dyn FnMut(ServerMessage) + Send),
///     ) -> Result<TransportResponse, TransportError> {
///         Err(TransportError::new("there is no server"))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a transport to a server",
    label = "not a transport",
    note = "a client talks through a transport: `HttpTransport::new(\"http://localhost:8000/mcp\")?` of `mrtr-http`, or `StdioTransport::spawn(command)?` of `mrtr-stdio`",
    note = "a type of your own may implement `mrtr_client::Transport`"
)]
#[async_trait]
pub trait Transport: fmt::Debug + Send + Sync + 'static {
    /// The name of the server for a person who is asked on its behalf.
    fn server(&self) -> &str;

    /// The identity of the server in saved calls and tasks, which can be resumed only at a server of this identity. By
    /// default it is the [name](Self::server); a transport gives another if different servers may have one name. It is
    /// saved, so it must hold no secret, and be the same in every process.
    fn identity(&self) -> &str {
        self.server()
    }

    /// The fingerprint of the credentials that the next request would show, if it shows any. A client shows a kept
    /// private result again only while they are the ones that it came for.
    async fn credentials(&self) -> Result<Option<CredentialsFingerprint>, TransportError> {
        Ok(None)
    }

    /// Sends a request, reports what the server sends before its response as it comes, and gives the response.
    ///
    /// A request of a legacy revision belongs to a session. The server's questions in it are reported like the rest;
    /// the client answers with [`send`](Self::send) while the exchange is open.
    async fn exchange(
        &self,
        request: TransportRequest<'_>,
        on_message: &mut (dyn FnMut(ServerMessage) + Send),
    ) -> Result<TransportResponse, TransportError>;

    /// The memory of the server's era, if this transport can carry sessions of the legacy era. Without it, a client
    /// speaks the modern era alone.
    fn era(&self) -> Option<&EraMemory> {
        None
    }

    /// Sends a message of a session that has no response. Once this is done, the server has it, as far as the transport
    /// knows.
    async fn send(&self, _message: OneWayMessage<'_>) -> Result<(), TransportError> {
        Err(TransportError::new("this transport carries no sessions"))
    }

    /// Returns a future that tells the server that a session is over, if the server is to be told. The future does so
    /// as well as it can, without the transport.
    fn end_session(&self, _session: &SessionId, _revision: Revision) -> Option<BoxFuture<'static, ()>> {
        None
    }
}

/// A request as a transport sends it. Its `Debug` form shows no parameters.
///
/// ```
/// use mrtr_client::TransportRequest;
///
/// /// The headers of the published revision.
/// fn headers<'a>(request: &TransportRequest<'a>) -> Vec<(&'static str, &'a str)> {
///     let mut headers = vec![("MCP-Protocol-Version", request.revision.as_str()), ("Mcp-Method", request.method)];
///     headers.extend(request.name.map(|name| ("Mcp-Name", name)));
///     headers
/// }
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct TransportRequest<'a> {
    /// The whole message.
    pub message: &'a str,
    /// The id of the request.
    pub id: &'a RequestId,
    /// The method of the request.
    pub method: &'a str,
    /// The tool or prompt by name, the resource by URI, or the task by id.
    pub name: Option<&'a str>,
    /// The tool's arguments: the transport may need parts of them for headers.
    pub arguments: Option<&'a RawValue>,
    /// The revision.
    pub revision: Revision,
    /// The session that the request belongs to, if the server gave the session an id.
    pub session: Option<&'a SessionId>,
    /// The longest reply that the client takes, in bytes: the transport need not read on.
    pub reply_bytes: usize,
}

impl fmt::Debug for TransportRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransportRequest")
            .field("id", self.id)
            .field("method", &self.method)
            .field("name", &self.name)
            .field("revision", &self.revision.as_str())
            .finish_non_exhaustive()
    }
}

/// A response, as a transport got it.
///
/// ```
/// use std::time::Duration;
/// use mrtr_client::TransportResponse;
///
/// let response = TransportResponse::new(r#"{"jsonrpc": "2.0", "id": 1, "result": {"requestState": "sealed"}}"#);
/// let later = response.retry_after(Duration::from_secs(5));
/// ```
#[derive(Clone)]
pub struct TransportResponse {
    pub(crate) text: String,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) status: Option<u16>,
    pub(crate) credentials: Option<CredentialsFingerprint>,
    pub(crate) session: Option<SessionId>,
}

impl TransportResponse {
    /// Creates a response with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), retry_after: None, status: None, credentials: None, session: None }
    }

    /// Adds the HTTP status that the response came with, which is shown if the text turns out to be no message.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// Adds the id of the session that the response begins, if it answers `initialize`.
    #[must_use]
    pub fn session(mut self, session: SessionId) -> Self {
        self.session = Some(session);
        self
    }

    /// Adds the credentials of the request that it answers.
    #[must_use]
    pub fn credentials(mut self, credentials: CredentialsFingerprint) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// Adds how long the server wants to be left alone, if it asks for a retry and for nothing else.
    #[must_use]
    pub fn retry_after(mut self, pause: Duration) -> Self {
        self.retry_after = Some(pause);
        self
    }
}

/// Shows only the length: a response may hold what does not belong in a log.
impl fmt::Debug for TransportResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TransportResponse({} bytes)", self.text.len())
    }
}

/// A value that tells the credentials of one transport apart, and says nothing else about them, such as a keyed hash.
///
/// ```
/// use std::hash::{BuildHasher, RandomState};
/// use mrtr_client::CredentialsFingerprint;
///
/// let key = RandomState::new();
/// let fingerprint = |token: &str| CredentialsFingerprint::new(key.hash_one(token));
/// assert!(fingerprint("ann's") == fingerprint("ann's") && fingerprint("ann's") != fingerprint("bob's"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CredentialsFingerprint(u64);

impl CredentialsFingerprint {
    /// Creates the fingerprint of credentials. Make it in the same way for each request of a transport.
    pub fn new(fingerprint: u64) -> Self {
        Self(fingerprint)
    }
}
