//! Questions from their first poll on: what each waits for, and what happens to one that is dropped or withdrawn.

use std::sync::Arc;
use std::time::Duration;

use super::{ActiveRun, State, cost};
use crate::engine::branches::{HoldId, PassedOver};
use crate::engine::journal::{Asked, EntryKind};
use crate::engine::place::here;
use crate::engine::{Question, Watch};
use crate::error::{Failure, FlowError};

/// A question that was polled and is not answered.
#[derive(Debug)]
pub(super) struct HeldQuestion {
    pub(super) key: String,
    pub(super) stage: Stage,
}

/// The event that an unanswered question waits for.
#[derive(Debug)]
pub(super) enum Stage {
    /// It was first polled after another had been passed over, and is not asked unless a race takes that one back.
    Behind(Unsettled),
    /// Its check, before which the run does not end.
    Checking(Unsettled, Arc<Watch>),
    /// Its answer.
    Open,
    /// A visit that the user consented to. A later run looks for it again.
    Visiting(LookAgain),
    /// The end of the run, which fails because of it.
    Failed,
}

/// A question that its check may leave unsettled, and what happens to it then.
#[derive(Debug)]
pub(crate) struct Unsettled {
    /// The words that it was answered in and those in which it is asked now, if they differ.
    pub(crate) reworded: Option<(Asked, Asked)>,
    pub(crate) otherwise: Otherwise,
}

/// The treatment of a question that is not settled, by what the journal has about it.
#[derive(Debug)]
pub(crate) enum Otherwise {
    /// It is asked. With `must_carry`, the state must carry the journal then.
    Ask { question: Box<Question>, must_carry: bool },
    /// The user consented to a visit. The flow looks for it again.
    LookAgain,
    /// The user refused, which stands.
    Refused(FlowError),
    /// It cannot be asked, by a mistake of the handler's.
    Mistake(String),
}

/// The next look for a visit.
#[derive(Debug, Clone, Copy)]
pub(super) struct LookAgain {
    /// Counts the looks so far.
    pub(super) count: u32,
    pub(super) pause: Duration,
}

impl ActiveRun {
    /// Asks a question, from the branch that is being polled.
    pub(crate) fn ask(&self, question: Question, must_carry: bool) -> HoldId {
        let key = question.key.clone();
        let otherwise = Otherwise::Ask { question: Box::new(question), must_carry };
        let mut state = self.state();
        let at = self.branch_here(&state);
        let waiting = Stage::Behind(Unsettled { reworded: None, otherwise });
        let is_first = state.questions.branches.passed_over().next().is_none();
        let hold = state.questions.branches.hold(at, HeldQuestion { key, stage: waiting });
        if is_first {
            self.settle_otherwise(&mut state, hold);
        }
        hold
    }

    /// Notes that a question with a check was polled, from the branch that is being polled. If the handler passed
    /// another question over, the check does not run.
    pub(crate) fn begin_check(&self, key: &str, unsettled: Unsettled, watch: &Arc<Watch>) -> HoldId {
        let mut state = self.state();
        let at = self.branch_here(&state);
        let runs = state.questions.branches.passed_over().next().is_none();
        let waiting = if runs { Stage::Checking(unsettled, Arc::clone(watch)) } else { Stage::Behind(unsettled) };
        state.in_flight += usize::from(runs);
        state.questions.branches.hold(at, HeldQuestion { key: key.to_owned(), stage: waiting })
    }

    /// Notes that a question was polled again, maybe elsewhere. Returns whether its check runs; `None` if it was
    /// withdrawn.
    pub(crate) fn polled_check(&self, hold: HoldId) -> Option<bool> {
        let mut state = self.state();
        let at = self.branch_here(&state);
        state.questions.branches.polled(hold, at);
        state.questions.branches.question_mut(hold).map(|question| matches!(question.stage, Stage::Checking(..)))
    }

