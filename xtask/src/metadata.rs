//! What `cargo metadata` says of the workspace.

use std::collections::BTreeMap;
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
    pub(crate) manifest_path: PathBuf,
    pub(crate) features: BTreeMap<String, Vec<String>>,
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

impl Metadata {
    /// Every feature of every member, as cargo is told them, but for one.
    pub(crate) fn features_but(&self, left_out: &str) -> String {
        let features = self
            .packages
            .iter()
            .flat_map(|package| package.features.keys().map(|feature| format!("{}/{feature}", package.name)));
        features.filter(|feature| feature != left_out).collect::<Vec<_>>().join(",")
    }
}

impl Dependency {
    /// Whether it is another member, and users build it too.
    pub(crate) fn is_edge(&self) -> bool {
        self.path.is_some() && self.kind.as_deref() != Some("dev")
    }
}

#[cfg(test)]
mod tests {
    use super::Metadata;

    #[test]
    fn all_features_but_one_are_named() {
        let text = r#"{ "target_directory": "t", "packages": [
            { "name": "a", "manifest_path": "a/Cargo.toml", "features": { "x": [], "y": ["x"] }, "dependencies": [] },
            { "name": "b", "manifest_path": "b/Cargo.toml", "features": { "x": [] }, "dependencies": [] }
        ] }"#;
        let metadata: Metadata = serde_json::from_str(text).expect("it is of this form");
        assert_eq!(metadata.features_but("b/x"), "a/x,a/y");
    }
}
