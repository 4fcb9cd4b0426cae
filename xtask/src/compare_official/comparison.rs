//! Judges an example and its variants by our schema and by an official one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use jsonschema::ValidatorMap;
use mrtr_schema::{Revision, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::mutation::Vocabulary;
use super::place::Place;
use super::{Source, mutation, place};

pub(crate) struct Comparison<'a> {
    source: &'a Source,
    ours: Value,
    pair: Pair,
    vocabulary: Vocabulary,
}

impl<'a> Comparison<'a> {
    /// Compares what we send with what the official document describes.
    pub(crate) fn new(source: &'a Source) -> Result<Self> {
        let ours = json_schema::document(source.revision.strict());
        let pair = Pair::new(&ours, &source.document)?;
        let mut vocabulary = Vocabulary::default();
        vocabulary.learn(&ours);
        vocabulary.learn(&source.document);
        Ok(Self { source, ours, pair, vocabulary })
    }

    /// Returns true if a type is to be compared here, and both define it.
    pub(crate) fn covers(&self, type_name: &str) -> bool {
        self.source.types.contains(type_name) && self.pair.defines(type_name)
    }

    /// The types to compare for which there is nothing to judge.
    pub(crate) fn types_without_example(&self) -> Vec<String> {
        let is_shown = |name: &str| self.source.examples.iter().any(|example| example.type_name == name);
        self.source.types.iter().filter(|name| self.covers(name) && !is_shown(name)).cloned().collect()
    }

    /// Judges an example, and each variant of it with one thing changed, and returns the verdicts.
    pub(crate) fn judge(&self, type_name: &str, example: &Value) -> Vec<Option<Difference>> {
        let mut verdicts = self.judge_as_each_type(type_name, example);
        // If the two disagree about the unchanged example, they would disagree about each variant too.
        if self.pair.stricter(type_name, example).is_none() {
            verdicts.extend(self.judge_variants(type_name, example));
        }
        verdicts
    }

    /// Judges an example as what it is, and as each other type: if one side alone mistakes it for another, that is a
    /// difference too.
    fn judge_as_each_type(&self, type_name: &str, example: &Value) -> Vec<Option<Difference>> {
        let types = self.source.types.iter().filter(|each| self.covers(each));
        let verdicts = types.map(|each| {
            let stricter = self.pair.stricter(each, example)?;
            self.locate_whole(each, &format!("example of {type_name}"), example, stricter)
        });
        verdicts.collect()
    }

    fn judge_variants(&self, type_name: &str, example: &Value) -> Vec<Option<Difference>> {
        let places = place::places(&self.ours, &self.pair, type_name, example);
        let mutations = places.iter().flat_map(|place| mutation::mutations(example, place, &self.vocabulary));
        let verdicts = mutations.map(|mutation| {
            let variant = mutation.applied_to(example);
            let stricter = self.pair.stricter(type_name, &variant)?;
            self.locate(&mutation.place, &mutation.name, &variant, stricter)
        });
        verdicts.collect()
    }

    /// The rule that differs lives in the innermost type on which the two disagree in the same way.
    fn locate(&self, place: &Place, mutation: &str, variant: &Value, stricter: Stricter) -> Option<Difference> {
        let disagrees = |type_name: &str, pointer: &str| {
            variant.pointer(pointer).and_then(|part| self.pair.stricter(type_name, part)) == Some(stricter)
        };
        let owner = place.owners().find(|owner| disagrees(&owner.type_name, &place.pointer_of(owner)))?;
        Some(Difference {
            revision: self.source.revision,
            type_name: owner.type_name.clone(),
            path: place.path_in(owner),
            mutation: mutation.to_owned(),
            stricter,
        })
    }

    /// Finds the rule that differs on an example as it is: in the deepest part on which the two disagree.
    fn locate_whole(&self, type_name: &str, kind: &str, example: &Value, stricter: Stricter) -> Option<Difference> {
        let places = place::places(&self.ours, &self.pair, type_name, example);
        let parts = places.iter().filter_map(|place| {
            let found = self.locate(place, kind, example, stricter)?;
            place.types_here().any(|here| here == found.type_name).then_some((place.depth(), found))
        });
        parts.max_by_key(|(depth, _)| *depth).map(|(_, found)| found)
    }
}

/// The validators of every definition, and of every part of one, of both documents.
pub(crate) struct Pair {
    ours: ValidatorMap,
    official: ValidatorMap,
}

/// The side that refuses what the other accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Stricter {
    Ours,
    Official,
}

impl Pair {
    pub(crate) fn new(ours: &Value, official: &Value) -> Result<Self> {
        Ok(Self {
            ours: compile(ours).context("our schema")?,
            official: compile(official).context("the official schema")?,
        })
    }

    /// Returns true if both documents define a type.
    pub(crate) fn defines(&self, type_name: &str) -> bool {
        let pointer = definition(type_name);
        self.ours.contains_key(&pointer) && self.official.contains_key(&pointer)
    }

    /// The side that alone refuses an instance; `None` where both say the same, or one does not define the type.
    pub(crate) fn stricter(&self, type_name: &str, instance: &Value) -> Option<Stricter> {
        let pointer = definition(type_name);
        let ours = self.ours.get(&pointer)?.is_valid(instance);
        let official = self.official.get(&pointer)?.is_valid(instance);
        match (ours, official) {
            (false, true) => Some(Stricter::Ours),
            (true, false) => Some(Stricter::Official),
            _ => None,
        }
    }

    /// Returns true if a part of our document accepts an instance.
    pub(crate) fn ours_accepts(&self, part: &str, instance: &Value) -> bool {
        self.ours.get(&format!("#{part}")).is_some_and(|validator| validator.is_valid(instance))
    }
}

/// Formats are annotations, as 2020-12 has them by default.
fn compile(document: &Value) -> Result<ValidatorMap> {
    let options = jsonschema::draft202012::options().should_validate_formats(false).offline();
    options.build_map(document).map_err(|error| anyhow::anyhow!("{error}"))
}

fn definition(type_name: &str) -> String {
    format!("#/$defs/{type_name}")
}

/// One member of one type, changed in one way, on which the verdicts differ.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Difference {
    #[serde(serialize_with = "mrtr_validate::as_text")]
    pub(crate) revision: Revision,
    /// The innermost type on which the two disagree.
    #[serde(rename = "type")]
    pub(crate) type_name: String,
    /// The place of the change, as seen from that type.
    pub(crate) path: String,
    pub(crate) mutation: String,
    pub(crate) stricter: Stricter,
}

/// The number of times that a difference was met, and the first place.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Occurrences {
    pub(crate) variants: usize,
    pub(crate) first: PathBuf,
}

/// The numbers of what was judged, and what was found.
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
