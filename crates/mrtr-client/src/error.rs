//! The public error types: the reason that a call gave no result, and what is left of the call.
//!
//! [`CallError`] carries the others. Each of those is defined where it arises, so that modules below this one need not
//! import from it, and is exported from here.

use std::error::Error;
use std::fmt;

use mrtr_schema::error::Problem;
use mrtr_schema::error_object::MissingCapabilityData;
use mrtr_schema::{ClientCapabilities, ErrorCode, ErrorObject, Printable, ReadError};

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
/// assert!(matches!(&error.kind, CallErrorKind::NoHandler { key: Some(key), .. } if key == "where"));
/// assert_eq!(error.pending().unwrap().unanswered().collect::<Vec<_>>(), ["where"]);
/// # }
/// ```
#[non_exhaustive]
pub struct CallError {
    /// The kind of failure.
    pub kind: CallErrorKind,
    /// The call, with the answers so far. `None` if it can never be resumed: a session held it
    /// ([`HeldByServer`](CallErrorKind::HeldByServer), [`InDoubt`](CallErrorKind::InDoubt)), or its parameters could not
    /// be written.
    pub pending: Option<Box<PendingCall>>,
    /// The message, where it says more than the kind and the call hold.
    message: Option<String>,
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
#[non_exhaustive]
pub enum CallErrorKind {
    /// The server answered with an error.
    Server {
        /// The error, as it came: its message is the server's, and so is its data.
        error: Box<ErrorObject>,
    },
    /// The server could not be reached, did not let this client in, did not answer in time, or answered with something
    /// that is no message: [`TransportError::failure`] tells which. If [`TransportError::may_have_run`] is true, a
    /// caller that sends the call again may have it done twice.
    Transport {
        /// The error of the transport.
        source: TransportError,
    },
    /// The call stopped: at a limit, at a reply that makes no sense, or because this client could answer none of the
    /// questions.
    Stopped {
        /// The reason that the call stopped.
        stop: Stop,
    },
    /// The server asks for something that this client did not declare, and the client answered nothing in its place; or
    /// the server did not begin, since it would have to ask for it.
    NoHandler {
        /// The key of the question. `None` if the server refused the call without asking (-32021).
        key: Option<String>,
        /// The method of the question, which tells its kind.
        method: String,
        /// The method of [`Builder`](crate::Builder) that gives a client a handler for it.
        handler: &'static str,
    },
    /// The server asks in a way that the protocol, or the owner of the input, does not allow; or it asks to open a URL that
    /// no person should be offered: see [`UnsafeUrl`](crate::UnsafeUrl).
    BadQuestion {
        /// The key of the question.
        key: String,
        /// The reason that it is not allowed.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The handler could not or would not answer, or panicked. The client made up nothing in its place.
    NotAnswered {
        /// The key of the question.
        key: String,
        /// The reason that there is no answer.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The answer does not fit the question. The client did not send it.
    InvalidAnswer {
        /// The error that says what does not fit.
        error: AnswerError,
    },
    /// The answers of a round took longer than [`Limits::gathering`](crate::Limits::gathering) allows.
    GatheringTooLong,
    /// The caller stopped the call. A request that was under way is cancelled, and the server may have done part of it;
    /// a task keeps running at its server.
    Interrupted,
    /// The call began at another server than this client's. Nothing was sent: its state and its answers are not for
    /// other servers.
    OtherServer {
        /// The server that the call names, if it names one.
        began_at: Option<String>,
        /// The server that this client talks to.
        here: String,
    },
    /// The call to resume is not a tool's. Nothing was sent.
    NotATool,
    /// The server asked in the middle of the call, in a session of the legacy era. There the server holds the call
    /// while it asks: the caller cannot save the call or answer by hand.
    /// [`Client::call_tool`](crate::Client::call_tool) and its kin answer with the client's handlers while the call is
    /// open. The request is cancelled, and the server may have done part of it.
    HeldByServer,
    /// The call was under way in a session of the legacy era, and the client does not know what became of it: its
    /// response did not come, or the server could not be given an answer. The call may have had effects, so the client
    /// does not send it again, and the caller cannot resume it: find out what it has done before you make it anew.
    InDoubt {
        /// The failure: of the call itself, or of an answer to one of the server's questions.
        failure: TransportError,
    },
    /// The result is not one of this method. The server may have done what was asked: a caller that sends the call
    /// again may have it done twice.
    BadResult {
        /// The error from reading the result.
        source: ReadError,
    },
    /// The parameters cannot be written: there is no call that could be resumed.
    BadParams(ReadError),
}

impl CallErrorKind {
    /// Makes an error of this kind, with the call that it happened to, unless that can never be resumed.
    pub(crate) fn of(self, pending: Box<PendingCall>) -> CallError {
        let message = match &self {
            Self::HeldByServer => held_by_server(pending.revision()),
            Self::InDoubt { failure } => {
                in_doubt(format_args!("{} with {}", pending.revision(), named(pending.server())), failure)
            }
            _ => return CallError { kind: self, pending: Some(pending), message: None },
        };
        CallError { kind: self, pending: None, message: Some(message) }
    }

    /// The name of the variant.
    fn name(&self) -> &'static str {
        match self {
            Self::Server { .. } => "Server",
            Self::Transport { .. } => "Transport",
            Self::Stopped { .. } => "Stopped",
            Self::NoHandler { .. } => "NoHandler",
            Self::BadQuestion { .. } => "BadQuestion",
            Self::NotAnswered { .. } => "NotAnswered",
            Self::InvalidAnswer { .. } => "InvalidAnswer",
            Self::GatheringTooLong => "GatheringTooLong",
            Self::Interrupted => "Interrupted",
            Self::OtherServer { .. } => "OtherServer",
            Self::NotATool => "NotATool",
            Self::HeldByServer => "HeldByServer",
            Self::InDoubt { .. } => "InDoubt",
            Self::BadResult { .. } => "BadResult",
            Self::BadParams(_) => "BadParams",
        }
    }
}

impl fmt::Display for CallErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server { error } => {
                write!(f, "the server answered: {} ({})", Printable::line(&error.message), error.code.as_i64())
            }
            Self::Transport { source } => source.fmt(f),
            Self::Stopped { stop } => stop.fmt(f),
            Self::NoHandler { key: Some(key), method, handler } => {
                let (key, method) = (display_key(key), display_key(method));
                write!(f, "the server asks for `{key}` (`{method}`), and this client has no `{handler}`")
            }
            Self::NoHandler { key: None, method, handler } => {
                let method = display_key(method);
                write!(f, "the call needs a client that answers `{method}`, and this client has no `{handler}`")
            }
            Self::BadQuestion { key, source } => {
                let key = display_key(key);
                write!(f, "the server asks for `{key}` in a way that is not allowed: {}", shown(source.as_ref()))
            }
            Self::NotAnswered { key, source } => {
                write!(f, "`{}` was not answered: {}", display_key(key), shown(source.as_ref()))
            }
            Self::InvalidAnswer { error } => error.fmt(f),
            Self::GatheringTooLong => f.write_str("the answers took too long"),
            Self::Interrupted => f.write_str("the call was interrupted"),
            Self::OtherServer { began_at, here } => {
                let (began_at, here) = (named(began_at.as_deref()), display_server(here));
                write!(
                    f,
                    "the call belongs to {began_at}, and this client talks to {here}: \
                     `trust_other_server(client.server())` lets it continue there"
                )
            }
            Self::NotATool => f.write_str("the call is not a tool's: `resume_as` resumes it"),
            Self::HeldByServer => f.write_str(&held_by_server("the legacy era")),
            Self::InDoubt { failure } => f.write_str(&in_doubt("the legacy era", failure)),
            Self::BadResult { source } => write!(f, "the result cannot be read: {source}"),
            Self::BadParams(error) => write!(f, "the parameters cannot be written: {error}"),
        }
    }
}

