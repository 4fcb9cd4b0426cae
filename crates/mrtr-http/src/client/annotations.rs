//! `x-mcp-header`: arguments of a tool that are mirrored in headers, as its input schema says.

use std::collections::{HashMap, HashSet};

use http::HeaderName;
use mrtr_schema::{Envelope, Json, Printable, RawMembers};
use serde_json::Value;
use serde_json::value::RawValue;

/// The arguments of one tool that are mirrored, as a tree: an object above several of them is kept once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct HeaderAnnotations {
    arguments: MirroredArguments,
    bytes: usize,
}

/// The arguments of one object that are mirrored, or lead to some that are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct MirroredArguments(HashMap<String, Argument>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Argument {
    header: Option<HeaderName>,
    below: MirroredArguments,
}

impl HeaderAnnotations {
    pub(super) fn is_empty(&self) -> bool {
        self.arguments.0.is_empty()
    }

    /// The approximate memory that they take, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the headers for these arguments. An argument that is absent or null has none.
    pub(super) fn headers_for(&self, arguments: &RawValue) -> Vec<(HeaderName, String)> {
        let mut mirrored = Vec::new();
        self.arguments.collect_headers(arguments, &mut mirrored);
        mirrored
    }
}

impl MirroredArguments {
    fn collect_headers(&self, arguments: &RawValue, mirrored: &mut Vec<(HeaderName, String)>) {
        if self.0.is_empty() {
            return;
        }
        for (name, value) in RawMembers::of(arguments).unwrap_or_default().iter() {
            let Some(argument) = self.0.get(name) else { continue };
            let text = argument.header.as_ref().and_then(|header| Some((header.clone(), header_text(value)?)));
            mirrored.extend(text);
            argument.below.collect_headers(value, mirrored);
        }
    }
}

