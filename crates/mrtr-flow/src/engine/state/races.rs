//! Races in a run: who won is an entry, and stays so.

use super::{Admission, Run, StepUse};
use crate::engine::journal::{Leaf, StepEntry};
use crate::engine::place::here;
use crate::error::Failure;

/// What a race finds under its name.
pub(crate) enum RaceStart {
    /// It waits for the end of the run.
    Park,
    /// Its run has ended.
    Closed,
    /// No member has won it yet.
    Open,
    /// This member won it in an earlier run.
    Won(usize),
}

impl Run {
    /// Begins a race among so many members, or tells who won it.
    pub(crate) fn begin_race(&self, name: &str, members: usize) -> RaceStart {
        let mut state = self.state();
        match self.admit(&mut state, || format!("race `{name}`")) {
            Admission::To(_) => {}
            Admission::Park => return RaceStart::Park,
            Admission::Closed => return RaceStart::Closed,
        }
        let mistake = if state.steps.uses.insert_new(name, StepUse::Named) {
            match state.recorded_step(name) {
                None => {
                    state.steps.raced = true;
                    return RaceStart::Open;
                }
                Some(StepEntry::Value(winner)) => match winner.as_str().parse() {
                    Ok(winner) if winner < members => return RaceStart::Won(winner),
                    _ => format!("no member won the race `{name}`, by what was recorded"),
                },
                Some(_) => format!("a race and a step are both named `{name}`"),
            }
        } else {
            format!("two races are between the same members, `{name}`: put one of them in a `flow.scope`")
        };
        state.phase.fail(Failure::misuse(mistake));
        RaceStart::Park
    }

    /// Whether the handler's own code is being polled, in a run that goes on: a race that was begun and then handed to
    /// a spawned task is not to be recorded after the reply.
    pub(crate) fn is_at_home(&self) -> bool {
        here(self.id()).is_some() && !self.state().phase.is_closed()
    }

    /// Has it kept who won, before the handler hears of it. `None` if that fails: then the run ends.
    ///
    /// The run knows at once what its sink is told: a race that is dropped meanwhile was won all the same.
    pub(crate) async fn record_winner(&self, name: &str, winner: usize) -> Option<()> {
        let entry = StepEntry::Value(Leaf::of(&winner).expect("a number is JSON"));
        self.finish_step(name, &entry, None);
        self.record_step(name, &entry).await
    }
}
