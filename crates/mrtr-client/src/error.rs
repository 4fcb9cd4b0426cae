//! The public error types: the reason that a call gave no result, and what is left of the call.
//!
//! [`CallError`] carries the others. Each of those is defined where it arises, so that modules below this one need not
//! import from it, and is exported from here.

use std::error::Error;
use std::fmt;

use mrtr_schema::error_object::MissingCapabilityData;
use mrtr_schema::{ErrorCode, ErrorObject, Printable, ReadError};

pub use crate::answer::AnswerError;
pub use crate::call::Stop;
pub use crate::transport::{TransportError, TransportFailure};

use crate::answer::{display_key, display_server};
use crate::pending::PendingCall;

/// The error of a call that gave no result.
///
/// It holds the call itself, so that the caller can resume it: no answer is lost.
///
/// ```
/// use mrtr_client::testing::Script;
/// use mrtr_client::{CallErrorKind, Client};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let server = Script::new().result(json!({ "resultType": "input_required",
///     "inputRequests": { "where": { "method": "roots/list" } } }));
/// let client = Client::builder(server).build();
/// let error = client.call_tool("report", json!({})).await.unwrap_err();
/// assert!(matches!(&error.kind, CallErrorKind::NoHandler { key, .. } if key == "where"));
/// assert_eq!(error.pending().unwrap().unanswered().collect::<Vec<_>>(), ["where"]);
/// # }
/// ```
#[non_exhaustive]
pub struct CallError {
    /// The kind of failure.
    pub kind: CallErrorKind,
    /// The call, with the answers so far. `None` if its parameters could not be written: then there is no call.
    pub pending: Option<Box<PendingCall>>,
}

