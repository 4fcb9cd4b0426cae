//! A peer's text as it is shown: nothing in it acts, and it has an end.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use mrtr_schema::tools::CallToolParams;
use mrtr_schema::{ErrorCode, ErrorObject, Printable, Revision, Wire};
use proptest::prelude::*;

/// Returns true if a text has a character that a terminal or a dialog would act on instead of showing it.
fn acts(text: &str) -> bool {
    let turns =
        |char: char| matches!(char, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().any(|char| char.is_control() || turns(char) || ('\u{e0000}'..='\u{e007f}').contains(&char))
}

const NASTY: &str = "\u{1b}]0;owned\u{7}\u{9b}2J\r\u{8}\u{7f}\u{202e}\u{2066}\u{200f}\u{e0041}";

#[test]
fn what_acts_is_written_out_and_what_is_long_is_cut() {
    let shown = Printable::line(NASTY).to_string();
    assert!(!acts(&shown), "{shown:?}");
    assert!(shown.contains(r"\u{1b}]0;owned\u{7}\u{9b}2J"), "{shown}");
    let long = Printable::line(&NASTY.repeat(10_000)).to_string();
    assert!(long.ends_with('…') && long.len() < 10 * Printable::LINE, "{}", long.len());
    assert_eq!(Printable::text("a\tb\nc\rd").to_string(), "a\tb\nc\\u{d}d");
    assert_eq!(Printable::line("Grüße, 👩‍👩‍👧 می‌خواهم").to_string(), "Grüße, 👩‍👩‍👧 می‌خواهم");
    assert_eq!(Printable::line(&"ß".repeat(200)).to_string().chars().count(), 200);
    assert_eq!(Printable::line(&"ß".repeat(201)).to_string().chars().count(), 201);
}

#[test]
fn errors_of_reading_show_a_peers_text_as_it_may_be_shown() {
    let json = serde_json::json!({ "name": "t", "_meta": { NASTY: 1 }, "task": NASTY }).to_string();
    let error = CallToolParams::from_json(&json, Revision::Sep2322.strict()).unwrap_err();
    assert!(!acts(&error.to_string()), "{error:?}");
    let word = serde_json::json!({ "resultType": "input_required", "inputRequests": { "a": { "method": "elicitation/create",
        "params": { "mode": NASTY.repeat(1000) } } } });
    let error = mrtr_schema::InputRequiredResult::from_json(&word.to_string(), Revision::V2026_07_28.lenient());
    let error = error.unwrap_err().to_string();
    assert!(!acts(&error) && error.len() < 2000, "{error:?}");
}

#[test]
fn a_log_can_take_an_error_object() {
    let mut error = ErrorObject::new(ErrorCode::INTERNAL_ERROR, NASTY.repeat(10_000));
    error.data = Some(mrtr_schema::Json::of(&NASTY.repeat(10_000)).unwrap());
    let shown = format!("{error:?}");
    assert!(!acts(&shown) && shown.len() < 10_000, "{}", shown.len());
}

proptest! {
    #[test]
    fn no_text_acts_once_it_is_shown(text in any::<String>(), longest in 0..50_usize) {
        let line = Printable::line(&text).up_to(longest);
        prop_assert!(!acts(&line.to_string()));
        prop_assert_eq!(line.to_string(), line.into_text());
        prop_assert!(line.to_string().len() <= longest * 10 + 3);
        let shown = Printable::text(&text).to_string();
        prop_assert!(!acts(&shown.replace(['\n', '\t'], "")));
    }
}
