//! How a client reaches a server: one request out, notifications and one reply back.

mod error;
mod observed;

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use mrtr_schema::{Json, RequestId, Revision};
use serde_json::value::RawValue;

pub use error::{TransportError, TransportFailure};
pub use observed::{ObservedTransport, WireMessage};

/// A way to a server. Dropping the future of an exchange cancels it, and the server hears of that.
///
/// ```
/// use mrtr_client::{TransportRequest, ServerNotification, TransportResponse, Transport, TransportError};
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
///         _: &mut (dyn FnMut(ServerNotification) + Send),
///     ) -> Result<TransportResponse, TransportError> {
///         Err(TransportError::new("there is no server"))
///     }
/// }
/// ```
#[async_trait]
pub trait Transport: fmt::Debug + Send + Sync + 'static {
    /// What to call the server where a person is asked on its behalf.
    fn server(&self) -> &str;

    /// Whose credentials the next request would show, if there are any. A private result that was kept is shown again
    /// only while they are those that it came for.
    async fn credentials(&self) -> Result<Option<CredentialsFingerprint>, TransportError> {
        Ok(None)
    }

    /// Sends a request, tells of notifications as they come, and gives the response.
    async fn exchange(
        &self,
        request: TransportRequest<'_>,
        on_notification: &mut (dyn FnMut(ServerNotification) + Send),
    ) -> Result<TransportResponse, TransportError>;
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
}

impl TransportResponse {
    /// A response with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), retry_after: None, status: None, credentials: None }
    }

    /// It came with this HTTP status, which is shown if the text turns out to be no message.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = Some(status);
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

/// A notification that came before a reply.
///
/// ```
/// use mrtr_client::ServerNotification;
/// use mrtr_schema::Json;
///
/// let params = Json::parse(r#"{"progressToken": 1, "progress": 50}"#)?;
/// let notification = ServerNotification { method: "notifications/progress".into(), params };
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_structs, reason = "a method and its parameters are all there is")]
pub struct ServerNotification {
    /// Its method.
    pub method: String,
    /// Its parameters.
    pub params: Json,
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
