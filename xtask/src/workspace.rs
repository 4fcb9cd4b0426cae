//! Finds things in the workspace, and calls cargo: with one choice of packages for all stages, so that each dependency
//! is built once.
//!
//! Cargo unites the features that the selected packages ask of a dependency. Another selection is another dependency,
//! built anew: so stages select the same packages, also where they need one of them only.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::Value;
pub(crate) use xtask_support::{print, root};

/// The selection of packages for checks, for documentation and for the programs with the SDKs of others: all packages.
pub(crate) const CHECKED: [&str; 2] = ["--workspace", "--all-features"];

/// The selection of packages to build and run: all but the programs with the SDKs of others, which take minutes, and
/// which only `cargo xtask bench` and `cargo xtask interop` run.
pub(crate) const BUILT: [&str; 4] = ["--workspace", "--exclude", "xtask-peers", "--all-features"];

/// Selects no target, since none is an example in cargo's sense, and has cargo unite the features that tests ask for
/// with the others, as it does wherever it builds tests.
pub(crate) const AS_FOR_TESTS: &str = "--examples";

/// Crates that users do not name in their manifests.
const PRIVATE: [&str; 6] =
    ["mrtr-bench", "mrtr-fixtures", "mrtr-macros", "mrtr-postgres-cluster", "mrtr-tour", "mrtr-validate"];

/// The folders below `crates`, each named as its crate, in order.
pub(crate) fn crates() -> Result<Vec<(String, PathBuf)>> {
    let mut crates = Vec::new();
    for entry in fs::read_dir(root().join("crates"))? {
        let entry = entry?;
        crates.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
    }
    crates.sort();
    Ok(crates)
}

/// The folders of the crates that users name, each named as its crate, in order.
pub(crate) fn published_crates() -> Result<Vec<(String, PathBuf)>> {
    let mut crates = crates()?;
    crates.retain(|(name, _)| !PRIVATE.contains(&name.as_str()));
    Ok(crates)
}

/// The folder of a revision's schemas and examples.
pub(crate) fn schema_folder(revision: mrtr_schema::Revision) -> PathBuf {
    root().join("schema").join(revision.as_str())
}

/// Runs cargo in the workspace, and fails if cargo fails.
pub(crate) fn cargo(arguments: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    let shown = format!("cargo {}", arguments.join(" "));
    eprintln!("\n=== {shown}");
    let mut command = cargo_command();
    command.args(arguments).envs(environment.iter().copied());
    let status = command.status().with_context(|| format!("could not start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed");
    }
    Ok(())
}

/// Makes a command that runs cargo in the workspace: the cargo that runs this program, if one does.
///
/// Cargo does not get the variables of the package that runs it. Build scripts, such as that of ring, look at them:
/// they would run again, and everything above them would be built again, whenever cargo was called by hand in between.
pub(crate) fn cargo_command() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in env::vars_os().filter(|(name, _)| is_of_package(&name.to_string_lossy())) {
        command.env_remove(name);
    }
    command.current_dir(root());
    command
}

fn is_of_package(variable: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| variable.starts_with(prefix))
}

/// The profiles of the workspace: what was checked there need not be checked again.
pub(crate) fn profiles() -> Result<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml"))?;
    let at = manifest.find("[profile.").context("the workspace has profiles")?;
    Ok(manifest[at..].to_owned())
}

#[derive(Deserialize)]
pub(crate) struct Metadata {
    /// The folder where cargo puts what it builds.
    pub(crate) target_directory: PathBuf,
    /// The members of the workspace.
    pub(crate) packages: Vec<Package>,
}

#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) description: Option<String>,
    pub(crate) keywords: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) readme: Option<PathBuf>,
    /// The registries that it may be published to; `None` for all of them.
    pub(crate) publish: Option<Vec<String>>,
    pub(crate) features: BTreeMap<String, Vec<String>>,
    /// The `[package.metadata]` of other tools.
    pub(crate) metadata: Value,
}

#[derive(Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// The kind of the dependency; `None` for a normal one.
    pub(crate) kind: Option<String>,
    /// The folder of the dependency; `None` for one from a registry.
    pub(crate) path: Option<PathBuf>,
    /// The versions that it may have.
    pub(crate) req: String,
}

pub(crate) fn metadata() -> Result<Metadata> {
    let mut command = cargo_command();
    command.args(["metadata", "--no-deps", "--format-version", "1"]);
    let output = command.output().context("could not start `cargo metadata`")?;
    serde_json::from_slice(&output.stdout).context("`cargo metadata` failed")
}

impl Metadata {
    /// The members that are published, in order.
    pub(crate) fn published(&self) -> Vec<&Package> {
        let mut published: Vec<_> = self.packages.iter().filter(|package| package.publish.is_none()).collect();
        published.sort_by(|one, other| one.name.cmp(&other.name));
        published
    }
}

impl Package {
    /// Returns true if these features are on by default.
    pub(crate) fn has_by_default(&self, features: &[String]) -> bool {
        let mut enabled = vec!["default"];
        let mut at = 0;
        while let Some(feature) = enabled.get(at) {
            let more = self.features.get(*feature).into_iter().flatten().map(String::as_str);
            let more: Vec<_> = more.filter(|feature| !enabled.contains(feature)).collect();
            enabled.extend(more);
            at += 1;
        }
        features.iter().all(|feature| enabled.contains(&feature.as_str()))
    }
}

impl Dependency {
    /// Returns true if an archive's manifest leaves it out: a dependency of tests, named by its path alone.
    pub(crate) fn is_left_out_of_archives(&self) -> bool {
        self.kind.as_deref() == Some("dev") && self.path.is_some() && self.req == "*"
    }

    /// Returns true if it is another member, and users build it too.
    pub(crate) fn is_edge(&self) -> bool {
        self.path.is_some() && self.kind.as_deref() != Some("dev")
    }
}
