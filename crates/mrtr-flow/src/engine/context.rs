//! The context of a run: who asks, what the client can do, and what the program shares.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mrtr_schema::{ClientCapabilities, Json, LoggingLevel, Number, Revision};
use mrtr_state::{FlowId, Sealer};
use sha2::{Digest, Sha256};

use super::environment::{Environment, LazyFlow};
use super::registered_inputs::Inputs;
use super::sink::JournalSink;
use super::stop::StopSignal;
use crate::identity::{Caller, Identity};

/// Everything that a run has besides its journal.
///
/// ```
/// use mrtr_flow::{Failure, Flow};
/// use mrtr_flow::{Journal, Outcome, RunContext, run};
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
// The hidden fields are public to mrtr-server, which sets them in place: a context is large, and a setter that takes
// and returns it would move it in every round.
pub struct RunContext {
    pub(crate) environment: Arc<Environment>,
    pub(crate) revision: Revision,
    pub(crate) lazy_flow: LazyFlow,
    pub(crate) capabilities: Arc<ClientCapabilities>,
    #[doc(hidden)]
    pub identity: Identity,
    #[doc(hidden)]
    pub sink: Option<Arc<dyn JournalSink>>,
    /// Stops the run from outside.
    #[doc(hidden)]
    pub stop: Option<StopSignal>,
    #[doc(hidden)]
    pub journal_limit: JournalLimit,
    /// The longest time that a run may take.
    #[doc(hidden)]
    pub deadline: Duration,
    /// True if an answer to another wording of its question is refused.
    #[doc(hidden)]
    pub strict: bool,
    #[doc(hidden)]
    pub runner: Runner,
    /// True if `into_task` continues where it is, though this is no task: the client cannot have one.
    #[doc(hidden)]
    pub goes_on_in_place: bool,
    #[doc(hidden)]
    pub notifications: Option<Arc<dyn NotificationSink>>,
    /// Returns true if the program has more to do than it can. The run asks it at a yield point.
    #[doc(hidden)]
    pub sheds: Option<Box<dyn Fn() -> bool + Send + Sync>>,
}

/// The bytes that a journal may take, some of them for answers alone.
#[derive(Debug, Clone, Copy)]
pub struct JournalLimit(usize);

impl JournalLimit {
    /// Makes the limit of a journal that may take this many bytes in all.
    pub fn of(total: usize) -> Self {
        Self(total)
    }

    /// The bytes up to which answers may fill it.
    pub fn total(self) -> usize {
        self.0
    }

    /// The bytes up to which steps, keys and progress may fill it, and so what a flow can count on. The rest stays free
    /// for answers: otherwise the client would be blamed for a single word, after a step has had its effect.
    pub fn usable(self) -> usize {
        self.0 - self.for_answers()
    }

    /// The bytes that are for answers alone.
    pub(crate) fn for_answers(self) -> usize {
        FOR_ANSWERS.min(self.0 / 4)
    }
}

/// The bytes of a journal that are for answers alone, or a quarter of a small journal.
const FOR_ANSWERS: usize = 4 << 10;

/// The kind of runner that runs a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "each of them behaves in its own way")]
pub enum Runner {
    /// A round, after which nothing is kept.
    Round,
    /// A call of a session.
    Session,
    /// A task.
    Task,
}

impl Runner {
    /// Returns true if the runner waits for what is settled elsewhere, and keeps the journal meanwhile: then it asks
    /// for consent once, and a yield point never sheds the flow.
    pub(crate) fn waits(self) -> bool {
        self != Self::Round
    }

    /// Advice to the author about a run that takes too long, where the cure is not plain.
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

/// The longest time that a run may take, unless the server or the tool says otherwise: ten minutes.
///
/// ```
/// assert_eq!(mrtr_flow::DEFAULT_RUN_DEADLINE.as_secs(), 600);
/// ```
pub const DEFAULT_RUN_DEADLINE: Duration = Duration::from_mins(10);

impl RunContext {
    /// Makes the context of a run of this flow, for a client that speaks this revision and declared these capabilities.
    /// If the run asks no MCP client, the revision still sets the form in which questions and answers are written.
    pub fn new(
        environment: Arc<Environment>,
        revision: Revision,
        flow: impl Into<LazyFlow>,
        capabilities: Arc<ClientCapabilities>,
    ) -> Self {
        Self {
            journal_limit: environment.journal_limit,
            deadline: environment.deadline,
            strict: false,
            environment,
            revision,
            lazy_flow: flow.into(),
            capabilities,
            identity: Identity::anonymous(),
            sink: None,
            stop: None,
            runner: Runner::Round,
            goes_on_in_place: false,
            notifications: None,
            sheds: None,
        }
    }

    /// Makes a context for tests: a key of this process, no caller, and a client that declared nothing.
    ///
    /// No server registers inputs here, so a handler may ask for any.
    pub fn for_tests() -> Self {
        let mut environment = Environment::sealed_by(Sealer::this_process_only());
        environment.inputs = Inputs::Any;
        let lazy_flow = LazyFlow::beginning(None, environment.now());
        Self::new(Arc::new(environment), Revision::default(), lazy_flow, Arc::default())
    }

    /// Says who sent the request: a handler finds it as [`Flow::principal`](crate::Flow::principal).
    #[must_use]
    pub fn caller(mut self, caller: Caller) -> Self {
        self.identity = Identity::of(caller);
        self
    }

