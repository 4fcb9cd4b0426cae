//! The actions that a call wants done, its outcomes, and the reasons that it stops.

use std::fmt;
use std::time::Duration;

use mrtr_schema::{ErrorObject, InputRequest, Json, Printable, ReadError, Revision};
use serde_json::value::RawValue;

use crate::answer::display_key;

/// The next thing to do for a call; [`Call`](crate::Call) has an example.
///
/// A task is followed in the same way: the request is then a poll of it, or answers for it.
///
/// ```
/// use mrtr_client::{Action, Call, Limits};
/// use mrtr_schema::{JsonObject, Revision};
///
/// let call = Call::new(Revision::V2026_07_28, "tools/list", JsonObject::default(), Limits::default(), 1);
/// assert!(matches!(call.action(), Action::Send(request) if request.method == "tools/list"));
/// ```
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_enums, reason = "the driver of a call must do each of them")]
pub enum Action {
    /// Send this, and tell the call what the server replied.
    Send(Outgoing),
    /// Answer these, each by its key, in any order.
    Gather(Vec<(String, InputRequest)>),
    /// Wait this long.
    Wait(Duration),
    /// Nothing: the call is over, and [`Call::end`](crate::Call::end) says how.
    Done,
}

/// A request to be sent, without what the driver adds: an id and metadata.
///
/// ```
/// use mrtr_client::{Action, Call, Limits};
/// use mrtr_schema::{JsonObject, Revision};
///
/// let params = JsonObject::parse(r#"{"uri": "docs://guide"}"#)?;
/// let call = Call::new(Revision::V2026_07_28, "resources/read", params, Limits::default(), 1);
/// let Action::Send(request) = call.action() else { panic!("it sends first") };
/// assert_eq!(request.params.get(), r#"{"uri": "docs://guide"}"#);
/// assert!(!request.is_retry);
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Outgoing {
    /// The method.
    pub method: String,
    /// The parameters: an object.
    pub params: Box<RawValue>,
    /// True if the request carries answers or a state, or is about a task: then its result is never kept (CL-6).
    pub is_retry: bool,
}

/// Shows no parameters: they may hold what a person answered.
impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing").field("method", &self.method).finish_non_exhaustive()
    }
}

/// The outcome of a call.
///
/// ```
/// use mrtr_client::{Call, Limits, CallOutcome, Stop};
/// use mrtr_schema::{Json, JsonObject, Revision};
///
/// let mut call = Call::new(Revision::V2026_07_28, "tools/call", JsonObject::default(), Limits::default(), 1);
/// call.replied(Ok(Json::parse(r#"{"resultType": "input_required"}"#)?.as_raw()), None);
/// assert!(matches!(call.end(), (Some(CallOutcome::Stopped(Stop::BadReply(_))), _)));
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum CallOutcome {
    /// The call has this result.
    Complete(Json),
    /// The call failed with this error of the server's.
    Failed(ErrorObject),
    /// The call stopped before its end, and can be resumed.
    Stopped(Stop),
}

/// The reason that a call stopped before its end.
///
/// ```
/// use mrtr_client::Stop;
///
/// assert_eq!(Stop::TooManyRounds(10).to_string(), "the server still asks after 10 rounds");
/// assert_eq!(Stop::TooManyRounds(1).to_string(), "the server still asks after 1 round");
/// ```
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Stop {
    /// The server asks again, and the call has used all its rounds.
    #[error("the server still asks after {}", counted(.0, "round"))]
    TooManyRounds(u32),
    /// The server put the call off too often: it asked nothing, or was too busy.
    #[error("the server deferred the call more than {} in a row", counted(.0, "time"))]
    TooManyStateOnlyRounds(u32),
    /// The server asks only for kinds of input that this client does not know.
    #[error("the server asks for inputs that this client does not know: {}", listed(.0))]
    Unanswerable(Vec<String>),
    /// The server asks for more at once than this client takes.
    #[error("the server asks {} at once, more than this client accepts", counted(.0, "question"))]
    TooManyQuestions(usize),
    /// The state is longer than this client takes.
    #[error("the state has {}, more than this client accepts", counted(.0, "byte"))]
    StateTooLong(usize),
    /// The reply is longer than this client takes.
    #[error("the reply has {}, more than this client accepts", counted(.0, "byte"))]
    ReplyTooLong(usize),
    /// The reply is not one that the protocol allows.
    #[error("the reply cannot be read: {0}")]
    BadReply(ReadError),
    /// The reply answers another request than the one that was sent.
    #[error("the reply is to another request, `{}`{}", display_key(.id), quoted(.untrusted_message.as_deref()))]
    ForeignReply {
        /// The id that it carries.
        id: String,
        /// The server's message in it, as it came, if it is an error.
        untrusted_message: Option<String>,
    },
    /// The list is longer than this client takes.
    #[error("the list is longer than {}, the most that this client accepts", counted(.0, "byte"))]
    ListTooLong(usize),
    /// The server begins a session in a version that this client does not have.
    #[error(
        "the server begins a session in `{}`; this client supports sessions in {}, and {} without a session",
        display_key(.0),
        legacy_versions(), Revision::default()
    )]
    OtherVersion(String),
    /// The client has polled the task as often as it may, and the task is not done.
    #[error("the task did not end within {}", counted(.0, "poll"))]
    TooManyPolls(u32),
    /// The task was cancelled.
    #[error("the task was cancelled")]
    TaskCancelled,
}

/// Shows the name and the message, and no more: a server's words may be long.
impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::TooManyRounds(_) => "TooManyRounds",
            Self::TooManyStateOnlyRounds(_) => "TooManyStateOnlyRounds",
            Self::Unanswerable(_) => "Unanswerable",
            Self::TooManyQuestions(_) => "TooManyQuestions",
            Self::StateTooLong(_) => "StateTooLong",
            Self::ReplyTooLong(_) => "ReplyTooLong",
            Self::BadReply(_) => "BadReply",
            Self::ForeignReply { .. } => "ForeignReply",
            Self::ListTooLong(_) => "ListTooLong",
            Self::OtherVersion(_) => "OtherVersion",
            Self::TooManyPolls(_) => "TooManyPolls",
            Self::TaskCancelled => "TaskCancelled",
        };
        f.debug_tuple(name).field(&self.to_string()).finish()
    }
}

impl From<ReadError> for Stop {
    fn from(error: ReadError) -> Self {
        Self::BadReply(error)
    }
}

/// A number with its unit, which is a plural unless there is one.
fn counted(count: &impl ToString, unit: &str) -> String {
    let count = count.to_string();
    let plural = if count == "1" { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

fn legacy_versions() -> String {
    Revision::LEGACY.map(Revision::as_str).join(" and ")
}

fn quoted(said: Option<&str>) -> String {
    said.map(|said| format!("; the server says: {}", Printable::line(said))).unwrap_or_default()
}

fn listed(keys: &[String]) -> String {
    let listed = keys.iter().take(MAX_LISTED).map(|key| display_key(key)).collect::<Vec<_>>().join(", ");
    match keys.len().saturating_sub(MAX_LISTED) {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}

const MAX_LISTED: usize = 10;