/// The message has the cause of each kind in it, so that the next cause is the cause of that one.
impl Error for CallErrorKind {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::BadQuestion { source, .. } | Self::NotAnswered { source, .. } => source.source(),
            _ => None,
        }
    }
}

/// Shows the name and the message: a server's words may be long, and answers do not belong in a log.
impl fmt::Debug for CallErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_tuple(self.name());
        match self {
            Self::Transport { source } => shown.field(&source.failure()).field(&self.to_string()),
            Self::InDoubt { failure } => shown.field(&failure.failure()).field(&self.to_string()),
            Self::Stopped { stop } => shown.field(stop),
            Self::InvalidAnswer { error } => shown.field(error),
            _ => shown.field(&self.to_string()),
        };
        shown.finish()
    }
}

impl CallError {
    /// Parameters that cannot be written.
    pub(crate) fn bad_params(error: ReadError) -> Self {
        Self { kind: CallErrorKind::BadParams(error), pending: None, message: None }
    }

    /// Arguments that cannot be written, or are not an object.
    pub(crate) fn bad_arguments(name: &str, error: ReadError) -> Self {
        let name = display_key(name);
        let message = match error.problem() {
            Problem::Mismatch { found, .. } => format!("the arguments of `{name}` are {found}, and not an object"),
            _ => format!("the arguments of `{name}` cannot be written: {error}"),
        };
        Self { message: Some(message), ..Self::bad_params(error) }
    }