/// Returns an argument as text for a header, if it has such a text.
fn header_text(value: &RawValue) -> Option<String> {
    match serde_json::from_str(value.get()).ok()? {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(bool) => Some(bool.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The tools of a list.
pub(super) struct ListedTools {
    /// The tools of the list, each with its arguments that are mirrored.
    pub(super) tools: Vec<(String, HeaderAnnotations)>,
    /// The list without the tools whose annotations are wrong, if there are any. The rest of it is as it came.
    pub(super) kept: Option<String>,
}

/// Reads what a list of tools says about headers.
///
/// Most lists say nothing, so the client does not parse one unless this or an earlier list has an annotation. A list
/// that the client is going to refuse, since a key stands twice in it or it is nested too deeply, teaches nothing and
/// is handed on as it is.
pub(super) fn read_annotations(reply: &str, had_annotations: bool) -> Option<ListedTools> {
    if !had_annotations && !reply.contains(KEYWORD) {
        return None;
    }
    let Ok(Envelope::Result { result, .. }) = Envelope::parse(reply.as_bytes()) else { return None };
    Json::from_raw(result).ok()?;
    let list = RawMembers::of(result).ok()?.get("tools")?;
    let listed: Vec<&RawValue> = serde_json::from_str(list.get()).ok()?;
    let mut tools = Vec::new();
    let mut wrong = Vec::new();
    let mut kept = listed.clone();
    kept.retain(|tool| {
        let members = RawMembers::of(tool).unwrap_or_default();
        let name = members.text("name").ok().flatten().unwrap_or_default();
        match members.get("inputSchema").map_or(Ok(HeaderAnnotations::default()), annotations) {
            Ok(annotated) => tools.push((name.into_owned(), annotated)),
            Err(reason) => {
                wrong.push((name.into_owned(), reason));
                return false;
            }
        }
        true
    });
    warn_of(&wrong);
    let kept = if wrong.is_empty() { None } else { Some(spliced(reply, list.get(), &kept)?) };
    Some(ListedTools { tools, kept })
}

/// Logs which tools are left out: some of them, since a list may have very many.
fn warn_of(wrong: &[(String, &'static str)]) {
    for (tool, reason) in wrong.iter().take(MAX_WARNINGS) {
        let tool = Printable::line(tool);
        tracing::warn!(%tool, reason, "a tool is left out: its header annotations are wrong");
    }
    if let Some(more) = wrong.len().checked_sub(MAX_WARNINGS).filter(|more| *more > 0) {
        tracing::warn!(more, "more tools are left out: their header annotations are wrong");
    }
}

/// Returns the message with other elements in its list, and everything else as it came. `list` is a part of `message`.
fn spliced(message: &str, list: &str, elements: &[&RawValue]) -> Option<String> {
    let start = list.as_ptr().addr().checked_sub(message.as_ptr().addr())?;
    let (before, after) = (message.get(..start)?, message.get(start + list.len()..)?);
    let mut text = String::with_capacity(message.len());
    text.extend([before, "["]);
    for (place, element) in elements.iter().enumerate() {
        text.extend([if place == 0 { "" } else { "," }, element.get()]);
    }
    text.extend(["]", after]);
    Some(text)
}

/// Reads the annotations of an input schema, or says what is wrong with them.
fn annotations(schema: &RawValue) -> Result<HeaderAnnotations, &'static str> {
    if !schema.get().contains(KEYWORD) {
        return Ok(HeaderAnnotations::default());
    }
    let schema: Value = serde_json::from_str(schema.get()).map_err(|_| "its input schema cannot be read")?;
    let mut taken = HashSet::new();
    let arguments = collect(&schema, &mut taken)?;
    if count(&schema) != taken.len() {
        return Err("an annotation stands where no argument is");
    }
    let bytes = bytes(&arguments);
    Ok(HeaderAnnotations { arguments, bytes })
}

fn collect(schema: &Value, taken: &mut HashSet<HeaderName>) -> Result<MirroredArguments, &'static str> {
    let mut level = MirroredArguments::default();
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let header = property.get(KEYWORD).map(header_name).transpose()?;
        if let Some(header) = &header {
            if !PRIMITIVE.iter().any(|primitive| property["type"] == *primitive) {
                return Err("an annotated argument is not a string, integer or boolean");
            }
            if !taken.insert(header.clone()) {
                return Err("two arguments have one header");
            }
        }
        let below = collect(property, taken)?;
        if header.is_some() || !below.0.is_empty() {
            level.0.insert(name.clone(), Argument { header, below });
        }
    }
    Ok(level)
}

fn header_name(annotation: &Value) -> Result<HeaderName, &'static str> {
    let name = annotation.as_str().filter(|name| !name.is_empty()).ok_or("an annotation is not a name")?;
    format!("mcp-param-{name}").to_ascii_lowercase().try_into().map_err(|_| "an annotation cannot name a header")
}

/// Counts the places of a schema where the keyword stands.
fn count(schema: &Value) -> usize {
    match schema {
        Value::Object(members) => {
            members.iter().map(|(key, value)| usize::from(key == KEYWORD && !value.is_object()) + count(value)).sum()
        }
        Value::Array(elements) => elements.iter().map(count).sum(),
        _ => 0,
    }
}

/// The approximate memory that these arguments take, in bytes.
fn bytes(level: &MirroredArguments) -> usize {
    let argument = |(name, argument): (&String, &Argument)| {
        let header = argument.header.as_ref().map_or(0, |header| header.as_str().len());
        size_of::<(String, Argument)>() + name.len() + header + bytes(&argument.below)
    };
    level.0.iter().map(argument).sum()
}

const KEYWORD: &str = "x-mcp-header";

/// The types whose values can each be written in one way only. A number such as 1.0 has several.
const PRIMITIVE: [&str; 3] = ["string", "integer", "boolean"];

const MAX_WARNINGS: usize = 10;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn is_kept(properties: &Value) -> bool {
        let schema = json!({ "type": "object", "properties": properties }).to_string();
        annotations(&RawValue::from_string(schema).unwrap()).is_ok()
    }

    #[test]
    fn only_what_is_written_in_one_way_is_mirrored() {
        for kept in ["string", "integer", "boolean"] {
            assert!(is_kept(&json!({ "a": { "type": kept, KEYWORD: "A" } })), "{kept}");
        }
        for dropped in ["number", "object", "array", "null"] {
            assert!(!is_kept(&json!({ "a": { "type": dropped, KEYWORD: "A" } })), "{dropped}");
        }
    }

    #[test]
    fn a_header_has_a_name_and_belongs_to_one_argument() {
        assert!(!is_kept(&json!({ "a": { "type": "string", KEYWORD: "" } })));
        assert!(!is_kept(&json!({ "a": { "type": "string", KEYWORD: "two words" } })));
        let twice = json!({ "a": { "type": "string", KEYWORD: "X" }, "b": { "type": "string", KEYWORD: "x" } });
        assert!(!is_kept(&twice));
    }
}
