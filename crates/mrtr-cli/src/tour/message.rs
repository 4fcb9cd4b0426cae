//! A message that was seen on the wire, and what it says in short.

use std::fmt::Write as _;

use mrtr::schema::Printable;
use serde::Serialize;
use serde_json::{Map, Value};

/// A message, and what a reader wants to know of it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Message {
    /// Its method, or what kind of result it is.
    pub(crate) says: String,
    /// What it asks, answers or tells, a line each.
    pub(crate) details: Vec<String>,
    /// What the state in it weighs.
    pub(crate) state_bytes: Option<usize>,
    /// What all of it weighs.
    pub(crate) bytes: usize,
    /// The message itself.
    #[serde(rename = "message")]
    pub(crate) json: Value,
}

impl Message {
    /// Reads a message. What is no JSON is shown as the text that it is.
    pub(crate) fn of(text: &str) -> Self {
        let message = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
        let (says, details) = match (message.get("method"), message.get("result"), message.get("error")) {
            (Some(method), ..) => request(shown(method), &message["params"]),
            (_, Some(result), _) => response(result),
            (_, _, Some(error)) => (format!("error {}", error["code"]), vec![shown(&error["message"])]),
            _ => (shown(&message), Vec::new()),
        };
        let part = if message.get("method").is_some() { &message["params"] } else { &message["result"] };
        let state_bytes = part["requestState"].as_str().map(str::len);
        Self { says, details, state_bytes, bytes: text.len(), json: message }
    }

    /// The keys of what is asked.
    pub(crate) fn asks(&self) -> Vec<&str> {
        keys(&self.json["result"]["inputRequests"])
    }

    /// The keys of what is answered.
    pub(crate) fn answers(&self) -> Vec<&str> {
        keys(&self.json["params"]["inputResponses"])
    }
}

fn keys(map: &Value) -> Vec<&str> {
    map.as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect()
}

fn request(method: String, params: &Value) -> (String, Vec<String>) {
    let mut says = method;
    if says == "elicitation/create" {
        return (says, vec![format!("? {}", shown(&params["message"]))]);
    }
    for member in ["name", "protocolVersion"] {
        if let Some(value) = params.get(member) {
            let _ = write!(says, " {}", shown(value));
        }
    }
    // A retry says again what it is a retry of; that was seen before.
    let is_retry = params.get("requestState").or(params.get("inputResponses")).is_some();
    if !is_retry && let Some(arguments) = params["arguments"].as_object() {
        says += &members(arguments);
    }
    let answers = params["inputResponses"].as_object().into_iter().flatten();
    (says, answers.map(|(key, answer)| format!("= {}:{}", line(key), short_answer(answer))).collect())
}

fn response(result: &Value) -> (String, Vec<String>) {
    let mut details: Vec<_> = result["inputRequests"].as_object().into_iter().flatten().map(question).collect();
    let says = if let Some(status) = result.get("status") {
        format!("task {}", shown(status))
    } else if let Some(kind) = result.get("resultType") {
        let asks_nothing = kind == "input_required" && details.is_empty();
        shown(kind) + if asks_nothing { ", nothing asked" } else { "" }
    } else if result.get("action").is_some() {
        return ("result".to_owned(), vec![format!("={}", short_answer(result))]);
    } else if let Some(version) = result.get("protocolVersion") {
        format!("result {}", shown(version))
    } else {
        "result".to_owned()
    };
    // A task that is over has its result inside.
    let whole = result.get("result").unwrap_or(result);
    let blocks = whole["content"].as_array().into_iter().flatten();
    details.extend(blocks.filter_map(|block| block["text"].as_str()).map(line));
    (says, details)
}

fn question((key, question): (&String, &Value)) -> String {
    let (key, params) = (line(key), &question["params"]);
    match question["method"].as_str() {
        Some("elicitation/create") => format!("? {key}: {}", shown(&params["message"])),
        Some("sampling/createMessage") => {
            format!("? {key}, of a model: {}", shown(&params["messages"][0]["content"]["text"]))
        }
        _ => format!("? {key}: {}", shown(&question["method"])),
    }
}

/// What was answered, behind a space.
fn short_answer(answer: &Value) -> String {
    if let Some(roots) = answer["roots"].as_array() {
        return roots.iter().fold(String::new(), |all, root| all + " " + &shown(&root["uri"]));
    }
    match (&answer["content"], &answer["action"]) {
        (Value::Object(block), Value::Null) => format!(" {}", shown(&block["text"])),
        (Value::Object(content), _) => members(content),
        (_, action) => format!(" {}", shown(action)),
    }
}

/// Members as one would type them, each behind a space.
fn members(members: &Map<String, Value>) -> String {
    members.iter().fold(String::new(), |all, (name, value)| all + " " + &line(&format!("{name}={value}")))
}

/// A text without its quotes, and any other value as JSON.
fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| line(&value.to_string()), line)
}

fn line(text: &str) -> String {
    Printable::line(text).to_string()
}
