//! The view of a form's fields: for any form, what is taken from a person fits it, and what is shown can be entered.
#![cfg(all(feature = "proptest", feature = "validate"))]
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::cell::Cell;
use std::collections::BTreeMap;

use mrtr_schema::elicitation::{Field, FieldKind, FieldOption};
use mrtr_schema::{Form, Json, JsonObject, Printable, Revision, Wire, arbitrary};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

fn form(fields: &Value) -> Form {
    Form::parse(&json!({ "type": "object", "properties": fields }).to_string()).unwrap()
}

fn parse(form: &Form, name: &str, entered: &str) -> Result<Value, String> {
    let parsed = form.field(name).unwrap().parse(entered);
    parsed.map(|value| value.to().unwrap()).map_err(|reason| reason.to_string())
}

fn all_kinds() -> Form {
    let titled = json!([{ "const": "#f00", "title": "Red" }, { "const": "#0f0", "title": "Green" }]);
    form(&json!({
        "text": { "type": "string", "minLength": 2, "maxLength": 3 },
        "number": { "type": "number", "minimum": 0.5 },
        "integer": { "type": "integer", "minimum": -3, "maximum": 12 },
        "boolean": { "type": "boolean" },
        "untitled": { "type": "string", "enum": ["2", "1", "Blue"] },
        "titled": { "type": "string", "oneOf": titled },
        "legacy": { "type": "string", "enum": ["a", "b"], "enumNames": ["Alpha"] },
        "some": { "type": "array", "minItems": 1, "maxItems": 2, "items": { "type": "string", "enum": ["x", "y,z", "w"] } },
        "some_titled": { "type": "array", "items": { "anyOf": titled } },
    }))
}

#[test]
fn each_of_the_eight_kinds_is_seen_as_what_a_person_does_with_it() {
    use FieldKind::{Boolean, Integer, MultiSelect, Number, Select, Text};
    let form = all_kinds();
    let kinds: Vec<_> = form.fields().map(|field| field.kind()).collect();
    assert_eq!(kinds, [Text, Number, Integer, Boolean, Select, Select, Select, MultiSelect, MultiSelect]);
    let titles = |name| -> Vec<_> { form.field(name).unwrap().options().iter().map(FieldOption::title).collect() };
    assert_eq!(titles("titled"), ["Red", "Green"]);
    assert_eq!(titles("legacy"), ["Alpha", "b"], "a value without a name is called by its value");
    assert_eq!(titles("some"), ["x", "y,z", "w"]);
    assert!(titles("text").is_empty());
}

