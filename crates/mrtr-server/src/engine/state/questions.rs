//! Questions in a run: what is known under a name, what is open, and what the flow remembers about them.

use serde_json::value::RawValue;

use super::{Admission, Ending, OpenQuestion, PassedOver, Run, State, Unsealed, cost};
use crate::engine::Question;
use crate::engine::branches::BranchId;
use crate::engine::journal::{AnswerEntry, Asked};
use crate::engine::place::here;
use crate::error::{Failure, ToolError};

/// What a question finds under its name.
pub(crate) enum Evaluation {
    /// Nothing may be read or asked any more.
    Park,
    /// Nor will it ever be.
    Closed,
    /// It was never asked, or must be asked again.
    Ask,
    /// It was asked before and left unanswered.
    Skipped,
    /// An answer, and the wording it was given to.
    Given(Box<RawValue>, Asked),
}

impl Run {
    /// Reads what is known under the name of a question. `fingerprint` tells whether it is the same one; some answers
    /// count for what a state says was asked, and for nothing else.
    pub(crate) fn evaluate(&self, key: &str, fingerprint: u64, needs_state: bool) -> Evaluation {
        let mut state = self.state();
        match self.admit_name(&mut state, "question", key) {
            Admission::To(_) => {}
            Admission::Park => return Evaluation::Park,
            Admission::Closed => return Evaluation::Closed,
        }
        if *state.read.get_or_insert(key, None).get_or_insert(fingerprint) != fingerprint {
            let text = format!("two different questions are asked as `{key}`");
            state.ending = Some(Ending::Failed(Failure::misuse(text)));
            return Evaluation::Park;
        }
        match state.journal.entries().answers.get(key) {
            Some(AnswerEntry::Given(wording, response)) => {
                return Evaluation::Given(response.clone(), Asked { wording: *wording, pinned: None });
            }
            Some(AnswerEntry::Pinned(wording, response, pinned)) => {
                let asked = Asked { wording: *wording, pinned: Some(pinned.clone()) };
                return Evaluation::Given(response.clone(), asked);
            }
            Some(AnswerEntry::Skipped) => return Evaluation::Skipped,
            None => {}
        }
        match state
            .journal
            .entries()
            .unsealed_answers
            .get(key)
            .filter(|_| state.unsealed != Unsealed::Closed && !needs_state)
        {
            Some(response) => Evaluation::Given(response.clone(), Asked::default()),
            None => Evaluation::Ask,
        }
    }

    /// Takes note that the answer under a name was used; one that came without a state enters the journal by that.
    pub(crate) fn accept(&self, key: &str, response: Box<RawValue>) {
        let mut state = self.state();
        if !state.journal.entries().answers.contains_key(key) {
            Self::accept_unsealed(&mut state, key, response);
        }
    }

    fn accept_unsealed(state: &mut State, key: &str, response: Box<RawValue>) {
        state.unsealed = Unsealed::Used;
        state.journal.entries_mut().unsealed_answers.shift_remove(key);
        insert_answer(state, key, AnswerEntry::given(response, Asked::default()));
    }

    /// Takes note that an optional question cannot be put to this client: the flow has gone on without it for good.
    pub(crate) fn skip(&self, key: &str) {
        insert_answer(&mut self.state(), key, AnswerEntry::Skipped);
    }

    /// Opens a question, in place of whatever answer it had, and says in which branch. If it is open already, it stays
    /// as it is for the client, with the wishes of both places that ask.
    pub(crate) fn open(&self, question: Question, must_carry: bool) -> BranchId {
        let branch = here(self.id()).map_or(BranchId::BODY, |(branch, _)| branch);
        let mut state = self.state();
        let branch = state.branches.living(branch);
        state.must_carry |= must_carry;
        state.branches.opened(branch);
        if let Some(OpenQuestion { question: open, more, .. }) =
            state.open.get_mut(&question.key).map(|open| &mut **open)
        {
            open.optional &= question.optional;
            open.as_usual |= open.valid_for.is_none() != question.valid_for.is_none();
            open.valid_for = open.valid_for.max(question.valid_for);
            open.asked.pin(question.asked);
            more.push(branch);
            return branch;
        }
        if let Some(entry) = state.journal.remove_answer(&question.key) {
            state.size = state.size.saturating_sub(cost(&question.key, entry.size()));
        }
        state.asked += 1;
        let told = self.context.sink.as_ref().map(|sink| (sink, question.clone()));
        let key = question.key.clone();
        state.open.insert(key, Box::new(OpenQuestion { question, branch, more: Vec::new() }));
        drop(state);
        if let Some((sink, question)) = told {
            sink.asked(&question);
        }
        branch
    }

