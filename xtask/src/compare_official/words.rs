//! The words that a schema knows: what a member of some name may be set to.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// For each member's name, and each type's, every constant that some document allows there.
#[derive(Default)]
pub(crate) struct Words(BTreeMap<String, BTreeSet<String>>);

impl Words {
    /// Adds what a document knows.
    pub(crate) fn learn(&mut self, document: &Value) {
        for (name, schema) in document["$defs"].as_object().into_iter().flatten() {
            self.learn_member(name, schema, document);
            self.learn_members(schema, document);
        }
    }

    pub(crate) fn of(&self, name: &str) -> impl Iterator<Item = &String> {
        self.0.get(name).into_iter().flatten()
    }

    fn learn_members(&mut self, schema: &Value, document: &Value) {
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            self.learn_member(name, member, document);
        }
        match schema {
            Value::Object(members) => members.values().for_each(|part| self.learn_members(part, document)),
            Value::Array(elements) => elements.iter().for_each(|part| self.learn_members(part, document)),
            _ => {}
        }
    }

    fn learn_member(&mut self, name: &str, schema: &Value, document: &Value) {
        let mut words = BTreeSet::new();
        collect(schema, document, &mut BTreeSet::new(), &mut words);
        if !words.is_empty() {
            self.0.entry(name.to_owned()).or_default().extend(words);
        }
    }
}

/// The constants of a schema, of its choices, of its elements and of what it refers to.
fn collect(schema: &Value, document: &Value, seen: &mut BTreeSet<String>, words: &mut BTreeSet<String>) {
    let constants = schema["enum"].as_array().into_iter().flatten().chain(schema.get("const"));
    words.extend(constants.filter_map(Value::as_str).map(str::to_owned));
    let choices = ["anyOf", "oneOf", "allOf"].iter().filter_map(|keyword| schema[keyword].as_array()).flatten();
    for part in choices.chain(schema.get("items")) {
        collect(part, document, seen, words);
    }
    if let Some(target) = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'))
        && seen.insert(target.to_owned())
        && let Some(schema) = document.pointer(target)
    {
        collect(schema, document, seen, words);
    }
}
