//! Makes a form of a Rust type: flattens what schemars makes of it, or names the field that a form cannot hold.

use std::any::{TypeId, type_name};
use std::collections::HashMap;
use std::sync::{LazyLock, PoisonError, RwLock};

use indexmap::IndexMap;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::{Fields, Form};
use crate::error::FormError;
use crate::json::Members;
use crate::revision::Revision;
use crate::types::elicitation::PrimitiveSchema;
use crate::wire::Wire;

impl Form {
    /// Returns the form that asks for a `T`, built once per type.
    ///
    /// Enums become selects, `Option` becomes not-required, doc comments become descriptions; serde and schemars
    /// attributes are honoured. A variant marked `#[serde(other)]` is an option like any other: leave it out of forms.
    ///
    /// ```
    /// #[derive(schemars::JsonSchema)]
    /// struct Order { customer: Customer }
    ///
    /// #[derive(schemars::JsonSchema)]
    /// struct Customer { name: String }
    ///
    /// let error = mrtr_schema::Form::of::<Order>().unwrap_err();
    /// assert!(error.to_string().starts_with("field `customer` of"));
    /// ```
    pub fn of<T: JsonSchema + 'static>() -> Result<Self, FormError> {
        let known = BUILT.read().unwrap_or_else(PoisonError::into_inner).get(&TypeId::of::<T>()).cloned();
        known.unwrap_or_else(|| {
            let form = build::<T>();
            let mut built = BUILT.write().unwrap_or_else(PoisonError::into_inner);
            built.entry(TypeId::of::<T>()).or_insert(form).clone()
        })
    }
}

/// One entry per type that was ever asked for: as many as the program's source has.
static BUILT: LazyLock<RwLock<HashMap<TypeId, Result<Form, FormError>>>> = LazyLock::new(RwLock::default);

fn build<T: JsonSchema>() -> Result<Form, FormError> {
    let type_name = type_name::<T>();
    let not_a_form = |reason: &str| FormError::Type { type_name, reason: reason.to_owned() };

    let settings = SchemaSettings::draft2020_12().for_deserialize().with(|settings| settings.inline_subschemas = true);
    let root = Value::from(settings.into_generator().into_root_schema_for::<T>());
    if root["type"] != "object" {
        return Err(not_a_form(NO_STRUCT));
    }
    for (keyword, value) in root.as_object().into_iter().flatten() {
        let of_a_plain_struct = match keyword.as_str() {
            "$schema" | "title" | "description" | "type" | "properties" | "required" => true,
            "additionalProperties" => *value == json!(false),
            annotation => ANNOTATIONS.contains(&annotation),
        };
        if !of_a_plain_struct {
            return Err(not_a_form(&format!("a form needs all fields by name, and it has `{keyword}`")));
        }
    }
    let mut properties = IndexMap::new();
    for (name, schema) in root["properties"].as_object().into_iter().flatten() {
        let field =
            primitive(schema.clone()).map_err(|reason| FormError::Field { type_name, field: name.clone(), reason })?;
        properties.insert(name.clone(), field);
    }
    let names = root["required"].as_array().into_iter().flatten();
    let required: Vec<String> = names.filter_map(Value::as_str).map(str::to_owned).collect();
    let required = Some(required).filter(|required| !required.is_empty());
    Ok(Form::from_fields(Fields { schema_dialect: None, properties, required, extra: Members::default() }))
}

/// Makes the one field that a schema describes, or says why there is none.
fn primitive(schema: Value) -> Result<PrimitiveSchema, String> {
    let Value::Object(schema) = schema else { return Err("its type accepts any value".to_owned()) };
    let mut schema = without_null(schema);
    schema.retain(|keyword, _| !ANNOTATIONS.contains(&keyword.as_str()));
    if schema.contains_key("$ref") {
        return Err("it refers to itself".to_owned());
    }
    if schema.get("format").is_some_and(|format| format == "password") {
        return Err("a form must not ask for secrets: ask for it by URL, with `flow.elicit_url`".to_owned());
    }
    options_as_select(&mut schema)?;
    bounds_of_machine_type(&mut schema);
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => return Err(NESTED.to_owned()),
        Some("array") => items_as_select(&mut schema)?,
        Some(_) => {}
        None => return Err("it may be of more than one type".to_owned()),
    }
    let field = PrimitiveSchema::from_json(&Value::Object(schema).to_string(), Revision::default().strict())
        .map_err(|error| error.to_string())?;
    if let Some((keyword, _)) = field.extra().iter().next() {
        return Err(format!("forms do not support `{keyword}`"));
    }
    Ok(field)
}

