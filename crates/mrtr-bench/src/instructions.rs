//! Counts the instructions of the hot paths, against the counts that are committed.
//!
//! A count does not depend on what else the machine does, so it shows a change of a few percent that no clock would.

mod callgrind;
mod path;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::machine::COMPILER;
use crate::measure::Spread;
use crate::report::{Figure, Group, Ratio, Target};
pub(crate) use callgrind::Counts;
use callgrind::Runs;
pub(crate) use path::Path;

/// Counts, and says how much each path has grown. With a reason, commits the new counts.
pub(crate) fn measure(accept: Option<&str>) -> Result<Group> {
    if !callgrind::is_there() {
        return Ok(Group { title: TITLE, about: LEFT_OUT, figures: Vec::new() });
    }
    let mut counts = BTreeMap::new();
    for path in Path::ALL {
        counts.insert(path, callgrind::count(path, Runs::PRECISE)?.instructions);
    }
    let mut record = Record::read()?;
    if let Some(reason) = accept {
        record.accept(&counts, reason);
        record.write()?;
    }
    let figures = counts.iter().map(|(path, count)| figure(*path, *count, &record)).collect();
    Ok(Group { title: TITLE, about: ABOUT, figures })
}

/// Counts for each path on which a server answers what it takes besides instructions: allocations, and the times that
/// its message is taken apart and its state opened.
pub(crate) fn calls() -> Result<BTreeMap<Path, Counts>> {
    Path::SERVED.into_iter().map(|path| Ok((path, callgrind::count(path, Runs::CALLS)?))).collect()
}

/// Fails if a request is taken apart, or its state opened, more than once.
pub(crate) fn check_one_pass(counts: &BTreeMap<Path, Counts>) -> Result<()> {
    for (path, counts) in counts {
        let expected = (1, u64::from(path.brings_state()));
        let name = path.name();
        ensure!((counts.parses, counts.openings) == expected, "{name} took {counts:?}, and not one pass");
    }
    Ok(())
}

/// Fails where nothing can be counted: the caller who asks for this group by name relies on it.
pub(crate) fn require() -> Result<()> {
    ensure!(callgrind::is_there(), "valgrind is missing; install it, such as with `apt-get install valgrind`");
    Ok(())
}

/// Fails if a path has grown too much.
pub(crate) fn check(group: &Group) -> Result<()> {
    let grown: Vec<_> = group.figures.iter().filter(|figure| !figure.holds()).collect();
    if grown.is_empty() {
        return Ok(());
    }
    let list: Vec<_> = grown.iter().map(|figure| format!("  {}: {}", figure.what, figure.absolute)).collect();
    let list = list.join("\n");
    let likeness = Record::read()?.unlikeness().map_or_else(String::new, |reason| format!("\n{reason}"));
    bail!(
        "these paths take over {GROWTH_PERCENT} % more instructions than is committed:\n{list}{likeness}\n\
         If that is worth it: cargo xtask bench instructions --accept \"why\""
    );
}

/// A path without a committed count has no ratio: it must be accepted first.
fn figure(path: Path, count: u64, record: &Record) -> Figure {
    let committed = record.committed(path);
    let ratio = committed
        .map_or(Ratio::NONE, |committed| Spread::of(vec![as_f64(count) / as_f64(committed.instructions)]).into());
    let absolute = committed.map_or_else(
        || format!("{count}, none committed"),
        |committed| format!("{count}, {} committed: {}", committed.instructions, committed.reason),
    );
    Figure {
        what: path.name().to_owned(),
        who: path.who().to_owned(),
        ratio,
        target: Some(Target::AtMost(1.0 + f64::from(GROWTH_PERCENT) / 100.0)),
        absolute,
    }
}

fn as_f64(count: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "no path takes that many instructions")]
    let count = count as f64;
    count
}

/// The growth of a path above which its author has to give a reason.
const GROWTH_PERCENT: u8 = 3;
const TITLE: &str = "Instructions";
const ABOUT: &str = "The instructions of one run of a hot path, as callgrind counts them: the count of 1200 runs less \
    that of 200, for one run. A ratio compares the count with the one committed in \
    crates/mrtr-bench/instructions.json. Compare counts on like machines only.";
const LEFT_OUT: &str = "There is no valgrind here, so no instructions were counted.";

/// The content of `instructions.json`.
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
    /// The reason why the count last changed.
    pub(super) reason: String,
}

impl Record {
    /// Reads the committed record. It is empty before the first counts are accepted.
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

    /// Takes these counts as the committed ones. A count that did not change stays, and keeps its reason.
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

    /// The reason why these counts may differ though nothing has changed.
    pub(super) fn unlikeness(&self) -> Option<String> {
        let Self { compiler, target, .. } = self;
        let is_like = compiler == COMPILER && target == TARGET;
        (!is_like && !self.paths.is_empty()).then(|| {
            format!("What is committed was built by {compiler} for {target}, and this by {COMPILER} for {TARGET}.")
        })
    }
}

/// Returns true if a count differs by more than it varies from build to build with nothing changed on its path.
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

    fn group(count: u64, committed: &[(Path, u64)]) -> Group {
        let mut record = Record::default();
        record.accept(&committed.iter().copied().collect(), "first");
        Group { title: TITLE, about: ABOUT, figures: vec![figure(Path::Seal, count, &record)] }
    }

    #[test]
    fn three_percent_more_is_allowed_and_no_more() {
        let committed = [(Path::Seal, 10_000)];
        check(&group(10_300, &committed)).unwrap();
        check(&group(5_000, &committed)).unwrap();
        let error = check(&group(10_301, &committed)).unwrap_err().to_string();
        assert!(error.contains("seal 256 B: 10301, 10000 committed: first"), "{error}");
        assert!(error.contains("--accept"), "{error}");
    }

    #[test]
    fn a_second_parse_or_opening_fails_and_so_does_none() {
        let check = |path, parses, openings| {
            let counts = Counts { instructions: 0, allocations: 0, parses, openings };
            check_one_pass(&BTreeMap::from([(path, counts)])).is_ok()
        };
        assert!(check(Path::Streamed, 1, 0) && check(Path::SingleUse, 1, 1));
        assert!(!check(Path::Streamed, 2, 0) && !check(Path::SingleUse, 1, 2));
        assert!(!check(Path::Streamed, 0, 0) && !check(Path::SingleUse, 1, 0));
    }

    #[test]
    fn a_path_that_nobody_accepted_fails() {
        let error = check(&group(10_000, &[])).unwrap_err().to_string();
        assert!(error.contains("seal 256 B: 10000, none committed"), "{error}");
        assert_eq!(group(10_000, &[]).figures[0].ratio, Ratio::NONE);
    }

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
