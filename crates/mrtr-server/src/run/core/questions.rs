//! Questions in a run: what is known under a name, what is open, and what the flow remembers about them.

use serde_json::value::RawValue;

use super::{Ending, Run, State, cost};
use crate::Failure;
use crate::journal::AnswerEntry;
use crate::run::Question;

/// What a question finds under its name.
pub(crate) enum Evaluation {
    /// Nothing may be read or asked any more.
    Park,
    /// It was never asked, or must be asked again.
    Ask,
    /// It was asked before and left unanswered.
    Skipped,
    /// An answer, and the digest of the wording it was given to.
    Given(Box<RawValue>, Option<String>),
}

impl Run {
    /// Reads what is known under the name of a question. `fingerprint` tells whether it is the same one; some answers
    /// count for what a state says was asked, and for nothing else.
    pub(crate) fn evaluate(&self, key: &str, fingerprint: u64, needs_state: bool) -> Evaluation {
        let mut state = self.state();
        if !self.admits(&mut state, "question", key) {
            return Evaluation::Park;
        }
        if *state.read.entry(key.to_owned()).or_insert(fingerprint) != fingerprint {
            let text = format!("two different questions are asked as `{key}`");
            state.ending = Some(Ending::Failed(Failure::misuse(text)));
            return Evaluation::Park;
        }
        match state.journal.entries().answers.get(key) {
            Some(AnswerEntry::Given { response, asked }) => return Evaluation::Given(response.clone(), asked.clone()),
            Some(AnswerEntry::Skipped) => return Evaluation::Skipped,
            None => {}
        }
        match state.journal.entries().loose.get(key).filter(|_| !state.stepped && !needs_state) {
            Some(response) => Evaluation::Given(response.clone(), None),
            None => Evaluation::Ask,
        }
    }

    /// Takes note that the answer under a name was used; one that came without a state enters the journal by that.
    pub(crate) fn accept(&self, key: &str, response: Box<RawValue>) {
        let mut state = self.state();
        if !state.journal.entries().answers.contains_key(key) {
            Self::accept_loose(&mut state, key, response);
        }
    }

    fn accept_loose(state: &mut State, key: &str, response: Box<RawValue>) {
        state.used_loose = true;
        state.journal.entries_mut().loose.shift_remove(key);
        insert_answer(state, key, AnswerEntry::Given { response, asked: None });
    }

    /// Takes note that an optional question cannot be put to this client: the flow has gone on without it for good.
    pub(crate) fn skip(&self, key: &str) {
        insert_answer(&mut self.state(), key, AnswerEntry::Skipped);
    }

    /// Opens a question, in place of whatever answer it had. If it is open already, it stays as it is for whoever
    /// answers, with the wishes of both who ask.
    pub(crate) fn open(&self, question: Question, must_carry: bool) {
        let mut state = self.state();
        state.must_carry |= must_carry;
        if let Some(open) = state.open.get_mut(&question.key) {
            open.optional &= question.optional;
            open.valid_for = open.valid_for.max(question.valid_for);
            open.pinned = open.pinned.take().or(question.pinned);
            return;
        }
        if let Some(entry) = state.journal.remove_answer(&question.key) {
            state.size = state.size.saturating_sub(cost(&question.key, entry.size()));
        }
        let told = self.context.sink.as_ref().map(|sink| (sink, question.clone()));
        state.open.insert(question.key.clone(), question);
        drop(state);
        if let Some((sink, question)) = told {
            sink.asked(&question);
        }
    }

    /// Counts how often a pinned question changed its wording under an answer.
    pub(crate) fn reworded(&self, key: &str) -> u32 {
        let mut state = self.state();
        let times = state.journal.entries_mut().rewordings.entry(key.to_owned()).or_default();
        *times += 1;
        *times
    }

    /// The handler dropped an open question, as `select!` does: it must not get any further. A panic drops it as well,
    /// and is a matter of its own.
    pub(crate) fn dropped_open_question(&self) {
        if !std::thread::panicking() {
            self.state().passed_over = true;
        }
    }

    /// What was decided elsewhere, once it was.
    pub(crate) fn decision(&self, key: &str) -> Option<Box<RawValue>> {
        self.state().journal.entries().decisions.get(key).cloned()
    }

    pub(crate) fn record_decision<T: serde::Serialize>(&self, key: &str, decision: &T) {
        match serde_json::value::to_raw_value(decision) {
            Ok(decision) => {
                let mut state = self.state();
                let size = decision.get().len();
                state.journal.entries_mut().decisions.insert(key.to_owned(), decision);
                state.must_carry = true;
                self.check_size(&mut state, "decision", key, size, 0);
            }
            Err(error) => self.misuse(format!("the decision on `{key}` cannot be written: {error}")),
        }
    }

    pub(crate) fn visited(&self, key: &str) -> bool {
        self.state().journal.entries().visits.iter().any(|visited| visited == key)
    }

    pub(crate) fn record_visit(&self, key: &str) {
        let mut state = self.state();
        if !state.journal.entries().visits.iter().any(|visited| visited == key) {
            state.journal.entries_mut().visits.push(key.to_owned());
        }
        state.must_carry = true;
    }

    /// An id for an interaction outside the flow. It follows from the flow's own, so that it is the same after a run
    /// of which nothing is left but its steps.
    pub(crate) fn interaction_id(&self, key: &str) -> String {
        self.state().journal.entries_mut().gave_keys = true;
        self.context.derived_id("mrtr interaction id", key)
    }

    pub(crate) fn carried(&self) -> Option<Box<RawValue>> {
        self.state().journal.entries().carried.clone()
    }

    /// An answer as it came, for the low road.
    pub(crate) fn given(&self, key: &str) -> Option<Box<RawValue>> {
        let mut state = self.state();
        match state.journal.entries().answers.get(key) {
            Some(AnswerEntry::Given { response, .. }) => Some(response.clone()),
            Some(AnswerEntry::Skipped) => None,
            None => {
                let response = state.journal.entries().loose.get(key).filter(|_| !state.stepped)?.clone();
                Self::accept_loose(&mut state, key, response.clone());
                Some(response)
            }
        }
    }
}

/// Whether there is room for it shows once something has to be carried: it may be the last one.
fn insert_answer(state: &mut State, key: &str, entry: AnswerEntry) {
    let size = entry.size();
    let before = state.journal.entries_mut().answers.insert(key.to_owned(), entry);
    let freed = before.map_or(0, |entry| cost(key, entry.size()));
    state.size = (state.size + cost(key, size)).saturating_sub(freed);
}
