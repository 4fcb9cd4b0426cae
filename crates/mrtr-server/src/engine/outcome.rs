//! How a run ended, and what is left of it.

use std::time::Duration;

use mrtr_schema::InputRequest;
use mrtr_schema::elicitation::ElicitParams;

use super::journal::{Asked, Journal};
use crate::error::Failure;
use crate::support::by_name::Names;

/// How a run ended.
///
/// ```
/// use mrtr_server::{Failure, Flow};
/// use mrtr_server::extend::{Journal, Outcome, RunContext, run};
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
    /// The client does not wait for this run any more; what it has recorded stands.
    Abandoned,
    /// The handler failed.
    Failed(Failure),
}

/// What is left of a run.
///
/// ```
/// use mrtr_server::{Failure, Flow};
/// use mrtr_server::extend::{Journal, RunContext, run};
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
    pub(super) questions: Names<Option<u64>>,
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
/// use mrtr_server::{Failure, Flow};
/// use mrtr_server::extend::{Journal, Outcome, RunContext, run};
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
    pub(crate) fn by_hand((key, request): (String, InputRequest)) -> Self {
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
