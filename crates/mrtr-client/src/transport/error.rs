//! The error of an exchange that failed before there was a reply.

use std::fmt;
use std::time::Duration;

use mrtr_schema::Printable;

/// The kinds of failure of an exchange, as far as a caller can do something different about each.
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
    /// The client could not connect: nothing listens there, or there is no such host.
    Unreachable,
    /// The server did not answer in time.
    TimedOut,
    /// The server wants to know who calls, or does not accept the credentials: 401.
    Unauthorized,
    /// The server knows who calls, and does not let them in: 403.
    Forbidden,
    /// Something answers there, and has nothing at this path: 404.
    NotFound,
    /// The server does not know the session that the request belongs to: it has not run.
    SessionEnded,
    /// The server answered a request of the modern era with a request of its own, as only servers of the legacy era do.
    /// The request of the client may have run.
    LegacyServer,
    /// Anything else.
    Other,
}

/// The error of an exchange that failed before there was a reply.
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
    is_unsent: bool,
}

/// The server did not take the request, and may do so later.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Busy {
    pub(crate) retry_after: Option<Duration>,
}

impl TransportError {
    /// Creates an error of the kind [`Other`](TransportFailure::Other).
    pub fn new(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::of(TransportFailure::Other, error)
    }

    /// Creates an error of this kind.
    pub fn of(failure: TransportFailure, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self { failure, source: error.into(), busy: None, status: None, is_unsent: false }
    }

    /// Creates an error that says that the server is too busy to look at the request. The client sends the request
    /// again, after this long at least, within the limit for retries that bring nothing new.
    pub fn busy(retry_after: Option<Duration>) -> Self {
        Self { busy: Some(Busy { retry_after }), ..Self::new("the server is too busy") }
    }

    /// Adds the HTTP status of the response: a client that looks for a server's era wants to know it.
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

    /// Returns the HTTP status of the response, if there was one.
    pub fn status(&self) -> Option<u16> {
        self.status
    }

    /// Says that the request did not leave this client: the client could not get a token for it, or could not write it.
    ///
    /// ```
    /// use mrtr_client::TransportError;
    ///
    /// assert!(TransportError::new("connection reset").may_have_run());
    /// assert!(!TransportError::new("the token cannot be written in a header").unsent().may_have_run());
    /// ```
    #[must_use]
    pub fn unsent(mut self) -> Self {
        self.is_unsent = true;
        self
    }

    /// Returns true if the server may have begun with the request that failed, so that sending it again may do it
    /// twice. The server has not begun if it was never reached, is busy, or refused the request.
    ///
    /// ```
    /// use mrtr_client::{TransportError, TransportFailure};
    ///
    /// assert!(TransportError::of(TransportFailure::TimedOut, "nothing came").may_have_run());
    /// assert!(TransportError::new("bad gateway").with_status(502).may_have_run());
    /// assert!(!TransportError::new("bad request").with_status(400).may_have_run());
    /// assert!(!TransportError::of(TransportFailure::Unreachable, "connection refused").may_have_run());
    /// ```
    pub fn may_have_run(&self) -> bool {
        let was_refused = self.status.is_some_and(|status| (400..500).contains(&status) && status != REQUEST_TIMEOUT);
        let may_have = match self.failure {
            TransportFailure::Unreachable
            | TransportFailure::Unauthorized
            | TransportFailure::Forbidden
            | TransportFailure::NotFound
            | TransportFailure::SessionEnded => false,
            TransportFailure::TimedOut | TransportFailure::LegacyServer | TransportFailure::Other => true,
        };
        may_have && !was_refused && !self.is_unsent && self.busy.is_none()
    }

    /// Returns the error that was given, with its causes.
    ///
    /// ```
    /// use std::io;
    /// use mrtr_client::TransportError;
    ///
    /// let error = TransportError::new(io::Error::from(io::ErrorKind::BrokenPipe));
    /// assert!(error.get_ref().downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe));
    /// ```
    pub fn get_ref(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        &*self.source
    }

    /// The kind of failure.
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

/// It has no cause, since the message is that of the innermost one: [`get_ref`](TransportError::get_ref) has the others.
impl std::error::Error for TransportError {}

/// The status of a timeout: a gateway may send it although the server has the request.
const REQUEST_TIMEOUT: u16 = 408;

/// The longest cause that is shown: it may quote a line of the server's.
const MAX_CAUSE: usize = 2 * Printable::LINE;
