//! Manual mode: questions that a handler put together itself, made ordinary ones.

use std::time::Duration;

use mrtr_schema::InputRequests;

use super::output::Output;
use crate::engine::name::is_name;
use crate::engine::registered_inputs::Inputs;
use crate::engine::{Outcome, Question, RunReport};
use crate::error::Failure;

impl<R> RunReport<Output<R>> {
    /// Makes questions by hand ordinary ones: the runner need not know in which way a handler asks.
    #[expect(clippy::inline_always, reason = "apart from its callers, it moves the whole report twice")]
    #[inline(always)]
    pub(crate) fn resolve_manual_questions(self, inputs: &Inputs) -> RunReport<R> {
        let Self { outcome, mut journal, mut must_carry, look_again, seen } = self;
        let outcome = match outcome {
            Outcome::Done(Output::Complete(result)) => Outcome::Done(result),
            Outcome::Done(Output::InputRequired(asked)) if asked.requests.is_empty() && asked.state.is_none() => {
                Outcome::Failed(Failure::misuse("the handler asked for nothing and had nothing carried"))
            }
            Outcome::Done(Output::InputRequired(asked)) if let Err(mistake) = inputs.check_all(&asked.requests) => {
                Outcome::Failed(Failure::misuse(mistake))
            }
            Outcome::Done(Output::InputRequired(asked)) if let Err(mistake) = check_keys(&asked.requests) => {
                Outcome::Failed(Failure::misuse(mistake))
            }
            Outcome::Done(Output::InputRequired(asked)) => {
                let questions: Vec<_> = asked.requests.into_iter().map(Question::by_hand).collect();
                must_carry |= asked.state.is_some() || questions.iter().any(Question::needs_state);
                journal.put_carried(asked.state.map(|state| state.as_raw().into()));
                for question in &questions {
                    journal.put_opened(question);
                }
                if questions.is_empty() {
                    Outcome::Yielded { count: 0, pause: Duration::ZERO }
                } else {
                    Outcome::Waiting(questions)
                }
            }
            Outcome::Waiting(questions) => Outcome::Waiting(questions),
            Outcome::IntoTask => Outcome::IntoTask,
            Outcome::Yielded { count, pause } => Outcome::Yielded { count, pause },
            Outcome::Stopped(reason) => Outcome::Stopped(reason),
            Outcome::Failed(failure) => Outcome::Failed(failure),
        };
        RunReport { outcome, journal, must_carry, look_again, seen }
    }
}

/// Makes sure that each key can name a question, as those of a flow must: its answer is kept under it.
fn check_keys(requests: &InputRequests) -> Result<(), String> {
    match requests.iter().find(|(key, _)| !is_name(key)) {
        Some((key, _)) => Err(format!("{key:?} cannot name a question: 1 to 128 printable characters")),
        None => Ok(()),
    }
}
