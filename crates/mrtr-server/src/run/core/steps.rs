//! Steps in a run, and whatever else must not happen twice or half.

use std::task::Poll;

use serde_json::value::RawValue;

use super::{Ending, Run, cost};
use crate::Failure;
use crate::journal::StepEntry;

/// What a step finds under its name.
pub(crate) enum Begin {
    Park,
    Start,
    Interrupted,
    Recorded(StepEntry),
}

impl Run {
    /// Begins a step, or gives what it gave before.
    pub(crate) fn begin_step(&self, name: &str, idempotent: bool) -> Begin {
        let mut state = self.state();
        if !self.admits(&mut state, "step", name) {
            return Begin::Park;
        }
        if !state.steps.insert(name.to_owned()) {
            state.ending = Some(Ending::Failed(Failure::misuse(format!("two steps are named `{name}`"))));
            return Begin::Park;
        }
        if !state.settles_loose() {
            return Begin::Park;
        }
        state.stepped = true;
        match state.journal.entries().steps.get(name) {
            Some(StepEntry::Started) if !idempotent => Begin::Interrupted,
            Some(StepEntry::Started) | None => {
                if state.journal.entries_mut().steps.insert(name.to_owned(), StepEntry::Started).is_none() {
                    state.size += cost(name, 0);
                }
                state.in_flight += 1;
                Begin::Start
            }
            Some(entry) => Begin::Recorded(entry.clone()),
        }
    }

    pub(crate) fn finish_step(&self, name: &str, entry: StepEntry) {
        let mut state = self.state();
        let size = entry.size();
        let before = state.journal.entries_mut().steps.insert(name.to_owned(), entry);
        let freed = before.map_or(0, |entry| cost(name, entry.size()));
        self.check_size(&mut state, "step", name, size, freed);
    }

    /// Marks that something besides a step must finish before the run may end.
    pub(crate) fn enter(&self) -> StepGuard<'_> {
        self.state().in_flight += 1;
        StepGuard { run: self }
    }

    pub(crate) fn guard_started(&self) -> StepGuard<'_> {
        StepGuard { run: self }
    }

    /// Polls a step's own work, inside which nothing may be asked. `None` if it waits for something it did ask.
    pub(crate) fn inside_step<R>(&self, poll: impl FnOnce() -> Poll<R>) -> Poll<Option<R>> {
        self.state().inside_step = true;
        let polled = poll();
        let mut state = self.state();
        state.inside_step = false;
        let misused = std::mem::take(&mut state.misused_in_step);
        if misused && polled.is_pending() { Poll::Ready(None) } else { polled.map(Some) }
    }

    /// Whether an idempotency key may be handed out. If not, the run ends with its answers in a state first.
    pub(crate) fn gives_key(&self) -> bool {
        let mut state = self.state();
        // A step that has begun is finished, whatever becomes of the run around it.
        if !state.inside_step && (self.stops(&mut state) || !state.settles_loose()) {
            return false;
        }
        state.stepped = true;
        state.journal.entries_mut().gave_keys = true;
        true
    }

    /// Ends the run to go on as a task.
    pub(crate) fn become_task(&self) {
        let mut state = self.state();
        let goes_on = self.goes_on(&mut state, || "`into_task`".to_owned());
        // A task keeps its journal elsewhere, so that no state has to hold it.
        if goes_on && (!state.used_loose || state.settles_loose()) {
            state.ending = Some(Ending::IntoTask);
        }
    }

    /// How far an earlier run had come.
    pub(crate) fn resumed(&self) -> Option<Box<RawValue>> {
        self.state().resumed.clone()
    }

    /// Keeps how far the flow has come, and says whether it goes on from here.
    pub(crate) fn record_progress(&self, progress: Box<RawValue>) -> bool {
        let mut state = self.state();
        if !self.goes_on(&mut state, || "a yield point".to_owned()) || !state.has_room() {
            return false;
        }
        let size = progress.get().len();
        let freed = state
            .journal
            .entries_mut()
            .progress
            .replace(progress)
            .map_or(0, |before| cost(PROGRESS, before.get().len()));
        state.must_carry = true;
        self.check_size(&mut state, "entry", PROGRESS, size, freed);
        if state.ending.is_none() && self.context.sheds(state.journal.entries().sheds) {
            crate::metrics::shed();
            state.journal.entries_mut().sheds += 1;
            state.ending = Some(Ending::Yielded);
        }
        state.ending.is_none()
    }
}

/// Holds the end of a run off while it lives.
pub(crate) struct StepGuard<'a> {
    run: &'a Run,
}

impl Drop for StepGuard<'_> {
    fn drop(&mut self) {
        self.run.state().in_flight -= 1;
    }
}

/// What the progress of a yield point is called where entries are named.
const PROGRESS: &str = "progress";
