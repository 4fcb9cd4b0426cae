//! Reads what a person typed into a field, as the value that it means, or says why it means none.

use serde_json::Value;
use serde_json::value::RawValue;

use super::options::chosen;
use super::{Field, FieldKind, FieldOption, texts};
use crate::json::{self, Json, Number, elements};
use crate::printable::Printable;
use crate::revision::Revision;
use crate::validate::SchemaCheck;
use crate::wire::Wire;

/// The reason why a field does not take what a person entered: a sentence to show to them.
///
/// ```
/// use mrtr_schema::Form;
///
/// let form = Form::parse(r#"{"type": "object", "properties": {"age": {"type": "integer", "minimum": 18}}}"#)?;
/// let age = form.field("age").unwrap();
/// assert_eq!(age.parse("old").unwrap_err().to_string(), "not a number");
/// assert_eq!(age.parse("17").unwrap_err().to_string(), "expected at least 18");
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EntryError(String);

impl Field<'_> {
    /// Reads what a person typed as the value that they mean, if the field takes it.
    ///
    /// Yes and no have their usual words. A person names an option by its value, its title or its number, of
    /// which the first is 1. They separate several options by commas, and quote one that has a comma in it.
    ///
    /// ```
    /// use mrtr_schema::{Form, Json};
    ///
    /// let form = Form::parse(r#"{"type": "object", "properties": {
    ///     "news": {"type": "boolean"},
    ///     "when": {"type": "string", "format": "date"},
    ///     "toppings": {"type": "array", "maxItems": 2, "items": {"anyOf": [
    ///         {"const": "h", "title": "Ham"}, {"const": "o", "title": "Olives"}, {"const": "c", "title": "Capers"}]}}}}"#)?;
    /// let parse = |name, text| form.field(name).unwrap().parse(text);
    /// assert_eq!(parse("news", "y")?, Json::parse("true")?);
    /// assert_eq!(parse("toppings", "Ham, 3")?, Json::parse(r#"["h", "c"]"#)?);
    /// assert_eq!(parse("toppings", "1, 2, 3").unwrap_err().to_string(), "expected at most 2 options");
    /// assert_eq!(parse("when", "tomorrow").unwrap_err().to_string(), "expected a date such as 2026-08-31");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse(&self, entered: &str) -> Result<Json, EntryError> {
        let value = match self.kind() {
            FieldKind::Text => super::text(entered),
            FieldKind::Number => number(entered)?.into(),
            FieldKind::Integer => integer(&number(entered)?)?,
            FieldKind::Boolean => yes_or_no(entered)?,
            FieldKind::Select => {
                let options = self.options();
                let option = chosen(&options, entered).ok_or_else(|| not_among(&options, entered))?;
                super::text(option.value)
            }
            FieldKind::MultiSelect => several(&self.options(), entered)?,
        };
        self.check(&value)?;
        Ok(value)
    }

    /// Checks that the field takes a value: for values that were not typed, such as a choice from a list.
    ///
    /// ```
    /// use mrtr_schema::{Form, Json};
    ///
    /// let form = Form::parse(r#"{"type": "object", "properties": {"copies": {"type": "integer", "maximum": 9}}}"#)?;
    /// let copies = form.field("copies").unwrap();
    /// assert!(copies.check(&Json::parse("9")?).is_ok());
    /// assert_eq!(copies.check(&Json::parse("10")?).unwrap_err().to_string(), "expected at most 9");
    /// assert_eq!(copies.check(&Json::parse("true")?).unwrap_err().to_string(), "not a number");
    /// # Ok::<(), mrtr_schema::ReadError>(())
    /// ```
    pub fn check(&self, value: &Json) -> Result<(), EntryError> {
        // Members that the sender added are left out, as in the check of the whole form.
        let mut known = self.schema.clone();
        known.forget_extra();
        let known = known.to_json(Revision::default()).and_then(RawValue::from_string);
        let known = known.expect("a field has no member that a revision could demand");
        let check = SchemaCheck::new(&known).map_err(|error| EntryError(error.to_string()))?;
        check.check(value.as_raw()).map_err(|violations| {
            let reason = self.reason(value).unwrap_or_else(|| violations.to_string());
            EntryError(Printable::line(&reason).to_string())
        })
    }

    /// Says why the field does not take a value, in words for the person who entered it. `None` if neither the kind of
    /// the value nor the field's limits tell.
    pub(in crate::types::form) fn reason(&self, value: &Json) -> Option<String> {
        let wrong_kind = match self.kind() {
            FieldKind::Text => value.as_text().is_none().then(|| "not a text".to_owned()),
            FieldKind::Number => number(value.as_str()).err().map(|error| error.0),
            FieldKind::Integer => match number(value.as_str()) {
                Err(error) => Some(error.0),
                Ok(number) => integer(&number).err().map(|error| error.0),
            },
            FieldKind::Boolean => (!matches!(value.as_str(), "true" | "false")).then(|| NOT_YES_OR_NO.to_owned()),
            FieldKind::Select => self.not_an_option(value),
            FieldKind::MultiSelect => match elements(value.as_raw()) {
                Ok(chosen) => chosen.into_iter().find_map(|one| self.not_an_option(&Json::from_raw(one).ok()?)),
                Err(_) => Some("not a list of options".to_owned()),
            },
        };
        let constraints = self.constraints();
        wrong_kind.or_else(|| (!constraints.is_empty()).then(|| format!("expected {constraints}")))
    }

    /// Says that a value is none of the options, if it is not.
    fn not_an_option(&self, value: &Json) -> Option<String> {
        let (options, text) = (self.options(), value.as_text());
        if text.as_ref().is_some_and(|text| options.iter().any(|option| option.value == *text)) {
            return None;
        }
        Some(not_among(&options, text.as_deref().unwrap_or(value.as_str())).0)
    }
}

