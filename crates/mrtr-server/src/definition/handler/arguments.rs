//! The arguments of a handler: a type that is read from JSON and has a schema, and the reasons why arguments do not fit
//! it.

use mrtr_schema::error::Problem;
use mrtr_schema::{Json, JsonObject, ReadError};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_path_to_error::Segment;

/// A type that a handler can take as its arguments: it can be read from JSON, and has a schema that tells callers what
/// that JSON is.
///
/// ```
/// use mrtr_server::handler::HandlerArguments;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Greet {
///     /// Whom to greet
///     name: String,
/// }
///
/// fn takes<A: HandlerArguments>() {}
/// takes::<Greet>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the arguments of a handler",
    label = "this handler takes a `{Self}`",
    note = "arguments are read from JSON, and callers get their schema: write `#[data]` of `mrtr` above the struct, and above every type in it",
    note = "a program without `mrtr` writes `#[derive(serde::Deserialize, schemars::JsonSchema)]` instead",
    note = "the arguments are `Send + 'static`, and borrow nothing"
)]
pub trait HandlerArguments: Send + Sized + 'static {
    /// Returns the JSON Schema of the arguments, as an object.
    #[doc(hidden)]
    fn input_schema() -> Result<JsonObject, ReadError>;

    /// Reads the arguments, or says why they do not fit.
    #[doc(hidden)]
    fn read(arguments: &RawValue) -> Result<Self, String>;
}

// The compiler then names the type that cannot be the arguments, and not each trait that it lacks.
#[diagnostic::do_not_recommend]
impl<A: DeserializeOwned + JsonSchema + Send + 'static> HandlerArguments for A {
    fn input_schema() -> Result<JsonObject, ReadError> {
        JsonObject::of(&schemars::schema_for!(A))
    }

    #[inline]
    fn read(arguments: &RawValue) -> Result<Self, String> {
        serde_json::from_str(arguments.get()).or_else(|error| read_in_digits(arguments, error))
    }
}

/// Reads arguments that serde refused, with `1.0` spelt as the integer that it is to their schema.
#[cold]
fn read_in_digits<A: DeserializeOwned>(arguments: &RawValue, error: serde_json::Error) -> Result<A, String> {
    let Some(spelt) = Json::in_digits(arguments) else { return Err(reason::<A>(arguments, error)) };
    serde_json::from_str(spelt.get()).map_err(|error| reason::<A>(&spelt, error))
}

/// The arguments of a handler that takes none. It ignores whatever a caller sends.
#[derive(Debug)]
pub struct NoArguments;

#[diagnostic::do_not_recommend]
impl HandlerArguments for NoArguments {
    fn input_schema() -> Result<JsonObject, ReadError> {
        JsonObject::parse(r#"{"type": "object"}"#)
    }

    fn read(_: &RawValue) -> Result<Self, String> {
        Ok(Self)
    }
}

/// The reason why arguments do not fit, from a second reading that keeps track of the place. Arguments that fit are
/// never read twice.
fn reason<A: DeserializeOwned>(arguments: &RawValue, first: serde_json::Error) -> String {
    let mut again = serde_json::Deserializer::from_str(arguments.get());
    let (place, error) = match serde_path_to_error::deserialize::<_, A>(&mut again) {
        Err(error) => (error.path().iter().cloned().collect(), error.into_inner()),
        Ok(_) => (Vec::new(), first),
    };
    let inwards = place.into_iter().rev();
    inwards.fold(in_words(&error), |reason, segment| at(segment, reason)).to_string()
}

fn at(segment: Segment, reason: ReadError) -> ReadError {
    match segment {
        Segment::Seq { index } => reason.in_element(index),
        Segment::Map { key } | Segment::Enum { variant: key } => reason.in_member(key),
        Segment::Unknown => reason,
    }
}

/// Puts serde's error in our words: without the line and column of a text that the caller may never have written as
/// such, and without the names of Rust's types.
fn in_words(error: &serde_json::Error) -> ReadError {
    let said = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let said = said.strip_suffix(&place).unwrap_or(&said);
    if let Some(field) = said.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        return ReadError::new(Problem::Missing).in_member(field.to_owned());
    }
    if said.starts_with("data did not match any variant of untagged enum") {
        return ReadError::refused("it is of none of the kinds that are taken here");
    }
    // The arguments are JSON, so no value is missing: an enum got a value of another kind.
    if said == "expected value" {
        return ReadError::refused("expected one of its values");
    }
    let of_type = said.strip_prefix("invalid type: ").and_then(|rest| rest.rsplit_once(", expected "));
    if let Some((found, expected)) = of_type {
        return ReadError::refused(format!("expected {}, got {}", kind_wanted(expected), kind_found(found)));
    }
    let of_value = said.strip_prefix("invalid value: ").and_then(|rest| rest.rsplit_once(", expected "));
    if let Some((found, expected)) = of_value {
        let found = found.strip_prefix("integer ").or(found.strip_prefix("string ")).unwrap_or(found);
        return ReadError::refused(format!("expected {}, got {found}", value_wanted(expected)));
    }
    let said = said.replacen("unknown variant", "unknown value", 1).replacen("unknown field", "unknown member", 1);
    ReadError::refused(said)
}

