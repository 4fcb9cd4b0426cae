//! Which versions were measured: ours, and those of the packages that figures depend on.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Package {
    pub(crate) name: &'static str,
    pub(crate) version: String,
}

/// As cargo has locked them.
pub(crate) fn locked(root: &Path) -> Result<Vec<Package>> {
    let lock = fs::read_to_string(root.join("Cargo.lock")).context("Cargo.lock cannot be read")?;
    let packages = NAMES.map(|name| {
        let versions: Vec<_> =
            in_lock(&lock).filter(|(package, _)| *package == name).map(|(_, version)| version).collect();
        Package { name, version: versions.join(", ") }
    });
    Ok(packages.into())
}

/// The names and versions in a lock file: cargo writes each on a line of its own, the name first.
fn in_lock(lock: &str) -> impl Iterator<Item = (&str, &str)> {
    lock.split("[[package]]").skip(1).filter_map(|package| Some((value(package, "name")?, value(package, "version")?)))
}

fn value<'a>(package: &'a str, key: &str) -> Option<&'a str> {
    let quoted = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))?;
    quoted.strip_prefix('"')?.strip_suffix('"')
}

const NAMES: [&str; 7] = ["mrtr-server", "rmcp", "neva", "axum", "hyper", "tokio", "reqwest"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_file_names_its_packages() {
        let lock = "version = 4\n\n[[package]]\nname = \"axum\"\nversion = \"0.8.9\"\ndependencies = [\n \"axum-core\",\n]\n\n\
                    [[package]]\nname = \"axum-core\"\nversion = \"0.5.2\"\nsource = \"registry\"\n";
        assert_eq!(in_lock(lock).collect::<Vec<_>>(), [("axum", "0.8.9"), ("axum-core", "0.5.2")]);
    }

    #[test]
    fn every_package_that_is_named_is_locked() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for package in locked(&root).unwrap() {
            assert!(!package.version.is_empty(), "{} is not locked", package.name);
        }
    }
}
