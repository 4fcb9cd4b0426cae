//! `cargo xtask packages`: the published packages, each built and tested from its own archive.
//!
//! The archives are unpacked beside each other, into a workspace of their own: there, a file that an archive lacks is
//! missing, as it is for those who get it from a registry.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use xtask_support::emptied;

use crate::Outcome;
use crate::workspace::{Metadata, cargo_command, metadata, profiles, root};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Compile the tests, and run none
    #[arg(long)]
    check: bool,
}

impl Options {
    /// The options of the test run, whose stage `tests` has run the tests already, from the workspace.
    pub(crate) fn check() -> Self {
        Self { check: true }
    }
}

pub(crate) fn run(options: &Options) -> Result<Outcome> {
    let metadata = metadata()?;
    let target = &metadata.target_directory;
    pack(&metadata)?;
    let folder = target.join("packages");
    let fresh = emptied(&target.join("packages-unpacked"))?;
    for archive in archives(&metadata) {
        unpack(&archive, &fresh)?;
    }
    update(&fresh, &folder)?;
    fs::remove_dir_all(&fresh)?;
    fs::write(folder.join("Cargo.toml"), manifest(&metadata)?)?;
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock"))?;
    // With default features, and with all of them, which the tests and examples of some packages need.
    let tests: &[&str] = if options.check { &["check", "--all-targets"] } else { &["test", "--tests"] };
    for arguments in [&["check", "--workspace"][..], &[tests, &["--workspace", "--all-features"]].concat()] {
        if !passes(arguments, &folder, target)? {
            return Ok(Outcome::Failed);
        }
    }
    Ok(Outcome::Passed)
}

/// Packs the published packages. Cargo's own check of an archive would build each package with its dependencies anew.
fn pack(metadata: &Metadata) -> Result<()> {
    let mut cargo = cargo_command();
    cargo.args(["package", "--no-verify", "--allow-dirty", "--offline", "--quiet"]);
    for package in metadata.published() {
        cargo.args(["--package", &package.name]);
    }
    if !cargo.status().context("could not start `cargo package`")?.success() {
        bail!("`cargo package` failed");
    }
    Ok(())
}

fn archives(metadata: &Metadata) -> impl Iterator<Item = PathBuf> {
    let folder = metadata.target_directory.join("package");
    metadata
        .published()
        .into_iter()
        .map(move |package| folder.join(format!("{}-{}.crate", package.name, package.version)))
}

fn unpack(archive: &Path, into: &Path) -> Result<()> {
    let status = Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(into).status();
    if !status.context("could not start `tar`")?.success() {
        bail!("{} cannot be unpacked", archive.display());
    }
    Ok(())
}

/// Makes a folder equal to another one, and leaves files that are equal already as they are, with their times. In an
/// archive all files are of one time, so that cargo would not notice which of them have changed.
fn update(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    let wanted: BTreeSet<_> = names(from)?;
    for name in names(to)?.difference(&wanted) {
        let left = to.join(name);
        if left.is_dir() { fs::remove_dir_all(left)? } else { fs::remove_file(left)? }
    }
    for name in &wanted {
        let (from, to) = (from.join(name), to.join(name));
        if from.is_dir() {
            update(&from, &to)?;
            continue;
        }
        let content = fs::read(&from)?;
        if fs::read(&to).ok().as_ref() != Some(&content) {
            fs::write(&to, content).with_context(|| format!("{} cannot be written", to.display()))?;
        }
    }
    Ok(())
}

fn names(folder: &Path) -> Result<BTreeSet<std::ffi::OsString>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect()
}

/// Writes the manifest of the archives' workspace, in which they find each other instead of a registry's.
fn manifest(metadata: &Metadata) -> Result<String> {
    let folders = metadata
        .published()
        .into_iter()
        .map(|package| (&package.name, format!("{}-{}", package.name, package.version)));
    let (members, patches): (Vec<_>, Vec<_>) =
        folders.map(|(name, folder)| (format!("{folder:?}"), format!("{name} = {{ path = {folder:?} }}\n"))).unzip();
    let workspace = format!("[workspace]\nresolver = \"3\"\nmembers = [{}]\n", members.join(", "));
    Ok(format!("{workspace}\n[patch.crates-io]\n{}\n{}", patches.concat(), profiles()?))
}

/// Runs cargo there, and builds into the folder of the workspace: dependencies are built already.
fn passes(arguments: &[&str], folder: &Path, target: &Path) -> Result<bool> {
    eprintln!("\n=== cargo {}, from the archives", arguments.join(" "));
    let mut cargo = cargo_command();
    cargo.args(arguments).arg("--offline").current_dir(folder);
    // Archives change as a whole, so what a second build would reuse need not be written.
    cargo.env("CARGO_TARGET_DIR", target).env("CARGO_INCREMENTAL", "0");
    Ok(cargo.status().context("could not start cargo")?.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_differ_are_written_and_others_go() {
        let folder = tempfile::tempdir().expect("there is room");
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        for (path, text) in
            [("from/a/same", "1"), ("from/a/new", "2"), ("to/a/same", "1"), ("to/a/new", "1"), ("to/b/old", "3")]
        {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("it has a folder")).expect("there is room");
            fs::write(path, text).expect("there is room");
        }
        let time = || fs::metadata(to.join("a/same")).and_then(|same| same.modified()).expect("it is there");
        let before = time();
        update(&from, &to).expect("there is room");
        assert_eq!((fs::read_to_string(to.join("a/new")).ok().as_deref(), time()), (Some("2"), before));
        assert!(!to.join("b").exists(), "the source has none");
    }
}