/// The kinds of failure of a call, for programs that tell one failure from another.
///
/// ```
/// use mrtr_client::testing::Script;
/// use mrtr_client::{CallErrorKind, Client};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let client = Client::builder(Script::new().result(json!({ "resultType": "complete", "content": 1 }))).build();
/// let error = client.call_tool("report", json!({})).await.unwrap_err();
/// assert!(matches!(error.kind, CallErrorKind::BadResult { .. }));
/// # }
/// ```
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CallErrorKind {
    /// The server answered with an error.
    #[error("the server answered: {} ({}){}", Printable::line(&.error.message), .error.code.as_i64(), missing(.error))]
    Server {
        /// The error, as it came: its message is the server's, and so is its data.
        error: Box<ErrorObject>,
    },
    /// The server could not be reached, did not let this client in, did not answer in time, or answered with something
    /// that is no message: [`TransportError::failure`] tells which. If [`TransportError::may_have_run`] is true, a
    /// caller that sends the call again may have it done twice.
    #[error("{source}")]
    Transport {
        /// The error of the transport.
        #[source]
        source: TransportError,
    },
    /// The call stopped: at a limit, at a reply that makes no sense, or because this client could answer none of the
    /// questions.
    #[error("{stop}")]
    Stopped {
        /// The reason that the call stopped.
        stop: Stop,
    },
    /// The server asks for something that this client did not declare. The client answered nothing in its place.
    #[error("the server asks for `{}`, a `{}`, and this client has no `{handler}`", display_key(.key), display_key(.method))]
    NoHandler {
        /// The key of the question.
        key: String,
        /// The method of the question, which tells its kind.
        method: String,
        /// The method of [`Builder`](crate::Builder) that gives a client a handler for it.
        handler: &'static str,
    },
    /// The server asks in a way that the protocol, or the owner of the input, does not allow.
    #[error("the server asks for `{}` in a way that is not allowed", display_key(.key))]
    BadQuestion {
        /// The key of the question.
        key: String,
        /// The reason that it is not allowed.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The handler could not or would not answer. The client made up nothing in its place.
    #[error("`{}` was not answered", display_key(.key))]
    NotAnswered {
        /// The key of the question.
        key: String,
        /// The reason that there is no answer.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The answer does not fit the question. The client did not send it.
    #[error("{error}")]
    InvalidAnswer {
        /// The error that says what does not fit.
        error: AnswerError,
    },
    /// The answers of a round took longer than [`Limits::gathering`](crate::Limits::gathering) allows.
    #[error("the answers took too long")]
    GatheringTooLong,
    /// The caller stopped the call. A request that was under way is cancelled, and the server may have done part of it;
    /// a task keeps running at its server.
    #[error("the call was interrupted")]
    Interrupted,
    /// The call began at another server than this client's. Nothing was sent: its state and its answers are not for
    /// other servers.
    #[error(
        "the call belongs to {}, and this client talks to {}: `trust_other_server` lets it continue there",
        named(.began_at.as_deref()), display_server(.here)
    )]
    OtherServer {
        /// The server that the call names, if it names one.
        began_at: Option<String>,
        /// The server that this client talks to.
        here: String,
    },
    /// The call to resume is not a tool's. Nothing was sent.
    #[error("the call is not a tool's: `resume_as` resumes it")]
    NotATool,
    /// The server asked in the middle of the call, in a session of the legacy era. There the server holds the call
    /// while it asks: the caller cannot save the call or answer by hand.
    /// [`Client::call_tool`](crate::Client::call_tool) and its kin answer with the client's handlers while the call is
    /// open. The request is cancelled, and the server may have done part of it.
    #[error("{}", held_by_server("the legacy era"))]
    HeldByServer,
    /// The call was under way in a session of the legacy era, and the client does not know what became of it: its
    /// response did not come, or the server could not be given an answer. The call may have had effects, so the client
    /// does not send it again, and the caller cannot resume it: find out what it has done before you make it anew.
    #[error("{}", in_doubt("the legacy era", .failure))]
    InDoubt {
        /// The failure: of the call itself, or of an answer to one of the server's questions.
        failure: TransportError,
    },
    /// The result is not one of this method. The server may have done what was asked: a caller that sends the call
    /// again may have it done twice.
    #[error("the result cannot be read: {source}")]
    BadResult {
        /// The error from reading the result.
        source: ReadError,
    },
    /// The parameters cannot be written: there is no call that could be resumed.
    #[error("the parameters cannot be written: {0}")]
    BadParams(#[source] ReadError),
}

impl CallErrorKind {
    /// Makes an error of this kind, with the call that it happened to.
    pub(crate) fn of(self, pending: Box<PendingCall>) -> CallError {
        CallError { kind: self, pending: Some(pending) }
    }
}

/// Shows the message: a server's words may be long, and answers do not belong in a log.
impl fmt::Debug for CallErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CallErrorKind").field(&self.to_string()).finish()
    }
}

impl CallError {
    /// Parameters that cannot be written.
    pub(crate) fn bad_params(error: ReadError) -> Self {
        Self { kind: CallErrorKind::BadParams(error), pending: None }
    }

    /// The call, if there is one.
    pub fn pending(&self) -> Option<&PendingCall> {
        self.pending.as_deref()
    }

    /// Returns the call, to save it or to resume it.
    pub fn into_pending(self) -> Option<PendingCall> {
        self.pending.map(|pending| *pending)
    }

