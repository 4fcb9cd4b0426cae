//! `cargo xtask fuzz`: libFuzzer tries what reads strangers' bytes, for as many minutes as the operator says.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::{Outcome, workspace};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Run each target for this many minutes
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    minutes: u32,
    /// The target; all of them unless one is named
    #[arg(value_parser = TARGETS.map(|target| target.name))]
    target: Option<String>,
}

/// A target, the folder of the fuzz crate that has it, and the longest input that is worth trying; where that is 0,
/// libFuzzer takes the longest seed, or 4 KiB.
#[derive(Clone, Copy)]
struct Target {
    name: &'static str,
    folder: &'static str,
    longest: u32,
}

const TARGETS: [Target; 2] = [
    Target { name: "open", folder: "crates/mrtr-state/fuzz", longest: 0 },
    // A body that is too large for the target's endpoint.
    Target { name: "respond", folder: "crates/mrtr-http/fuzz", longest: 128 << 10 },
];

pub(crate) fn run(options: &Options) -> Result<Outcome> {
    require("a nightly compiler", &["cargo", "--version"], "rustup toolchain install nightly")?;
    require("cargo-fuzz", &["cargo", "fuzz", "--version"], "cargo install cargo-fuzz")?;
    let mut outcome = Outcome::Passed;
    for target in TARGETS.into_iter().filter(|target| options.target.as_deref().is_none_or(|only| only == target.name))
    {
        let progress = fuzz(target, options.minutes)?;
        workspace::print(&format!("fuzz {}: {progress}", target.name))?;
        if !progress.findings.is_empty() {
            outcome = Outcome::Failed;
        }
    }
    Ok(outcome)
}

/// Fails if a tool is missing, and says how to install it: this program installs nothing.
fn require(what: &str, command: &[&str], install: &str) -> Result<()> {
    let output = nightly(command).stdin(Stdio::null()).output().context("could not start `rustup`")?;
    if !output.status.success() {
        bail!("{what} is missing; install it with `{install}`");
    }
    Ok(())
}

/// Through rustup, since the cargo that runs this is of another toolchain.
fn nightly(command: &[&str]) -> Command {
    let mut rustup = Command::new("rustup");
    rustup.args(["run", "nightly"]).args(command).current_dir(workspace::root());
    rustup
}

/// Shows what libFuzzer says while it says it, and keeps the figures. Each new input is not worth a line: there are
/// thousands.
fn fuzz(Target { name, folder, longest }: Target, minutes: u32) -> Result<Progress> {
    let seconds = format!("-max_total_time={}", u64::from(minutes) * 60);
    let longest = format!("-max_len={longest}");
    let limits = [&*seconds, &*longest, "-timeout=10", "-print_final_stats=1"];
    let mut command = nightly(&["cargo", "fuzz", "run", "--fuzz-dir", folder, name, "--"]);
    let mut fuzzer = command.args(limits).stderr(Stdio::piped()).spawn().context("could not start `rustup`")?;
    let mut progress = Progress::default();
    for line in BufReader::new(fuzzer.stderr.take().context("standard error is piped")?).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        progress.read(&line);
        if !NEW_INPUTS.iter().any(|event| line.contains(event)) {
            eprintln!("{line}");
        }
    }
    let status = fuzzer.wait()?;
    if !status.success() && progress.findings.is_empty() {
        bail!("`cargo fuzz run {name}` failed");
    }
    Ok(progress)
}

const NEW_INPUTS: [&str; 2] = ["\tNEW ", "\tREDUCE "];

/// The progress of a run.
#[derive(Debug, Default, PartialEq)]
struct Progress {
    executions: u64,
    per_second: u64,
    coverage: u64,
    /// The files that hold inputs that something failed with.
    findings: Vec<String>,
}

impl Progress {
    /// Takes in one line, if it says anything.
    fn read(&mut self, line: &str) {
        if let Some(number) = figure(line, "stat::number_of_executed_units:") {
            self.executions = number;
        } else if let Some(number) = figure(line, "stat::average_exec_per_sec:") {
            self.per_second = number;
        } else if line.starts_with('#') {
            self.executions = figure(line, "#").unwrap_or(self.executions);
            self.coverage = figure(line, "cov:").unwrap_or(self.coverage);
            self.per_second = figure(line, "exec/s:").unwrap_or(self.per_second);
        } else if let Some((_, path)) = line.split_once("Test unit written to ") {
            self.findings.push(path.trim().to_owned());
        }
    }
}

/// The number that follows a name.
fn figure(line: &str, name: &str) -> Option<u64> {
    let (_, rest) = line.split_once(name)?;
    rest.split_whitespace().next()?.parse().ok()
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { executions, per_second, coverage, findings } = self;
        write!(f, "{executions} executions, {per_second} a second, coverage {coverage}, ")?;
        match findings.as_slice() {
            [] => f.write_str("no findings"),
            findings => write!(f, "found {}", findings.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Progress;

    fn progress(lines: &[&str]) -> String {
        let mut progress = Progress::default();
        for line in lines {
            progress.read(line);
        }
        progress.to_string()
    }

    #[test]
    fn a_run_without_findings() {
        let lines = [
            "INFO: Running with entropic power schedule (0xFF, 100).",
            "#2\tINITED cov: 31 ft: 32 corp: 1/1b exec/s: 0 rss: 41Mb",
            "#65536\tpulse  cov: 812 ft: 2204 corp: 301/14Kb lim: 652 exec/s: 21845 rss: 85Mb",
            "stat::number_of_executed_units: 70001",
            "stat::average_exec_per_sec:     20000",
        ];
        assert_eq!(progress(&lines), "70001 executions, 20000 a second, coverage 812, no findings");
    }

    #[test]
    fn a_finding_ends_it() {
        let lines = [
            "#512\tNEW    cov: 99 ft: 101 corp: 7/90b lim: 4 exec/s: 0 rss: 44Mb L: 4/4",
            "artifact_prefix='./'; Test unit written to ./crash-0f1e",
        ];
        assert_eq!(progress(&lines), "512 executions, 0 a second, coverage 99, found ./crash-0f1e");
    }
}
