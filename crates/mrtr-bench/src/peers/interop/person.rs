//! The person in front of every client: answers by the names of fields, and remembers what it was asked.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};

use super::scenario::Scenario;

pub(super) struct Person {
    scenario: Scenario,
    asked: Mutex<Vec<String>>,
}

/// What a person does with a form.
pub(super) enum Answer {
    Accept(Map<String, Value>),
    Decline,
    Cancel,
}

/// What the model behind a person says, whatever it is asked.
pub(super) const COMPLETION: &str = "Paris";
pub(super) const MODEL: &str = "test";
/// The one directory that a person works in.
pub(super) const ROOT: &str = "file:///project";

impl Person {
    pub(super) fn new(scenario: Scenario) -> Self {
        Self { scenario, asked: Mutex::default() }
    }

    pub(super) fn fill<'a>(&self, message: &str, fields: impl Iterator<Item = &'a String>) -> Answer {
        self.remember(format!("form: {message}"));
        match self.scenario {
            Scenario::Decline => Answer::Decline,
            Scenario::Cancel => Answer::Cancel,
            _ => Answer::Accept(fields.map(|field| (field.clone(), self.value_of(field))).collect()),
        }
    }

    /// Agrees to go there, and goes nowhere.
    pub(super) fn visit(&self, url: &str) {
        self.remember(format!("url: {url}"));
    }

    pub(super) fn prompt_model(&self, text: &str) {
        self.remember(format!("sampling: {text}"));
    }

    pub(super) fn show_roots(&self) {
        self.remember("roots".to_owned());
    }

    /// In the order in which it was asked.
    pub(super) fn asked(&self) -> Vec<String> {
        self.memory().clone()
    }

    fn value_of(&self, field: &str) -> Value {
        match field {
            "name" if self.scenario == Scenario::Mixed => json!("octocat"),
            "name" => json!("Ada"),
            "resolution" => json!("Duplicate"),
            "duplicateOfId" => json!(4301),
            "language" => json!("Rust"),
            "notebook" => json!("blue"),
            "text" => json!("hi"),
            _ => Value::Null,
        }
    }

    fn remember(&self, question: String) {
        self.memory().push(question);
    }

    fn memory(&self) -> MutexGuard<'_, Vec<String>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
