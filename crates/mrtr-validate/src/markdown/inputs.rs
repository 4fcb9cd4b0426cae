//! The inputs that a document has asked for so far, and so what their answers must be.

use std::collections::BTreeMap;

use mrtr_schema::error::JsonPath;
use serde_json::Value;

use super::recognise::Part;

/// Which type the answer under a key has. An answer does not say it itself: an application's may have any members,
/// and beside those a misspelt one looks right.
#[derive(Default)]
pub(crate) struct Inputs {
    answers: BTreeMap<String, &'static str>,
}

impl Inputs {
    /// Remembers what a map of requests asks for.
    pub(crate) fn ask(&mut self, requests: &Value) {
        for (key, request) in requests.as_object().into_iter().flatten() {
            let method = request["method"].as_str().unwrap_or_default();
            match ANSWERS.iter().find(|(known, _)| *known == method) {
                Some((_, answer)) => self.answers.insert(key.clone(), answer),
                None => self.answers.remove(key),
            };
        }
    }

    /// The answers in a map, at a pointer, to what was asked for.
    pub(crate) fn answers(&self, responses: &Value, pointer: &str) -> Vec<Part> {
        let responses = responses.as_object().into_iter().flatten();
        let known = responses.filter_map(|(key, value)| Some((key, value, *self.answers.get(key)?)));
        let part = |(key, value, type_name): (&String, &Value, _)| {
            let pointer = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
            Part { type_name, path: JsonPath::from_pointer(&pointer).to_string(), value: value.clone() }
        };
        known.map(part).collect()
    }
}

const ANSWERS: [(&str, &str); 3] = [
    ("elicitation/create", "ElicitResult"),
    ("sampling/createMessage", "CreateMessageResult"),
    ("roots/list", "ListRootsResult"),
];
