//! Why a call did not give its result, and what is left of it.

use mrtr_schema::{ErrorObject, ReadError, Violations};

use crate::{PendingCall, Stop, TransportError};

/// Why a call did not give its result.
///
/// Where the call can be picked up again, it is here: nothing that was answered is lost.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The server answered with an error.
    #[error("the server answered: {} ({})", .0.message, .0.code.as_i64())]
    Server(Box<ErrorObject>),
    /// The server could not be reached, or did not answer in time.
    #[error("the server could not be reached")]
    Transport {
        /// Why.
        #[source]
        source: TransportError,
        /// The call, as it was.
        pending: Box<PendingCall>,
    },
    /// The call stopped: at a limit, or because nothing that was asked could be answered.
    #[error("{stop}")]
    Stopped {
        /// Why.
        stop: Stop,
        /// The call, as it was.
        pending: Box<PendingCall>,
    },
    /// The server asks for something that it was not told this client does.
    #[error("the server asks for `{key}`, a `{method}`, which this client did not offer")]
    NoHandler {
        /// What it asks.
        key: String,
        /// Of which kind.
        method: String,
        /// The call, as it was.
        pending: Box<PendingCall>,
    },
    /// Whoever was asked could not or would not answer. Nothing was made up in their place.
    #[error("`{key}` was not answered")]
    NotAnswered {
        /// What was asked.
        key: String,
        /// Why there is no answer.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
        /// The call, with what was answered by then.
        pending: Box<PendingCall>,
    },
    /// The answer does not fit the form.
    #[error("the answer to `{key}` does not fit what was asked: {violations}")]
    Unfit {
        /// What was asked.
        key: String,
        /// What does not fit.
        violations: Violations,
        /// The call, with what was answered by then.
        pending: Box<PendingCall>,
    },
    /// Answers took longer than they may.
    #[error("the answers took too long")]
    GatheringTooLong {
        /// The call, with what was answered by then.
        pending: Box<PendingCall>,
    },
    /// The result is not one of this method.
    #[error("the result cannot be read")]
    BadResult(#[source] ReadError),
    /// The parameters cannot be written.
    #[error("the parameters cannot be written")]
    BadParams(#[source] ReadError),
}

impl CallError {
    /// The call, if it can be picked up again.
    pub fn pending(&self) -> Option<&PendingCall> {
        match self {
            Self::Transport { pending, .. }
            | Self::Stopped { pending, .. }
            | Self::NoHandler { pending, .. }
            | Self::NotAnswered { pending, .. }
            | Self::Unfit { pending, .. }
            | Self::GatheringTooLong { pending } => Some(pending),
            Self::Server(_) | Self::BadResult(_) | Self::BadParams(_) => None,
        }
    }
}
