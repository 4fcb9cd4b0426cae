//! Packages of Python's, in an environment of their own, at the versions of a list that is committed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::workspace::root;

/// Whether there is a Python that makes environments.
pub(super) fn is_there() -> bool {
    let python = Command::new("python3").args(["-c", "import ensurepip, venv"]).stdin(Stdio::null()).output();
    python.is_ok_and(|output| output.status.success())
}

/// Installs what the folder `xtask/<locked>` lists, unless an earlier run did, and says where its Python is.
pub(super) fn install(locked: &str, folder: &Path) -> Result<PathBuf> {
    let list = root().join("xtask").join(locked).join("requirements.txt");
    let folder = folder.join(Path::new(locked).file_name().context("a folder has a name")?);
    let (python, installed) = (folder.join("bin/python"), folder.join("installed.txt"));
    let wanted = fs::read(&list)?;
    if fs::read(&installed).ok().as_ref() != Some(&wanted) {
        eprintln!("\n=== pip install, in {}", folder.display());
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--requirement"];
        run(Command::new(&python).args(pip).arg(&list))?;
        fs::write(installed, wanted)?;
    }
    Ok(python)
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status().context("could not start Python")?;
    if !status.success() {
        bail!("{command:?} failed");
    }
    Ok(())
}
