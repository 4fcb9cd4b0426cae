//! Why an exchange failed before there was a reply.

use std::fmt;
use std::time::Duration;

use mrtr_schema::Printable;

/// What went wrong with an exchange, where it makes a difference to what can be done about it.
///
/// ```
/// use mrtr_client::{TransportError, TransportFailure};
///
/// let error = TransportError::of(TransportFailure::Unauthorized, "status 401 and no message");
/// assert_eq!(error.failure(), TransportFailure::Unauthorized);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TransportFailure {
    /// No connection could be made: nothing listens there, or there is no such host.
    Unreachable,
    /// The server did not answer in time.
    TimedOut,
    /// The server wants to know who calls, or does not take what it was shown: 401.
    Unauthorized,
    /// The server knows who calls, and does not let them: 403.
    Forbidden,
    /// Something answers there, and has nothing at this path: 404.
    NotFound,
    /// The server does not know the session that the request belongs to: it has not run.
    SessionEnded,
    /// The server asked by a request of its own, as only servers of the legacy era do, on a request of the modern era. It
    /// may have run.
    LegacyServer,
    /// Anything else.
    Other,
}

/// Why an exchange failed before there was a reply.
///
/// ```
/// use std::time::Duration;
/// use mrtr_client::TransportError;
///
/// let gone = TransportError::new("connection reset");
/// assert_eq!(gone.to_string(), "connection reset");
/// let overloaded = TransportError::busy(Some(Duration::from_secs(2)));
/// assert_eq!(overloaded.to_string(), "the server is too busy");
/// ```
#[derive(Debug)]
pub struct TransportError {
    failure: TransportFailure,
    source: Box<dyn std::error::Error + Send + Sync>,
    pub(crate) busy: Option<Busy>,
    pub(crate) status: Option<u16>,
}

/// The server did not take the request, and may do so later.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Busy {
    pub(crate) retry_after: Option<Duration>,
}

impl TransportError {
    /// Whatever it was.
    pub fn new(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::of(TransportFailure::Other, error)
    }

    /// Something that the caller can be told more about.
    pub fn of(failure: TransportFailure, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { failure, source: error.into(), busy: None, status: None }
    }

    /// The server has not looked at the request, since it is too busy: it is sent again, after as long as this at
    /// least, within the limit for retries that bring nothing new.
    pub fn busy(retry_after: Option<Duration>) -> Self {
        Self { busy: Some(Busy { retry_after }), ..Self::new("the server is too busy") }
    }

    /// It came with this HTTP status: a client that looks for a server's era wants to know it.
    ///
    /// ```
    /// use mrtr_client::TransportError;
    ///
    /// let refused = TransportError::new("no session").with_status(400);
    /// assert_eq!(refused.status(), Some(400));
    /// ```
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// The HTTP status that it came with, if it did.
    pub fn status(&self) -> Option<u16> {
        self.status
    }

    /// What went wrong, in a word.
    pub fn failure(&self) -> TransportFailure {
        self.failure
    }
}

/// Shows the innermost cause: the outer ones of an HTTP client say little.
impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cause: &dyn std::error::Error = &*self.source;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        Printable::line(&cause.to_string()).up_to(MAX_CAUSE).fmt(f)
    }
}

impl std::error::Error for TransportError {
    /// What was made of several causes; a single one is all that this shows.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.source().is_some().then_some(&*self.source)
    }
}

/// A cause may quote a line of the server's.
const MAX_CAUSE: usize = 2 * Printable::LINE;