fn number(entered: &str) -> Result<Number, EntryError> {
    let trimmed = entered.trim();
    let digits = trimmed.strip_prefix('+').filter(|rest| !rest.starts_with('-')).unwrap_or(trimmed);
    Number::parse(digits).map_err(|_| EntryError("not a number".to_owned()))
}

/// Spells a whole number in digits alone, since readers of integers take no other spelling.
fn integer(number: &Number) -> Result<Json, EntryError> {
    if let Some(integer) = json::integer::<i128>(&number.to_string()) {
        return Json::parse(&integer.to_string()).map_err(|error| EntryError(error.to_string()));
    }
    let value = number.as_f64();
    if value.is_finite() && value.fract() != 0.0 {
        return Err(EntryError("not a whole number".to_owned()));
    }
    Ok(number.clone().into())
}

fn yes_or_no(entered: &str) -> Result<Json, EntryError> {
    match entered.trim().to_lowercase().as_str() {
        "y" | "yes" | "true" | "on" | "1" => Ok(Value::from(true).into()),
        "n" | "no" | "false" | "off" | "0" => Ok(Value::from(false).into()),
        _ => Err(EntryError(NOT_YES_OR_NO.to_owned())),
    }
}

/// Reads the options of a list: separated by commas, and quoted as JSON where one has a comma or blanks in it.
fn several(options: &[FieldOption<'_>], entered: &str) -> Result<Json, EntryError> {
    let mut values = Vec::new();
    let mut rest = entered.trim_start();
    while !rest.is_empty() {
        if let Some((quoted, after)) = quoted(rest) {
            let option = options.iter().find(|option| option.value == quoted);
            values.push(option.ok_or_else(|| not_among(options, &quoted))?.value.to_owned());
            rest = after;
        } else {
            let (element, after) = rest.split_once(',').unwrap_or((rest, ""));
            if !element.trim().is_empty() {
                let option = chosen(options, element.trim()).ok_or_else(|| not_among(options, element))?;
                values.push(option.value.to_owned());
            }
            rest = after.trim_start();
        }
    }
    Ok(texts(&values))
}

/// Returns a text in quotes that is all of an element, and the text behind the element.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
    let quoted = text.starts_with('"').then(|| values.next())??.ok()?;
    let rest = text[values.byte_offset()..].trim_start();
    if rest.is_empty() { Some((quoted, rest)) } else { Some((quoted, rest.strip_prefix(',')?.trim_start())) }
}

fn not_among(options: &[FieldOption<'_>], entered: &str) -> EntryError {
    let mut titles: Vec<_> = options.iter().take(MOST_LISTED).map(|option| option.title().into_owned()).collect();
    if options.len() > MOST_LISTED {
        titles.push(format!("and {} more", options.len() - MOST_LISTED));
    }
    let entered = Printable::line(entered.trim()).up_to(MOST_SHOWN).to_string();
    let listed = titles.join(", ");
    EntryError(format!("`{entered}` is not one of the options: {}", Printable::line(&listed).up_to(Printable::TEXT)))
}

const NOT_YES_OR_NO: &str = "not yes or no";

/// The most options that are listed for a person who meant none of them.
const MOST_LISTED: usize = 10;

/// The most characters of the entry that are repeated to them.
const MOST_SHOWN: usize = 40;
