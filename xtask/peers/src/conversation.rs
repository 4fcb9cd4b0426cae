//! The person in front of every client: answers by the names of fields, and remembers the questions.

use std::sync::{Mutex, MutexGuard, PoisonError};

use clap::ValueEnum;
use serde::Serialize;
use serde_json::{Map, Value, json};

pub(crate) struct Person {
    scenario: Scenario,
    asked: Mutex<Vec<String>>,
}

/// A person's answer to a form.
pub(crate) enum Answer {
    Accept(Map<String, Value>),
    Decline,
    Cancel,
}

/// The reply of the model behind a person, whatever it is asked.
pub(crate) const COMPLETION: &str = "Paris";
pub(crate) const MODEL: &str = "test";
/// The one directory that a person works in.
pub(crate) const ROOT: &str = "file:///project";

impl Person {
    pub(crate) fn new(scenario: Scenario) -> Self {
        Self { scenario, asked: Mutex::default() }
    }

    pub(crate) fn fill<'a>(&self, message: &str, fields: impl Iterator<Item = &'a String>) -> Answer {
        self.remember(format!("form: {message}"));
        match self.scenario {
            Scenario::Decline => Answer::Decline,
            Scenario::Cancel => Answer::Cancel,
            _ => Answer::Accept(fields.map(|field| (field.clone(), self.value_of(field))).collect()),
        }
    }

    /// Agrees to visit the page, and goes nowhere.
    pub(crate) fn visit(&self, url: &str) {
        self.remember(format!("url: {url}"));
    }

    pub(crate) fn prompt_model(&self, text: &str) {
        self.remember(format!("sampling: {text}"));
    }

    pub(crate) fn show_roots(&self) {
        self.remember("roots".to_owned());
    }

    /// The questions, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
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

#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Outcome {
    Ended(Ended),
    /// The SDK has no way to do it; the reason says why.
    Unsupported {
        unsupported: &'static str,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Ended {
    /// The version that was negotiated, if the SDK tells.
    pub(crate) version: Option<String>,
    pub(crate) asked: Vec<String>,
    #[serde(flatten)]
    pub(crate) reply: Reply,
}

/// The last reply of a conversation.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reply {
    text: Option<String>,
    is_error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<i32>,
    /// True if it was reached through a task, where one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<bool>,
}

impl Reply {
    pub(crate) fn result(text: Option<String>, is_error: bool) -> Self {
        Self { text, is_error, error: None, task: None }
    }

    pub(crate) fn error(code: i32, message: String) -> Self {
        Self { text: Some(message), is_error: true, error: Some(code), task: None }
    }

    pub(crate) fn through_task(self, task: bool) -> Self {
        Self { task: Some(task), ..self }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
    OneRound,
    ThreeRounds,
    Mixed,
    Decline,
    Cancel,
    Prompt,
    Resource,
    StateOnly,
    Url,
    Header,
    Task,
}

/// The first request of a conversation, which the client then carries to its end.
pub(crate) enum Request {
    Tool { name: &'static str, arguments: Map<String, Value> },
    Prompt(&'static str),
    Resource(&'static str),
}

impl Scenario {
    pub(crate) fn request(self) -> Request {
        match self {
            Self::OneRound | Self::Decline | Self::Cancel => tool("greet", json!({})),
            Self::ThreeRounds => tool("update_work_item", json!({ "workItemId": 4522, "fields": {} })),
            Self::Mixed => tool("mixed", json!({})),
            Self::Prompt => Request::Prompt("review"),
            Self::Resource => Request::Resource("notes://secret"),
            Self::StateOnly => tool("shed", json!({})),
            Self::Url => tool("connect", json!({})),
            Self::Header => tool("deploy", json!({ "region": "us-west1" })),
            Self::Task => tool("echo_task", json!({})),
        }
    }
}

fn tool(name: &'static str, arguments: Value) -> Request {
    let Value::Object(arguments) = arguments else { unreachable!("arguments are an object") };
    Request::Tool { name, arguments }
}

pub(crate) const WHO: &str = "Who are you?";
pub(crate) const LOGIN: &str = "Please provide your GitHub username";
pub(crate) const CAPITAL: &str = "What is the capital of France?";
pub(crate) const CAPITAL_TOKENS: u16 = 100;
pub(crate) const LANGUAGE: &str = "Which language?";
pub(crate) const NOTEBOOK: &str = "Which notebook?";
pub(crate) const CONNECT: &str = "Connect your account";
/// No client fetches it.
pub(crate) const CONNECT_URL: &str = "http://127.0.0.1:9/connect";
pub(crate) const ECHO: &str = "What shall I echo?";
