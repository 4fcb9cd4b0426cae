//! The options of a field: the values that a person chooses from, and the words for each choice.

use std::borrow::Cow;

use super::Field;
use crate::printable::Printable;
use crate::types::elicitation::{EnumOption, PrimitiveSchema};

/// An option of a field.
///
/// ```
/// use mrtr_schema::Form;
///
/// let form = r#"{"type": "object", "properties": {"in": {"type": "string", "enum": ["se"], "enumNames": ["Sweden"]}}}"#;
/// let form = Form::parse(form)?;
/// let option = form.field("in").unwrap().options()[0];
/// assert_eq!((option.value, option.title().as_ref()), ("se", "Sweden"));
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldOption<'a> {
    /// The value that the answer holds if the option is chosen.
    pub value: &'a str,
    /// The text that people read, as it came. Do not show it as it is.
    pub untrusted_title: &'a str,
}

impl<'a> FieldOption<'a> {
    fn of(option: &'a EnumOption) -> Self {
        Self { value: &option.value, untrusted_title: &option.title }
    }

    fn untitled(value: &'a String) -> Self {
        Self { value, untrusted_title: value }
    }

    /// Returns the text that people read, made safe to show by [`Printable::line`].
    pub fn title(&self) -> Cow<'a, str> {
        Printable::line(self.untrusted_title).into_text()
    }
}

impl<'a> Field<'a> {
    /// Returns the options that a person chooses from. There are none for a field that is not a select.
    pub fn options(&self) -> Vec<FieldOption<'a>> {
        match self.schema {
            PrimitiveSchema::UntitledSingleSelect(schema) => schema.values.iter().map(FieldOption::untitled).collect(),
            PrimitiveSchema::TitledSingleSelect(schema) => schema.options.iter().map(FieldOption::of).collect(),
            PrimitiveSchema::UntitledMultiSelect(schema) => {
                schema.items.values.iter().map(FieldOption::untitled).collect()
            }
            PrimitiveSchema::TitledMultiSelect(schema) => schema.items.options.iter().map(FieldOption::of).collect(),
            PrimitiveSchema::LegacyTitledSelect(schema) => {
                // The two lists need not be equally long.
                let names = schema.enum_names.iter().flatten().map(Some).chain(std::iter::repeat(None));
                let titled = schema.values.iter().zip(names);
                titled.map(|(value, name)| FieldOption { value, untrusted_title: name.unwrap_or(value) }).collect()
            }
            PrimitiveSchema::String(_) | PrimitiveSchema::Number(_) | PrimitiveSchema::Boolean(_) => Vec::new(),
        }
    }

    /// Returns the text by which a person would enter an option: its title, if that means this option and no other.
    pub(super) fn entered(&self, value: &str) -> String {
        let options = self.options();
        let title = options.iter().find(|option| option.value == value).map(|option| option.untrusted_title);
        let title = title.filter(|title| chosen(&options, title).is_some_and(|option| option.value == value));
        title.unwrap_or(value).to_owned()
    }

    /// Returns the text by which a person would enter several options: each as one, or quoted where it could be
    /// mistaken for something else.
    pub(super) fn listed(&self, values: &[String]) -> String {
        let options = self.options();
        let one = |value: &String| {
            let entered = self.entered(value);
            let is_plain = entered == entered.trim() && !entered.is_empty() && !entered.contains([',', '"']);
            let means_it = chosen(&options, &entered).is_some_and(|option| option.value == value);
            if is_plain && means_it { entered } else { serde_json::Value::from(value.as_str()).to_string() }
        };
        values.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

/// Finds the option that a person means: by its value, its title or its number from 1, or by either text in another
/// case.
pub(super) fn chosen<'a>(options: &[FieldOption<'a>], entered: &str) -> Option<FieldOption<'a>> {
    let trimmed = entered.trim();
    let with_value = |text: &str| options.iter().find(|option| option.value == text);
    let with_title =
        |text: &str| options.iter().find(|option| option.untrusted_title == text || option.title() == text);
    let numbered = || options.get(trimmed.parse::<usize>().ok()?.checked_sub(1)?);
    let alike = || {
        let wanted = trimmed.to_lowercase();
        let is_alike = |text: &str| text.trim().to_lowercase() == wanted;
        let mut alike = options.iter().filter(|option| is_alike(option.value) || is_alike(option.untrusted_title));
        alike.next().filter(|_| alike.next().is_none())
    };
    let found = with_value(entered).or_else(|| with_title(entered));
    found.or_else(|| with_value(trimmed)).or_else(|| with_title(trimmed)).or_else(numbered).or_else(alike).copied()
}