#[test]
fn what_a_person_types_is_the_value_that_they_mean() {
    let form = all_kinds();
    for (name, entered, value) in [
        ("text", "añb", json!("añb")),
        ("number", " +1.5 ", json!(1.5)),
        ("integer", "12", json!(12)),
        ("integer", "1.2e1", json!(12)),
        ("integer", "-3", json!(-3)),
        ("boolean", "Yes", json!(true)),
        ("boolean", "n", json!(false)),
        ("untitled", "1", json!("1")), // its value, rather than its number
        ("untitled", "3", json!("Blue")),
        ("untitled", " blue", json!("Blue")),
        ("titled", "Green", json!("#0f0")),
        ("titled", "2", json!("#0f0")),
        ("titled", "#f00", json!("#f00")),
        ("legacy", "Alpha", json!("a")),
        ("some", "x, w", json!(["x", "w"])),
        ("some", r#""y,z",3"#, json!(["y,z", "w"])),
        ("some_titled", "", json!([])),
        ("some_titled", "green,Red,", json!(["#0f0", "#f00"])),
    ] {
        assert_eq!(parse(&form, name, entered), Ok(value), "{name}: {entered:?}");
    }
}

#[test]
fn what_does_not_fit_has_a_reason_that_a_person_can_act_on() {
    let formats = form(&json!({
        "mail": { "type": "string", "format": "email" },
        "site": { "type": "string", "format": "uri" },
        "day": { "type": "string", "format": "date" },
        "moment": { "type": "string", "format": "date-time" },
    }));
    let form = all_kinds();
    for (form, name, entered, reason) in [
        (&form, "text", "a", "expected 2 to 3 characters"),
        (&form, "number", "much", "not a number"),
        (&form, "number", "0.4", "expected at least 0.5"),
        (&form, "integer", "1.5", "not a whole number"),
        (&form, "integer", "13", "expected -3 to 12"),
        (&form, "boolean", "maybe", "not yes or no"),
        (&form, "titled", "Blue", "`Blue` is not one of the options: Red, Green"),
        (&form, "untitled", "4", "`4` is not one of the options: 2, 1, Blue"),
        (&form, "some", "", "expected 1 to 2 options"),
        (&form, "some", "x, y", "`y` is not one of the options: x, y,z, w"),
        (&formats, "mail", "ada", "expected an e-mail address"),
        (&formats, "site", "example", "expected a URI"),
        (&formats, "day", "2026-02-30", "expected a date such as 2026-08-31"),
        (&formats, "moment", "2026-08-31", "expected a date and time such as 2026-08-31T12:00:00Z"),
    ] {
        assert_eq!(parse(form, name, entered), Err(reason.to_owned()), "{name}: {entered:?}");
    }
    assert_eq!(parse(&formats, "mail", "ada@example.com"), Ok(json!("ada@example.com")));
    assert_eq!(parse(&formats, "site", "https://example.com"), Ok(json!("https://example.com")));
    assert_eq!(parse(&formats, "moment", "2026-08-31T12:00:00Z"), Ok(json!("2026-08-31T12:00:00Z")));
}

#[test]
fn a_default_whose_title_means_another_option_is_shown_by_its_value() {
    let options = json!([{ "const": "a", "title": "b" }, { "const": "b", "title": "a" }, { "const": "c", "title": "3" },
        { "const": "3", "title": "C" }, { "const": "4", "title": "four" }]);
    for (default, shown) in [("a", "a"), ("b", "b"), ("c", "c"), ("3", "C"), ("4", "four")] {
        let one = form(&json!({ "f": { "type": "string", "default": default, "oneOf": options } }));
        let some = json!({ "f": { "type": "array", "default": [default, "b"], "items": { "anyOf": options } } });
        assert_eq!(one.field("f").unwrap().default_text().as_deref(), Some(shown));
        assert_eq!(parse(&one, "f", shown), Ok(json!(default)));
        let listed = form(&some).field("f").unwrap().default_text().unwrap();
        assert_eq!(parse(&form(&some), "f", &listed), Ok(json!([default, "b"])), "{listed}");
    }
}

#[test]
fn nothing_of_a_form_steers_a_terminal() {
    let bad = "\u{1b}[2J";
    let form = form(&json!({ "f": { "type": "string", "title": bad, "description": bad, "default": bad,
        "oneOf": [{ "const": bad, "title": bad }] } }));
    let field = form.field("f").unwrap();
    let reason = field.parse(&format!("{bad}x")).unwrap_err().to_string();
    let (title, description) = (field.title().into_owned(), field.description().unwrap().into_owned());
    for shown in [title, description, field.options()[0].title().into_owned(), field.default_text().unwrap(), reason] {
        assert!(!shown.contains('\u{1b}') && shown.contains(r"\u{1b}"), "{shown}");
    }
    let digits = Form::parse(&format!(
        r#"{{"type": "object", "properties": {{"n": {{"type": "number", "minimum": {}}}}}}}"#,
        "9".repeat(1 << 16)
    ));
    assert!(digits.unwrap().field("n").unwrap().constraints().to_string().len() < 100);
}

/// Returns entries for a field that are more likely to be taken than any text.
fn likely(field: Field<'_>, any: &str) -> Vec<String> {
    let mut entered = vec![any.to_owned(), "no".to_owned(), "1".to_owned(), "-2.50".to_owned(), "7e2".to_owned()];
    entered
        .extend(["ada@example.com", "https://example.com/", "2026-08-31", "2026-08-31T12:00:00Z"].map(str::to_owned));
    let constraints = field.constraints();
    entered.extend(constraints.minimum.into_iter().chain(constraints.maximum).map(ToString::to_string));
    for option in field.options() {
        entered.extend([option.value.to_owned(), option.untrusted_title.to_owned()]);
        entered.push(format!("1, {}, {any}", Value::from(option.value)));
    }
    entered.extend(field.default_text());
    entered
}

#[test]
fn what_is_taken_fits_the_form_and_what_is_shown_of_a_default_is_taken_as_it() {
    let (taken, defaults) = (Cell::new([0_u32; 6]), Cell::new(0_u32));
    let strategy = (Form::any_value(Revision::V2026_07_28), arbitrary::text());
    let outcome = TestRunner::new(Config::with_cases(600)).run(&strategy, |(form, any)| {
        let mut content = BTreeMap::new();
        for field in form.fields() {
            for entered in likely(field, &any) {
                let Ok(value) = field.parse(&entered) else { continue };
                let mut counts = taken.get();
                counts[field.kind() as usize] += 1;
                taken.set(counts);
                content.insert(field.name, value.clone());
                let answer = JsonObject::of(&content).unwrap();
                // What is wrong, if anything, is what the person has not come to yet, or the form itself.
                if let Err(violations) = form.check(&answer) {
                    let missing = violations.iter().all(|violation| {
                        violation.label.is_none() || violation.reason.starts_with("must be filled in")
                    });
                    prop_assert!(missing, "{entered:?} as {value:?}: {violations}");
                }
            }
            for form in [form.clone()].into_iter().chain(with_options_as_default(field)) {
                let field = form.field(field.name).unwrap();
                let (Some(default), Some(shown)) = (field.default(), field.default_text()) else { continue };
                if field.check(&default).is_ok() && is_shown_whole(&default, &shown) {
                    defaults.set(defaults.get() + 1);
                    prop_assert_eq!(field.parse(&shown), Ok(default), "shown as {:?}", shown);
                }
            }
        }
        Ok(())
    });
    outcome.unwrap();
    assert!(taken.get().iter().all(|count| *count >= 5), "{:?}", taken.get());
    assert!(defaults.get() > 100, "{}", defaults.get());
}

/// Forms with this field, and options of it as the default: those that any value has are seldom among them.
fn with_options_as_default(field: Field<'_>) -> Vec<Form> {
    let values: Vec<_> = field.options().iter().map(|option| Value::from(option.value)).collect();
    let defaults = match field.kind() {
        FieldKind::Select => values,
        FieldKind::MultiSelect => vec![Value::from(values)],
        _ => Vec::new(),
    };
    let schema = field.schema.to_json(Revision::V2026_07_28).unwrap();
    // A number that no machine type holds is beyond the tree, not beyond the form.
    let Ok(schema) = serde_json::from_str::<Value>(&schema) else { return Vec::new() };
    let with_default = |default| {
        let mut schema = schema.clone();
        schema["default"] = default;
        form(&json!({ field.name: schema }))
    };
    defaults.into_iter().map(with_default).collect()
}

/// Returns true if nothing of a default had to be cut or escaped to be shown.
fn is_shown_whole(default: &Json, shown: &str) -> bool {
    let texts: Vec<String> = match default.to::<Value>() {
        Ok(Value::String(text)) => vec![text],
        Ok(Value::Array(list)) => list.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let is_whole = |text: &String| Printable::line(text).up_to(Printable::TEXT).to_string() == *text;
    texts.iter().all(is_whole) && !shown.contains(r"\u{")
}
