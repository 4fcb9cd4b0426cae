//! The messages that a document has shown so far: requests that wait for responses, and inputs that were asked for.

use std::collections::BTreeMap;

use mrtr_schema::error::JsonPath;
use serde_json::Value;

use super::recognise::Part;

/// The side that sent a request. Each side counts its own ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// A request that stood in the document.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) side: Side,
    pub(crate) id: Value,
    pub(crate) method: String,
    /// True if the request asked to be run as a task.
    pub(crate) as_task: bool,
}

#[derive(Default)]
pub(crate) struct Conversation {
    /// The requests, oldest first, each with true if it was answered.
    requests: Vec<(Asked, bool)>,
}

impl Conversation {
    /// Adds a request. A document may hold several conversations, and each counts its ids anew.
    pub(crate) fn ask(&mut self, asked: Asked) {
        self.requests.retain(|(other, answered)| *answered || other.side != asked.side || other.id != asked.id);
        self.requests.push((asked, false));
    }

    /// Returns the request that a response of this id answers: one with that id that still waits, or else the last one.
    pub(crate) fn answer(&mut self, id: &Value) -> Option<Asked> {
        let waiting = self.requests.iter().rposition(|(asked, answered)| !answered && asked.id == *id);
        let (asked, answered) = match waiting {
            Some(index) => self.requests.get_mut(index)?,
            None => self.requests.last_mut()?,
        };
        *answered = true;
        Some(asked.clone())
    }

    /// The method that was last asked to run as a task.
    pub(crate) fn task_method(&self) -> Option<&str> {
        self.requests.iter().rev().find(|(asked, _)| asked.as_task).map(|(asked, _)| asked.method.as_str())
    }
}

/// The type of the answer under each key. An answer does not name its type: an application's answer may have any
/// members, and a misspelt one would pass for it.
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
