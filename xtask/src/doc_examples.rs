//! `cargo xtask doc-examples`: public items whose page shows no example that runs.

pub(crate) mod exports;

use anyhow::Result;

use crate::Outcome;
use crate::workspace::{print, published_crates};

/// The crates in which every public item must have an example.
const COMPLETE: [&str; 12] = [
    "mrtr",
    "mrtr-client",
    "mrtr-flow",
    "mrtr-http",
    "mrtr-postgres",
    "mrtr-rmcp",
    "mrtr-schema",
    "mrtr-server",
    "mrtr-sqlite",
    "mrtr-state",
    "mrtr-stdio",
    "mrtr-tasks",
];

pub(crate) fn run() -> Result<Outcome> {
    let mut outcome = Outcome::Passed;
    for (name, folder) in published_crates()? {
        let items = exports::of_crate(&name.replace('-', "_"), &folder)?;
        let missing: Vec<_> = items.iter().filter(|item| !item.has_example).collect();
        for item in &missing {
            print(&format!("{}: no example", item.path))?;
        }
        print(&format!("{name}: {} of {} public items have an example", items.len() - missing.len(), items.len()))?;
        if !missing.is_empty() && COMPLETE.contains(&name.as_str()) {
            outcome = Outcome::Failed;
        }
    }
    Ok(outcome)
}
