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

    /// The verdict on an example as it is; and, if the two agree on that, on everything that can be changed about it.
    pub(crate) fn judge(&self, type_name: &str, example: &Value) -> Vec<Option<Difference>> {
        let places = place::places(&self.ours, &self.pair, type_name, example);
        if let Some(stricter) = self.pair.stricter(type_name, example) {
            return vec![self.locate_whole(&places, example, stricter)];
        }
        let mutations = places.iter().flat_map(|place| mutation::mutations(example, place, &self.vocabulary));
        let verdicts = mutations.map(|mutation| {
            let variant = mutation.applied_to(example);
            let stricter = self.pair.stricter(type_name, &variant)?;
            self.locate(&mutation.place, &mutation.name, &variant, stricter)
        });
        std::iter::once(None).chain(verdicts).collect()
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

    /// The same for an example that nobody changed: the deepest part that one of the two refuses.
    fn locate_whole(&self, places: &[Place], example: &Value, stricter: Stricter) -> Option<Difference> {
        let parts = places.iter().filter_map(|place| {
            let found = self.locate(place, "as it is", example, stricter)?;
            place.types_here().any(|type_name| type_name == found.type_name).then_some((place.depth(), found))
        });
        parts.max_by_key(|(depth, _)| *depth).map(|(_, found)| found)
    }
}