/// Removes `null` from the schema of an `Option<T>`: the form says "not required" instead.
fn without_null(mut schema: Map<String, Value>) -> Map<String, Value> {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        choices.retain(|choice| choice["type"] != "null");
        if let [Value::Object(only)] = choices.as_mut_slice() {
            let inner = std::mem::take(only);
            schema.remove("anyOf");
            for (keyword, value) in inner {
                schema.entry(keyword).or_insert(value); // what is said at the field wins
            }
        }
    }
    schema
}

/// Turns the schema of a Rust enum into a select: plain values, or values with titles where a variant has a title or a
/// description.
fn options_as_select(schema: &mut Map<String, Value>) -> Result<(), String> {
    if let Some(value) = schema.remove("const") {
        schema.insert("enum".to_owned(), json!([value]));
    }
    let Some(Value::Array(variants)) = schema.remove("oneOf").or_else(|| schema.remove("anyOf")) else {
        return Ok(());
    };
    let mut options = Vec::new();
    for variant in variants {
        let about = variant.get("title").or(variant.get("description")).cloned();
        let values = match (&variant["const"], &variant["enum"]) {
            (value @ Value::String(_), _) => vec![value.clone()],
            (_, Value::Array(values)) => values.clone(),
            _ => return Err("one of its variants holds data, and the choices of a form are names only".to_owned()),
        };
        options.extend(values.into_iter().map(|value| {
            let title = about.clone().unwrap_or_else(|| value.clone());
            json!({ "const": value, "title": title })
        }));
    }
    if options.is_empty() {
        return Err("none of its variants has a name on the wire".to_owned());
    }
    schema.insert("type".to_owned(), "string".into());
    schema.insert("oneOf".to_owned(), options.into());
    Ok(())
}

/// Makes a multi-select of a list's elements: forms have no other list.
fn items_as_select(schema: &mut Map<String, Value>) -> Result<(), String> {
    let Some(Value::Object(mut items)) = schema.remove("items") else {
        return Err("it is a list of anything, and a form has lists of options only".to_owned());
    };
    options_as_select(&mut items)?;
    schema.remove("uniqueItems"); // a set: choosing one option twice makes no difference
    let items = match (items.remove("oneOf"), items.remove("enum")) {
        (Some(options), _) => json!({ "anyOf": options }),
        (None, Some(values)) => json!({ "type": "string", "enum": values }),
        (None, None) => return Err("it is a list, and a form has lists of options only".to_owned()),
    };
    schema.insert("items".to_owned(), items);
    Ok(())
}

/// Replaces `format: int32` and the like, which are not for forms, by the range that they mean.
fn bounds_of_machine_type(schema: &mut Map<String, Value>) {
    let is_number = matches!(schema.get("type").and_then(Value::as_str), Some("integer" | "number"));
    let Some(Value::String(format)) = is_number.then(|| schema.remove("format")).flatten() else { return };
    let range = match format.as_str() {
        "int8" => (i64::from(i8::MIN), i64::from(i8::MAX)),
        "int16" => (i64::from(i16::MIN), i64::from(i16::MAX)),
        "int32" => (i64::from(i32::MIN), i64::from(i32::MAX)),
        "uint8" => (0, i64::from(u8::MAX)),
        "uint16" => (0, i64::from(u16::MAX)),
        "uint32" => (0, i64::from(u32::MAX)),
        _ => return, // the 64-bit types reach further than many a client's numbers
    };
    schema.entry("minimum").or_insert(range.0.into());
    schema.entry("maximum").or_insert(range.1.into());
}

const NO_STRUCT: &str = "it is not a struct with named fields; ask for one, such as \
                         `#[data] struct Name { name: String }`, and take the field from the answer";
const NESTED: &str = "it is an object, and forms are flat: put its fields beside the others, as `#[serde(flatten)]` \
                      does, or ask for it in a question of its own";

/// Keywords that say something about a value without limiting it; forms have no place for them.
const ANNOTATIONS: [&str; 5] = ["examples", "deprecated", "readOnly", "writeOnly", "$comment"];
