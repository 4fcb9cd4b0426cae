//! Questions in a run: what is known under a name, what is open, and what the flow remembers about them.

use std::time::Duration;

use mrtr_schema::Backoff;

use super::held::HeldCalls;
use super::settling::HeldQuestion;
use super::{ActiveRun, Admission, State, Unsealed, cost};
use crate::engine::Question;
use crate::engine::branches::Branches;
use crate::engine::journal::{AnswerEntry, Asked, EntryKind, Leaf};
use crate::error::{Failure, ToolError};
use crate::support::by_name::{ByName, Names};

/// The result of looking up a question in the journal, under its name.
pub(crate) enum Evaluation {
    /// The question waits for the end of the run, which is about to come.
    Park,
    /// The run has ended, or the call does not come from its handler.
    Closed,
    /// It was never asked, or must be asked again.
    Ask,
    /// It was asked before and left unanswered.
    Skipped,
    /// An answer, and the wording it was given to.
    Given(Leaf, Asked),
}

/// The questions of a run, and the calls that wait for their answers.
#[derive(Default)]
pub(super) struct Questions {
    /// Open questions, in the order in which they were asked.
    pub(super) open: ByName<Box<Question>>,
    /// Counts the events after which the runner polls the handler once more before the run may end: a question was
    /// opened, or calls that were held may begin.
    pub(super) turns: usize,
    pub(super) branches: Branches<HeldQuestion>,
    pub(super) held_calls: HeldCalls,
    /// The question that this run read under each name: one name must mean one thing. A name that the handler only
    /// looked up by hand has no meaning yet.
    pub(super) read: Names<Option<u64>>,
}

impl ActiveRun {
    /// Reads the record under the name of a question. `fingerprint` tells whether it is the same question. Some answers
    /// count only for a question that a state says was asked.
    pub(crate) fn evaluate(&self, key: &str, fingerprint: u64, needs_state: bool) -> Evaluation {
        let mut state = self.state();
        match self.admit_name(&mut state, "question", key) {
            Admission::To(_) => {}
            Admission::Park => return Evaluation::Park,
            Admission::Closed => return Evaluation::Closed,
        }
        if *state.questions.read.get_or_insert(key, None).get_or_insert(fingerprint) != fingerprint {
            let text = format!(
                "two different questions are asked as `{key}`: give each a key of its own; in a loop, `flow.scope(i)` \
                 does"
            );
            state.phase.fail(Failure::misuse(text));
            return Evaluation::Park;
        }
        match state.kept.journal.answer_to(key) {
            Some(AnswerEntry::Given(response, asked)) => return Evaluation::Given(response, asked),
            Some(AnswerEntry::Skipped) => return Evaluation::Skipped,
            None => {}
        }
        let may_count = state.kept.unsealed != Unsealed::Closed && !needs_state;
        match may_count.then(|| state.kept.journal.unsealed_answer(key)).flatten() {
            Some(response) => Evaluation::Given(response, Asked::default()),
            None => Evaluation::Ask,
        }
    }

    /// Notes that the answer under a name was used. An answer that came without a state enters the journal now.
    pub(crate) fn accept(&self, key: &str, response: &Leaf) {
        let mut state = self.state();
        if !state.kept.journal.is_settled(key) {
            self.accept_unsealed(&mut state, key, response);
        }
    }

    fn accept_unsealed(&self, state: &mut State, key: &str, response: &Leaf) {
        state.kept.unsealed = Unsealed::Used;
        state.kept.journal.remove_unsealed(key);
        let before = state.kept.journal.put_answer(key, response.clone(), Asked::default());
        state.resize(key, response.len(), before);
        self.tell(state, |entries| entries.push_answer(key, response));
    }

    /// Notes that this client cannot be asked an optional question: the flow has continued without it for good.
    pub(crate) fn skip(&self, key: &str) {
        let mut state = self.state();
        let before = state.kept.journal.put_skipped(key);
        state.resize(key, 0, before);
        self.tell(&mut state, |entries| entries.push(key, EntryKind::Skipped));
    }

    /// Checks an answer that was given to other words than are asked now, if it was, as [`Self::check_wording`] does.
    pub(super) fn check_rewording(&self, state: &mut State, key: &str, reworded: Option<(Asked, Asked)>) -> bool {
        reworded.is_none_or(|(answered, asked)| self.check_wording(state, key, &answered, &asked))
    }

