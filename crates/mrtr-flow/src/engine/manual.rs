//! Manual mode: questions that a handler put together itself, made ordinary ones.

use std::time::Duration;

use mrtr_schema::{InputRequests, Json};

use super::environment::Environment;
use super::name::is_name;
use super::{Outcome, Question, RunReport};
use crate::error::Failure;

/// The output of a handler that may ask by what it returns.
#[expect(clippy::exhaustive_enums, reason = "a handler is done or it asks")]
#[derive(Debug)]
pub enum Manual<R> {
    /// It is done.
    Complete(R),
    /// It asks these questions, and has the client carry this.
    InputRequired(InputRequests, Option<Json>),
}

/// Makes questions by hand ordinary ones, so that the runner need not know in which way a handler asks. `split` tells
/// apart an output that is done from one that asks.
#[expect(clippy::inline_always, reason = "apart from its callers, it moves the whole report twice")]
#[inline(always)]
pub fn resolve_manual_questions<T, R>(
    report: RunReport<T>,
    environment: &Environment,
    split: impl FnOnce(T) -> Manual<R>,
) -> RunReport<R> {
    let inputs = &environment.inputs;
    let RunReport { outcome, mut journal, mut must_carry, look_again, seen } = report;
    let outcome = match outcome {
        Outcome::Done(output) => match split(output) {
            Manual::Complete(result) => Outcome::Done(result),
            Manual::InputRequired(requests, state) if requests.is_empty() && state.is_none() => Outcome::Failed(
                Failure::misuse("the handler returned `InputRequired` with neither a question nor a state"),
            ),
            Manual::InputRequired(requests, state) => {
                if let Err(mistake) = inputs.check_all(&requests).and_then(|()| check_keys(&requests)) {
                    Outcome::Failed(Failure::misuse(mistake))
                } else {
                    let questions: Vec<_> = requests.into_iter().map(Question::by_hand).collect();
                    must_carry |= state.is_some() || questions.iter().any(Question::needs_state);
                    journal.put_carried(state.map(|state| state.as_raw().into()));
                    for question in &questions {
                        journal.put_opened(question);
                    }
                    if questions.is_empty() {
                        Outcome::Yielded { count: 0, pause: Duration::ZERO }
                    } else {
                        Outcome::Waiting(questions)
                    }
                }
            }
        },
        Outcome::Waiting(questions) => Outcome::Waiting(questions),
        Outcome::IntoTask => Outcome::IntoTask,
        Outcome::Yielded { count, pause } => Outcome::Yielded { count, pause },
        Outcome::Stopped(reason) => Outcome::Stopped(reason),
        Outcome::Failed(failure) => Outcome::Failed(failure),
    };
    RunReport { outcome, journal, must_carry, look_again, seen }
}

/// Makes sure that each key can name a question, as the keys of a flow must: the journal keeps its answer under it.
fn check_keys(requests: &InputRequests) -> Result<(), String> {
    match requests.iter().find(|(key, _)| !is_name(key)) {
        Some((key, _)) => Err(format!("{key:?} cannot name a question: use 1 to 128 printable characters")),
        None => Ok(()),
    }
}
