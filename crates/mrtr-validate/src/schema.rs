//! Schemas as judges need them, closed to members that their types do not name; and the exact place of each fault.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use mrtr_schema::error::JsonPath;
use serde_json::{Map, Value, json};

/// One thing that is wrong, and the path to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) path: String,
    pub(crate) reason: String,
}

/// Reduces a validator's errors to faults, each once.
pub(crate) fn faults<'a>(errors: impl Iterator<Item = ValidationError<'a>>) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (pointer, reason) in errors.flat_map(|error| pinpointed(&error)) {
        let fault = Fault { path: JsonPath::from_pointer(&pointer).to_string(), reason };
        if !faults.contains(&fault) {
            faults.push(fault);
        }
    }
    faults
}

/// Returns JSON pointers, each with what is wrong there.
fn pinpointed(error: &ValidationError<'_>) -> Vec<(String, String)> {
    let at = error.instance_path().as_str();
    match error.kind() {
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            nearest(at, context).unwrap_or_else(|| vec![(at.to_owned(), shortened(error))])
        }
        ValidationErrorKind::Required { property } => {
            let property = property.as_str().unwrap_or_default();
            vec![(member(at, property), ABSENT.to_owned())]
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let unknown = |property: &String| (member(at, property), UNKNOWN.to_owned());
            unexpected.iter().map(unknown).collect()
        }
        _ => vec![(at.to_owned(), shortened(error))],
    }
}

/// Finds the choice of a union that was meant and returns its faults: its tag fits, and its own members do best.
fn nearest(at: &str, choices: &[Vec<ValidationError<'static>>]) -> Option<Vec<(String, String)>> {
    let tags = TAGS.map(|tag| member(at, tag));
    let is_tag = |(pointer, reason): &(String, String)| tags.contains(pointer) && reason != ABSENT && reason != UNKNOWN;
    let is_own = |(pointer, _): &&(String, String)| pointer.rsplit_once('/').is_none_or(|(owner, _)| owner == at);
    let choices = choices.iter().map(|errors| errors.iter().flat_map(pinpointed).collect::<Vec<_>>());
    let misfit = |faults: &Vec<(String, String)>| {
        let is_of_another_kind = faults.iter().any(|(pointer, _)| pointer == at);
        (is_of_another_kind, faults.iter().any(is_tag), faults.iter().filter(is_own).count(), faults.len())
    };
    let mut faults = choices.min_by_key(misfit)?;
    if faults.iter().any(is_tag) {
        // The tag fits none of the choices, so the faults of other members say nothing.
        faults.retain(is_tag);
    }
    Some(faults)
}

fn member(at: &str, property: &str) -> String {
    format!("{at}/{}", property.replace('~', "~0").replace('/', "~1"))
}

/// Shortens an error: it quotes what it refuses, which may be a whole message.
fn shortened(error: &ValidationError<'_>) -> String {
    error.to_string().chars().take(LONGEST_REASON).collect()
}

/// Closes every object that is not meant to hold members of others' choosing.
pub fn closed(document: &Value) -> Value {
    let mut document = document.clone();
    if let Some(Value::Object(definitions)) = document.get_mut("$defs") {
        for (name, schema) in definitions {
            close(schema, name.ends_with("MetaObject"));
        }
    }
    document
}

fn close(schema: &mut Value, is_meta: bool) {
    let Value::Object(schema) = schema else { return };
    let names_members = schema.get("properties").is_some_and(|properties| properties != &json!({}));
    if schema.get("type") == Some(&json!("object")) && names_members {
        close_object(schema, is_meta);
    }
    let members = schema.get_mut("properties").and_then(Value::as_object_mut);
    members.into_iter().flatten().for_each(|(key, schema)| close(schema, key == "_meta"));
    for keyword in ["items", "additionalProperties"] {
        schema.get_mut(keyword).into_iter().for_each(|schema| close(schema, false));
    }
    for keyword in ["anyOf", "oneOf"] {
        let choices = schema.get_mut(keyword).and_then(Value::as_array_mut);
        choices.into_iter().flatten().for_each(|schema| close(schema, false));
    }
}

fn close_object(schema: &mut Map<String, Value>, is_meta: bool) {
    if schema.get("additionalProperties") == Some(&json!({})) {
        let pattern = if is_meta { APPLICATION_KEY } else { NOT_RESERVED };
        schema.insert("patternProperties".to_owned(), json!({ pattern: {} }));
    }
    schema.insert("additionalProperties".to_owned(), json!(false));
}

/// The members by which the types of a union are told apart.
const TAGS: [&str; 6] = ["method", "mode", "resultType", "role", "status", "type"];
/// The parser's word for an absent member.
const ABSENT: &str = "required, but absent";
const UNKNOWN: &str = "no type names this member";
const LONGEST_REASON: usize = 160;

/// The pattern of keys in `_meta`: those that an application adds have a prefix of its own.
const APPLICATION_KEY: &str = r"^(?!([^./]+\.)(modelcontextprotocol|mcp)[./])[A-Za-z][A-Za-z0-9.-]*/";
/// The pattern of keys in an open object: anything but names that look like the protocol's or JSON Schema's own.
const NOT_RESERVED: &str = r"^([^_$].*|\$(id|ref|defs|anchor|comment|dynamicRef|dynamicAnchor|vocabulary))$";
