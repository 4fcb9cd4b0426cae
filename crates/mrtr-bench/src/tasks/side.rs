//! What is measured: the phases of tasks' lives, and the two sides that go through them.

use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;

use super::raw::Raw;
use super::store::Store;

/// Who keeps the tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Side {
    Raw,
    Store,
}

/// What is done to a number of tasks, one after another in this order.
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
    /// A keeper over a file, of batches of so many tasks, with so many at once.
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
