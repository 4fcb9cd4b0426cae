//! Packages from npm, at the versions of a lock that is committed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::workspace::root;

pub(super) fn is_there() -> bool {
    let npm = Command::new("npm").arg("--version").stdin(Stdio::null()).output();
    npm.is_ok_and(|output| output.status.success())
}

/// Installs what `xtask/conformance/<name>` locks, unless an earlier run did, and says where the packages are.
pub(super) fn install(name: &str, folder: &Path) -> Result<PathBuf> {
    let locked = root().join("xtask/conformance").join(name);
    let folder = folder.join(name);
    let lock = fs::read(locked.join(LOCK))?;
    if fs::read(folder.join(INSTALLED)).ok().as_ref() != Some(&lock) {
        fs::create_dir_all(&folder)?;
        for file in ["package.json", LOCK] {
            fs::copy(locked.join(file), folder.join(file))?;
        }
        ci(&folder)?;
        fs::write(folder.join(INSTALLED), lock)?;
    }
    Ok(folder.join("node_modules"))
}

fn ci(folder: &Path) -> Result<()> {
    eprintln!("\n=== npm ci, in {}", folder.display());
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(folder);
    // Its standard output is for people; ours is for the report.
    let status = npm.stdin(Stdio::null()).stdout(Stdio::null()).status().context("could not start `npm`")?;
    if !status.success() {
        bail!("`npm ci` failed in {}", folder.display());
    }
    Ok(())
}

const LOCK: &str = "package-lock.json";
/// A copy of the lock, written once all of it is installed.
const INSTALLED: &str = "installed-lock.json";
