//! What a run has besides its journal: who asks, what the client can do, and the server's own things.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mrtr_schema::meta::ProgressToken;
use mrtr_schema::{ClientCapabilities, LoggingLevel, Revision};
use mrtr_state::{FlowId, Sealer};
use sha2::{Digest, Sha256};

use super::lazy_flow::LazyFlow;
use super::registered_inputs::Inputs;
use super::shared::Shared;
use super::sink::JournalSink;
use super::stop::StopSignal;
use crate::support::caller::Caller;
use crate::support::clock::SystemClock;
use crate::support::hex::short_hex;
use crate::support::notify::{NotificationSink, Notifier, Receiver};
use crate::support::shed::{Load, MOST_SHEDS};

/// What a run has besides its journal.
///
/// ```
/// use mrtr_server::{Failure, Flow};
/// use mrtr_server::extend::{Journal, Outcome, RunContext, run};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let handler = async |flow: Flow| {
///     flow.into_task().await;
///     Ok::<_, Failure>("done")
/// };
/// let as_task = RunContext::for_tests().as_task(1 << 20);
/// let ran = run(handler, Journal::default(), as_task).await;
/// assert!(matches!(ran.outcome, Outcome::Done("done")));
/// # }
/// ```
pub struct RunContext {
    pub(crate) shared: Arc<Shared>,
    pub(crate) revision: Revision,
    pub(crate) lazy_flow: LazyFlow,
    pub(crate) capabilities: Arc<ClientCapabilities>,
    pub(crate) caller: Option<Caller>,
    pub(crate) sink: Option<Arc<dyn JournalSink>>,
    /// Stops the run from outside.
    pub(crate) stop: Option<StopSignal>,
    pub(crate) journal_limit: JournalLimit,
    /// How long a run may take.
    pub(crate) deadline: Duration,
    /// Whether an answer to another wording of its question is refused.
    pub(crate) strict: bool,
    pub(crate) runner: Runner,
    /// Whether `into_task` goes on where it is, though this is no task: its client cannot have one.
    pub(crate) goes_on_in_place: bool,
    pub(crate) notifier: Option<Notifier>,
    /// How busy the server was when the round began.
    pub(crate) load: Load,
}

/// How many bytes a journal may take, and how many of them are for answers alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JournalLimit(usize);

impl JournalLimit {
    /// A journal that may take so many bytes in all.
    pub(crate) fn of(total: usize) -> Self {
        Self(total)
    }

    /// How many answers may fill it to.
    pub(crate) fn total(self) -> usize {
        self.0
    }

    /// How many steps, keys and progress may fill it to, and so what a flow can count on. After whatever was recorded
    /// the client can still answer: it would be blamed for a word, after an effect.
    pub(crate) fn usable(self) -> usize {
        self.0 - self.for_answers()
    }

    /// How many are for answers alone.
    pub(crate) fn for_answers(self) -> usize {
        FOR_ANSWERS.min(self.0 / 4)
    }
}

/// So many bytes of a journal are for answers alone, or a quarter of a small one.
const FOR_ANSWERS: usize = 4 << 10;

/// What runs a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runner {
    /// A round, after which nothing is kept.
    Round,
    /// A call of a session.
    Session,
    /// A task.
    Task,
}

impl Runner {
    /// Whether it waits for what is settled elsewhere, and keeps the journal meanwhile: then consent is asked for once,
    /// and a yield point goes on.
    pub(crate) fn waits(self) -> bool {
        self != Self::Round
    }

    /// What the author can do about a run that takes too long, where that is not plain.
    pub(crate) fn remedy(self) -> &'static str {
        match self {
            Self::Round | Self::Session => "",
            Self::Task => {
                "; this is the deadline of a run of a task (`TaskOptions::run_deadline`, or `Tool::run_deadline` for one \
                 tool): raise it, or divide the work into shorter runs with `yield_point`"
            }
        }
    }
}

/// How long a run may take, unless the server or the tool says otherwise: ten minutes.
///
/// ```
/// assert_eq!(mrtr_server::extend::DEFAULT_RUN_DEADLINE.as_secs(), 600);
/// ```
pub const DEFAULT_RUN_DEADLINE: Duration = Duration::from_mins(10);