    /// Says who sent the request, and what the transport knows of them: a handler finds it as
    /// [`Flow::identity`](crate::Flow::identity).
    #[must_use]
    pub fn identity(mut self, identity: Identity) -> Self {
        self.identity = identity;
        self
    }

    /// Refuses answers to another wording of their question: the handler asks again.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Puts the flow down at a yield point if `sheds` returns true, three times at most: the run ends with
    /// [`Outcome::Yielded`](crate::Outcome::Yielded).
    ///
    /// ```
    /// use mrtr_flow::{Failure, Flow, Journal, Outcome, RunContext, run};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let handler = async |flow: Flow| {
    ///     flow.yield_point(&1).await;
    ///     Ok::<_, Failure>("done")
    /// };
    /// let ran = run(handler, Journal::default(), RunContext::for_tests().sheds(|| true)).await;
    /// assert!(matches!(ran.outcome, Outcome::Yielded { count: 1, .. }));
    /// # }
    /// ```
    #[must_use]
    pub fn sheds(mut self, sheds: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.sheds = Some(Box::new(sheds));
        self
    }

    /// Keeps entries in this sink as the run makes them.
    #[must_use]
    pub fn sink(mut self, sink: Arc<dyn JournalSink>) -> Self {
        self.sink = Some(sink);
        self
    }

    /// Ends the run after this long, with an error that says what it was waiting for. The time counts from the moment
    /// at which the handler first waits for something.
    #[must_use]
    pub fn deadline(mut self, limit: Duration) -> Self {
        self.deadline = limit;
        self
    }

    /// Lets this signal stop the run from outside.
    #[must_use]
    pub fn stop(mut self, signal: StopSignal) -> Self {
        self.stop = Some(signal);
        self
    }

    /// Sends to this sink what the flow says while it runs: its progress, and log messages.
    #[must_use]
    pub fn notifications(mut self, sink: Arc<dyn NotificationSink>) -> Self {
        self.notifications = Some(sink);
        self
    }

    /// Runs as a task: `into_task` continues at once, and the journal may grow to this many bytes. 4 KiB of them, or a
    /// quarter of fewer than 16 KiB, are for answers alone.
    #[must_use]
    pub fn as_task(mut self, journal_limit: usize) -> Self {
        self.runner = Runner::Task;
        self.journal_limit = JournalLimit::of(journal_limit);
        self
    }

    /// Returns true if a flow that was shed this many times is to be shed again, at this yield point.
    pub(crate) fn sheds_after(&self, sheds: u32) -> bool {
        let overloaded = || self.sheds.as_ref().is_some_and(|sheds| sheds());
        !self.runner.waits() && sheds < MOST_SHEDS && overloaded()
    }

    pub(crate) fn flow_id(&self) -> FlowId {
        self.lazy_flow.flow_progress(&self.environment).flow()
    }

    /// Returns an id for an interaction outside the flow, such as a visit of a URL.
    #[doc(hidden)]
    pub fn interaction_id(&self, scopes: &str, name: &str) -> String {
        self.derived_id("mrtr interaction id", scopes, name)
    }

    /// Returns an id for this flow and this name in these scopes, the same in every run. A client cannot guess it,
    /// since it does not know the flow's id, which is sealed.
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

/// The number of times that a flow is shed at most.
const MOST_SHEDS: u32 = 3;

/// Takes what a flow says while it runs. A runner sets it with [`RunContext::notifications`].
///
/// [`RunContext::notifications`]: crate::RunContext::notifications
///
/// ```
/// use mrtr_flow::{NotificationSink, Progress};
/// use mrtr_schema::{Json, LoggingLevel};
///
/// struct Printed;
///
/// #[async_trait::async_trait]
/// impl NotificationSink for Printed {
///     async fn progress(&self, progress: Progress) {
///         println!("{} {:?}", progress.progress, progress.message);
///     }
///
///     async fn log(&self, level: LoggingLevel, data: Json) {
///         println!("{level:?} {data:?}");
///     }
/// }
/// ```
#[async_trait]
pub trait NotificationSink: Send + Sync + 'static {
    /// Takes the progress of the flow. The handler continues when this has returned.
    async fn progress(&self, progress: Progress);

    /// Takes a log message. The handler continues when this has returned.
    async fn log(&self, level: LoggingLevel, data: Json);
}

/// The progress of a flow, as [`Flow::progress`](crate::Flow::progress) told it.
///
/// ```
/// use mrtr_flow::Progress;
///
/// let mut progress = Progress::new(3);
/// progress.total = Some(10.into());
/// assert_eq!(progress.message, None);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The amount that is done.
    pub progress: Number,
    /// The amount in all, if it is known.
    pub total: Option<Number>,
    /// A text about the work that the flow does now.
    pub message: Option<String>,
}

impl Progress {
    /// Makes a progress of this amount, without a total or a text.
    pub fn new(progress: impl Into<Number>) -> Self {
        Self { progress: progress.into(), total: None, message: None }
    }
}

/// Returns the first 128 bits of a digest, as text.
pub fn short_hex(digest: &[u8]) -> String {
    all_hex(&digest[..digest.len().min(16)])
}

/// Returns bytes as text.
pub fn all_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        for nibble in [byte >> 4, byte & 15] {
            text.extend(char::from_digit(nibble.into(), 16));
        }
        text
    })
}
