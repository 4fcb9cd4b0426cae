//! What a flow that is not the same in every run leaves behind: answers without a question, and questions that went.

use mrtr_flow::for_server::SeenQuestions;
use mrtr_flow::{Outcome, Pending};

use super::Answers;

/// Warns of answers that no question of the run wanted, and of questions of the round before that were not asked again.
/// A new version of the handler explains either; so does a name that differs from run to run, which is a mistake.
///
/// Only names that the server chose are logged: what a client made up is counted.
pub(super) fn warn<R>(outcome: &Outcome<R>, seen: &SeenQuestions, pending: &[Pending], answers: Option<&Answers<'_>>) {
    if pending.is_empty() && answers.is_none() {
        return;
    }
    // Otherwise the handler did not get as far as it would.
    if !matches!(outcome, Outcome::Waiting(_) | Outcome::Done(_)) {
        return;
    }
    let is_answered = |question: &&Pending| answers.is_some_and(|answers| answers.get(question.key()).is_some());
    if !seen.raced && pending.iter().any(|question| !seen.contains(question.key())) {
        let gone = pending.iter().filter(|question| !seen.contains(question.key()));
        let (unread, unasked): (Vec<_>, Vec<_>) = gone.partition(is_answered);
        warn_of(&unread, "answers matched no question of this run, though the round before asked for them");
        warn_of(&unasked, "questions that the round before asked were not asked any more");
    }
    let Some(answers) = answers else { return };
    // Without a state, any answer may be one that the client gives before it is asked.
    let asked_for = match pending {
        [] => seen.names().filter(|key| answers.get(key).is_some()).count(),
        pending => pending.iter().filter(is_answered).count(),
    };
    let strangers = answers.index.len() - asked_for;
    if strangers > 0 {
        tracing::warn!(answers = strangers, "the client sent answers that this flow did not ask for; they are ignored");
    }
}

fn warn_of(questions: &[&Pending], what: &'static str) {
    if !questions.is_empty() {
        let keys: Vec<_> = questions.iter().map(|question| question.key()).collect();
        tracing::warn!(?keys, "{what}");
    }
}
