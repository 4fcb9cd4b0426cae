//! Finds where the two schemas judge differently.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use mrtr_schema::{Revision, json_schema};
use serde::Serialize;
use serde_json::Value;

use super::mutation::{self, Mutation};
use super::pair::{Pair, Stricter};
use super::place::{self, Place};
use super::source::Source;
use super::words::Words;
use crate::validate_examples::folder::Example;

/// What is alike in variants of many examples: one member of one type, changed in one way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Difference {
    #[serde(serialize_with = "crate::validate_examples::as_text")]
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

/// What was judged, and what was found.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) examples: usize,
    pub(crate) variants: usize,
    pub(crate) differences: BTreeMap<Difference, Occurrences>,
}

impl Tally {
    /// Compares one official document with ours.
    pub(crate) fn compare(&mut self, source: &Source) -> Result<()> {
        let ours = json_schema::document(source.revision.strict());
        let pair = Pair::new(&ours, &source.document)?;
        let mut words = Words::default();
        words.learn(&ours);
        words.learn(&source.document);
        let comparison = Comparison { revision: source.revision, ours: &ours, pair: &pair, words: &words };
        let comparable =
            |example: &&Example| source.types.contains(&example.type_name) && pair.defines(&example.type_name);
        for example in source.examples.iter().filter(comparable) {
            let tree = serde_json::from_str(&example.text)
                .with_context(|| format!("{} is not JSON", example.path.display()))?;
            self.examples += 1;
            self.judge(&comparison, example, &tree);
        }
        Ok(())
    }

    /// An example as it is; and, if both accept that, everything that can be changed about it.
    fn judge(&mut self, comparison: &Comparison<'_>, example: &Example, tree: &Value) {
        let places = place::places(comparison.ours, comparison.pair, &example.type_name, tree);
        self.variants += 1;
        if let Some(stricter) = comparison.pair.stricter(&example.type_name, tree) {
            let whole = places.iter().rev().find_map(|place| comparison.locate(place, "as it is", tree, stricter));
            self.record(whole, example);
            return;
        }
        for place in &places {
            let pointer = place.pointer();
            let value = tree.pointer(&pointer).unwrap_or(&Value::Null);
            for mutation in mutation::mutations(value, place, comparison.words) {
                self.variants += 1;
                self.record(comparison.difference(&example.type_name, tree, place, &mutation), example);
            }
        }
    }

    fn record(&mut self, difference: Option<Difference>, example: &Example) {
        if let Some(difference) = difference {
            let first = || Occurrences { variants: 0, first: example.path.clone() };
            self.differences.entry(difference).or_insert_with(first).variants += 1;
        }
    }
}

struct Comparison<'a> {
    revision: Revision,
    ours: &'a Value,
    pair: &'a Pair,
    words: &'a Words,
}

impl Comparison<'_> {
    fn difference(&self, type_name: &str, tree: &Value, place: &Place, mutation: &Mutation) -> Option<Difference> {
        let variant = mutation.applied_to(tree, &place.pointer());
        let stricter = self.pair.stricter(type_name, &variant)?;
        self.locate(place, &mutation.name, &variant, stricter)
    }

    /// The rule that differs lives in the innermost type on which the two disagree in the same way.
    fn locate(&self, place: &Place, mutation: &str, variant: &Value, stricter: Stricter) -> Option<Difference> {
        let disagrees = |type_name: &str, pointer: &str| {
            variant.pointer(pointer).and_then(|part| self.pair.stricter(type_name, part)) == Some(stricter)
        };
        let owner = place.owners().find(|owner| disagrees(&owner.type_name, &place.pointer_of(owner)))?;
        Some(Difference {
            revision: self.revision,
            type_name: owner.type_name.clone(),
            path: place.path_in(owner),
            mutation: mutation.to_owned(),
            stricter,
        })
    }
}
