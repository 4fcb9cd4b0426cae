//! The limits on the values of a field, in numbers for a program and in words for a person.

use std::fmt;

use super::Field;
use crate::json::Number;
use crate::printable::Printable;
use crate::types::elicitation::{PrimitiveSchema, StringFormat};

/// The limits on the values of a field, its options aside. Shown, they are a phrase such as `3 to 8 characters`, or
/// nothing where nothing is limited.
///
/// ```
/// use mrtr_schema::Form;
///
/// let form = Form::parse(r#"{"type": "object", "properties": {
///     "mail": {"type": "string", "format": "email", "maxLength": 80},
///     "tags": {"type": "array", "minItems": 1, "items": {"type": "string", "enum": ["a", "b"]}},
///     "note": {"type": "string"}}}"#)?;
/// let constraints = |name| form.field(name).unwrap().constraints();
/// assert_eq!(constraints("mail").max_length, Some(80));
/// assert_eq!(constraints("mail").to_string(), "at most 80 characters, an e-mail address");
/// assert_eq!(constraints("tags").to_string(), "at least 1 option");
/// assert!(constraints("note").is_empty());
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct Constraints<'a> {
    /// The fewest characters.
    pub min_length: Option<u64>,
    /// The most characters.
    pub max_length: Option<u64>,
    /// The format that the text must have.
    pub format: Option<StringFormat>,
    /// The least value.
    pub minimum: Option<&'a Number>,
    /// The greatest value.
    pub maximum: Option<&'a Number>,
    /// The fewest options that may be chosen.
    pub min_items: Option<u64>,
    /// The most options that may be chosen.
    pub max_items: Option<u64>,
}

impl Constraints<'_> {
    /// Returns true if nothing is limited.
    pub fn is_empty(&self) -> bool {
        *self == Constraints::default()
    }
}

impl<'a> Field<'a> {
    /// Returns the limits on the field's values, its options aside.
    pub fn constraints(&self) -> Constraints<'a> {
        let none = Constraints::default();
        match self.schema {
            PrimitiveSchema::String(schema) => {
                let (min_length, max_length, format) = (schema.min_length, schema.max_length, schema.format);
                Constraints { min_length, max_length, format, ..none }
            }
            PrimitiveSchema::Number(schema) => {
                Constraints { minimum: schema.minimum.as_ref(), maximum: schema.maximum.as_ref(), ..none }
            }
            PrimitiveSchema::UntitledMultiSelect(schema) => {
                Constraints { min_items: schema.min_items, max_items: schema.max_items, ..none }
            }
            PrimitiveSchema::TitledMultiSelect(schema) => {
                Constraints { min_items: schema.min_items, max_items: schema.max_items, ..none }
            }
            PrimitiveSchema::Boolean(_)
            | PrimitiveSchema::UntitledSingleSelect(_)
            | PrimitiveSchema::TitledSingleSelect(_)
            | PrimitiveSchema::LegacyTitledSelect(_) => none,
        }
    }
}

impl fmt::Display for Constraints<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            counted(self.min_length, self.max_length, "character"),
            self.format.map(|format| look(format).to_owned()),
            range(self.minimum.map(shown), self.maximum.map(shown)),
            counted(self.min_items, self.max_items, "option"),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

fn counted(least: Option<u64>, most: Option<u64>, unit: &str) -> Option<String> {
    let plural = if most.or(least) == Some(1) { "" } else { "s" };
    range(least, most).map(|range| format!("{range} {unit}{plural}"))
}

fn range<T: fmt::Display + PartialEq>(least: Option<T>, most: Option<T>) -> Option<String> {
    match (least, most) {
        (None, None) => None,
        (Some(least), None) => Some(format!("at least {least}")),
        (None, Some(most)) => Some(format!("at most {most}")),
        (Some(least), Some(most)) if least == most => Some(format!("exactly {least}")),
        (Some(least), Some(most)) => Some(format!("{least} to {most}")),
    }
}

/// A number as it stands in messages: the server chose how many digits to write.
fn shown(number: &Number) -> String {
    Printable::line(&number.to_string()).up_to(LONGEST_NUMBER).to_string()
}

fn look(format: StringFormat) -> &'static str {
    match format {
        StringFormat::Email => "an e-mail address",
        StringFormat::Uri => "a URI",
        StringFormat::Date => "a date such as 2026-08-31",
        StringFormat::DateTime => "a date and time such as 2026-08-31T12:00:00Z",
    }
}

const LONGEST_NUMBER: usize = 40;
