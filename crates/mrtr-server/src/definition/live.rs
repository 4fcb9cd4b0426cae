//! A client that can be asked while its request waits, as in a session: what a round needs of it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mrtr_flow::{Failure, Journal, Question, StopSignal};
use mrtr_schema::ClientCapabilities;

/// What is known of a client that does not say it in each request.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownClient {
    pub(crate) capabilities: Arc<ClientCapabilities>,
    /// The client itself, where its request waits while it is asked.
    pub(crate) live: Option<Arc<dyn LiveClient>>,
}

/// A client whose request waits: its questions are put to it by messages of their own, and the journal stays here.
#[async_trait]
pub(crate) trait LiveClient: fmt::Debug + Send + Sync {
    /// A run begins, and may take a while: what it is stopped by, and how large its journal may become.
    fn run_begins(&self) -> LiveRun;

    /// A run has ended, and left this journal. Fails if that is more than the client may have kept for it.
    async fn run_ended(&self, journal: &Journal) -> Result<(), NotAnswered>;

    /// Why it cannot be asked anything, if it cannot.
    fn unaskable(&self) -> Option<&'static str> {
        None
    }

    /// Puts the questions of a run, and waits until each is settled, or until one of them may have been settled
    /// elsewhere; `patience` is how long an answer is waited for, if not as long as usual.
    async fn ask(&self, questions: Vec<Question>, journal: &mut Journal, wait: Wait) -> Result<(), NotAnswered>;

    /// Waits for what is settled elsewhere, and asks nothing.
    async fn pause(&self, wait: Wait) -> Result<(), NotAnswered>;
}

/// How long to wait between two runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait {
    /// For an answer, if not as long as usual.
    pub(crate) patience: Option<Duration>,
    /// Until the next run, though nothing came.
    pub(crate) look_again: Option<Duration>,
}

/// What bounds a run whose client waits.
pub(crate) struct LiveRun {
    pub(crate) stop: StopSignal,
    pub(crate) journal_limit: usize,
}

/// Why a call does not go on.
#[derive(Debug)]
pub(crate) enum NotAnswered {
    /// It was stopped: the client wants no reply any more.
    Stopped,
    /// A question failed, or nothing more is waited for.
    Failed(Failure),
}
