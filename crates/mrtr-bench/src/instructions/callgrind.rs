//! Counting by callgrind, which runs this program again and counts what it executes.

use std::path::Path as FilePath;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use super::path::Path;

pub(super) fn is_there() -> bool {
    let mut valgrind = Command::new("valgrind");
    let version = valgrind.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// How many instructions one run takes: what comes before the first run, and what only the first runs do, is in both
/// counts and falls out.
pub(super) fn count(path: Path) -> Result<u64> {
    let folder = tempfile::tempdir()?;
    let few = total(path, FEW, &folder.path().join("few"))?;
    let many = total(path, MOST_TIMES, &folder.path().join("many"))?;
    let difference = many.checked_sub(few).context("more runs took fewer instructions")?;
    Ok((difference + u64::from(COUNTED) / 2) / u64::from(COUNTED))
}

/// How many instructions a process takes that runs a path so often.
fn total(path: Path, times: u32, file: &FilePath) -> Result<u64> {
    let name = path.to_possible_value().expect("every path has a name").get_name().to_owned();
    let mut command = Command::new("valgrind");
    command.arg("--tool=callgrind").arg(format!("--callgrind-out-file={}", file.display()));
    command.arg(std::env::current_exe()?).args(["count", &name, &times.to_string()]).stdin(Stdio::null());
    command.env("GLIBC_TUNABLES", ROOMY_CACHE);
    let output = command.output().context("could not start `valgrind`")?;
    ensure!(output.status.success(), "callgrind failed: {}", String::from_utf8_lossy(&output.stderr));
    summary(&std::fs::read_to_string(file)?).context("callgrind wrote no summary")
}

/// The count in what callgrind wrote.
fn summary(profile: &str) -> Option<u64> {
    profile.lines().find_map(|line| line.strip_prefix("summary: "))?.trim().parse().ok()
}

const FEW: u32 = 200;
const COUNTED: u32 = 1000;
/// How often a path is run at most.
pub(super) const MOST_TIMES: u32 = FEW + COUNTED;
/// Where an allocator looks for memory depends on what it got back before, and in which order. That differs from run to
/// run, and counts with it, by more than 1 %. Out of a cache that is never full, it takes the same way each time, and
/// counts differ by 0.01 %.
const ROOMY_CACHE: &str = "glibc.malloc.tcache_count=65535";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_of_a_profile_is_its_count() {
        assert_eq!(summary("version: 1\nevents: Ir\nsummary: 4522\n\nfn=(1) main\n16 400\ntotals: 4522\n"), Some(4522));
        assert_eq!(summary("events: Ir\n"), None);
    }
}
