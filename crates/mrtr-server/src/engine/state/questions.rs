//! Questions in a run: what is known under a name, what is open, and what the flow remembers about them.

use std::time::Duration;

use super::{Admission, Ending, LookAgain, OpenQuestion, PassedOver, Run, State, Unsealed, cost};
use crate::engine::Question;
use crate::engine::branches::BranchId;
use crate::engine::journal::{AnswerEntry, Asked, EntryKind, Leaf};
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
    Given(Leaf, Asked),
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
            let text = format!(
                "two different questions are asked as `{key}`: give each a key of its own; in a loop, `flow.scope(i)` does"
            );
            state.ending = Some(Ending::Failed(Failure::misuse(text)));
            return Evaluation::Park;
        }
        match state.journal.answer_to(key) {
            Some(AnswerEntry::Given(response, asked)) => return Evaluation::Given(response, asked),
            Some(AnswerEntry::Skipped) => return Evaluation::Skipped,
            None => {}
        }
        let may_count = state.unsealed != Unsealed::Closed && !needs_state;
        match may_count.then(|| state.journal.unsealed_answer(key)).flatten() {
            Some(response) => Evaluation::Given(response, Asked::default()),
            None => Evaluation::Ask,
        }
    }

    /// Takes note that the answer under a name was used; one that came without a state enters the journal by that.
    pub(crate) fn accept(&self, key: &str, response: &Leaf) {
        let mut state = self.state();
        if !state.journal.is_settled(key) {
            self.accept_unsealed(&mut state, key, response);
        }
    }

    fn accept_unsealed(&self, state: &mut State, key: &str, response: &Leaf) {
        state.unsealed = Unsealed::Used;
        state.journal.remove_unsealed(key);
        let before = state.journal.put_answer(key, response.clone(), Asked::default());
        state.resize(key, response.len(), before);
        self.tell(state, |entries| entries.push_answer(key, response));
    }

    /// Takes note that an optional question cannot be put to this client: the flow has gone on without it for good.
    pub(crate) fn skip(&self, key: &str) {
        let mut state = self.state();
        let before = state.journal.put_skipped(key);
        state.resize(key, 0, before);
        self.tell(&mut state, |entries| entries.push(key, EntryKind::Skipped));
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
        if let Some(size) = state.journal.remove_answer(&question.key) {
            state.size = state.size.saturating_sub(cost(&question.key, size));
        }
        state.asked += 1;
        self.tell(&mut state, |entries| entries.push_question(&question));
        let key = question.key.clone();
        state.open.insert(key, Box::new(OpenQuestion { question, branch, more: Vec::new() }));
        branch
    }

    /// Whether what was asked in a branch is asked no more.
    pub(crate) fn is_withdrawn(&self, branch: BranchId) -> bool {
        self.state().branches.is_withdrawn(branch)
    }

    /// Asks no more what a branch asked, and lets the branches around it go on: it lost a race, which is recorded.
    pub(crate) fn withdraw(&self, branch: BranchId) {
        let mut state = self.state();
        let State { open, branches, passed_over, outbox, visits, .. } = &mut *state;
        let is_told = self.context.sink.is_some();
        branches.withdraw(branch);
        open.retain(|key, open| {
            let asked_in = std::iter::once(open.branch).chain(open.more.drain(..));
            let (gone, mut stay): (Vec<_>, Vec<_>) = asked_in.partition(|branch| branches.is_withdrawn(*branch));
            for branch in gone {
                branches.closed(branch);
            }
            let stays = stay.pop();
            open.branch = stays.unwrap_or(open.branch);
            open.more = stay;
            if is_told && stays.is_none() {
                outbox.push(|entries| entries.push(key, EntryKind::QuestionWithdrawn));
            }
            stays.is_some()
        });
        visits.retain(|(branch, _)| {
            let is_withdrawn = branches.is_withdrawn(*branch);
            if is_withdrawn {
                branches.closed(*branch);
            }
            !is_withdrawn
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
        let times = state.journal.count_rewording(key);
        self.tell(&mut state, |entries| entries.push_count(key, EntryKind::Reworded, times));
        times
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
    pub(crate) fn decision(&self, key: &str) -> Option<Leaf> {
        self.state().journal.decision(key)
    }

    pub(crate) fn record_decision<T: serde::Serialize>(&self, key: &str, decision: &T) {
        match Leaf::of(decision) {
            Ok(decision) => {
                let mut state = self.state();
                self.tell(&mut state, |entries| entries.push_leaf(key, EntryKind::Decided, &decision));
                let size = decision.len();
                state.journal.put_decision(key, decision);
                state.must_carry = true;
                state.check_size("decision", key, size, 0);
            }
            Err(error) => self.misuse(format!("the decision on `{key}` cannot be written: {error}")),
        }
    }

    pub(crate) fn visited(&self, key: &str) -> bool {
        self.state().journal.has_visited(key)
    }

    pub(crate) fn record_visit(&self, key: &str) {
        let mut state = self.state();
        if !state.journal.has_visited(key) {
            state.journal.put_visited(key);
            self.tell(&mut state, |entries| entries.push(key, EntryKind::Visited));
        }
        state.must_carry = true;
    }

    /// Consent to a visit was given, and it was looked for in vain: it is looked for again, after a pause that doubles.
    /// Nothing else begins in its branch meanwhile.
    pub(crate) fn look_again_for_visit(&self, key: &str) {
        let branch = here(self.id()).map_or(BranchId::BODY, |(branch, _)| branch);
        let mut state = self.state();
        let count = state.journal.looks_for_visit(key) + 1;
        state.journal.put_consented(key, count);
        self.tell(&mut state, |entries| entries.push_count(key, EntryKind::Consented, count));
        state.must_carry = true;
        let branch = state.branches.living(branch);
        state.branches.opened(branch);
        state.visits.push((branch, LookAgain { count, pause: pause_before_look(count) }));
    }

    /// An id for an interaction outside the flow. It follows from the flow's own, so that it is the same after a run
    /// of which nothing is left but its steps.
    pub(crate) fn interaction_id(&self, scopes: &str, name: &str) -> String {
        self.give_key(&mut self.state());
        self.context.interaction_id(scopes, name)
    }

    pub(crate) fn carried(&self) -> Option<Leaf> {
        self.state().journal.carried()
    }

    /// An answer as it came, for manual mode.
    pub(crate) fn given(&self, key: &str) -> Option<Leaf> {
        let mut state = self.state();
        state.read.get_or_insert(key, None);
        match state.journal.answer_to(key) {
            Some(AnswerEntry::Given(response, _)) => return Some(response),
            Some(AnswerEntry::Skipped) => return None,
            None => {}
        }
        let response = state.journal.unsealed_answer(key).filter(|_| state.unsealed != Unsealed::Closed)?;
        self.accept_unsealed(&mut state, key, &response);
        Some(response)
    }
}

impl State {
    /// An entry was put in, in place of one of another size. Whether there is room for it shows once something has to be
    /// carried: it may be the last one.
    fn resize(&mut self, key: &str, size: usize, before: Option<usize>) {
        let freed = before.map_or(0, |size| cost(key, size));
        self.size = (self.size + cost(key, size)).saturating_sub(freed);
    }
}

/// Two seconds, and twice as long each time, up to a minute.
fn pause_before_look(count: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(count.saturating_sub(1))).min(LONGEST_PAUSE)
}

pub(crate) const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