    /// Notes that a question was polled again, maybe elsewhere. Returns false if it was withdrawn: if the handler still
    /// awaits it, the flow asks it anew.
    pub(crate) fn polled(&self, hold: HoldId) -> bool {
        let mut state = self.state();
        let at = self.branch_here(&state);
        state.questions.branches.polled(hold, at)
    }

    /// Notes that the check of a question found it settled: the calls that waited for that begin.
    pub(crate) fn check_said_yes(&self, hold: HoldId) {
        let mut state = self.state();
        if let Some(question) = state.questions.branches.release(hold) {
            state.left(&question);
            state.wake_held_calls();
        }
    }

    /// Notes that the check of a question found it not settled. Returns the user's refusal, if there is one.
    pub(crate) fn check_said_no(&self, hold: HoldId) -> Option<FlowError> {
        let mut state = self.state();
        let HeldQuestion { stage, .. } = state.questions.branches.question_mut(hold)?;
        if let Stage::Checking(Unsettled { otherwise: Otherwise::Refused(_), .. }, _) = stage {
            let question = state.questions.branches.release(hold)?;
            state.left(&question);
            let Stage::Checking(Unsettled { reworded, otherwise: Otherwise::Refused(error) }, _) = question.stage
            else {
                return None;
            };
            state.wake_held_calls();
            return self.check_rewording(&mut state, &question.key, reworded).then_some(error);
        }
        self.settle_otherwise(&mut state, hold);
        None
    }

    /// Notes that the check of a question failed, and the run with it: nothing waits for its result.
    pub(crate) fn check_failed(&self, hold: HoldId) {
        let mut state = self.state();
        let Some(question) = state.questions.branches.question_mut(hold) else { return };
        let was_checked = matches!(std::mem::replace(&mut question.stage, Stage::Failed), Stage::Checking(..));
        state.in_flight -= usize::from(was_checked);
    }

    /// Notes that an unanswered question was dropped, as `select!` does: the flow still asks it, and the handler must
    /// not get any further. The end of the run drops it as well, and so does a race that it lost.
    pub(crate) fn dropped_question(&self, hold: HoldId) {
        let mut state = self.state();
        if state.phase.is_closed() {
            return;
        }
        let how = if std::thread::panicking() { PassedOver::ByPanic } else { PassedOver::ByHandler };
        let at = here(self.id()).map(|_| self.branch_here(&state));
        if !state.questions.branches.pass_over(hold, at, how) {
            return;
        }
        let Some(HeldQuestion { key, stage }) = state.questions.branches.question_mut(hold) else { return };
        let (key, was_checked) = (key.clone(), matches!(stage, Stage::Checking(..)));
        if was_checked {
            self.settle_otherwise(&mut state, hold);
        }
        drop(state);
        if here(self.id()).is_none() {
            self.runner.wake();
        }
        if how == PassedOver::ByHandler {
            tracing::warn!(
                flow = %self.context.flow_id(),
                key,
                "the handler dropped an open question, as `select!` does: the client is still asked, and the run \
                 stops there. Use `flow.race`, which records what came first"
            );
        }
    }

    /// Withdraws the questions of a branch that lost a race, which is recorded, and lets the branches around it
    /// continue.
    pub(crate) fn withdraw(&self, branch: crate::engine::BranchId) {
        let mut state = self.state();
        for question in state.questions.branches.withdraw(branch) {
            state.left(&question);
            let is_open = |other: &HeldQuestion| matches!(other.stage, Stage::Open) && other.key == question.key;
            if is_open(&question) && !state.questions.branches.questions().any(is_open) {
                state.questions.open.shift_remove(&question.key);
                self.tell(&mut state, |entries| entries.push(&question.key, EntryKind::QuestionWithdrawn));
            }
        }
        self.ask_what_was_behind(&mut state);
        state.wake_held_calls();
    }

