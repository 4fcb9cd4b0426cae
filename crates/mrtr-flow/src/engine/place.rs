//! The place of the code that calls on a flow: its run, its branch, and what it is inside of.

use std::cell::Cell;

use super::branches::BranchId;

/// The code that the poll of a handler is inside of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Within {
    /// The handler itself, or a branch of it.
    Handler,
    /// A step's own work.
    Step,
    /// The check of `until`, which says whether a question is settled elsewhere.
    Until,
    /// A handler's own check of an answer.
    Validate,
    /// A race that drops what lost.
    Lost,
}

/// A place in a run.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// The address of the run: no other run has it for as long as a flow of this run lives.
    run: usize,
    branch: BranchId,
    within: Within,
    /// The number of earlier polls of the handler.
    turn: u32,
}

/// The place and time at which the handler's code made something: the branch, and the poll of the handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Making(BranchId, u32);

thread_local! {
    /// The place of this thread. It is no part of a run's state, so that a flow can tell a call by its own handler
    /// from one by a spawned task, which is polled on its own, maybe at the same time.
    static HERE: Cell<Option<Place>> = const { Cell::new(None) };
}

/// Returns the place of this thread in that run; `None` if it is elsewhere.
pub(super) fn here(run: usize) -> Option<(BranchId, Within)> {
    HERE.get().filter(|place| place.run == run).map(|place| (place.branch, place.within))
}

/// Returns the place and time at which the handler of that run makes something now; `None` if this thread is elsewhere.
pub(super) fn making(run: usize) -> Option<Making> {
    let place = HERE.get().filter(|place| place.run == run && place.within == Within::Handler)?;
    Some(Making(place.branch, place.turn))
}

/// Runs `poll` in the handler's body, which was polled `turn` times before.
pub(super) fn in_body<R>(run: usize, turn: u32, poll: impl FnOnce() -> R) -> R {
    let _back = Back(HERE.replace(Some(Place { run, branch: BranchId::BODY, within: Within::Handler, turn })));
    poll()
}

/// Runs `poll` in a branch, if this thread is in the handler of that run: a step or a spawned task does not become a
/// branch by joining.
pub(super) fn in_branch<R>(run: usize, branch: BranchId, poll: impl FnOnce() -> R) -> R {
    match here(run) {
        Some((_, Within::Handler)) => {
            let _back = Back(HERE.replace(Some(Place { run, branch, within: Within::Handler, turn: turn() })));
            poll()
        }
        _ => poll(),
    }
}

/// Runs `poll` inside something, where the handler's own calls do not belong.
pub(super) fn inside<R>(run: usize, within: Within, poll: impl FnOnce() -> R) -> R {
    let branch = here(run).map_or(BranchId::BODY, |(branch, _)| branch);
    let _back = Back(HERE.replace(Some(Place { run, branch, within, turn: turn() })));
    poll()
}

/// Returns the number of earlier polls of the handler, if this thread polls one.
fn turn() -> u32 {
    HERE.get().map_or(0, |place| place.turn)
}

/// Restores the place of the thread when it is dropped, and so even if the code that ran panics.
struct Back(Option<Place>);

impl Drop for Back {
    fn drop(&mut self) {
        HERE.set(self.0);
    }
}