    /// Whether what was asked in a branch is asked no more.
    pub(crate) fn is_withdrawn(&self, branch: BranchId) -> bool {
        self.state().branches.is_withdrawn(branch)
    }

    /// Asks no more what a branch asked, and lets the branches around it go on: it lost a race, which is recorded.
    pub(crate) fn withdraw(&self, branch: BranchId) {
        let mut state = self.state();
        let State { open, branches, passed_over, .. } = &mut *state;
        branches.withdraw(branch);
        open.retain(|_, open| {
            let asked_in = std::iter::once(open.branch).chain(open.more.drain(..));
            let (gone, mut stay): (Vec<_>, Vec<_>) = asked_in.partition(|branch| branches.is_withdrawn(*branch));
            for branch in gone {
                branches.closed(branch);
            }
            let stays = stay.pop();
            open.branch = stays.unwrap_or(open.branch);
            open.more = stay;
            stays.is_some()
        });
        // One that was dropped unanswered stays open, unless this took it back.
        if open.is_empty() {
            *passed_over = PassedOver::No;
        }
    }

    /// An answer was given to another wording than is asked now: a flow that is not the same in every run puts answers to
    /// questions that they do not belong to. False if the tool refuses that.
    #[cold]
    pub(crate) fn takes_other_wording(&self, key: &str, answered: &Asked, asked: &Asked) -> bool {
        let (answered, asked) = (answered.wording, asked.wording);
        tracing::warn!(
            flow = %self.context.flow_id(),
            key,
            answered = format!("{:06x}", answered.0),
            asked = format!("{:06x}", asked.0),
            "an answer was given to another wording of its question"
        );
        if self.context.strict {
            let text = format!("The question `{key}` is another one than was answered; begin the call anew");
            self.end(Ending::Failed(ToolError::new(text).into()));
        }
        !self.context.strict
    }

    /// Counts how often a pinned question changed its wording under an answer.
    pub(crate) fn reworded(&self, key: &str) -> u32 {
        let mut state = self.state();
        let times = state.journal.entries_mut().rewordings.entry(key.to_owned()).or_default();
        *times += 1;
        *times
    }

    /// An open question was dropped, as `select!` does: the handler must not get any further. The end of the run drops
    /// it as well, and so does a race that it lost.
    pub(crate) fn dropped_open_question(&self, key: &str, branch: BranchId) {
        let mut state = self.state();
        if state.over || state.branches.is_withdrawn(branch) {
            return;
        }
        if std::thread::panicking() {
            if state.passed_over == PassedOver::No {
                state.passed_over = PassedOver::ByPanic;
            }
            return;
        }
        state.passed_over = PassedOver::ByHandler;
        drop(state);
        tracing::warn!(
            flow = %self.context.flow_id(),
            key,
            "the handler dropped an open question, as `select!` does; it is asked all the same, and nothing goes on past \
             it. `flow.race` records what came first"
        );
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
    pub(crate) fn interaction_id(&self, scopes: &str, name: &str) -> String {
        self.state().journal.entries_mut().gave_keys = true;
        self.context.derived_id("mrtr interaction id", scopes, name)
    }

    pub(crate) fn carried(&self) -> Option<Box<RawValue>> {
        self.state().journal.entries().carried.clone()
    }

    /// An answer as it came, for manual mode.
    pub(crate) fn given(&self, key: &str) -> Option<Box<RawValue>> {
        let mut state = self.state();
        state.read.get_or_insert(key, None);
        if let Some(entry) = state.journal.entries().answers.get(key) {
            return entry.response().map(ToOwned::to_owned);
        }
        let response =
            state.journal.entries().unsealed_answers.get(key).filter(|_| state.unsealed != Unsealed::Closed)?.clone();
        Self::accept_unsealed(&mut state, key, response.clone());
        Some(response)
    }
}

/// Whether there is room for it shows once something has to be carried: it may be the last one.
fn insert_answer(state: &mut State, key: &str, entry: AnswerEntry) {
    let size = entry.size();
    let before = state.journal.entries_mut().answers.insert(key.to_owned(), entry);
    let freed = before.map_or(0, |entry| cost(key, entry.size()));
    state.size = (state.size + cost(key, size)).saturating_sub(freed);
}
