//! The machine: its cores, and what a process takes of it.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use core_affinity::CoreId;

/// A core's part in a measurement. On a machine with one core, both parts are that one.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Core {
    /// The core of the process that is measured.
    Measured,
    /// The core of the process that puts load on the server.
    Load,
}

/// Keeps this thread, and the threads that it starts, on a core, where the system can do that. Processes that it starts
/// stay there too, unless they are told to go elsewhere.
pub(crate) fn pin(core: Core) {
    if let Some(number) = number(core) {
        pin_to(number);
    }
}

/// Pins this thread to the core of this number.
pub(crate) fn pin_to(number: usize) {
    core_affinity::set_for_current(CoreId { id: number });
}

/// The system's number for a core.
pub(crate) fn number(core: Core) -> Option<usize> {
    let id = match core {
        Core::Measured => cores().first(),
        Core::Load => cores().last(),
    };
    id.map(|id| id.id)
}

/// The cores that this process was given. It asks for them once: a thread that is kept on one sees no other.
fn cores() -> &'static [CoreId] {
    static CORES: OnceLock<Vec<CoreId>> = OnceLock::new();
    CORES.get_or_init(|| core_affinity::get_core_ids().unwrap_or_default())
}

/// The time that the threads of a process have been on a core, where the system counts it in nanoseconds.
pub(crate) fn cpu_time(process: u32) -> Option<Duration> {
    let mut nanoseconds = 0;
    for thread in fs::read_dir(format!("/proc/{process}/task")).ok()? {
        nanoseconds += on_core(&thread.ok()?.path()).unwrap_or(0);
    }
    Some(Duration::from_nanos(nanoseconds))
}

fn on_core(thread: &Path) -> Option<u64> {
    fs::read_to_string(thread.join("schedstat")).ok()?.split(' ').next()?.parse().ok()
}

/// The resident memory of a process, in bytes.
pub(crate) fn resident(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// The compiler that built this program.
pub(crate) const COMPILER: &str = env!("COMPILER");

/// Describes the processor and the system, for readers of the figures.
pub(crate) fn description() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split(": ").nth(1));
    let cores = cores().len();
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    format!("{}, {cores} cores, {os} on {arch}", cpu.unwrap_or("unknown processor"))
}