    /// True if the server refused the parameters.
    pub(crate) fn is_invalid_params(&self) -> bool {
        matches!(&self.kind, CallErrorKind::Server { error } if error.code == ErrorCode::INVALID_PARAMS)
    }

    /// Adds to the message why the server may not know a task.
    pub(crate) fn about_unknown_task(mut self) -> Self {
        self.message = Some(format!("{self}{TASK_REFUSED}"));
        self
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
        if let Some(message) = &self.message {
            return f.write_str(message);
        }
        let Some(pending) = self.pending() else { return self.kind.fmt(f) };
        match &self.kind {
            CallErrorKind::Transport { source } => {
                let hint = if source.failure() == TransportFailure::NotFound { no_path(pending.server()) } else { "" };
                write!(f, "{}{source}{hint}", failed(source, pending))
            }
            CallErrorKind::NotATool => {
                write!(f, "the call is a `{}`, and not a tool's: `resume_as` resumes it", display_key(pending.method()))
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

/// Shows the kind by name, the message, and the call without its answers: a server's words may be long, and answers do
/// not belong in a log.
impl fmt::Debug for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, text) = (self.kind.name(), self.to_string());
        let mut shown = f.debug_struct("CallError");
        shown.field("kind", &format_args!("{kind}")).field("message", &text).field("pending", &self.pending()).finish()
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

/// The remedy for a URL that names a server and no path.
fn no_path(server: Option<&str>) -> &'static str {
    let rest = server.and_then(|server| server.split_once("://")).map(|(_, rest)| rest);
    match rest.map(|rest| rest.split_once('/').map_or("", |(_, path)| path)) {
        Some("") => "; the URL has no path, and most servers are at `/mcp`",
        _ => "",
    }
}

/// A cause as it stands in a message: it may quote a server.
fn shown(cause: &(dyn Error + Send + Sync + 'static)) -> String {
    Printable::line(&cause.to_string()).up_to(2 * Printable::LINE).to_string()
}

/// The likely reasons of a server that refuses the parameters of a call which it accepted before. The client cannot look
/// into the state that it brings back.
const STATE_REFUSED: &str = "; most likely the server no longer opens the state of this call: its key ended with the \
                             server's process or was replaced (a server of mrtr keeps keys with `.sealer(…)` or \
                             MRTR_STATE_KEYS), or the state has expired (after an hour, unless the server says \
                             otherwise); or the saved call was changed, or belongs to another server or caller; make \
                             the call anew";

/// The likely reasons of a server that refuses to speak of a task.
const TASK_REFUSED: &str = "; most likely the server no longer has the task: its time is over, or a server that keeps \
                            tasks in memory was started again; or the task belongs to another server or caller";

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

/// The method and the handler that a client lacks, where a server refuses a call for the lack of them.
pub(crate) fn lacking(error: &ErrorObject, has: &ClientCapabilities) -> Option<(&'static str, &'static str)> {
    let wanted = error.data_as::<MissingCapabilityData>()?.ok()?.required_capabilities;
    let handlers = [
        (wanted.elicits_forms() && !has.elicits_forms(), "elicitation/create", "on_elicit"),
        (wanted.elicits_urls() && !has.elicits_urls(), "elicitation/create", "on_url"),
        (wanted.samples_with_tools() && !has.samples_with_tools(), "sampling/createMessage", "on_sample_with_tools"),
        (wanted.samples() && !has.samples(), "sampling/createMessage", "on_sample"),
        (wanted.lists_roots() && !has.lists_roots(), "roots/list", "on_roots"),
    ];
    handlers.into_iter().find_map(|(is_lacking, method, handler)| is_lacking.then_some((method, handler)))
}
