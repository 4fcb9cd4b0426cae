//! Answers that plainly fit their form: most do, and it can be seen without a JSON Schema being compiled or run.

use serde_json::value::RawValue;

use super::{Form, is_plain_number};
use crate::json::{JsonObject, RawMembers, text};
use crate::types::elicitation::PrimitiveSchema;

impl Form {
    /// What an `ElicitResult` that accepts fills in, if it fits for sure and nothing stands in it that is to be left
    /// out: the type whose form this is can be read from it. `None` says nothing: the caller looks closer.
    ///
    /// ```
    /// use mrtr_schema::Form;
    /// use serde_json::value::RawValue;
    ///
    /// let form = Form::parse(r#"{"type": "object", "properties": {"age": {"type": "integer"}}}"#)?;
    /// let response = RawValue::from_string(r#"{"action": "accept", "content": {"age": 30}}"#.to_owned()).unwrap();
    /// assert_eq!(form.plain_answer(&response).unwrap().get(), r#"{"age": 30}"#);
    /// let response = RawValue::from_string(r#"{"action": "accept", "content": {"age": 30.0}}"#.to_owned()).unwrap();
    /// assert!(form.plain_answer(&response).is_none());
    /// # Ok::<(), mrtr_schema::ReadError>(())
    /// ```
    pub fn plain_answer<'a>(&self, response: &'a RawValue) -> Option<&'a RawValue> {
        let members = RawMembers::of(response).ok()?;
        let content = members.get("content").filter(|_| members.len() == 2)?;
        // An escape may stand for half a character, which is no text.
        let fits = members.get("action")?.get() == "\"accept\""
            && !content.get().contains('\\')
            && self.fills(content, |field, value| field.is_some_and(|field| plainly_fills(field, value)));
        fits.then_some(content)
    }

    /// Whether an answer fits for sure. A no says nothing: the caller looks closer.
    pub(super) fn plainly_fits(&self, content: &JsonObject) -> bool {
        self.fills(content.as_raw(), |field, value| field.is_none_or(|field| plainly_fills(field, value)))
    }

    fn fills(&self, content: &RawValue, fills: impl Fn(Option<&PrimitiveSchema>, &RawValue) -> bool) -> bool {
        if content.get().len() > LONGEST {
            return false;
        }
        let Ok(members) = RawMembers::of(content) else { return false };
        let required = self.0.fields.required.iter().flatten();
        let is_there = |name: &String| self.field(name).is_some() && members.get(name).is_some();
        required.into_iter().all(is_there) && members.iter().all(|(name, value)| fills(self.field(name), value))
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
