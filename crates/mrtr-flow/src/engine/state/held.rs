//! Calls that wait until their branch is free.

use std::collections::BTreeMap;
use std::task::{Context, Waker};

use super::{ActiveRun, Admission, State};
use crate::engine::branches::BranchId;

/// A call on the flow that is to begin something, and may have to wait for its branch. It begins in the same run when
/// that is free.
#[derive(Debug, Default)]
pub(crate) struct HeldCall {
    /// The branch that it belongs to: the one in which it was polled first.
    branch: Option<BranchId>,
    /// Its place among those that wait.
    number: Option<u64>,
}

/// The calls that wait until their branch is free, by the order in which they came.
#[derive(Debug, Default)]
pub(super) struct HeldCalls {
    waiting: BTreeMap<u64, Waker>,
    /// Counts all the calls that ever waited.
    count: u64,
}

impl HeldCalls {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    fn wait(&mut self, call: &mut HeldCall, waker: &Waker) {
        let number = *call.number.get_or_insert_with(|| {
            self.count += 1;
            self.count
        });
        self.waiting.entry(number).and_modify(|known| known.clone_from(waker)).or_insert_with(|| waker.clone());
    }
}

impl ActiveRun {
    /// Decides whether something besides a question may begin now; `None` if it is held and waits.
    pub(super) fn admit_beginning(
        &self,
        state: &mut State,
        call: &mut HeldCall,
        cx: &Context<'_>,
        what: impl FnOnce() -> String,
    ) -> Option<Admission> {
        match self.admit(state, what) {
            Admission::To(branch) if !state.begin_or_hold(branch, call, cx) => None,
            admission => Some(admission),
        }
    }
}

impl State {
    /// Begins a call that is polled in this branch, or lets it wait: then it is woken when it may be free to begin.
    /// Returns true if it begins.
    pub(super) fn begin_or_hold(&mut self, branch: BranchId, call: &mut HeldCall, cx: &Context<'_>) -> bool {
        // It stays where it was made, wherever it is polled later.
        let made_in = *call.branch.get_or_insert(branch);
        let is_free = self.questions.branches.observe_free(branch)
            && (made_in == branch || {
                let made_in = self.questions.branches.living(made_in);
                self.questions.branches.observe_free(made_in)
            });
        if !is_free {
            self.hold_call(call, cx);
        }
        is_free
    }

    /// Lets a call wait until some question holds nothing any more.
    pub(super) fn hold_call(&mut self, call: &mut HeldCall, cx: &Context<'_>) {
        self.questions.held_calls.wait(call, cx.waker());
    }

    /// Wakes the calls that may have waited for a question which holds nothing any more: they look again.
    pub(super) fn wake_held_calls(&mut self) {
        if !self.questions.held_calls.is_empty() {
            self.questions.turns += 1;
            std::mem::take(&mut self.questions.held_calls.waiting).into_values().for_each(Waker::wake);
        }
    }
}
