//! How a client reaches a server: one request out, notifications, in a session also questions, and one reply back.

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

/// A way to a server. Dropping the future of an exchange cancels it, and the server hears of that.
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
#[async_trait]
pub trait Transport: fmt::Debug + Send + Sync + 'static {
    /// What to call the server where a person is asked on its behalf.
    fn server(&self) -> &str;

    /// What saved calls and tasks name the server by: they go on at a server of this identity alone. It is what the server
    /// is called, unless that leaves servers the same which are not. It is saved, so it must hold no secret, and be the
    /// same in every process.
    fn identity(&self) -> &str {
        self.server()
    }

    /// Whose credentials the next request would show, if there are any. A private result that was kept is shown again
    /// only while they are those that it came for.
    async fn credentials(&self) -> Result<Option<CredentialsFingerprint>, TransportError> {
        Ok(None)
    }

    /// Sends a request, tells of what the server sends before its response as it comes, and gives the response.
    ///
    /// A request of a legacy revision belongs to a session. What the server asks in it is told like the rest; the client
    /// answers with [`send`](Self::send) while the exchange goes on.
    async fn exchange(
        &self,
        request: TransportRequest<'_>,
        on_message: &mut (dyn FnMut(ServerMessage) + Send),
    ) -> Result<TransportResponse, TransportError>;

    /// What is known of the server's era, if this transport can carry sessions of the legacy era. Without it, a client
    /// speaks the modern era alone.
    fn era(&self) -> Option<&EraMemory> {
        None
    }

    /// Sends a message of a session that has no response. It is there once this is done, as far as the transport knows.
    async fn send(&self, _message: OneWayMessage<'_>) -> Result<(), TransportError> {
        Err(TransportError::new("this transport carries no sessions"))
    }

    /// What tells the server that a session is over, if it is to be told. It is done as well as can be, without the
    /// transport.
    fn end_session(&self, _session: &SessionId, _revision: Revision) -> Option<BoxFuture<'static, ()>> {
        None
    }
}

/// A request as a transport sends it. What it shows to a log has no parameters in it.
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
    /// Its id.
    pub id: &'a RequestId,
    /// Its method.
    pub method: &'a str,
    /// The tool or prompt by name, the resource by URI, or the task by id.
    pub name: Option<&'a str>,
    /// The tool's arguments, parts of which may be wanted in headers.
    pub arguments: Option<&'a RawValue>,
    /// The revision.
    pub revision: Revision,
    /// The session that it belongs to, if the server gave that an id.
    pub session: Option<&'a SessionId>,
    /// The longest reply that is taken, in bytes: there is no need to read on.
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
    /// A response with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), retry_after: None, status: None, credentials: None, session: None }
    }

    /// It came with this HTTP status, which is shown if the text turns out to be no message.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// It is the response to `initialize`, and the session that it begins has this id.
    #[must_use]
    pub fn session(mut self, session: SessionId) -> Self {
        self.session = Some(session);
        self
    }

    /// It came for these credentials.
    #[must_use]
    pub fn credentials(mut self, credentials: CredentialsFingerprint) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// The server wants to be left alone for this long, if it asks for a retry and for nothing else.
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

/// Tells the credentials of one transport apart, and says nothing else about them: a keyed hash, say.
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
    /// The fingerprint of credentials, made in the same way for each request of a transport.
    pub fn new(fingerprint: u64) -> Self {
        Self(fingerprint)
    }
}
