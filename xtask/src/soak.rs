//! `cargo xtask soak`: hostile callers beside honest ones, who must hardly notice.

use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::{Outcome, build_flags, metadata};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// How long all of it takes
    #[arg(long, value_name = "M", default_value_t = 10)]
    minutes: u64,
    /// Take a minute, with a debug build and limits that are smaller by 16
    #[arg(long, conflicts_with = "minutes")]
    short: bool,
    /// Runs these attacks alone
    #[arg(long, value_name = "NAME,…")]
    attacks: Option<String>,
    /// Writes the report as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(options: &Options) -> Result<Outcome> {
    if !cfg!(target_os = "linux") {
        return Ok(Outcome::LeftOut("/proc"));
    }
    let metadata = metadata::read()?;
    let (profile, seconds) = if options.short { ("debug", 60) } else { (build_flags::SOAK, options.minutes * 60) };
    if options.short {
        build_flags::programs(&metadata, &["soak"])?;
    } else {
        build_flags::optimized_programs(&metadata, &["soak"])?;
    }
    let folder = metadata.target_directory.join("soak-run");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("{} cannot be emptied", folder.display()))?;
    }
    fs::create_dir_all(&folder)?;
    let program = metadata.target_directory.join(profile).join("soak");
    let mut command = Command::new(&program);
    command.arg("run").arg("--folder").arg(&folder);
    command.args(["--seconds", &seconds.to_string()]);
    if options.short {
        command.args(["--scale", SHORT_SCALE, "--noise-ms", SHORT_NOISE_MS]);
    }
    if let Some(attacks) = &options.attacks {
        command.args(["--attacks", attacks]);
    }
    if options.json {
        command.arg("--json");
    }
    let status =
        command.stdin(Stdio::null()).status().with_context(|| format!("could not start {}", program.display()))?;
    if !status.success() {
        eprintln!("soak failed: the server's log and its tasks are in {}", folder.display());
        return Ok(Outcome::Failed);
    }
    fs::remove_dir_all(&folder)?;
    Ok(Outcome::Passed)
}

/// Runs a minute of it, as a part of the tests.
pub(crate) fn run_short() -> Result<Outcome> {
    run(&Options { minutes: 1, short: true, attacks: None, json: false })
}

/// A debug build is about that much slower, and a minute that much shorter.
const SHORT_SCALE: &str = "16";
/// A debug build takes tens of milliseconds for what is large, and a second on a busy machine. A server that stands still
/// takes longer.
const SHORT_NOISE_MS: &str = "1000";
