//! The changes that are made to an example, one at a time.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::place::Place;

/// One change at one place.
pub(crate) struct Mutation {
    /// The kind of change, as the rules call it.
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

#[derive(Default)]
pub(crate) struct Vocabulary {
    words: BTreeMap<String, BTreeSet<String>>,
    members: BTreeMap<String, BTreeSet<String>>,
}

impl Vocabulary {
    /// Adds the words, members and parts that a document's schemas name.
    pub(crate) fn learn(&mut self, document: &Value) {
        for (name, schema) in document["$defs"].as_object().into_iter().flatten() {
            self.learn_words(name, schema, document);
            self.learn_members(name, schema);
            self.learn_parts(schema, document);
        }
    }

    /// The constants that some type allows for a member of this name, or that are values of the type of this name.
    pub(crate) fn words(&self, name: &str) -> impl Iterator<Item = &String> {
        self.words.get(name).into_iter().flatten()
    }

    /// Returns the members of a type that some document names.
    pub(crate) fn members(&self, type_name: &str) -> impl Iterator<Item = &String> {
        self.members.get(type_name).into_iter().flatten()
    }

    fn learn_parts(&mut self, schema: &Value, document: &Value) {
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            self.learn_words(name, member, document);
        }
        match schema {
            Value::Object(parts) => parts.values().for_each(|part| self.learn_parts(part, document)),
            Value::Array(parts) => parts.iter().for_each(|part| self.learn_parts(part, document)),
            _ => {}
        }
    }

    fn learn_words(&mut self, name: &str, schema: &Value, document: &Value) {
        let mut words = BTreeSet::new();
        collect_words(schema, document, &mut BTreeSet::new(), &mut words);
        if !words.is_empty() {
            self.words.entry(name.to_owned()).or_default().extend(words);
        }
    }

    fn learn_members(&mut self, type_name: &str, schema: &Value) {
        let members = schema["properties"].as_object().into_iter().flat_map(Map::keys).cloned();
        self.members.entry(type_name.to_owned()).or_default().extend(members);
        for part in choices(schema) {
            self.learn_members(type_name, part);
        }
    }
}

/// The constants of a schema, of its choices, of its elements and of what it refers to.
fn collect_words(schema: &Value, document: &Value, seen: &mut BTreeSet<String>, words: &mut BTreeSet<String>) {
    let constants = schema["enum"].as_array().into_iter().flatten().chain(schema.get("const"));
    words.extend(constants.filter_map(Value::as_str).map(str::to_owned));
    for part in choices(schema).chain(schema.get("items")) {
        collect_words(part, document, seen, words);
    }
    if let Some(target) = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'))
        && seen.insert(target.to_owned())
        && let Some(schema) = document.pointer(target)
    {
        collect_words(schema, document, seen, words);
    }
}

fn choices(schema: &Value) -> impl Iterator<Item = &Value> {
    ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|keyword| schema[keyword].as_array()).flatten()
}
