//! What `cargo metadata` says of the workspace.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::workspace::cargo_command;

#[derive(Deserialize)]
pub(crate) struct Metadata {
    /// Where cargo puts what it builds.
    pub(crate) target_directory: PathBuf,
    /// The members of the workspace.
    pub(crate) packages: Vec<Package>,
}

#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// Nothing for a normal one.
    pub(crate) kind: Option<String>,
    /// Nothing for one from a registry.
    pub(crate) path: Option<PathBuf>,
}

pub(crate) fn read() -> Result<Metadata> {
    let mut command = cargo_command();
    command.args(["metadata", "--no-deps", "--format-version", "1"]);
    let output = command.output().context("could not start `cargo metadata`")?;
    serde_json::from_slice(&output.stdout).context("`cargo metadata` failed")
}

impl Dependency {
    /// Whether it is another member, and users build it too.
    pub(crate) fn is_edge(&self) -> bool {
        self.path.is_some() && self.kind.as_deref() != Some("dev")
    }
}
