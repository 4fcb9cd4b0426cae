//! `x-mcp-header`: arguments of a tool that are mirrored in headers, as its input schema says.

use std::collections::HashMap;

use http::HeaderName;
use serde_json::Value;
use serde_json::value::RawValue;

/// The arguments of one tool that are mirrored: where they are, and in which header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Annotated(Vec<(Vec<String>, HeaderName)>);

impl Annotated {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The headers for these arguments. An argument that is absent or null has none.
    pub(super) fn mirrored(&self, arguments: &RawValue) -> Vec<(HeaderName, String)> {
        let arguments: Value = serde_json::from_str(arguments.get()).unwrap_or_default();
        let mirrored = self.0.iter().filter_map(|(path, header)| {
            let value = path.iter().try_fold(&arguments, |value, member| value.get(member))?;
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                Value::Bool(bool) => bool.to_string(),
                Value::Null | Value::Array(_) | Value::Object(_) => return None,
            };
            Some((header.clone(), text))
        });
        mirrored.collect()
    }
}

/// What a list of tools says, and the list without the tools that say it wrongly, if there are any.
///
/// Most lists say nothing, and are not taken apart unless an earlier one did.
pub(super) fn annotated_tools(reply: &str, was_said: bool) -> Option<(HashMap<String, Annotated>, Option<String>)> {
    if !was_said && !reply.contains(KEYWORD) {
        return None;
    }
    let mut message: Value = serde_json::from_str(reply).ok()?;
    let tools = message.pointer_mut("/result/tools")?.as_array_mut()?;
    let mut annotated = HashMap::new();
    let before = tools.len();
    tools.retain(|tool| {
        let name = tool["name"].as_str().unwrap_or_default();
        match annotations(&tool["inputSchema"]) {
            Ok(found) => {
                annotated.insert(name.to_owned(), found);
                true
            }
            Err(reason) => {
                tracing::warn!(tool = name, reason, "a tool is left out: its header annotations are wrong");
                false
            }
        }
    });
    let kept = (tools.len() < before).then(|| message.to_string());
    Some((annotated, kept))
}

/// The annotations of an input schema, or what is wrong with them.
fn annotations(schema: &Value) -> Result<Annotated, &'static str> {
    let mut found = Annotated::default();
    collect(schema, &mut Vec::new(), &mut found)?;
    if count(schema) != found.0.len() {
        return Err("an annotation stands where no argument is");
    }
    Ok(found)
}

fn collect(schema: &Value, path: &mut Vec<String>, found: &mut Annotated) -> Result<(), &'static str> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return Ok(()) };
    for (name, property) in properties {
        path.push(name.clone());
        if let Some(annotation) = property.get(KEYWORD) {
            let header = header_name(annotation)?;
            if !PRIMITIVE.iter().any(|primitive| property["type"] == *primitive) {
                return Err("an annotated argument is not a string, integer or boolean");
            }
            if found.0.iter().any(|(_, taken)| *taken == header) {
                return Err("two arguments have one header");
            }
            found.0.push((path.clone(), header));
        }
        collect(property, path, found)?;
        path.pop();
    }
    Ok(())
}

fn header_name(annotation: &Value) -> Result<HeaderName, &'static str> {
    let name = annotation.as_str().filter(|name| !name.is_empty()).ok_or("an annotation is not a name")?;
    format!("mcp-param-{name}").to_ascii_lowercase().try_into().map_err(|_| "an annotation cannot name a header")
}

/// How often the keyword stands anywhere in a schema.
fn count(schema: &Value) -> usize {
    match schema {
        Value::Object(members) => {
            members.iter().map(|(key, value)| usize::from(key == KEYWORD && !value.is_object()) + count(value)).sum()
        }
        Value::Array(elements) => elements.iter().map(count).sum(),
        _ => 0,
    }
}

const KEYWORD: &str = "x-mcp-header";

/// Types of which every value is written in one way only: a number such as 1.0 is not.
const PRIMITIVE: [&str; 3] = ["string", "integer", "boolean"];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn is_kept(properties: &Value) -> bool {
        annotations(&json!({ "type": "object", "properties": properties })).is_ok()
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
