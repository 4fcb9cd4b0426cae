//! `cargo xtask public-api`: where `serde_json::Value` stands in public signatures, and why.
//!
//! Our types keep JSON as its sender wrote it; a `Value` loses numbers and costs time. Each place that has one all the
//! same is listed in `xtask/public-api.json` with its reason.

mod signatures;

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};

use crate::workspace::{print, published_crates, root};
use crate::{Outcome, source};

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
        for file in source::read_folder(&folder.join("src"))? {
            let found = signatures::with_value(&file.syntax);
            items.extend(found.into_iter().map(|item| format!("{}::{item}", name.replace('-', "_"))));
        }
    }
    items.sort();
    items.dedup();
    Ok(items)
}
