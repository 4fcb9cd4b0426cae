//! Why a call stopped before its end.

use std::fmt;

use mrtr_schema::{Printable, ReadError, Revision};

use crate::answer::display_key;

/// Why a call stopped before its end.
///
/// ```
/// use mrtr_client::Stop;
///
/// assert_eq!(Stop::TooManyRounds(10).to_string(), "the server still asks after 10 rounds");
/// ```
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Stop {
    /// The server asks again, and all rounds are used.
    #[error("the server still asks after {0} rounds")]
    TooManyRounds(u32),
    /// The server keeps asking nothing, or is too busy to.
    #[error("the server put the call off {0} times in a row, and then again")]
    TooManyStateOnlyRounds(u32),
    /// The server asks only for what this client does not know.
    #[error("the server asks for what this client does not know: {}", listed(.0))]
    Unanswerable(Vec<String>),
    /// The server asks for more at once than is taken.
    #[error("the server asks for {0} things at once")]
    TooManyQuestions(usize),
    /// The state is longer than is taken.
    #[error("the state has {0} bytes")]
    StateTooLong(usize),
    /// The reply is longer than is taken.
    #[error("the reply has {0} bytes")]
    ReplyTooLong(usize),
    /// The reply is none that the protocol allows.
    #[error("the reply cannot be read: {0}")]
    BadReply(ReadError),
    /// The reply answers another request than the one that was sent.
    #[error("the reply is to another request, `{}`{}", display_key(.id), quoted(.untrusted_message.as_deref()))]
    ForeignReply {
        /// The id that it carries.
        id: String,
        /// What the server says with it, if it is an error: as it came.
        untrusted_message: Option<String>,
    },
    /// The list is longer than is taken.
    #[error("the list has more than {0} bytes")]
    ListTooLong(usize),
    /// The server begins a session in a version that this client does not have.
    #[error(
        "the server has sessions of `{}`, and this client has {}, and {} without a session", display_key(.0),
        legacy_versions(), Revision::default()
    )]
    OtherVersion(String),
    /// The task goes on and on.
    #[error("the task was not done after {0} looks")]
    TooManyPolls(u32),
    /// The task was cancelled.
    #[error("the task was cancelled")]
    TaskCancelled,
}

/// Shows no more than the message does: a server's words may be long.
impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stop({self})")
    }
}

impl From<ReadError> for Stop {
    fn from(error: ReadError) -> Self {
        Self::BadReply(error)
    }
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