impl RunContext {
    pub(crate) fn new(
        shared: Arc<Shared>,
        revision: Revision,
        lazy_flow: LazyFlow,
        capabilities: Arc<ClientCapabilities>,
    ) -> Self {
        Self {
            journal_limit: shared.journal_limit(),
            deadline: shared.deadline,
            strict: false,
            shared,
            revision,
            lazy_flow,
            capabilities,
            caller: None,
            sink: None,
            stop: None,
            runner: Runner::Round,
            goes_on_in_place: false,
            notifier: None,
            load: Load::default(),
        }
    }

    /// A context of its own: a key of this process, no caller, a client that declared nothing.
    ///
    /// There is no server with which inputs could be registered, so a handler may ask for any.
    pub fn for_tests() -> Self {
        let mut shared = Shared::new(Sealer::this_process_only(), Arc::new(SystemClock::default()));
        shared.inputs = Inputs::Any;
        let lazy_flow = LazyFlow::beginning(None, shared.clock.now());
        Self::new(Arc::new(shared), Revision::default(), lazy_flow, Arc::default())
    }

    /// Has entries kept as they are made.
    #[must_use]
    pub fn sink(mut self, sink: Arc<dyn JournalSink>) -> Self {
        self.sink = Some(sink);
        self
    }

    /// Ends the run after this long, with an error that says what it was waiting for. It counts from the moment at
    /// which the handler first waits for something.
    #[must_use]
    pub fn deadline(mut self, limit: Duration) -> Self {
        self.deadline = limit;
        self
    }

    /// Lets the run be stopped from outside.
    #[must_use]
    pub fn stop(mut self, signal: StopSignal) -> Self {
        self.stop = Some(signal);
        self
    }

    /// Gives the notifications of a run without a connection a place to go: log messages from this level on, and
    /// progress under this token, if there is one.
    #[must_use]
    pub fn notifications(
        mut self,
        sink: Arc<dyn NotificationSink>,
        progress: Option<ProgressToken>,
        log: Option<LoggingLevel>,
    ) -> Self {
        self.notifier = Some(Notifier { progress, log, to: Receiver::Sink(sink), revision: self.revision });
        self
    }

    /// Runs as a task: `into_task` goes on at once, and the journal may grow to this many bytes. 4 KiB of them, or a
    /// quarter of fewer than 16 KiB, are for answers alone.
    #[must_use]
    pub fn as_task(mut self, journal_limit: usize) -> Self {
        self.runner = Runner::Task;
        self.journal_limit = JournalLimit::of(journal_limit);
        self
    }

    /// Whether a flow that was put down this often is put down here.
    pub(crate) fn sheds(&self, sheds: u32) -> bool {
        let load = Load { running: self.shared.load.running(), ..self.load };
        let overloaded = || self.shared.shedder.as_ref().is_some_and(|shedder| shedder.sheds(&load));
        !self.runner.waits() && sheds < MOST_SHEDS && overloaded()
    }

    pub(crate) fn flow_id(&self) -> FlowId {
        self.lazy_flow.flow_progress(&self.shared).flow()
    }

    /// An id for an interaction outside the flow, such as a visit of a URL.
    pub(crate) fn interaction_id(&self, scopes: &str, name: &str) -> String {
        self.derived_id("mrtr interaction id", scopes, name)
    }

    /// An id for this flow and this name in these scopes, the same in every run; it cannot be guessed by a client that
    /// does not know the flow's, which is sealed.
    pub(crate) fn derived_id(&self, purpose: &str, scopes: &str, name: &str) -> String {
        let mut digest = Sha256::new();
        digest.update(purpose);
        digest.update(self.flow_id().as_bytes());
        // With its length, so that no other division into scopes and name gives the same bytes.
        digest.update(u64::try_from(scopes.len()).expect("a length").to_le_bytes());
        digest.update(scopes);
        digest.update(name);
        short_hex(&digest.finalize())
    }
}

impl fmt::Debug for RunContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunContext").field("lazy_flow", &self.lazy_flow).finish_non_exhaustive()
    }
}