/// Names the kind of value that serde found. For a number that is not whole, or not written as a whole one, it returns
/// the number.
fn kind_found(found: &str) -> &str {
    if let Some(number) = found.strip_prefix("floating point ") {
        return number;
    }
    let kinds = [
        ("string", "a string"),
        ("boolean", "a boolean"),
        ("integer", "a whole number"),
        ("map", "an object"),
        ("sequence", "an array"),
        ("null", "null"),
        ("unit", "null"),
    ];
    kinds.into_iter().find(|(known, _)| found.starts_with(known)).map_or(found, |(_, kind)| kind)
}

/// Names the kind of value that a type wants, from what its visitor expects. Words that an author wrote stay as they
/// are.
fn kind_wanted(expected: &str) -> &str {
    match expected {
        integer if range(integer).is_some() => "a whole number",
        "f32" | "f64" => "a number",
        "a character" => "a string of one character",
        "unit" => "null",
        "a map" => "an object",
        "a sequence" => "an array",
        of_rust if of_rust.starts_with("struct ") || of_rust.starts_with("internally tagged enum ") => "an object",
        of_rust if of_rust.starts_with("tuple ") || of_rust.starts_with("a tuple ") => "an array",
        words => words,
    }
}

fn value_wanted(expected: &str) -> String {
    match range(expected) {
        Some((least, most)) => format!("a whole number from {least} to {most}"),
        None => kind_wanted(expected).to_owned(),
    }
}

/// The numbers that a type of Rust's holds.
fn range(integer: &str) -> Option<(String, String)> {
    macro_rules! ranges {
        ($($integer:ident)*) => {
            match integer {
                $(stringify!($integer) => Some(($integer::MIN.to_string(), $integer::MAX.to_string())),)*
                _ => None,
            }
        };
    }
    ranges!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    #[expect(dead_code, reason = "only its shape matters")]
    struct Order {
        work_item_id: u64,
        #[serde(default)]
        lines: Vec<Line>,
        #[serde(default)]
        by_name: BTreeMap<String, i8>,
        #[serde(default)]
        mood: Option<Mood>,
        #[serde(default)]
        kind: Option<Kind>,
        #[serde(default)]
        free: Option<Box<RawValue>>,
        #[serde(default)]
        either: Option<Either>,
        #[serde(default)]
        letter: Option<char>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only its shape matters")]
    struct Line {
        amount: f64,
        paid: bool,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only its shape matters")]
    enum Mood {
        Good,
        Bad(u8),
    }

    #[derive(Debug, Deserialize)]
    #[serde(tag = "type")]
    #[expect(dead_code, reason = "only its shape matters")]
    enum Kind {
        Bug { id: u8 },
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "only its shape matters")]
    enum Either {
        Text(String),
        Number(u8),
    }

    fn told(arguments: &serde_json::Value) -> String {
        let raw = RawValue::from_string(arguments.to_string()).unwrap();
        let error = serde_json::from_str::<Order>(raw.get()).expect_err("it does not fit");
        reason::<Order>(&raw, error)
    }

    #[test]
    fn the_place_is_named_and_what_is_wrong_there_in_words_of_json() {
        for (changed, reason) in [
            (json!({ "workItemId": "seven" }), "$.workItemId: expected a whole number, got a string"),
            (json!({ "workItemId": 1.5 }), "$.workItemId: expected a whole number, got `1.5`"),
            (json!({ "workItemId": 7.0 }), "$.workItemId: expected a whole number, got `7.0`"),
            (json!({ "workItemId": null }), "$.workItemId: expected a whole number, got null"),
            (
                json!({ "workItemId": -1 }),
                "$.workItemId: expected a whole number from 0 to 18446744073709551615, got `-1`",
            ),
            (json!({ "lines": {} }), "$.lines: expected an array, got an object"),
            (json!({ "lines": [1] }), "$.lines[0]: expected an object, got a whole number"),
            (
                json!({ "lines": [{ "amount": 1, "paid": true }, { "amount": "1" }] }),
                "$.lines[1].amount: expected a number, got a string",
            ),
            (json!({ "lines": [{ "amount": 1, "paid": [] }] }), "$.lines[0].paid: expected a boolean, got an array"),
            (json!({ "lines": [{ "amount": 1 }] }), "$.lines[0].paid: required, but absent"),
            (
                json!({ "byName": { "a b": 300 } }),
                "$.byName[\"a b\"]: expected a whole number from -128 to 127, got `300`",
            ),
            (json!({ "mood": "Fair" }), "$.mood: unknown value `Fair`, expected `Good` or `Bad`"),
            (json!({ "mood": 7 }), "$.mood: expected one of its values"),
            (json!({ "mood": { "Bad": true } }), "$.mood.Bad: expected a whole number, got a boolean"),
            (json!({ "kind": 1 }), "$.kind: expected an object, got a whole number"),
            (json!({ "either": [] }), "$.either: it is of none of the kinds that are taken here"),
            (json!({ "letter": "ab" }), "$.letter: expected a string of one character, got \"ab\""),
        ] {
            let mut arguments = json!({ "workItemId": 7, "free": { "any": [1] } });
            arguments.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
            assert_eq!(told(&arguments), reason);
        }
        assert_eq!(told(&json!({})), "$.workItemId: required, but absent");
        assert!(told(&json!({ "workItemId": 7, "id": 1 })).starts_with("$.id: unknown member `id`, expected one of"));
    }
}