    /// Asks the questions behind one that was passed over, if a race took that one back.
    fn ask_what_was_behind(&self, state: &mut State) {
        let is_behind = |question: &HeldQuestion| matches!(question.stage, Stage::Behind(_));
        if state.questions.branches.passed_over().any(|(question, _)| !is_behind(question)) {
            return;
        }
        for hold in state.questions.branches.holds() {
            if state.questions.branches.question_mut(hold).is_some_and(|question| is_behind(question)) {
                self.settle_otherwise(state, hold);
            }
        }
    }

    /// Treats a question that no check settles as its `otherwise` says.
    pub(super) fn settle_otherwise(&self, state: &mut State, hold: HoldId) {
        let Some(HeldQuestion { key, stage }) = state.questions.branches.question_mut(hold) else { return };
        let key = key.clone();
        let was_checked = matches!(stage, Stage::Checking(..));
        let unsettled = match std::mem::replace(stage, Stage::Failed) {
            Stage::Behind(unsettled) | Stage::Checking(unsettled, _) => unsettled,
            other => {
                *stage = other;
                return;
            }
        };
        state.in_flight -= usize::from(was_checked);
        if !self.check_rewording(state, &key, unsettled.reworded) {
            return;
        }
        let next = match unsettled.otherwise {
            Otherwise::Ask { question, must_carry } => {
                self.open(state, question, must_carry);
                Stage::Open
            }
            Otherwise::LookAgain => Stage::Visiting(self.look_again_for_visit(state, &key)),
            Otherwise::Refused(error) => {
                state.phase.fail(error.into());
                Stage::Failed
            }
            Otherwise::Mistake(text) => {
                state.phase.fail(Failure::misuse(text));
                Stage::Failed
            }
        };
        if let Some(question) = state.questions.branches.question_mut(hold) {
            question.stage = next;
        }
    }

    /// Opens a question, in place of any answer that it had. If it is open already, it stays as it is for the client,
    /// with the wishes of both places that ask.
    fn open(&self, state: &mut State, question: Box<Question>, must_carry: bool) {
        state.kept.must_carry |= must_carry;
        if let Some(open) = state.questions.open.get_mut(&question.key) {
            open.optional &= question.optional;
            open.as_usual |= open.valid_for.is_none() != question.valid_for.is_none();
            open.valid_for = open.valid_for.max(question.valid_for);
            open.asked.pin(question.asked);
            return;
        }
        if let Some(size) = state.kept.journal.remove_answer(&question.key) {
            state.kept.size = state.kept.size.saturating_sub(cost(&question.key, size));
        }
        state.questions.turns += 1;
        self.tell(state, |entries| entries.push_question(&question));
        let key = question.key.clone();
        state.questions.open.insert(key, question);
    }

    /// Notes a look in vain for a visit that the user consented to. The flow looks again, after a pause that doubles.
    /// Nothing else begins in its branch meanwhile.
    fn look_again_for_visit(&self, state: &mut State, key: &str) -> LookAgain {
        let count = state.kept.journal.looks_for_visit(key).saturating_add(1);
        state.kept.journal.put_consented(key, count);
        self.tell(state, |entries| entries.push_count(key, EntryKind::Consented, count));
        state.kept.must_carry = true;
        LookAgain { count, pause: super::questions::pause_before_look(count) }
    }
}

impl State {
    /// Notes that a question holds nothing any more. Its check does not hold off the end of the run either.
    fn left(&mut self, question: &HeldQuestion) {
        self.in_flight -= usize::from(matches!(question.stage, Stage::Checking(..)));
    }

    /// Returns the visits that the flow looks for again.
    pub(super) fn visits(&self) -> impl Iterator<Item = LookAgain> {
        self.questions.branches.questions().filter_map(|question| match question.stage {
            Stage::Visiting(look) => Some(look),
            _ => None,
        })
    }

    /// Returns the names of the questions whose checks run.
    pub(super) fn checks_under_way(&self) -> impl Iterator<Item = &str> {
        let checking = |question: &&HeldQuestion| matches!(question.stage, Stage::Checking(..));
        self.questions.branches.questions().filter(checking).map(|question| &*question.key)
    }
}
