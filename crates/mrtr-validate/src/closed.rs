//! A schema document closed to members that its types do not name, so that a misspelt optional member is noticed.

use serde_json::{Map, Value, json};

/// Closes every object that is not meant to hold members of others' choosing.
pub fn document(document: &Value) -> Value {
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

/// In `_meta`: what an application adds has a prefix of its own.
const APPLICATION_KEY: &str = r"^(?!([^./]+\.)(modelcontextprotocol|mcp)[./])[A-Za-z][A-Za-z0-9.-]*/";
/// In an open object: anything but names that look like the protocol's or JSON Schema's own.
const NOT_RESERVED: &str = r"^([^_$].*|\$(id|ref|defs|anchor|comment|dynamicRef|dynamicAnchor|vocabulary))$";
