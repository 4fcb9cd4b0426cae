//! One run of a handler over a journal: polled until it is done, or until all that is left is questions.

mod branches;
mod contained;
mod core;
mod deadline;
mod place;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use mrtr_schema::{ElicitParams, InputRequest};

pub(crate) use branches::BranchId;
pub(crate) use contained::{Contained, Panicked};
pub(crate) use core::{Admission, Ending, Evaluation, RaceStart, Run, StepStart, park};
use deadline::Deadline;
pub(crate) use place::Within;

use crate::by_name::Names;
use crate::flow::Flow;
use crate::inputs::Inputs;
use crate::{Asked, Failure, Journal, Output, RunContext};

/// How a run ended.
///
/// ```
/// use mrtr_server::{Failure, Flow, Journal, Outcome, RunContext, run};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let handler = async |_: Flow| Ok::<_, Failure>(42);
/// match run(handler, Journal::default(), RunContext::for_tests()).await.outcome {
///     Outcome::Done(value) => assert_eq!(value, 42),
///     other => panic!("{other:?}"),
/// }
/// # }
/// ```
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a runner must deal with each of them")]
pub enum Outcome<T> {
    /// The handler returned.
    Done(T),
    /// Questions are open: ask them, and run again when answers have come.
    Waiting(Vec<Question>),
    /// The handler wants to go on as a task.
    IntoTask,
    /// The handler gave way, or must be seen to have its answers before it goes on: run again with the same journal.
    Yielded,
    /// Nobody waits for this run any more; what it has recorded stands.
    Abandoned,
    /// The handler failed.
    Failed(Failure),
}

/// What is left of a run.
///
/// ```
/// use mrtr_server::{Failure, Flow, Journal, RunContext, run};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let handler = async |flow: Flow| Ok::<_, Failure>(flow.step("count", async { Ok::<_, Failure>(1_u32) }).await?);
/// let ran = run(handler, Journal::default(), RunContext::for_tests()).await;
/// assert_eq!(ran.journal.steps().collect::<Vec<_>>(), ["count"]);
/// assert!(ran.must_carry);
/// # }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct RunReport<T> {
    /// How it ended.
    pub outcome: Outcome<T>,
    /// What the flow knows now.
    pub journal: Journal,
    /// Whether the next run cannot do without the journal, whatever the state policy says.
    pub must_carry: bool,
    /// The questions that this run came by.
    pub(crate) seen: SeenQuestions,
}

/// The questions that a run came by, by name: answered, open, left out or found done.
#[derive(Debug)]
pub(crate) struct SeenQuestions {
    questions: Names<Option<u64>>,
    /// Whether a race was run: it does not look at what lost.
    pub(crate) raced: bool,
}

impl SeenQuestions {
    pub(crate) fn contains(&self, key: &str) -> bool {
        self.questions.contains(key)
    }

    /// Those that have an answer, in an order of their own.
    pub(crate) fn answered<'a>(&'a self, journal: &Journal) -> Vec<&'a str> {
        let mut answered: Vec<_> = self.questions.names().filter(|key| journal.has_answer(key)).collect();
        answered.sort_unstable();
        answered
    }
}

/// A question that a run ended with.
///
/// ```
/// use mrtr_server::{Failure, Flow, Journal, Outcome, RunContext, run};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let handler = async |flow: Flow| Ok::<_, Failure>(flow.roots("roots").await?);
/// let Outcome::Waiting(questions) = run(handler, Journal::default(), RunContext::for_tests()).await.outcome else {
///     panic!("it asks")
/// };
/// assert_eq!((questions[0].key.as_str(), questions[0].optional), ("roots", false));
/// # }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Question {
    /// Its name.
    pub key: String,
    /// What to ask.
    pub request: InputRequest,
    /// Whether the flow goes on without an answer, once it has been asked.
    pub optional: bool,
    /// For how long an answer is waited for, if not as long as usual.
    pub valid_for: Option<Duration>,
    /// How it is worded: to be kept with its answer.
    pub asked: Asked,
    /// Whether one of the places that ask it waits as long as usual, though another said how long.
    pub(crate) as_usual: bool,
}

