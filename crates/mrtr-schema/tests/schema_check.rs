//! Schemas that would keep the compiler of schemas busy are refused, soon and with the reason.
#![cfg(feature = "validate")]
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use mrtr_schema::SchemaCheck;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Compiles a schema, or fails: a test that waits for ever finds nothing out.
fn compiled(schema: &Value) -> Result<SchemaCheck, String> {
    let raw = RawValue::from_string(schema.to_string()).unwrap();
    let (done, compiled) = mpsc::channel();
    thread::spawn(move || done.send(SchemaCheck::new(&raw).map_err(|error| error.to_string())));
    compiled.recv_timeout(Duration::from_mins(1)).expect("a minute is enough for any schema")
}

/// An object with a property for each pattern.
fn with_patterns(patterns: impl IntoIterator<Item = String>) -> Value {
    let property = |(number, pattern): (usize, String)| (number.to_string(), json!({ "pattern": pattern }));
    let properties: serde_json::Map<_, _> = patterns.into_iter().enumerate().map(property).collect();
    json!({ "properties": properties })
}

fn refusal(schema: &Value) -> String {
    compiled(schema).expect_err("it asks for too much")
}

#[test]
fn patterns_beyond_a_number_are_refused() {
    let distinct = |number| with_patterns((0..number).map(|n| format!("^x{n}$")));
    assert!(compiled(&distinct(256)).is_ok());
    assert!(refusal(&distinct(257)).ends_with("it has 257 patterns, and 256 are allowed"));
    let keys: serde_json::Map<_, _> = (0..257).map(|n| (format!("^x{n}$"), json!({}))).collect();
    let nested = json!({ "$defs": { "a": { "items": { "patternProperties": keys } } } });
    assert!(refusal(&nested).ends_with("it has 257 patterns, and 256 are allowed"));
    let listed: Vec<_> = (0..257).map(|n| json!({ "pattern": format!("^x{n}$") })).collect();
    assert!(refusal(&json!({ "anyOf": listed })).ends_with("it has 257 patterns, and 256 are allowed"));
    assert!(compiled(&with_patterns((0..1000).map(|_| "^[a-z]+$".to_owned()))).is_ok(), "it is one and the same");
}

#[test]
fn patterns_beyond_a_length_are_refused() {
    let of_length = |length| with_patterns(["x".repeat(length)]);
    assert!(compiled(&of_length(2048)).is_ok());
    assert!(refusal(&of_length(2049)).ends_with("it has a pattern of 2049 bytes, and 2048 are allowed"));
    let together = |number| with_patterns((0..number).map(|n| format!("{n:x>1024}")));
    assert!(compiled(&together(16)).is_ok());
    assert!(refusal(&together(17)).ends_with("its patterns have 17408 bytes, and 16384 are allowed together"));
}

/// Fifty thousand bytes of patterns took most of a minute and two gigabytes.
#[test]
fn fifty_kilobytes_of_patterns_are_refused() {
    let patterns = with_patterns((0..3500).map(|n| format!("\\p{{L}}{{{}}}", 60 + n)));
    assert!(patterns.to_string().len() > 50_000);
    assert!(refusal(&patterns).contains("patterns"));
}

#[test]
fn few_patterns_that_compile_to_much_are_refused() {
    let large = [
        r"\p{L}{1000}",
        r"((a{1,100}){1,100}){1,100}",
        r"(?=\p{L}{1000})x",
        r"^(?:(?!\p{L}{1000})\p{L}{1000})$",
        r"[^\p{L}\p{N}]{500}\1",
    ];
    for pattern in large {
        let refusal = refusal(&with_patterns([pattern.to_owned()]));
        assert!(refusal.contains("is not a \"regex\", or its compiled form exceeds the limit"), "{refusal}");
    }
    // Each would do alone; together there is no room for them.
    let names = |number: usize| with_patterns((0..number).map(|n| format!("\\p{{L}}{{40}}{n}")));
    assert!(compiled(&names(1)).is_ok() && compiled(&names(100)).is_err());
    let look = |n: usize| format!("(?=\\p{{L}}{{40}}{n})");
    let looks = |number: usize| with_patterns([(0..number).map(look).collect::<Vec<_>>().concat()]);
    assert!(compiled(&looks(1)).is_ok() && compiled(&looks(100)).is_err());
}

#[test]
fn patterns_that_take_long_to_read_are_few() {
    let escapes = with_patterns((0..8).map(|n| format!("{n:x>8}{}", r"\cA".repeat(680))));
    assert!(compiled(&escapes).is_ok());
    let just_light = with_patterns((0..256).map(|n| format!("\\p{{L}}{{7}}{n}")));
    assert!(compiled(&just_light).is_ok());
    let nested = with_patterns((0..8).map(|n| format!("{n}{}{}", "(".repeat(1000), ")".repeat(1000))));
    assert!(compiled(&nested).is_err());
}

#[test]
fn patterns_that_people_write_are_taken() {
    let usual = [
        r"^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$",
        r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$",
        r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
        r"^(?=.*[a-z])(?=.*[A-Z])(?=.*\d).{12,128}$",
        r"^[\w.!#$%&'*+/=?^`{|}~-]+@[\w-]+(?:\.[\w-]+)*$",
        r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?$",
        r"^\p{L}[\p{L}\p{M}' -]{0,99}$",
        r"^(?!-)[a-z0-9-]{1,63}(?<!-)$",
        r#"^(['"]).*\1$"#,
    ];
    for pattern in usual {
        compiled(&with_patterns([pattern.to_owned()])).expect(pattern);
    }
    compiled(&with_patterns(usual.map(ToOwned::to_owned))).expect("all of them");
    compiled(&with_patterns((0..100).map(|n| format!("^[a-z][a-z0-9_-]{{0,63}}{n}$")))).expect("a hundred names");
}
