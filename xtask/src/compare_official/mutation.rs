//! The changes that are made to an example, one at a time.

use serde_json::{Map, Value, json};

use super::place::Place;
use super::vocabulary::Vocabulary;

/// One change at one place.
pub(crate) struct Mutation {
    /// What kind of change, as the rules call it.
    pub(crate) name: String,
    pub(crate) place: Place,
    change: Change,
}

enum Change {
    Remove,
    Replace(Value),
    Add(Value),
}

impl Mutation {
    /// The example with the change made.
    pub(crate) fn applied_to(&self, example: &Value) -> Value {
        let mut changed = example.clone();
        let pointer = self.place.pointer();
        let (parent, key) = self.place.parent();
        match &self.change {
            Change::Replace(value) => changed.pointer_mut(&pointer).into_iter().for_each(|old| old.clone_from(value)),
            Change::Remove => members(&mut changed, &parent).for_each(|members| drop(members.remove(&key))),
            Change::Add(value) => {
                members(&mut changed, &parent).for_each(|members| drop(members.insert(key.clone(), value.clone())));
            }
        }
        changed
    }
}

/// Every change that is tried on what stands at a place of an example.
pub(crate) fn mutations(example: &Value, place: &Place, vocabulary: &Vocabulary) -> Vec<Mutation> {
    let Some(value) = example.pointer(&place.pointer()) else { return Vec::new() };
    let mut replacements = other_types(value);
    match value {
        Value::String(text) => replacements.extend(other_texts(text, vocabulary.words(place.name()))),
        Value::Number(_) => replacements.extend(other_numbers()),
        Value::Bool(flag) => replacements.push(("flipped".to_owned(), json!(!flag))),
        Value::Array(elements) => replacements.extend(emptied(!elements.is_empty(), json!([]))),
        Value::Object(members) => replacements.extend(emptied(!members.is_empty(), json!({}))),
        Value::Null => {}
    }
    let replaced = replacements.into_iter().map(|(name, value)| mutation(&name, place.clone(), Change::Replace(value)));
    let removed = place.is_member().then(|| mutation("removed", place.clone(), Change::Remove));
    replaced.chain(removed).chain(additions(value, place, vocabulary)).collect()
}

fn other_types(value: &Value) -> Vec<(String, Value)> {
    let samples = [
        ("to null", Value::Null),
        ("to boolean", json!(true)),
        ("to number", json!(1)),
        ("to string", json!("changed")),
        ("to array", json!([])),
        ("to object", json!({})),
    ];
    let own_type = std::mem::discriminant(value);
    let others = samples.into_iter().filter(|(_, sample)| std::mem::discriminant(sample) != own_type);
    others.map(|(name, sample)| (name.to_owned(), sample)).collect()
}

/// A text that means nothing, none at all, and every word that a member of this name may be somewhere.
fn other_texts<'a>(text: &str, words: impl Iterator<Item = &'a String>) -> Vec<(String, Value)> {
    let mut texts = vec![("other text".to_owned(), json!("changed")), ("emptied".to_owned(), json!(""))];
    texts.extend(words.filter(|word| *word != text).map(|word| (format!("to {word:?}"), json!(word))));
    texts
}

fn other_numbers() -> [(String, Value); 3] {
    [("negative", json!(-1)), ("fraction", json!(0.5)), ("huge", json!(1e20))].map(|(name, n)| (name.to_owned(), n))
}

fn emptied(is_filled: bool, empty: Value) -> Option<(String, Value)> {
    is_filled.then(|| ("emptied".to_owned(), empty))
}

/// A member that no schema names; and each that some schema names, as null, which is hardly ever right: a schema that
/// accepts it does not know the member.
fn additions(value: &Value, place: &Place, vocabulary: &Vocabulary) -> Vec<Mutation> {
    let Value::Object(present) = value else { return Vec::new() };
    let known = place.types_here().flat_map(|type_name| vocabulary.members(type_name));
    let absent = known.filter(|name| !present.contains_key(*name));
    let named = absent.map(|name| mutation("added as null", place.member(name), Change::Add(Value::Null)));
    let unnamed = mutation("added", place.any_member("memberOfNoType"), Change::Add(json!("added")));
    named.chain([unnamed]).collect()
}

fn mutation(name: &str, place: Place, change: Change) -> Mutation {
    Mutation { name: name.to_owned(), place, change }
}

fn members<'a>(example: &'a mut Value, pointer: &str) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    example.pointer_mut(pointer).and_then(Value::as_object_mut).into_iter()
}
