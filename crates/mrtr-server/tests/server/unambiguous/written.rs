//! JSON in which one object means two things, or none.

use serde_json::Value;

/// A member of an object within a message.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// Keys and indices that lead to the object.
    pub(super) path: Vec<String>,
    /// A member of it.
    key: String,
}

/// A fault in an object.
#[derive(Debug, Clone)]
pub(super) enum Fault {
    /// A key stands twice, the second time with this value.
    Twice(Value),
    /// A key stands twice, the second time in escapes.
    TwiceInEscapes(Value),
    /// A key is half a surrogate pair.
    HalfAPair,
    /// A value is.
    HalfAPairIn,
}

/// Every member of every object in it.
pub(super) fn places(value: &Value) -> Vec<Place> {
    let mut found = Vec::new();
    collect(value, &mut Vec::new(), &mut found);
    found
}

fn collect(value: &Value, path: &mut Vec<String>, found: &mut Vec<Place>) {
    for (key, inner) in children(value) {
        if value.is_object() {
            found.push(Place { path: path.clone(), key: key.clone() });
        }
        path.push(key);
        collect(inner, path, found);
        path.pop();
    }
}

fn children(value: &Value) -> Vec<(String, &Value)> {
    match value {
        Value::Object(members) => members.iter().map(|(key, inner)| (key.clone(), inner)).collect(),
        Value::Array(elements) => {
            elements.iter().enumerate().map(|(index, inner)| (index.to_string(), inner)).collect()
        }
        _ => Vec::new(),
    }
}

/// The message as text, with the fault at the end of the object.
pub(super) fn written_with(value: &Value, place: &Place, fault: &Fault) -> String {
    let key = &place.key;
    let fault = match fault {
        Fault::Twice(value) => format!("{}:{value}", quoted(key)),
        Fault::TwiceInEscapes(value) => format!("{}:{value}", in_escapes(key)),
        Fault::HalfAPair => format!("\"{HALF}\":null"),
        Fault::HalfAPairIn => format!("\"another\":[\"{HALF}\"]"),
    };
    written(value, Some(&place.path), &fault)
}

/// With `more` at the end of the object that the path leads to, if it leads into this value.
fn written(value: &Value, path: Option<&[String]>, more: &str) -> String {
    let Some(path) = path else { return value.to_string() };
    let inner = |name: &str, value: &Value| {
        let below = path.split_first().filter(|(first, _)| *first == name).map(|(_, rest)| rest);
        written(value, below, more)
    };
    match value {
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| format!("{}:{}", quoted(name), inner(name, value)));
            let more = path.is_empty().then(|| more.to_owned());
            format!("{{{}}}", members.chain(more).collect::<Vec<_>>().join(","))
        }
        Value::Array(elements) => {
            let elements = elements.iter().enumerate().map(|(index, value)| inner(&index.to_string(), value));
            format!("[{}]", elements.collect::<Vec<_>>().join(","))
        }
        value => value.to_string(),
    }
}

fn quoted(key: &str) -> String {
    Value::from(key).to_string()
}

fn in_escapes(key: &str) -> String {
    let units = key.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
    format!("\"{}\"", units.collect::<String>())
}

const HALF: &str = r"\ud83d";
