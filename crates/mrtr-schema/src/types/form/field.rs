//! One field of a form, for a program that shows it: one view over all kinds.

mod constraints;
#[cfg(feature = "validate")]
mod entry;
mod options;

use std::borrow::Cow;

use serde_json::Value;

pub use constraints::Constraints;
#[cfg(feature = "validate")]
pub use entry::EntryError;
pub use options::FieldOption;

use super::Form;
use crate::json::Json;
use crate::printable::Printable;
use crate::types::elicitation::{NumberKind, PrimitiveSchema};

/// One field of a form: the texts to show for it, and the values that a person may enter.
///
/// ```
/// use mrtr_schema::Form;
/// use mrtr_schema::elicitation::FieldKind;
///
/// let form = Form::parse(r#"{"type": "object", "required": ["size"], "properties": {
///     "size": {"type": "string", "title": "Size", "oneOf": [
///         {"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]},
///     "copies": {"type": "integer", "minimum": 1, "maximum": 9, "default": 1}}}"#)?;
///
/// let size = form.field("size").unwrap();
/// assert_eq!((size.title().as_ref(), size.kind(), size.is_required), ("Size", FieldKind::Select, true));
/// assert_eq!(size.options()[1].title(), "Large");
///
/// let copies = form.field("copies").unwrap();
/// assert_eq!(copies.constraints().to_string(), "1 to 9");
/// assert_eq!(copies.default_text().as_deref(), Some("1"));
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Field<'a> {
    /// Its name in the answer.
    pub name: &'a str,
    /// The schema of the field, as the form says it: its texts are the server's, as they came.
    pub schema: &'a PrimitiveSchema,
    /// True if the field must be filled in.
    pub is_required: bool,
}

/// The kind of a field: tells what a person does with it.
///
/// ```
/// use mrtr_schema::Form;
/// use mrtr_schema::elicitation::FieldKind;
///
/// let widget = |kind| match kind {
///     FieldKind::Text | FieldKind::Number | FieldKind::Integer => "a line",
///     FieldKind::Boolean => "a switch",
///     FieldKind::Select => "a list",
///     FieldKind::MultiSelect => "a list of switches",
/// };
/// let form = Form::parse(r#"{"type": "object", "properties": {"news": {"type": "boolean"}}}"#)?;
/// assert_eq!(form.fields().map(|field| widget(field.kind())).collect::<Vec<_>>(), ["a switch"]);
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a program that shows forms must show each of them")]
pub enum FieldKind {
    /// The person enters text.
    Text,
    /// The person enters a number.
    Number,
    /// The person enters a whole number.
    Integer,
    /// The person says yes or no.
    Boolean,
    /// The person chooses one of the options.
    Select,
    /// The person chooses some of the options.
    MultiSelect,
}

impl<'a> Field<'a> {
    /// Returns the name for people, as it may be shown: see [`Printable::line`]. The schema has it as it came.
    pub fn title(&self) -> Cow<'a, str> {
        Printable::line(self.schema.title().unwrap_or(self.name)).into_text()
    }

    /// Returns the description that tells a person what to enter, as it may be shown: see [`Printable::text`].
    pub fn description(&self) -> Option<Cow<'a, str>> {
        self.schema.description().map(|text| Printable::text(text).into_text())
    }

    /// Returns the kind of the field: tells what a person does with it.
    pub fn kind(&self) -> FieldKind {
        match self.schema {
            PrimitiveSchema::String(_) => FieldKind::Text,
            PrimitiveSchema::Number(schema) => match schema.kind {
                NumberKind::Number => FieldKind::Number,
                NumberKind::Integer => FieldKind::Integer,
            },
            PrimitiveSchema::Boolean(_) => FieldKind::Boolean,
            PrimitiveSchema::UntitledSingleSelect(_)
            | PrimitiveSchema::TitledSingleSelect(_)
            | PrimitiveSchema::LegacyTitledSelect(_) => FieldKind::Select,
            PrimitiveSchema::UntitledMultiSelect(_) | PrimitiveSchema::TitledMultiSelect(_) => FieldKind::MultiSelect,
        }
    }

    /// Returns the value that the field holds at first. The server may have sent a value that does not fit the field.
    pub fn default(&self) -> Option<Json> {
        match self.schema {
            PrimitiveSchema::String(schema) => schema.default.as_deref().map(text),
            PrimitiveSchema::Number(schema) => schema.default.clone().map(Json::from),
            PrimitiveSchema::Boolean(schema) => schema.default.map(|value| Value::from(value).into()),
            PrimitiveSchema::UntitledSingleSelect(schema) => schema.default.as_deref().map(text),
            PrimitiveSchema::TitledSingleSelect(schema) => schema.default.as_deref().map(text),
            PrimitiveSchema::LegacyTitledSelect(schema) => schema.default.as_deref().map(text),
            PrimitiveSchema::UntitledMultiSelect(schema) => schema.default.as_deref().map(texts),
            PrimitiveSchema::TitledMultiSelect(schema) => schema.default.as_deref().map(texts),
        }
    }

    /// Returns the value that the field holds at first, as a person would enter it and as it may be shown. `parse`
    /// reads it back as the default, unless that does not fit the field, or had to be cut or escaped to be shown.
    pub fn default_text(&self) -> Option<String> {
        let entered = match self.schema {
            PrimitiveSchema::String(schema) => schema.default.clone(),
            PrimitiveSchema::Number(schema) => schema.default.as_ref().map(ToString::to_string),
            PrimitiveSchema::Boolean(schema) => schema.default.map(|value| if value { "yes" } else { "no" }.to_owned()),
            PrimitiveSchema::UntitledSingleSelect(schema) => schema.default.as_deref().map(|value| self.entered(value)),
            PrimitiveSchema::TitledSingleSelect(schema) => schema.default.as_deref().map(|value| self.entered(value)),
            PrimitiveSchema::LegacyTitledSelect(schema) => schema.default.as_deref().map(|value| self.entered(value)),
            PrimitiveSchema::UntitledMultiSelect(schema) => schema.default.as_deref().map(|list| self.listed(list)),
            PrimitiveSchema::TitledMultiSelect(schema) => schema.default.as_deref().map(|list| self.listed(list)),
        };
        entered.map(|text| Printable::line(&text).up_to(Printable::TEXT).to_string())
    }
}

impl Form {
    /// The fields, in order.
    ///
    /// ```
    /// use mrtr_schema::Form;
    ///
    /// let form = r#"{"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "boolean"}}}"#;
    /// assert_eq!(Form::parse(form)?.fields().map(|field| field.name).collect::<Vec<_>>(), ["b", "a"]);
    /// # Ok::<(), mrtr_schema::ReadError>(())
    /// ```
    pub fn fields(&self) -> impl Iterator<Item = Field<'_>> {
        // Collected once: a form of many fields may list each of them as required.
        let required: std::collections::HashSet<_> = self.required().collect();
        let fields = self.0.fields.properties.iter();
        fields.map(move |(name, schema)| Field { name, schema, is_required: required.contains(name.as_str()) })
    }

    /// A field; [`Field`] has an example.
    pub fn field(&self, name: &str) -> Option<Field<'_>> {
        let (name, schema) = self.0.fields.properties.get_key_value(name)?;
        Some(Field { name, schema, is_required: self.is_required(name) })
    }
}

fn text(text: &str) -> Json {
    Value::from(text).into()
}

fn texts(list: &[String]) -> Json {
    Value::from(list).into()
}
