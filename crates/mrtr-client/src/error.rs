//! Why a call did not give its result, and what is left of it.

use mrtr_schema::{ErrorObject, ReadError};

use crate::answer::brief;
use crate::{AnswerError, PendingCall, Stop, TransportError};

/// Why a call did not give its result.
///
/// Where the call can be picked up again, it is here: nothing that was answered is lost.
///
/// ```
/// use mrtr_client::testing::Script;
/// use mrtr_client::{CallError, Client};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let server = Script::new().result(json!({ "resultType": "input_required",
///     "inputRequests": { "where": { "method": "roots/list" } } }));
/// let client = Client::builder(server).build();
/// let error = client.call_tool("report", json!({})).await.unwrap_err();
/// assert!(matches!(&error, CallError::NoHandler { key, .. } if key == "where"));
/// assert_eq!(error.pending().unwrap().unanswered().collect::<Vec<_>>(), ["where"]);
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The server answered with an error.
    #[error("the server answered: {} ({})", .error.message, .error.code.as_i64())]
    Server {
        /// The error.
        error: Box<ErrorObject>,
        /// The call, as it was: an error may be one that passes.
        pending: Box<PendingCall>,
    },
    /// The server could not be reached, or did not answer in time.
    #[error("the server could not be reached")]
    Transport {
        /// Why.
        #[source]
        source: TransportError,
        /// The call, as it was.
        pending: Box<PendingCall>,
    },
    /// The call stopped: at a limit, at a reply that makes no sense, or because nothing that was asked could be
    /// answered.
    #[error("{stop}")]
    Stopped {
        /// Why.
        stop: Stop,
        /// The call, as it was.
        pending: Box<PendingCall>,
    },
    /// The server asks for something that it was not told this client does. Nothing was answered in its place.
    #[error("the server asks for `{}`, a `{}`, which this client did not offer", brief(.key), brief(.method))]
    NoHandler {
        /// What it asks.
        key: String,
        /// Of which kind.
        method: String,
        /// The call, as it was.
        pending: Box<PendingCall>,
    },
    /// The server asks in a way that the protocol, or the owner of the input, does not allow.
    #[error("the server asks for `{}` in a way that is not allowed", brief(.key))]
    BadQuestion {
        /// What it asks.
        key: String,
        /// What is wrong with it.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
        /// The call, as it was.
        pending: Box<PendingCall>,
    },
    /// Whoever was asked could not or would not answer. Nothing was made up in their place.
    #[error("`{}` was not answered", brief(.key))]
    NotAnswered {
        /// What was asked.
        key: String,
        /// Why there is no answer.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
        /// The call, with what was answered by then.
        pending: Box<PendingCall>,
    },
    /// The answer does not fit what was asked. It was not sent.
    #[error("{error}")]
    Unfit {
        /// What does not fit.
        error: AnswerError,
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
            Self::Server { pending, .. }
            | Self::Transport { pending, .. }
            | Self::Stopped { pending, .. }
            | Self::NoHandler { pending, .. }
            | Self::BadQuestion { pending, .. }
            | Self::NotAnswered { pending, .. }
            | Self::Unfit { pending, .. }
            | Self::GatheringTooLong { pending } => Some(pending),
            Self::BadResult(_) | Self::BadParams(_) => None,
        }
    }

    /// The call, to be saved or gone on with.
    pub fn into_pending(self) -> Option<PendingCall> {
        match self {
            Self::Server { pending, .. }
            | Self::Transport { pending, .. }
            | Self::Stopped { pending, .. }
            | Self::NoHandler { pending, .. }
            | Self::BadQuestion { pending, .. }
            | Self::NotAnswered { pending, .. }
            | Self::Unfit { pending, .. }
            | Self::GatheringTooLong { pending } => Some(*pending),
            Self::BadResult(_) | Self::BadParams(_) => None,
        }
    }
}
