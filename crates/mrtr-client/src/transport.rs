//! How a client reaches a server: one request out, notifications and one reply back.

use std::fmt;

use async_trait::async_trait;
use mrtr_schema::{Json, RequestId, Revision};

/// A way to a server. Dropping the future of an exchange cancels it, and the server hears of that.
///
/// ```
/// use mrtr_client::{Exchange, Notified, Transport, TransportError};
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
///     ) -> Result<String, TransportError> {
///         Err(TransportError::new("there is nobody"))
///     }
/// }
/// ```
#[async_trait]
pub trait Transport: fmt::Debug + Send + Sync + 'static {
    /// What to call the server where a person is asked on its behalf.
    fn server(&self) -> &str;

    /// Sends a request, tells of notifications as they come, and gives the text of the response.
    async fn exchange(
        &self,
        request: Exchange<'_>,
        notified: &mut (dyn FnMut(Notified) + Send),
    ) -> Result<String, TransportError>;
}

/// A request as a transport sends it.
#[derive(Debug, Clone, Copy)]
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
    pub arguments: Option<&'a Json>,
    /// The revision.
    pub revision: Revision,
    /// The longest reply that is taken, in bytes.
    pub reply_bytes: usize,
}

/// A notification that came before a reply.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_structs, reason = "a method and its parameters are all there is")]
pub struct Notified {
    /// Its method.
    pub method: String,
    /// Its parameters.
    pub params: Json,
}

/// Why an exchange failed before there was a reply.
#[derive(Debug, thiserror::Error)]
#[error("the exchange with the server failed")]
pub struct TransportError(#[source] Box<dyn std::error::Error + Send + Sync>);

impl TransportError {
    /// Whatever it was.
    pub fn new(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(error.into())
    }
}