impl Question {
    /// One that a handler put together itself.
    fn by_hand((key, request): (String, InputRequest)) -> Self {
        Self { key, request, optional: false, valid_for: None, asked: Asked::default(), as_usual: false }
    }

    /// For how long an answer is waited for, where `usual` is as long as usual: as long as the most patient of the
    /// places that ask it.
    pub(crate) fn patience(&self, usual: Duration) -> Duration {
        match self.valid_for {
            Some(valid_for) if self.as_usual => valid_for.max(usual),
            Some(valid_for) => valid_for,
            None => usual,
        }
    }

    /// Whether its answer makes no sense without the state it was asked with.
    pub(crate) fn needs_state(&self) -> bool {
        match &self.request {
            InputRequest::Elicit(request) => matches!(request.params, ElicitParams::Url(_)),
            InputRequest::Namespaced(_) => true,
            _ => false,
        }
    }
}

impl<R> RunReport<Output<R>> {
    /// Makes questions by hand ordinary ones: whoever runs a flow need not know by which road it asks.
    pub(crate) fn resolve_manual_questions(self, inputs: &Inputs) -> RunReport<R> {
        let Self { outcome, mut journal, mut must_carry, seen } = self;
        let outcome = match outcome {
            Outcome::Done(Output::Complete(result)) => Outcome::Done(result),
            Outcome::Done(Output::InputRequired(asked)) if asked.requests.is_empty() && asked.state.is_none() => {
                Outcome::Failed(Failure::misuse("the handler asked for nothing and had nothing carried"))
            }
            Outcome::Done(Output::InputRequired(asked)) if let Err(mistake) = inputs.check_all(&asked.requests) => {
                Outcome::Failed(Failure::misuse(mistake))
            }
            Outcome::Done(Output::InputRequired(asked)) => {
                let questions: Vec<_> = asked.requests.into_iter().map(Question::by_hand).collect();
                let entries = journal.entries_mut();
                must_carry |= asked.state.is_some() || questions.iter().any(Question::needs_state);
                entries.carried = asked.state.map(|state| state.as_raw().to_owned());
                entries.answers.retain(|key, _| questions.iter().all(|question| question.key != *key));
                if questions.is_empty() { Outcome::Yielded } else { Outcome::Waiting(questions) }
            }
            Outcome::Waiting(questions) => Outcome::Waiting(questions),
            Outcome::IntoTask => Outcome::IntoTask,
            Outcome::Yielded => Outcome::Yielded,
            Outcome::Abandoned => Outcome::Abandoned,
            Outcome::Failed(failure) => Outcome::Failed(failure),
        };
        RunReport { outcome, journal, must_carry, seen }
    }
}

/// Where entries go as they are made. Plain rounds keep them in the journal alone.
///
/// ```
/// use mrtr_server::{Entry, JournalSink, SinkError};
///
/// #[derive(Debug)]
/// struct Log;
///
/// #[async_trait::async_trait]
/// impl JournalSink for Log {
///     async fn record(&self, entry: Entry<'_>) -> Result<(), SinkError> {
///         println!("{entry:?}");
///         Ok(())
///     }
/// }
/// ```
#[async_trait]
pub trait JournalSink: Send + Sync + 'static {
    /// Keeps an entry. A step goes on only when this has returned.
    async fn record(&self, entry: Entry<'_>) -> Result<(), SinkError>;

    /// Hears of a question as soon as it is open, while steps may still be running.
    fn asked(&self, _question: &Question) {}
}

/// Something that happened in a run.
///
/// ```
/// use mrtr_server::Entry;
///
/// fn line(entry: Entry<'_>) -> String {
///     match entry {
///         Entry::StepStarted { step } => format!("{step} started"),
///         Entry::StepFinished { step, outcome } => format!("{step} gave {outcome}"),
///         _ => "something else".to_owned(),
///     }
/// }
/// assert_eq!(line(Entry::StepStarted { step: "pay" }), "pay started");
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Entry<'a> {
    /// A step is about to start.
    StepStarted {
        /// Its name.
        step: &'a str,
    },
    /// A step ended, or was given up by its handler; or a race was won, under the names of its members.
    StepFinished {
        /// Its name.
        step: &'a str,
        /// What it gave, in the form in which [`Journal::replay`] takes it back.
        outcome: &'a str,
    },
}

