//! Arguments against a tool's input schema.

use mrtr_schema::tools::InputSchema;
use mrtr_schema::{SchemaCheck, SchemaError};
use serde_json::Value;
use serde_json::value::RawValue;

/// Checks arguments, where reading them as the handler's type does not do so already.
pub(super) struct ArgumentCheck(Option<SchemaCheck>);

impl ArgumentCheck {
    /// Against the schema of the very type that the handler reads its arguments as.
    pub(super) fn derived(schema: &InputSchema) -> Result<Self, SchemaError> {
        let Self(check) = Self::by_hand(schema)?;
        let implied = serde_json::from_str(schema.as_object().as_raw().get()).is_ok_and(|schema| is_implied(&schema));
        Ok(Self(check.filter(|_| !implied)))
    }

    /// Against a schema of which the handler's type knows nothing.
    pub(super) fn by_hand(schema: &InputSchema) -> Result<Self, SchemaError> {
        SchemaCheck::new(schema.as_object().as_raw()).map(Some).map(Self)
    }

    pub(super) fn check(&self, arguments: &RawValue) -> Result<(), String> {
        self.0.as_ref().map_or(Ok(()), |check| check.check(arguments)).map_err(|violations| violations.to_string())
    }
}

/// Whether every value that serde reads as the type follows the schema: it then says nothing but which members there
/// are and of which plain types. Lengths, ranges, patterns, formats and fixed values are what serde may not look at.
fn is_implied(schema: &Value) -> bool {
    let Value::Object(schema) = schema else { return true };
    schema.iter().all(|(keyword, value)| match keyword.as_str() {
        "type" | "required" | "title" | "description" | "$schema" | "default" | "$ref" => true,
        "properties" | "$defs" => value.as_object().is_some_and(|members| members.values().all(is_implied)),
        "items" | "additionalProperties" => is_implied(value),
        "anyOf" => value.as_array().is_some_and(|schemas| schemas.iter().all(is_implied)),
        "format" => value.as_str().is_some_and(|format| INTEGER_FORMATS.contains(&format)),
        // Of an unsigned integer, which serde does not read from anything less.
        "minimum" => value == 0 && schema.get("format").and_then(Value::as_str).is_some_and(|f| f.starts_with("uint")),
        _ => false,
    })
}

/// Formats by which schemars notes the width of a number.
const INTEGER_FORMATS: [&str; 8] = ["int32", "int64", "uint32", "uint64", "uint", "int", "double", "float"];
