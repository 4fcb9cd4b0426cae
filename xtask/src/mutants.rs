//! `cargo xtask mutants`: one line changed at a time, to see whether a test notices.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::{Outcome, workspace};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Change only lines that differ from this commit; unless told otherwise, from where the branch left main, or from
    /// the commit before where nothing was branched
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// Change these files whole, such as 'crates/mrtr-flow/src/engine/**'; with --base, only what differs in them
    #[arg(long, value_name = "GLOB")]
    files: Vec<String>,
    /// Take the K-th of N parts, counted from 0
    #[arg(long, value_name = "K/N")]
    shard: Option<String>,
    /// Pass these arguments on to cargo-mutants, such as `-- --list`
    #[arg(last = true)]
    more: Vec<String>,
}

pub(crate) fn run(options: &Options) -> Result<Outcome> {
    require_cargo_mutants()?;
    let target = workspace::metadata()?.target_directory;
    let results = options.results(&target);
    fs::create_dir_all(&results)?;
    let mut command = cargo_mutants();
    // A separate folder, which later runs reuse: dependencies are built once, and other commands need not wait.
    command.env("CARGO_TARGET_DIR", target.join("mutants/target"));
    // A mutant needs no debug information, and the input that finds it need not be small.
    command.envs([("CARGO_PROFILE_DEV_DEBUG", "none"), ("PROPTEST_MAX_SHRINK_ITERS", "0")]);
    command.arg("--output").arg(&results).args(quick_tests());
    command.args(options.files.iter().flat_map(|glob| ["--file", glob]));
    if let Some(base) = options.base()? {
        let diff = results.join("base.diff");
        fs::write(&diff, diff_from(&base)?)?;
        eprintln!("=== mutants of what differs from {base}");
        command.arg("--in-diff").arg(diff);
    }
    command.args(options.shard.iter().flat_map(|shard| ["--shard", shard])).args(&options.more);
    outcome(&mut command, &results)
}

/// Fails if cargo-mutants is missing, and says how to install it: this program installs nothing.
fn require_cargo_mutants() -> Result<()> {
    let version = cargo_mutants().arg("--version").stdin(Stdio::null()).output().context("could not start `cargo`")?;
    if !version.status.success() {
        bail!("cargo-mutants is missing; install it with `cargo install cargo-mutants --locked`");
    }
    Ok(())
}

fn cargo_mutants() -> Command {
    let mut command = workspace::cargo_command();
    command.arg("mutants");
    command
}

/// Chooses only tests of the crate that was changed, and no doc tests: a mutant takes seconds. Nextest ends at the
/// first test that fails, of all the programs; without it, cargo does at the first program.
fn quick_tests() -> Vec<&'static str> {
    let mut arguments = vec!["--all-features", "--test-workspace=false", "--no-shuffle"];
    // Twice the time of the unchanged tests, since the machine may be busy. A test run that takes longer hangs.
    arguments.extend(["--timeout-multiplier", "2", "--minimum-test-timeout", "60", "--build-timeout", "600"]);
    if has_nextest() {
        arguments.extend(["--test-tool", "nextest"]);
    } else {
        arguments.extend(["--cargo-test-arg", "--tests"]);
    }
    arguments
}

fn has_nextest() -> bool {
    let mut command = workspace::cargo_command();
    command.args(["nextest", "--version"]).stdin(Stdio::null());
    command.output().is_ok_and(|output| output.status.success())
}

/// A mutant that no test noticed is a failure, and so is one that a test noticed only by hanging.
fn outcome(command: &mut Command, results: &Path) -> Result<Outcome> {
    let status = command.status().context("could not start `cargo mutants`")?;
    match status.code() {
        Some(0) => Ok(Outcome::Passed),
        Some(MISSED | TIMED_OUT) => {
            let results = results.join("mutants.out");
            eprintln!("survivors: {0}/missed.txt, and what hung: {0}/timeout.txt", results.display());
            Ok(Outcome::Failed)
        }
        Some(BASELINE_FAILED) => bail!("the tests fail before anything is changed"),
        _ => bail!("`cargo mutants` failed"),
    }
}

impl Options {
    /// The commit to compare with. Files that are named are mutated whole, unless a commit is named too.
    fn base(&self) -> Result<Option<String>> {
        match &self.base {
            Some(base) => Ok(Some(base.clone())),
            None if self.files.is_empty() => base_of_branch().map(Some),
            None => Ok(None),
        }
    }

    /// A shard has results of its own, so that all of them can be read at the end.
    fn results(&self, target: &Path) -> PathBuf {
        let shard = self.shard.as_ref().map_or_else(|| "all".to_owned(), |shard| shard.replace('/', "-of-"));
        target.join("mutants").join(shard)
    }
}

/// Exit codes of cargo-mutants.
const MISSED: i32 = 2;
const TIMED_OUT: i32 = 3;
const BASELINE_FAILED: i32 = 4;

/// Finds the commit where the branch left main; on main itself, the commit before.
fn base_of_branch() -> Result<String> {
    let head = commit(&["rev-parse", "HEAD"])?;
    match MAIN.iter().find_map(|main| commit(&["merge-base", "HEAD", main]).ok()) {
        Some(base) if base != head => Ok(base),
        Some(_) => commit(&["rev-parse", "HEAD~1"]),
        None => bail!("there is neither main nor origin/main; name a commit with --base"),
    }
}

/// The difference between it and the files as they are, committed or not.
fn diff_from(base: &str) -> Result<String> {
    git(&["diff", "--no-color", "--no-ext-diff", base, "--", "*.rs"])
}

fn commit(arguments: &[&str]) -> Result<String> {
    Ok(git(arguments)?.trim().to_owned())
}

fn git(arguments: &[&str]) -> Result<String> {
    let shown = format!("git {}", arguments.join(" "));
    let mut command = Command::new("git");
    let output = command.args(arguments).current_dir(workspace::root()).output();
    let output = output.with_context(|| format!("could not start `{shown}`"))?;
    if !output.status.success() {
        bail!("`{shown}` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{shown}` wrote no UTF-8"))
}

const MAIN: [&str; 2] = ["main", "origin/main"];
