//! The names and words that the schemas know: which members a type has, and what a member may be set to.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

#[derive(Default)]
pub(crate) struct Vocabulary {
    words: BTreeMap<String, BTreeSet<String>>,
    members: BTreeMap<String, BTreeSet<String>>,
}

impl Vocabulary {
    /// Adds what a document knows.
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

    /// The members that some document names in a type.
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
