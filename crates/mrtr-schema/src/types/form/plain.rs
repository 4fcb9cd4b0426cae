//! Recognises answers that plainly fit their form, as most do, without compiling or running a JSON Schema.

use serde_json::value::RawValue;

use super::{Form, is_plain_number};
use crate::json::{JsonObject, PlainScanner};
use crate::types::elicitation::PrimitiveSchema;

impl Form {
    /// Returns the content of an `ElicitResult` that accepts, if it fits for sure and holds nothing that must be left
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
        // The scanner takes no escapes, which may stand for half a character.
        let mut scanner = PlainScanner::new(response.get())?;
        let (mut accepts, mut content) = (false, None);
        let fills =
            |field: Option<&PrimitiveSchema>, value: &str| field.is_some_and(|field| plainly_fills(field, value));
        scanner.members(|key, scanner| match key {
            "action" if !accepts => {
                accepts = scanner.string()? == "accept";
                accepts.then_some(())
            }
            "content" if content.is_none() => {
                content = Some(scanner.spanned(|scanner| self.fills(scanner, fills))?);
                Some(())
            }
            _ => None,
        })?;
        content.filter(|content| accepts && content.get().len() <= LONGEST)
    }

    /// Returns true if an answer fits for sure. A no says nothing: the caller looks closer.
    pub(super) fn plainly_fits(&self, content: &JsonObject) -> bool {
        let scanner = PlainScanner::new(content.as_str()).filter(|_| content.as_str().len() <= LONGEST);
        let fills =
            |field: Option<&PrimitiveSchema>, value: &str| field.is_none_or(|field| plainly_fills(field, value));
        scanner.is_some_and(|mut scanner| self.fills(&mut scanner, fills).is_some())
    }

    /// Goes past an object that has each required field, no member twice, and none that does not fill its field.
    fn fills(
        &self,
        scanner: &mut PlainScanner<'_>,
        fills: impl Fn(Option<&PrimitiveSchema>, &str) -> bool,
    ) -> Option<()> {
        let (mut names, mut count) = ([""; MOST], 0);
        scanner.members(|name, scanner| {
            let fits = fills(self.schema_of(name), scanner.value()?.get()) && !names[..count].contains(&name);
            *names.get_mut(count)? = name;
            count += 1;
            fits.then_some(())
        })?;
        let is_there = |name: &String| names[..count].contains(&&**name) && self.schema_of(name).is_some();
        self.0.fields.required.iter().flatten().all(is_there).then_some(())
    }
}

/// Returns true if a value without escapes fills a field for sure. Fields with bounds and formats, and unusual
/// spellings, need a closer look.
fn plainly_fills(field: &PrimitiveSchema, json: &str) -> bool {
    match field {
        PrimitiveSchema::Boolean(_) => matches!(json, "true" | "false"),
        PrimitiveSchema::String(schema) => {
            json.starts_with('"')
                && schema.min_length.is_none()
                && schema.max_length.is_none()
                && schema.format.is_none()
        }
        PrimitiveSchema::Number(schema) => {
            // A plain number is never below zero, which is where unsigned integers begin.
            let least = schema.minimum.as_ref().is_none_or(|least| least.as_i64() == Some(0));
            is_plain_number(json) && least && schema.maximum.is_none()
        }
        PrimitiveSchema::UntitledSingleSelect(schema) => {
            let text = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            text.is_some_and(|text| schema.values.iter().any(|option| option == text))
        }
        _ => false,
    }
}

/// Answers that are longer than this are checked against a bound of their own.
const LONGEST: usize = 4096;

/// Few forms have more fields.
const MOST: usize = 16;
