//! The counts that are committed, and why each is what it is.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::path::Path;
use crate::machine::COMPILER;

/// What `instructions.json` holds.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    compiler: String,
    target: String,
    paths: BTreeMap<Path, Committed>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Committed {
    pub(super) instructions: u64,
    /// Why the count changed when it last did.
    pub(super) reason: String,
}

impl Record {
    /// Before the first is accepted, nothing is committed.
    pub(super) fn read() -> Result<Self> {
        let file = file();
        if !file.exists() {
            return Ok(Self::default());
        }
        let text = fs::read_to_string(&file)?;
        serde_json::from_str(&text).with_context(|| format!("{} is not what was written", file.display()))
    }

    pub(super) fn write(&self) -> Result<()> {
        Ok(fs::write(file(), serde_json::to_string_pretty(self)? + "\n")?)
    }

    pub(super) fn committed(&self, path: Path) -> Option<&Committed> {
        self.paths.get(&path)
    }

    /// Takes these counts. Where one is as it was, so is its reason.
    pub(super) fn accept(&mut self, counts: &BTreeMap<Path, u64>, reason: &str) {
        COMPILER.clone_into(&mut self.compiler);
        TARGET.clone_into(&mut self.target);
        for (path, instructions) in counts {
            if self.committed(*path).is_none_or(|committed| differs(*instructions, committed.instructions)) {
                let committed = Committed { instructions: *instructions, reason: reason.to_owned() };
                self.paths.insert(*path, committed);
            }
        }
    }

    /// Why these counts may differ though nothing has changed.
    pub(super) fn unlikeness(&self) -> Option<String> {
        let Self { compiler, target, .. } = self;
        let is_like = compiler == COMPILER && target == TARGET;
        (!is_like && !self.paths.is_empty()).then(|| {
            format!("What is committed was built by {compiler} for {target}, and this by {COMPILER} for {TARGET}.")
        })
    }
}

/// By more than a count varies from build to build, though nothing on its path has changed.
fn differs(count: u64, committed: u64) -> bool {
    count.abs_diff(committed) * 200 > committed
}

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("instructions.json")
}

const TARGET: &str = env!("TARGET");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_stays_until_its_count_changes() {
        let mut record = Record::default();
        record.accept(&BTreeMap::from([(Path::Seal, 10_000), (Path::Open, 10_000)]), "first");
        record.accept(&BTreeMap::from([(Path::Seal, 10_050), (Path::Open, 10_051)]), "second");
        let committed = |instructions, reason: &str| Committed { instructions, reason: reason.to_owned() };
        assert_eq!(record.committed(Path::Seal), Some(&committed(10_000, "first")));
        assert_eq!(record.committed(Path::Open), Some(&committed(10_051, "second")));
    }
}
