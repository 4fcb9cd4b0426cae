//! What a change is compared with, by Git.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace;

/// Where the branch left main; on main itself, the commit before.
pub(super) fn of_branch() -> Result<String> {
    let head = commit(&["rev-parse", "HEAD"])?;
    match MAIN.iter().find_map(|main| commit(&["merge-base", "HEAD", main]).ok()) {
        Some(base) if base != head => Ok(base),
        Some(_) => commit(&["rev-parse", "HEAD~1"]),
        None => bail!("there is neither main nor origin/main; name a commit with --base"),
    }
}

/// What differs from it in the files as they are, committed or not.
pub(super) fn diff(base: &str) -> Result<String> {
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
