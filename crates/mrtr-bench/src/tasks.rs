//! Tasks in SQLite: the store beside raw rusqlite, and a server with many tasks that wait.

pub(crate) mod child;
mod lives;
pub(crate) mod neighbour;
mod raw;
pub(crate) mod store;
pub(crate) mod waiting;

use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;

use crate::Scale;
use crate::report::Group;
use raw::Raw;
use store::Store;

pub(crate) fn measure(scale: Scale) -> Result<Group> {
    let mut figures = lives::figures(scale)?;
    figures.extend(neighbour::figures(scale)?);
    figures.extend(waiting::figures(scale)?);
    Ok(Group {
        title: "Tasks",
        about: "The throughput of the store of tasks in an SQLite file, as a share of raw rusqlite: a loop that \
            executes the statements of each operation on the same tables with the same settings (WAL, \
            synchronous=FULL), but does not read what it found, decides nothing and answers no caller. If 64 callers \
            use the store at once, the loop puts 64 operations into a transaction; for one caller, one. With three \
            processes, three such loops share a file. A ratio is of time on a core, which does not depend on other \
            work of the machine. It leaves out the wait for the disk, and the store commits somewhat more often than \
            the loop, since it takes what has arrived and does not wait for more. Rates by the clock are for \
            orientation. Other rows are of a caller beside three processes that write to the same file without a \
            pause, of single use or of tasks: the wait of one call in a hundred for its turn, as a share of the wait \
            that is allowed. The last rows are of a server with tasks that wait for answers: its memory beyond that of \
            a server with an empty store, and the time to read one task and to claim one that is due.",
        figures,
    })
}

/// The side that keeps the tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Side {
    Raw,
    Store,
}

/// A phase in the life of tasks. A number of tasks go through them all in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Phase {
    Create,
    Claim,
    Step,
    Ask,
    Answer,
    ClaimAgain,
    Complete,
    Get,
}

impl Phase {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Claim => "claim",
            Self::Step => "step",
            Self::Ask => "ask, and park",
            Self::Answer => "answer",
            Self::ClaimAgain => "claim after an answer",
            Self::Complete => "complete",
            Self::Get => "get",
        }
    }
}

/// Keeps tasks, in one of the two ways.
pub(crate) trait Keeper {
    /// Takes a batch of tasks through a phase.
    fn go(&mut self, phase: Phase) -> Result<()>;
}

impl Side {
    /// Opens a keeper over a file, for batches of `tasks` tasks, `at_once` of them at a time.
    pub(super) fn keeper(self, file: &Path, tasks: usize, at_once: usize) -> Result<Box<dyn Keeper>> {
        Ok(match self {
            Self::Raw => Box::new(Raw::open(file, tasks, at_once)?),
            Self::Store => Box::new(Store::open(file, tasks, at_once)?),
        })
    }
}

/// Bytes as long as those of a small task are, once they are sealed.
pub(crate) const CALL: [u8; 400] = [7; 400];
pub(crate) const ENTRY: [u8; 180] = [7; 180];
pub(crate) const QUESTION: [u8; 320] = [7; 320];
pub(crate) const RESULT: [u8; 300] = [7; 300];
pub(crate) const KEY: &str = "resolution";
