//! What was found: differences, each counted once however many variants show it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use mrtr_schema::Revision;
use serde::Serialize;

use super::comparison::Comparison;
use super::pair::Stricter;
use super::source::Source;

/// One member of one type, changed in one way, on which the verdicts differ.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Difference {
    #[serde(serialize_with = "mrtr_validate::as_text")]
    pub(crate) revision: Revision,
    /// The innermost type on which the two disagree.
    #[serde(rename = "type")]
    pub(crate) type_name: String,
    /// What was changed, as seen from that type.
    pub(crate) path: String,
    pub(crate) mutation: String,
    pub(crate) stricter: Stricter,
}

/// How often a difference was met, and where first.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Occurrences {
    pub(crate) variants: usize,
    pub(crate) first: PathBuf,
}

/// How much was judged, and what was found.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) examples: usize,
    pub(crate) variants: usize,
    /// Types that both sides define and of which neither has an example, by the folder of the official document.
    pub(crate) without_example: BTreeMap<String, Vec<String>>,
    pub(crate) differences: BTreeMap<Difference, Occurrences>,
}

impl Tally {
    /// Compares one official document with ours.
    pub(crate) fn compare(&mut self, source: &Source) -> Result<()> {
        let comparison = Comparison::new(source)?;
        self.without_example.insert(source.name.clone(), comparison.types_without_example());
        for example in source.examples.iter().filter(|example| comparison.covers(&example.type_name)) {
            let tree = serde_json::from_str(&example.text)
                .with_context(|| format!("{} is not JSON", example.path.display()))?;
            self.examples += 1;
            for verdict in comparison.judge(&example.type_name, &tree) {
                self.variants += 1;
                if let Some(difference) = verdict {
                    let first = || Occurrences { variants: 0, first: example.path.clone() };
                    self.differences.entry(difference).or_insert_with(first).variants += 1;
                }
            }
        }
        Ok(())
    }
}
