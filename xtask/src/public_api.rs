//! `cargo xtask public-api`: where `serde_json::Value` stands in public signatures, and why.
//!
//! Our types keep JSON as its sender wrote it; a `Value` loses numbers and costs time. Each place that has one all the
//! same is listed in `xtask/public-api.json` with its reason.

mod signatures;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::Outcome;
use crate::workspace::{print, published_crates, root};

pub(crate) fn run() -> Result<Outcome> {
    let path = root().join("xtask/public-api.json");
    let text = fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    let mut allowed: BTreeMap<String, String> = serde_json::from_str(&text).context("the allow-list is not JSON")?;

    let mut outcome = Outcome::Passed;
    for item in items_with_value()? {
        let reason = allowed.remove(&item);
        if reason.is_none() {
            outcome = Outcome::Failed;
        }
        print(&format!("{item}: {}", reason.as_deref().unwrap_or("not in the allow-list")))?;
    }
    for item in allowed.keys() {
        outcome = Outcome::Failed;
        print(&format!("{item}: in the allow-list, and nowhere else"))?;
    }
    Ok(outcome)
}

fn items_with_value() -> Result<Vec<String>> {
    let mut items = Vec::new();
    for (name, folder) in published_crates()? {
        for file in rust_files(&folder.join("src"))? {
            let source = fs::read_to_string(&file)?;
            let parsed = syn::parse_file(&source).with_context(|| format!("{} is not Rust", file.display()))?;
            let found = signatures::with_value(&parsed);
            items.extend(found.into_iter().map(|item| format!("{}::{item}", name.replace('-', "_"))));
        }
    }
    items.sort();
    items.dedup();
    Ok(items)
}

fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}
