//! The outcome of a run, and its report.

use std::time::Duration;

use super::journal::Journal;
use super::question::Question;
use super::stop::StopReason;
use crate::error::Failure;
use crate::support::by_name::Names;

/// The outcome of a run.
///
/// ```
/// use mrtr_flow::{Failure, Flow};
/// use mrtr_flow::{Journal, Outcome, RunContext, run};
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
    /// The handler wants to continue as a task.
    IntoTask,
    /// The handler gave way at a yield point, or waits for a visit to a URL, or needs its answers in a state before it
    /// continues: run again with the same journal.
    Yielded {
        /// The number of times that the flow was shed at a yield point, or that it looked for the visit.
        count: u32,
        /// The pause before the next run, unless something wakes the flow.
        pause: Duration,
    },
    /// The run was stopped from outside; what it has recorded stands.
    Stopped(StopReason),
    /// The handler failed.
    Failed(Failure),
}

/// The report of a run: its outcome, and the journal for the next one.
///
/// ```
/// use mrtr_flow::{Failure, Flow};
/// use mrtr_flow::{Journal, RunContext, run};
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
    /// The outcome of the run.
    pub outcome: Outcome<T>,
    /// The journal of the flow after this run.
    pub journal: Journal,
    /// True if the next run needs the journal, whatever the state policy says.
    pub must_carry: bool,
    /// The time after which to run again though questions are open: one of them may be settled elsewhere.
    pub look_again: Option<Duration>,
    /// The questions that this run met.
    #[doc(hidden)]
    pub seen: SeenQuestions,
}

/// The questions that a run met, by name: answered, open, left out or found done.
#[derive(Debug)]
pub struct SeenQuestions {
    pub(super) questions: Names<Option<u64>>,
    /// True if the run had a race, which does not look at the members that lost.
    pub raced: bool,
}

impl SeenQuestions {
    /// Returns true if the run met the question with this name.
    pub fn contains(&self, key: &str) -> bool {
        self.questions.contains(key)
    }

    /// Returns the names of all questions that the run met.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.questions.names()
    }

    /// Returns the names of the questions that the run met and that have an answer, sorted.
    pub fn answered<'a>(&'a self, journal: &Journal) -> Vec<&'a str> {
        let mut answered: Vec<_> = self.questions.names().filter(|key| journal.has_answer(key)).collect();
        answered.sort_unstable();
        answered
    }
}
