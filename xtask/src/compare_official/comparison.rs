//! Judges an example and its variants by our schema and by an official one.

use anyhow::Result;
use mrtr_schema::json_schema;
use serde_json::Value;

use super::difference::Difference;
use super::mutation;
use super::pair::{Pair, Stricter};
use super::place::{self, Place};
use super::source::Source;
use super::vocabulary::Vocabulary;

pub(crate) struct Comparison<'a> {
    source: &'a Source,
    ours: Value,
    pair: Pair,
    vocabulary: Vocabulary,
}

impl<'a> Comparison<'a> {
    /// What we send, against what the official document describes.
    pub(crate) fn new(source: &'a Source) -> Result<Self> {
        let ours = json_schema::document(source.revision.strict());
        let pair = Pair::new(&ours, &source.document)?;
        let mut vocabulary = Vocabulary::default();
        vocabulary.learn(&ours);
        vocabulary.learn(&source.document);
        Ok(Self { source, ours, pair, vocabulary })
    }

    /// Whether a type is to be compared here, and both define it.
    pub(crate) fn covers(&self, type_name: &str) -> bool {
        self.source.types.contains(type_name) && self.pair.defines(type_name)
    }

    /// The types to compare for which there is nothing to judge.
    pub(crate) fn types_without_example(&self) -> Vec<String> {
        let is_shown = |name: &str| self.source.examples.iter().any(|example| example.type_name == name);
        self.source.types.iter().filter(|name| self.covers(name) && !is_shown(name)).cloned().collect()
    }

    /// The verdicts on an example and on everything that can be changed about it.
    pub(crate) fn judge(&self, type_name: &str, example: &Value) -> Vec<Option<Difference>> {
        let mut verdicts = self.judge_as_each_type(type_name, example);
        // Where the two disagree from the start, they would only do so again.
        if self.pair.stricter(type_name, example).is_none() {
            verdicts.extend(self.judge_variants(type_name, example));
        }
        verdicts
    }

    /// As what it is, and as each other type: what one side alone mistakes for another is a difference too.
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

    /// Where the rule lives that differs on an example as it is: in the deepest part on which the two disagree.
    fn locate_whole(&self, type_name: &str, kind: &str, example: &Value, stricter: Stricter) -> Option<Difference> {
        let places = place::places(&self.ours, &self.pair, type_name, example);
        let parts = places.iter().filter_map(|place| {
            let found = self.locate(place, kind, example, stricter)?;
            place.types_here().any(|here| here == found.type_name).then_some((place.depth(), found))
        });
        parts.max_by_key(|(depth, _)| *depth).map(|(_, found)| found)
    }
}