    /// Checks an answer that was given to another wording than is asked now, as [`Self::check_wording`] does.
    pub(crate) fn check_answered_wording(&self, key: &str, answered: &Asked, asked: &Asked) -> bool {
        self.check_wording(&mut self.state(), key, answered, asked)
    }

    /// Warns that an answer was given to another wording than is asked now. If the tool is strict, the run ends, and
    /// this returns false: a flow that is not the same in every run puts answers to questions that they do not belong
    /// to.
    #[cold]
    fn check_wording(&self, state: &mut State, key: &str, answered: &Asked, asked: &Asked) -> bool {
        let (answered, asked) = (answered.wording, asked.wording);
        tracing::warn!(
            flow = %self.context.flow_id(),
            key,
            answered = format!("{:06x}", answered.0),
            asked = format!("{:06x}", asked.0),
            "an answer belongs to another wording of its question"
        );
        if self.context.strict {
            let text = format!("The question `{key}` changed after it was answered; make the call again");
            state.phase.fail(ToolError::new(text).into());
        }
        !self.context.strict
    }

    /// Counts how often a pinned question changed its wording under an answer.
    pub(crate) fn reworded(&self, key: &str) -> u32 {
        let mut state = self.state();
        let times = state.kept.journal.count_rewording(key);
        self.tell(&mut state, |entries| entries.push_count(key, EntryKind::Reworded, times));
        times
    }

    /// Returns the decision that came from elsewhere, once there is one.
    pub(crate) fn decision(&self, key: &str) -> Option<Leaf> {
        self.state().kept.journal.decision(key)
    }

    pub(crate) fn record_decision<T: serde::Serialize>(&self, key: &str, decision: &T) {
        match Leaf::of(decision) {
            Ok(decision) => {
                let mut state = self.state();
                self.tell(&mut state, |entries| entries.push_leaf(key, EntryKind::Decided, &decision));
                let size = decision.len();
                state.kept.journal.put_decision(key, decision);
                state.kept.must_carry = true;
                state.check_size("decision", key, size, 0);
            }
            Err(error) => self.misuse(format!("the decision on `{key}` cannot be written: {error}")),
        }
    }

    pub(crate) fn visited(&self, key: &str) -> bool {
        self.state().kept.journal.has_visited(key)
    }

    pub(crate) fn record_visit(&self, key: &str) {
        let mut state = self.state();
        if !state.kept.journal.has_visited(key) {
            state.kept.journal.put_visited(key);
            self.tell(&mut state, |entries| entries.push(key, EntryKind::Visited));
        }
        state.kept.must_carry = true;
    }

    /// Returns an id for an interaction outside the flow. It follows from the flow's own, so that it is the same after
    /// a run of which only the steps are left.
    pub(crate) fn interaction_id(&self, scopes: &str, name: &str) -> String {
        self.give_key(&mut self.state());
        self.context.interaction_id(scopes, name)
    }

    pub(crate) fn carried(&self) -> Option<Leaf> {
        self.state().kept.journal.carried()
    }

    /// Returns an answer as it came, for manual mode.
    pub(crate) fn given(&self, key: &str) -> Option<Leaf> {
        let mut state = self.state();
        state.questions.read.get_or_insert(key, None);
        match state.kept.journal.answer_to(key) {
            Some(AnswerEntry::Given(response, _)) => return Some(response),
            Some(AnswerEntry::Skipped) => return None,
            None => {}
        }
        let response = state.kept.journal.unsealed_answer(key).filter(|_| state.kept.unsealed != Unsealed::Closed)?;
        self.accept_unsealed(&mut state, key, &response);
        Some(response)
    }
}

impl State {
    /// Notes the size of an entry, which took the place of an earlier one. The check for room comes later, once a state
    /// has to carry something: this entry may be the last one.
    fn resize(&mut self, key: &str, size: usize, before: Option<usize>) {
        let freed = before.map_or(0, |size| cost(key, size));
        self.kept.size = (self.kept.size + cost(key, size)).saturating_sub(freed);
    }
}

/// Returns the pause before a look: two seconds, and twice as long each time, up to a minute.
pub(super) fn pause_before_look(count: u32) -> Duration {
    Backoff::new(FIRST_PAUSE, LONGEST_PAUSE).pause(count.saturating_sub(1))
}

pub(crate) const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