    /// Returns the server's message, whole and as it came, if there is one. Show [`Printable`] forms of it only.
    ///
    /// ```
    /// use mrtr_client::Client;
    /// use mrtr_client::testing::Script;
    /// use mrtr_schema::{ErrorCode, ErrorObject};
    /// use serde_json::json;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let said = ErrorObject::new(ErrorCode::INTERNAL_ERROR, "\u{1b}[31mred");
    /// let client = Client::builder(Script::new().error(said)).build();
    /// let error = client.call_tool("report", json!({})).await.unwrap_err();
    /// assert_eq!(error.to_string(), r"the server answered: \u{1b}[31mred (-32603)");
    /// assert_eq!(error.untrusted_message(), Some("\u{1b}[31mred"));
    /// # }
    /// ```
    pub fn untrusted_message(&self) -> Option<&str> {
        match &self.kind {
            CallErrorKind::Server { error } => Some(&error.message),
            CallErrorKind::Stopped { stop: Stop::ForeignReply { untrusted_message, .. } } => {
                untrusted_message.as_deref()
            }
            _ => None,
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(pending) = self.pending() else { return self.kind.fmt(f) };
        match &self.kind {
            CallErrorKind::Transport { source } => write!(f, "{}{source}", failed(source, pending)),
            CallErrorKind::NotATool => {
                write!(f, "the call is a `{}`, and not a tool's: `resume_as` resumes it", display_key(pending.method()))
            }
            CallErrorKind::HeldByServer => f.write_str(&held_by_server(pending.revision())),
            CallErrorKind::InDoubt { failure } => {
                f.write_str(&in_doubt(format_args!("{} with {}", pending.revision(), named(pending.server())), failure))
            }
            CallErrorKind::Server { error } if error.code == ErrorCode::INVALID_PARAMS && pending.state.is_some() => {
                write!(f, "{}{STATE_REFUSED}", self.kind)
            }
            kind => kind.fmt(f),
        }
    }
}

impl Error for CallError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.kind.source()
    }
}

/// Shows the message, and the call without its answers: a server's words may be long, and answers do not belong in a
/// log.
impl fmt::Debug for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.to_string();
        f.debug_struct("CallError").field("message", &text).field("pending", &self.pending()).finish()
    }
}

/// The words before the cause: where it happened, and what it comes to.
fn failed(error: &TransportError, pending: &PendingCall) -> String {
    let server = display_server(pending.server().unwrap_or("the server"));
    match error.failure() {
        TransportFailure::Unreachable => format!("no connection to {server}: "),
        TransportFailure::TimedOut => format!("{server} did not answer in time: "),
        TransportFailure::Unauthorized => format!("{server} refuses the credentials of this client: "),
        TransportFailure::Forbidden => format!("{server} refuses this client: "),
        TransportFailure::NotFound => format!("there is no MCP server at {server}: "),
        TransportFailure::SessionEnded => format!("the session with {server} is over: "),
        TransportFailure::LegacyServer => format!("{server} did not answer as its protocol version demands: "),
        TransportFailure::Other => format!("the exchange with {server} failed: "),
    }
}

/// The likely reasons of a server that refuses the parameters of a call which it accepted before. The client cannot look
/// into the state that it brings back.
const STATE_REFUSED: &str = "; most likely the server no longer opens the state of this call: its key ended with the \
                             server's process or was replaced (a server of mrtr keeps keys with `.sealer(…)` or \
                             MRTR_STATE_KEYS), or the state has expired (after an hour, unless the server says \
                             otherwise); make the call anew";

fn held_by_server(revision: impl fmt::Display) -> String {
    format!(
        "the server asked in the middle of the call, in a session of {revision}: there a call cannot be saved or \
         answered by hand, and this one is over: make it again with handlers"
    )
}

fn in_doubt(session: impl fmt::Display, failure: &TransportError) -> String {
    format!(
        "the call was under way in a session of {session}, and what became of it is not known: {failure}; it may have \
         had effects, and is not sent again"
    )
}

fn named(server: Option<&str>) -> String {
    display_server(server.unwrap_or("a server that it does not name"))
}

/// The handlers that a client would need, where a server refuses a call for the lack of them.
fn missing(error: &ErrorObject) -> String {
    let Some(Ok(data)) = error.data_as::<MissingCapabilityData>() else { return String::new() };
    let wanted = data.required_capabilities;
    let has = |handler, is_wanted: bool| is_wanted.then_some(handler);
    let handlers = [
        has("on_elicit", wanted.elicits_forms()),
        has("on_url", wanted.elicits_urls()),
        has("on_sample_with_tools", wanted.samples_with_tools()),
        has("on_sample", wanted.samples() && !wanted.samples_with_tools()),
        has("on_roots", wanted.roots.is_some()),
    ];
    match handlers.into_iter().flatten().collect::<Vec<_>>().join("`, `") {
        none if none.is_empty() => none,
        handlers => format!("; this client has no `{handlers}`"),
    }
}
