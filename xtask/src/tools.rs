//! Stages by tools that do not come with Rust: they run where the tool is installed.

use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::Outcome;
use crate::workspace::{cargo_command, print, published_crates, root};

/// Checks the licences and sources of all dependencies. Advisories need a database from the network: CI checks them.
pub(crate) fn deny() -> Result<Outcome> {
    if !has("deny") {
        print("cargo-deny is not installed: `cargo install cargo-deny --locked`")?;
        return Ok(Outcome::LeftOut("cargo-deny"));
    }
    passes(&["deny", "--offline", "check", "bans", "licenses", "sources"], &[])
}

/// Compares the public items with those of the last release.
pub(crate) fn semver() -> Result<Outcome> {
    let Some(tag) = last_release()? else {
        print("there is no release to compare with: no tag is named `v*`")?;
        return Ok(Outcome::LeftOut("a release to compare with"));
    };
    if !has("semver-checks") {
        print("cargo-semver-checks is not installed: `cargo install cargo-semver-checks --locked`")?;
        return Ok(Outcome::LeftOut("cargo-semver-checks"));
    }
    let packages = published_crates()?.into_iter().map(|(name, _)| name).filter(|name| name != "mrtr-cli");
    passes(
        &["semver-checks", "--all-features", "--baseline-rev", &tag],
        &packages.map(|name| format!("--package={name}")).collect::<Vec<_>>(),
    )
}

/// Returns true if cargo has this subcommand.
fn has(subcommand: &str) -> bool {
    let mut cargo = cargo_command();
    cargo.args([subcommand, "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    cargo.status().is_ok_and(|status| status.success())
}

/// Returns the newest tag of a release below this commit.
fn last_release() -> Result<Option<String>> {
    let mut git = Command::new("git");
    git.args(["describe", "--tags", "--abbrev=0", "--match", "v*"]).current_dir(root());
    let output = git.output().context("could not start `git`")?;
    let tag = String::from_utf8(output.stdout)?.trim().to_owned();
    Ok((output.status.success() && !tag.is_empty()).then_some(tag))
}

fn passes(arguments: &[&str], packages: &[String]) -> Result<Outcome> {
    let mut cargo = cargo_command();
    let status = cargo.args(arguments).args(packages).status().context("could not start cargo")?;
    Ok(if status.success() { Outcome::Passed } else { Outcome::Failed })
}
