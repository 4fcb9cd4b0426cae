//! Reads what the system says of a process, and chooses the cores on which it runs.

use std::fs;
use std::io;
use std::time::Duration;

use anyhow::{Context, Result};

/// The core that the server has; the clients have the others.
pub(crate) const SERVER_CORE: usize = 0;

/// Keeps this thread, and those that it starts, on one core; or, without one, off the server's core, if there are others.
#[cfg(target_os = "linux")]
pub(crate) fn pin(core: Option<usize>) -> Result<()> {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    let allowed = sched_getaffinity(None)?;
    let mut chosen = CpuSet::new();
    for number in (0..CpuSet::MAX_CPU).filter(|number| allowed.is_set(*number)) {
        if core.map_or(number != SERVER_CORE, |core| core == number) {
            chosen.set(number);
        }
    }
    if chosen.count() == 0 {
        return Ok(());
    }
    Ok(sched_setaffinity(None, &chosen)?)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn pin(_: Option<usize>) -> Result<()> {
    anyhow::bail!("the soak reads /proc, which Linux has")
}

/// Lets other processes run first: what an attack computes must not slow the clients that are timed on the same core.
pub(crate) fn give_way() -> Result<()> {
    rustix::process::nice(10)?;
    Ok(())
}

/// The memory and time that a process has taken at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Taken {
    /// Bytes of memory.
    pub(crate) resident: u64,
    /// Open descriptors.
    pub(crate) files: usize,
    /// The time that it has been running on its core.
    pub(crate) busy: Duration,
}

impl Taken {
    pub(crate) fn by(process: u32) -> Result<Self> {
        let status = fs::read_to_string(format!("/proc/{process}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse()?;
        let files = fs::read_dir(format!("/proc/{process}/fd"))?.collect::<io::Result<Vec<_>>>()?.len();
        Ok(Self { resident: kilobytes << 10, files, busy: busy(process)? })
    }
}

fn busy(process: u32) -> Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name is the second field, in brackets, and may contain anything.
    let (_, fields) = stat.rsplit_once(')').context("no name")?;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
    let ticks: u64 = ticks.sum::<Result<_, _>>()?;
    Ok(Duration::from_secs(ticks) / TICKS_A_SECOND)
}

/// The tick in which Linux counts for user programs, whatever it does inside.
const TICKS_A_SECOND: u32 = 100;
