//! Bounds the work that a schema can ask for by referring to itself: a chain of definitions that each refer twice to
//! the next doubles it at every link.

use std::collections::HashMap;

use serde_json::Value;

/// Refuses a schema whose references, written out, would be too large.
pub(super) fn bound(schema: &Value) -> Result<(), String> {
    let size = Expansion { root: schema, known: HashMap::new() }.size(schema);
    if size > LARGEST { Err("its references expand to more than the limit".to_owned()) } else { Ok(()) }
}

struct Expansion<'a> {
    root: &'a Value,
    /// The sizes of references. One that is being followed counts as one: the validator does not follow it twice in one
    /// place.
    known: HashMap<&'a str, u64>,
}

impl<'a> Expansion<'a> {
    fn size(&mut self, value: &'a Value) -> u64 {
        match value {
            Value::Object(members) => {
                let inner = members.iter().fold(1_u64, |size, (key, value)| {
                    let more = match (key.as_str(), value) {
                        ("$ref" | "$dynamicRef", Value::String(reference)) => self.referred(reference),
                        ("$defs" | "definitions", _) => 0,
                        _ => self.size(value),
                    };
                    size.saturating_add(more)
                });
                inner.min(LARGEST + 1)
            }
            Value::Array(elements) => elements.iter().fold(0_u64, |size, value| size.saturating_add(self.size(value))),
            _ => 0,
        }
    }

    fn referred(&mut self, reference: &'a str) -> u64 {
        if let Some(size) = self.known.get(reference) {
            return *size;
        }
        self.known.insert(reference, 1);
        let target = self.target(reference);
        let size = target.map_or(1, |target| self.size(target));
        self.known.insert(reference, size);
        size
    }

    fn target(&self, reference: &str) -> Option<&'a Value> {
        let fragment = reference.strip_prefix('#')?;
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.root.pointer(fragment);
        }
        anchored(self.root, fragment)
    }
}

/// The part of a schema that an anchor names.
fn anchored<'a>(schema: &'a Value, anchor: &str) -> Option<&'a Value> {
    match schema {
        Value::Object(members) => {
            let named = ["$anchor", "$dynamicAnchor"].iter().any(|key| members.get(*key).is_some_and(|a| a == anchor));
            if named { Some(schema) } else { members.values().find_map(|value| anchored(value, anchor)) }
        }
        Value::Array(elements) => elements.iter().find_map(|value| anchored(value, anchor)),
        _ => None,
    }
}

const LARGEST: u64 = 100_000;
