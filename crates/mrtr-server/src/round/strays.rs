//! What a flow that is not the same in every run leaves behind: answers without a question, and questions that went.

use mrtr_schema::RawMembers;

use super::sealed::Pending;
use crate::run::{Met, Outcome};

/// Warns of answers that no question of the run wanted, and of questions of the round before that were not asked again.
/// A new version of the handler explains either; so does a name that differs from run to run, which is a mistake.
///
/// Only names that the server chose are logged: what a client made up is counted.
pub(super) fn warn<R>(outcome: &Outcome<R>, met: &Met, pending: &[Pending], answers: Option<&RawMembers<'_>>) {
    if pending.is_empty() && answers.is_none() {
        return;
    }
    // Otherwise the handler did not get as far as it would.
    if !matches!(outcome, Outcome::Waiting(_) | Outcome::Done(_)) {
        return;
    }
    let answered = |key: &str| answers.is_some_and(|answers| answers.get(key).is_some());
    let gone = pending.iter().map(|question| question.key.as_str()).filter(|key| !met.contains(key));
    let (unread, unasked): (Vec<_>, Vec<_>) = gone.partition(|key| answered(key));
    if !unread.is_empty() {
        tracing::warn!(keys = ?unread, "answers matched no question of this run, though the round before asked for them");
    }
    if !unasked.is_empty() {
        tracing::warn!(keys = ?unasked, "questions that the round before asked were not asked any more");
    }
    // Without a state, any answer may be one that the client gives before it is asked.
    let was_asked = |key: &str| match pending {
        [] => met.contains(key),
        pending => pending.iter().any(|question| question.key == key),
    };
    let strangers = answers.into_iter().flat_map(RawMembers::iter).filter(|(key, _)| !was_asked(key)).count();
    if strangers > 0 {
        tracing::warn!(answers = strangers, "the client sent answers that this flow did not ask for; they are ignored");
    }
}
