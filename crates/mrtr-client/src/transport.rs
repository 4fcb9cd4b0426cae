//! How a client reaches a server: one request out, notifications and one reply back.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use mrtr_schema::{Json, RequestId, Revision};
use serde_json::value::RawValue;

/// A way to a server. Dropping the future of an exchange cancels it, and the server hears of that.
///
/// ```
/// use mrtr_client::{Exchange, Notified, Replied, Transport, TransportError};
///
/// #[derive(Debug)]
/// struct Deaf;
///
/// #[async_trait::async_trait]
/// impl Transport for Deaf {
///     fn server(&self) -> &str {
///         "nobody"
///     }
///
///     async fn exchange(
///         &self,
///         _: Exchange<'_>,
///         _: &mut (dyn FnMut(Notified) + Send),
///     ) -> Result<Replied, TransportError> {
///         Err(TransportError::new("there is nobody"))
///     }
/// }
/// ```
#[async_trait]
pub trait Transport: fmt::Debug + Send + Sync + 'static {
    /// What to call the server where a person is asked on its behalf.
    fn server(&self) -> &str;

    /// Sends a request, tells of notifications as they come, and gives the response.
    async fn exchange(
        &self,
        request: Exchange<'_>,
        notified: &mut (dyn FnMut(Notified) + Send),
    ) -> Result<Replied, TransportError>;
}

/// A request as a transport sends it. What it shows to a log has no parameters in it.
///
/// ```
/// use mrtr_client::Exchange;
///
/// /// The headers of the published revision.
/// fn headers<'a>(request: &Exchange<'a>) -> Vec<(&'static str, &'a str)> {
///     let mut headers = vec![("MCP-Protocol-Version", request.revision.as_str()), ("Mcp-Method", request.method)];
///     headers.extend(request.name.map(|name| ("Mcp-Name", name)));
///     headers
/// }
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Exchange<'a> {
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

impl fmt::Debug for Exchange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange")
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
/// use mrtr_client::Replied;
///
/// let replied = Replied::new(r#"{"jsonrpc": "2.0", "id": 1, "result": {"requestState": "sealed"}}"#);
/// let later = replied.retry_after(Duration::from_secs(5));
/// ```
#[derive(Clone)]
pub struct Replied {
    pub(crate) text: String,
    pub(crate) retry_after: Option<Duration>,
}

impl Replied {
    /// A response with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), retry_after: None }
    }

    /// The server wants to be left alone for this long, if it asks for a retry and for nothing else.
    #[must_use]
    pub fn retry_after(mut self, pause: Duration) -> Self {
        self.retry_after = Some(pause);
        self
    }
}

/// Shows only the length: a response may hold what does not belong in a log.
impl fmt::Debug for Replied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Replied({} bytes)", self.text.len())
    }
}

/// A notification that came before a reply.
///
/// ```
/// use mrtr_client::Notified;
/// use mrtr_schema::Json;
///
/// let params = Json::parse(r#"{"progressToken": 1, "progress": 50}"#)?;
/// let notified = Notified { method: "notifications/progress".into(), params };
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_structs, reason = "a method and its parameters are all there is")]
pub struct Notified {
    /// Its method.
    pub method: String,
    /// Its parameters.
    pub params: Json,
}

/// Why an exchange failed before there was a reply.
///
/// ```
/// use std::time::Duration;
/// use mrtr_client::TransportError;
///
/// let gone = TransportError::new("connection reset");
/// let overloaded = TransportError::busy(Some(Duration::from_secs(2)));
/// assert_eq!(overloaded.to_string(), "the exchange with the server failed");
/// ```
#[derive(Debug, thiserror::Error)]
#[error("the exchange with the server failed")]
pub struct TransportError {
    #[source]
    source: Box<dyn std::error::Error + Send + Sync>,
    pub(crate) busy: Option<Busy>,
}

/// The server did not take the request, and may do so later.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Busy {
    pub(crate) retry_after: Option<Duration>,
}

impl TransportError {
    /// Whatever it was.
    pub fn new(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { source: error.into(), busy: None }
    }

    /// The server has not looked at the request, since it is too busy: it is sent again, after as long as this at
    /// least, within the limit for retries that bring nothing new.
    pub fn busy(retry_after: Option<Duration>) -> Self {
        Self { source: "the server is too busy".into(), busy: Some(Busy { retry_after }) }
    }
}
