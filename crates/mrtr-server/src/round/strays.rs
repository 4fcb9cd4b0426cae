//! What a flow that is not the same in every run leaves behind: answers without a question, and questions that went.

use std::fmt;

use mrtr_schema::RawMembers;

use super::sealed::Pending;
use crate::run::Outcome;

/// Warns of answers that no question of the run wanted, and of questions of the round before that were not asked again.
/// A new version of the handler explains either; so does a name that differs from run to run, which is a mistake.
pub(super) fn warn<R>(outcome: &Outcome<R>, read: &[String], pending: &[Pending], answers: Option<&RawMembers<'_>>) {
    if pending.is_empty() && answers.is_none() {
        return;
    }
    let asked: &[_] = match outcome {
        Outcome::Waiting(questions) => questions,
        Outcome::Done(_) => &[],
        // The handler did not get as far as it would.
        Outcome::IntoTask | Outcome::Yielded | Outcome::Abandoned | Outcome::Failed(_) => return,
    };
    let met = |key: &str| read.iter().any(|read| read == key) || asked.iter().any(|question| question.key == key);
    let was_pending = |key: &str| pending.is_empty() || pending.iter().any(|question| question.key == key);
    let is_answered = |key: &str| answers.is_some_and(|answers| answers.get(key).is_some());

    let strays = answers.into_iter().flat_map(RawMembers::iter).map(|(key, _)| key);
    let strays: Vec<_> = strays.filter(|key| !met(key) || !was_pending(key)).collect();
    if !strays.is_empty() {
        tracing::warn!(keys = ?Keys(&strays), "answers matched no question that this flow asked");
    }
    let gone = pending.iter().map(|question| question.key.as_str());
    let gone: Vec<_> = gone.filter(|key| !is_answered(key) && !met(key)).collect();
    if !gone.is_empty() {
        tracing::warn!(keys = ?Keys(&gone), "questions that the round before asked were not asked any more");
    }
}

/// Keys for the log. Clients choose some of them, so they are cut and escaped.
struct Keys<'a>(&'a [&'a str]);

impl fmt::Debug for Keys<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.iter().take(MOST_KEYS).map(|key| key.chars().take(LONGEST_KEY).collect::<String>());
        f.debug_list().entries(shown).finish()?;
        match self.0.len().saturating_sub(MOST_KEYS) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

const MOST_KEYS: usize = 5;
const LONGEST_KEY: usize = 128;
