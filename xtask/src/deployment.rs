//! `cargo xtask deployment`: checks the files of examples/deployment that no test runs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use xtask_support::packages::Linters;

use crate::Outcome;
use crate::programs::Installation;
use crate::workspace::{metadata, root};

pub(crate) fn run() -> Result<Outcome> {
    run_where_possible(Installation::linters_where_wanted()?)
}

/// Lints the Dockerfiles, validates the manifests of Kubernetes, and verifies the units where there is systemd, if the
/// installation of the linters has been started.
pub(crate) fn run_where_possible(linters: Option<Installation>) -> Result<Outcome> {
    let Some(linters) = linters else { return Ok(Outcome::LeftOut("Python")) };
    match linters.finish() {
        Err(error) if std::env::var_os("CI").is_none() => {
            eprintln!("{error:#}");
            return Ok(Outcome::LeftOut("hadolint, which pip could not install"));
        }
        finished => finished?,
    }
    let target = metadata()?.target_directory;
    let programs = Linters::install(&target)?;
    let folder = root().join("examples/deployment");
    let mut passed = lint(&programs.join("hadolint"), &[], &files(&folder, "Dockerfile")?)?;
    passed &= lint(&programs.join("kubernetes-validate"), &["--strict"], &files(&folder, ".yaml")?)?;
    passed &= verify_units(&files(&folder, ".service")?, &target)?;
    Ok(if passed { Outcome::Passed } else { Outcome::Failed })
}

/// The files whose names end so. There is one at least: a check of nothing would pass.
fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in folder.read_dir().with_context(|| format!("{} cannot be read", folder.display()))? {
        let path = entry?.path();
        if path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.ends_with(ending)) {
            found.push(path);
        }
    }
    ensure!(!found.is_empty(), "{} has no file *{ending}", folder.display());
    Ok(found)
}

fn lint(program: &Path, options: &[&str], files: &[PathBuf]) -> Result<bool> {
    let status = Command::new(program).args(options).args(files).stdin(Stdio::null()).status();
    Ok(status.with_context(|| format!("could not start {}", program.display()))?.success())
}

/// Verifies each unit with a program that exists here, since the unit's own does not.
fn verify_units(units: &[PathBuf], target: &Path) -> Result<bool> {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        eprintln!("left out: the units are not verified without systemd-analyze");
        return Ok(true);
    }
    let mut passed = true;
    for unit in units {
        let text = std::fs::read_to_string(unit)?;
        let with_program = text.replace("ExecStart=/usr/local/bin/shop", "ExecStart=/bin/true");
        ensure!(text != with_program, "{} starts another program than the page says", unit.display());
        let copy = target.join(unit.file_name().context("a file has a name")?);
        std::fs::write(&copy, with_program)?;
        let output = Command::new("systemd-analyze").arg("verify").arg(&copy).stdin(Stdio::null()).output()?;
        // Of a setting that it does not know, it says so, and passes.
        let said = String::from_utf8_lossy(&output.stderr);
        let is_told = said.lines().any(|line| line.contains(&*copy.to_string_lossy()));
        eprint!("{said}");
        passed &= output.status.success() && !is_told;
    }
    Ok(passed)
}
