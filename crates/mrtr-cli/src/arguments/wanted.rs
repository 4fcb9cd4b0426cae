//! The values that one argument may have, as its schema says: in words, and read from a text of the command line.

use std::borrow::Cow;
use std::fmt;

use mrtr::schema::Printable;
use serde_json::Value;

/// The values that an argument may have.
pub(super) struct Wanted<'a> {
    schema: &'a Value,
    root: &'a Value,
}

impl<'a> Wanted<'a> {
    pub(super) fn of(schema: &'a Value, root: &'a Value) -> Self {
        Self { schema: resolved(schema, root), root }
    }

    /// Reads a text as such a value, if it is one.
    pub(super) fn value(&self, text: &str) -> Option<Value> {
        let options = self.options();
        if !options.is_empty() {
            return options.into_iter().find(|option| written(option) == text).cloned();
        }
        let types = self.types();
        if types.is_empty() {
            return Some(serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)));
        }
        types.iter().find_map(|kind| as_type(kind, text))
    }

    /// The reason why a text is no JSON, where only JSON will do.
    pub(super) fn json_error(&self, text: &str) -> Option<serde_json::Error> {
        let types = self.types();
        let takes_json = !types.is_empty() && types.iter().all(|kind| matches!(*kind, "array" | "object"));
        serde_json::from_str::<Value>(text).err().filter(|_| takes_json && self.options().is_empty())
    }

    /// The types; those that take fewer texts come first. It is empty if any type will do.
    fn types(&self) -> Vec<&'a str> {
        let mut types = types_of(self.schema, self.root);
        types.sort_by_key(|kind| *kind == "string");
        types.dedup();
        types
    }

    /// The values to choose from, if it is a choice.
    fn options(&self) -> Vec<&'a Value> {
        options_of(self.schema, self.root)
    }

    fn example_number(&self) -> String {
        let bound = |keyword| self.schema.get(keyword).and_then(Value::as_f64);
        let (least, most) = (bound("minimum").unwrap_or(f64::MIN), bound("maximum").unwrap_or(f64::MAX));
        if (least..=most).contains(&42.0) { "42".to_owned() } else { least.max(0.0).to_string() }
    }

    /// Returns a value for an example, quoted as a command line needs it.
    pub(super) fn example(&self) -> String {
        let text = match self.options().first() {
            Some(Value::String(option)) => option.clone(),
            Some(option) => option.to_string(),
            None => match (self.schema.get("default"), self.types().first().copied()) {
                (Some(Value::String(text)), _) => text.clone(),
                (Some(value), _) => value.to_string(),
                (None, Some("integer" | "number")) => self.example_number(),
                (None, Some("boolean")) => "true".to_owned(),
                (None, Some("array")) => "[]".to_owned(),
                (None, Some("object")) => "{}".to_owned(),
                (None, _) => "text".to_owned(),
            },
        };
        let text = Printable::line(&text).to_string();
        shlex::try_quote(&text).map_or_else(|_| text.clone(), Cow::into_owned)
    }
}

impl fmt::Display for Wanted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = self.options();
        if !options.is_empty() {
            let listed: Vec<_> = options.iter().take(MOST_LISTED).map(ToString::to_string).collect();
            let more = if options.len() > MOST_LISTED { " …" } else { "" };
            return write!(f, "one of {}{more}", Printable::line(&listed.join(", ")));
        }
        let words: Vec<_> = self.types().into_iter().map(in_words).collect();
        f.write_str(&if words.is_empty() { "any JSON".to_owned() } else { words.join(", or ") })?;
        for (keyword, word) in [("minimum", "at least"), ("maximum", "at most"), ("format", "as"), ("pattern", "like")]
        {
            // The format of a number is a size in memory, which says nothing to a person.
            let says_something = keyword != "format" || self.types().contains(&"string");
            if let Some(bound) = self.schema.get(keyword).filter(|_| says_something) {
                write!(
                    f,
                    ", {word} {}",
                    Printable::line(bound.as_str().map_or(bound.to_string(), str::to_owned).as_str())
                )?;
            }
        }
        match self.schema.get("description").and_then(Value::as_str) {
            Some(about) => write!(f, " ({})", Printable::line(about)),
            None => Ok(()),
        }
    }
}

/// A value as it stands on a command line.
fn written(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn in_words(kind: &str) -> &'static str {
    match kind {
        "string" => "text",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list, as JSON",
        "object" => "an object, as JSON",
        _ => "null",
    }
}

fn as_type(kind: &str, text: &str) -> Option<Value> {
    let json = || serde_json::from_str::<Value>(text).ok();
    match kind {
        "string" => Some(Value::from(text)),
        "integer" => json().filter(|value| value.is_i64() || value.is_u64() || is_whole(value)),
        "number" => json().filter(Value::is_number),
        "boolean" => match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "y" => Some(Value::Bool(true)),
            "false" | "no" | "n" => Some(Value::Bool(false)),
            _ => None,
        },
        "array" => json().filter(Value::is_array),
        "object" => json().filter(Value::is_object),
        _ => json().filter(Value::is_null),
    }
}

fn is_whole(value: &Value) -> bool {
    value.as_f64().is_some_and(|number| number.fract() == 0.0 && number.abs() <= MOST_EXACT)
}

/// Whole numbers above this one may be changed when they are read: the tool would get another than was written.
const MOST_EXACT: f64 = 9_007_199_254_740_992.0;

fn types_of<'a>(schema: &'a Value, root: &'a Value) -> Vec<&'a str> {
    match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => choices(schema).flat_map(|choice| types_of_choice(choice, root)).collect(),
    }
}

/// Looks into one level of a union: deeper ones are JSON's business.
fn types_of_choice<'a>(choice: &'a Value, root: &'a Value) -> Vec<&'a str> {
    match resolved(choice, root).get("type") {
        Some(Value::String(kind)) => vec![kind],
        _ => Vec::new(),
    }
}

fn options_of<'a>(schema: &'a Value, root: &'a Value) -> Vec<&'a Value> {
    if let Some(Value::Array(options)) = schema.get("enum") {
        return options.iter().collect();
    }
    let choices: Vec<_> = choices(schema).map(|choice| resolved(choice, root)).collect();
    let constants: Vec<_> = choices.iter().filter_map(|choice| choice.get("const")).collect();
    if !constants.is_empty() && constants.len() == choices.len() { constants } else { Vec::new() }
}

fn choices(schema: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["oneOf", "anyOf"].into_iter().filter_map(|keyword| schema.get(keyword)?.as_array());
    lists.flatten()
}

/// Follows references within the schema.
fn resolved<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let mut schema = schema;
    for _ in 0..MOST_REFERENCES {
        let target = schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
        match target.and_then(|pointer| root.pointer(pointer)) {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

const MOST_LISTED: usize = 10;

/// A reference may lead to another, and a hostile one to itself.
const MOST_REFERENCES: usize = 8;
