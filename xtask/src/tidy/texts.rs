//! The text files of the workspace: those that are committed, and new ones that will be.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace::root;

pub(super) struct TextFile {
    /// From the root of the workspace.
    pub(super) path: PathBuf,
    pub(super) text: String,
}

impl TextFile {
    pub(super) fn is_rust(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension == "rs")
    }
}

pub(super) fn committed() -> Result<Vec<TextFile>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root());
    let output = git.output().context("could not start `git`")?;
    if !output.status.success() {
        bail!("`git ls-files` failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let paths = String::from_utf8(output.stdout).context("a path is not UTF-8")?;
    let paths = paths.split('\0').filter(|path| !path.is_empty());
    // What is gone from the folder and not yet from the index, and what is no text, is left out.
    let read = |path: &str| Some(TextFile { path: path.into(), text: fs::read_to_string(root().join(path)).ok()? });
    Ok(paths.filter_map(read).collect())
}
