//! Counting by callgrind, which runs this program again and counts what it executes.

use std::collections::HashMap;
use std::path::Path as FilePath;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use serde::Serialize;

use super::path::Path;

pub(super) fn is_there() -> bool {
    let mut valgrind = Command::new("valgrind");
    let version = valgrind.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// The counts of one run of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Counts {
    pub(crate) instructions: u64,
    pub(crate) allocations: u64,
    /// The times that a message was taken apart.
    pub(crate) parses: u64,
    /// The times that a state was opened.
    pub(crate) openings: u64,
}

/// Counts what one run takes. The work before the first run, and work that only the first runs do, is in both counts
/// and falls out.
pub(super) fn count(path: Path, runs: Runs) -> Result<Counts> {
    let folder = tempfile::tempdir()?;
    let few = profile(path, runs.few, runs, &folder.path().join("few"))?;
    let many = profile(path, runs.most(), runs, &folder.path().join("many"))?;
    let one = |counted: &dyn Fn(&Profile) -> u64| {
        let difference = counted(&many).checked_sub(counted(&few)).context("more runs took less")?;
        anyhow::Ok((difference + u64::from(runs.counted) / 2) / u64::from(runs.counted))
    };
    Ok(Counts {
        instructions: one(&|profile| profile.instructions.unwrap_or_default())?,
        allocations: one(&|profile| profile.calls(|name| ALLOCATORS.contains(&name)))?,
        parses: one(&|profile| profile.calls(|name| name.ends_with("::Envelope::parse")))?,
        openings: one(&|profile| profile.calls(|name| name.ends_with("::SealingKey>::open")))?,
    })
}

/// Profiles a process that runs a path `times` times.
fn profile(path: Path, times: u32, runs: Runs, file: &FilePath) -> Result<Profile> {
    let name = path.to_possible_value().expect("every path has a name").get_name().to_owned();
    let mut command = Command::new("valgrind");
    command.arg("--tool=callgrind").arg(format!("--callgrind-out-file={}", file.display()));
    command.arg(std::env::current_exe()?).args(["count", &name, &times.to_string(), &runs.most().to_string()]);
    command.stdin(Stdio::null()).env("GLIBC_TUNABLES", ROOMY_CACHE);
    let output = command.output().context("could not start `valgrind`")?;
    ensure!(output.status.success(), "callgrind failed: {}", String::from_utf8_lossy(&output.stderr));
    let profile = Profile::parse(&std::fs::read_to_string(file)?);
    ensure!(profile.instructions.is_some(), "callgrind wrote no summary");
    Ok(profile)
}

/// The numbers of runs of a path: a few, and `counted` more, whose difference is counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Runs {
    few: u32,
    counted: u32,
}

impl Runs {
    /// Enough that instructions differ by 0.01 % from one time to the next.
    pub(super) const PRECISE: Self = Self { few: 200, counted: 1000 };
    /// Enough for calls, which are the same each time.
    pub(super) const CALLS: Self = Self { few: 4, counted: 4 };

    fn most(self) -> u32 {
        self.few + self.counted
    }
}

const ALLOCATORS: [&str; 4] = ["malloc", "calloc", "realloc", "posix_memalign"];
/// Keeps counts steady. The place where an allocator looks for memory depends on what it got back before, and in which
/// order: that differs from run to run, and counts with it, by more than 1 %. Out of a cache that is never full, it
/// takes the same way each time, and counts differ by 0.01 %.
const ROOMY_CACHE: &str = "glibc.malloc.tcache_count=65535";

/// A profile, as far as it is read.
#[derive(Debug, Default)]
pub(super) struct Profile {
    pub(super) instructions: Option<u64>,
    /// The calls of each function, by its name.
    calls: HashMap<String, u64>,
}

impl Profile {
    /// Reads a profile. It writes a name out once, with a number that stands for it afterwards.
    pub(super) fn parse(text: &str) -> Self {
        let (mut profile, mut names, mut called) = (Self::default(), HashMap::new(), None);
        for line in text.lines() {
            if let Some((number, name)) = line.strip_prefix("fn=").and_then(numbered) {
                names.entry(number).or_insert(name);
            } else if let Some((number, name)) = line.strip_prefix("cfn=").and_then(numbered) {
                called = Some(*names.entry(number).or_insert(name));
            } else if let (Some(count), Some(name)) = (line.strip_prefix("calls="), called) {
                let count = count.split(' ').next().and_then(|count| count.parse::<u64>().ok());
                *profile.calls.entry(name.to_owned()).or_default() += count.unwrap_or_default();
            } else if let Some(count) = line.strip_prefix("summary: ") {
                profile.instructions = count.trim().parse().ok();
            }
        }
        profile
    }

    /// Counts the calls of all functions for which the predicate is true.
    pub(super) fn calls(&self, is_meant: impl Fn(&str) -> bool) -> u64 {
        self.calls.iter().filter(|(name, _)| is_meant(name)).map(|(_, count)| count).sum()
    }
}

/// Splits a text such as `(12) main`, or `(12)` alone.
fn numbered(text: &str) -> Option<(&str, &str)> {
    let (number, name) = text.strip_prefix('(')?.split_once(')')?;
    Some((number, name.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_has_its_summary_and_its_calls() {
        let text = "version: 1\nevents: Ir\nsummary: 4522\n\nfn=(1) main\n16 400\ncfn=(2) malloc\ncalls=3 20\n16 30\n\
                    cfn=(3) parse\ncalls=1 8\n17 5\n\nfn=(3)\n18 1\ncfn=(2)\ncalls=4 20\n18 9\ntotals: 4522\n";
        let profile = Profile::parse(text);
        assert_eq!(profile.instructions, Some(4522));
        assert_eq!(profile.calls(|name| name == "malloc"), 7);
        assert_eq!(profile.calls(|name| name.ends_with("parse")), 1);
        assert_eq!(Profile::parse("events: Ir\n").instructions, None);
    }
}
