//! `cargo xtask fuzz`: strangers' bytes, made up by libFuzzer for as long as it is told.

mod progress;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::{Outcome, workspace};
use progress::Progress;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// How long each target runs
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

/// Nothing is installed here: the contributor is told how to.
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