/// Why an entry could not be kept: the run ends there.
///
/// ```
/// use mrtr_server::SinkError;
///
/// let error = SinkError::Store("the disk is full".into());
/// assert_eq!(error.to_string(), "the entry could not be kept");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SinkError {
    /// Somebody else runs this flow now.
    #[error("somebody else runs this flow now")]
    Lost,
    /// The store failed.
    #[error("the entry could not be kept")]
    Store(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Runs a handler over a journal.
///
/// The handler is polled until it returns, or until questions are open and no step is under way; then it is dropped,
/// and with it whatever else it was waiting for. It cannot step past an open question: what it returns then does not
/// count. When it takes longer than [`RunContext::deadline`] says, it is ended.
///
/// ```
/// use mrtr_server::{FlowError, Journal, Outcome, RunContext, run};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let ran = run(
///     async |flow| Ok::<_, mrtr_server::Failure>(flow.roots("roots").await?.len()),
///     Journal::default(),
///     RunContext::for_tests(),
/// )
/// .await;
/// let Outcome::Waiting(questions) = ran.outcome else { panic!("it asks") };
/// assert_eq!(questions[0].key, "roots");
/// # }
/// ```
pub async fn run<T, H>(handler: H, journal: Journal, context: RunContext) -> RunReport<T>
where
    H: AsyncFnOnce(Flow) -> Result<T, Failure>,
{
    let run = Arc::new(Run::new(journal, context));
    let flow = Flow::new(Arc::clone(&run));
    let mut deadline = Deadline::new(&*run.context.shared.clock, run.context.deadline);
    let mut handler = pin!(Contained::new(async { handler(flow).await }));
    // If this future is dropped, the runner gives up, and not the handler. It is dropped before the handler is.
    let given_up = Closing(&run);
    let mut seen = 0;
    let returned = poll_fn(|cx| {
        loop {
            match run.in_body(|| handler.as_mut().poll(cx)) {
                Poll::Ready(Ok(returned)) => return Poll::Ready(Some(returned)),
                Poll::Ready(Err(panicked)) => {
                    run.panicked(&panicked);
                    return Poll::Ready(None);
                }
                Poll::Pending => {}
            }
            match run.at_rest(cx.waker()) {
                None if deadline.poll(cx).is_ready() => {
                    run.is_overdue();
                    return Poll::Ready(None);
                }
                None => return Poll::Pending,
                // Once more, until no new question appears: what was just answered may have opened the next branch.
                Some(asked) if asked > seen => seen = asked,
                Some(_) => return Poll::Ready(None),
            }
        }
    })
    .await;
    if !run.closes_at_rest() {
        outlast_steps(&run, &mut deadline).await;
    }
    std::mem::forget(given_up);
    if let Err(panicked) = handler.as_mut().clear() {
        run.panicked_at_its_end(&panicked);
    }
    if run.has_last_entries() {
        let mut deadline = Deadline::new(&*run.context.shared.clock, run.context.deadline);
        if deadline.bound(run.record_dropped()).await.is_none() {
            run.is_overdue();
        }
    }
    run.finish(returned)
}

/// Closes the flow when it is dropped.
struct Closing<'a>(&'a Run);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Waits for a step that the handler has let out of its hands, which must have no effect after the reply, and closes the
/// flow.
async fn outlast_steps(run: &Run, deadline: &mut Deadline<'_>) {
    let idle = poll_fn(|cx| if run.is_idle(cx.waker()) { Poll::Ready(()) } else { Poll::Pending });
    if !deadline.has_passed() && deadline.bound(idle).await.is_none() {
        run.is_overdue();
    }
    run.close();
}
