//! One run of a handler over a journal: what it shares with its runner, and how it ends.

mod branches;
mod contained;
pub(crate) mod context;
pub(crate) mod environment;
pub(crate) mod gate;
pub(crate) mod journal;
pub(crate) mod manual;
pub(crate) mod name;
mod outcome;
mod pace;
mod place;
mod question;
pub(crate) mod registered_inputs;
mod run;
mod sink;
mod state;
mod stop;
mod watch;

pub(crate) use branches::{BranchId, HoldId};
pub use contained::Contained;
pub use outcome::{Outcome, RunReport, SeenQuestions};
pub(crate) use pace::poll_apart;
pub(crate) use place::{Making, Within};
pub use question::Question;
pub(crate) use run::run_to_its_end;
pub use sink::{JournalSink, SinkError};
pub(crate) use state::{
    ActiveRun, Admission, Evaluation, FIRST_PAUSE, HeldCall, Otherwise, RaceStart, StepStart, Unsettled, park,
};
pub use stop::{StopReason, StopSignal};
pub(crate) use watch::{Watch, Watcher};
