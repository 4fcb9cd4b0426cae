//! Answers that plainly fit their form: most do, and it can be seen without a JSON Schema being compiled or run.

use serde_json::value::RawValue;

use super::{Form, is_plain_number};
use crate::elicitation::PrimitiveSchema;
use crate::json::{JsonObject, RawMembers, text};

impl Form {
    /// Whether an answer fits for sure. A no says nothing: whoever gets it looks closer.
    pub(super) fn plainly_fits(&self, content: &JsonObject) -> bool {
        if content.as_str().len() > LONGEST {
            return false;
        }
        let Ok(members) = RawMembers::of(content.as_raw()) else { return false };
        let required = self.0.fields.required.iter().flatten();
        let is_there = |name: &String| self.field(name).is_some() && members.get(name).is_some();
        required.into_iter().all(is_there)
            && members.iter().all(|(name, value)| self.field(name).is_none_or(|field| plainly_fills(field, value)))
    }
}

/// Whether a value fills a field for sure: fields with bounds and formats, and unusual spellings, are looked at closer.
fn plainly_fills(field: &PrimitiveSchema, value: &RawValue) -> bool {
    let json = value.get();
    match field {
        PrimitiveSchema::Boolean(_) => matches!(json, "true" | "false"),
        PrimitiveSchema::String(schema) => {
            json.starts_with('"')
                && schema.min_length.is_none()
                && schema.max_length.is_none()
                && schema.format.is_none()
        }
        PrimitiveSchema::Number(schema) => {
            // A plain number is none below zero, which is where unsigned integers begin.
            let least = schema.minimum.as_ref().is_none_or(|least| *least == 0.into());
            is_plain_number(json) && least && schema.maximum.is_none()
        }
        PrimitiveSchema::UntitledSingleSelect(schema) => {
            text(value).is_ok_and(|text| schema.values.iter().any(|option| *option == *text))
        }
        _ => false,
    }
}

/// Answers that are longer than this are checked against a bound of their own.
const LONGEST: usize = 4096;
