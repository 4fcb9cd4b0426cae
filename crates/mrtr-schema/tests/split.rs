//! One level of a raw value taken apart: the same as the parser sees, whatever stands inside.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::collections::HashMap;

use mrtr_schema::{Json, RawMembers, Revision, Wire};
use proptest::prelude::*;
use serde_json::value::RawValue;

/// JSON as a peer may write it: with space anywhere, escapes, and brackets in strings.
fn json() -> impl Strategy<Value = String> {
    let string = prop::sample::select(vec![
        r#""""#,
        r#""a""#,
        r#""]}""#,
        r#""{[,:""#,
        r#""\"""#,
        r#""\\""#,
        r#""\\\"}""#,
        r#""\u0022]""#,
        r#""é😀\ud83d\ude00""#,
    ]);
    let word = prop::sample::select(vec!["null", "true", "false", "0", "-1.5e+7", "1E400", "12345678901234567890"]);
    let leaf = prop_oneof![string.clone(), word].prop_map(str::to_owned);
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let list =
            prop::collection::vec(spaced(inner.clone()), 0..4).prop_map(|values| format!("[{}]", values.join(",")));
        let member = (spaced(key()), spaced(inner)).prop_map(|(key, value)| format!("{key}:{value}"));
        let object = prop::collection::vec(member, 0..4).prop_map(|members| format!("{{{}}}", members.join(",")));
        prop_oneof![list, object]
    })
}

fn key() -> impl Strategy<Value = String> {
    prop::sample::select(vec![r#""a""#, r#""b""#, r#""\u0061b""#, r#""}\"""#, r#""{""#, r#""""#])
        .prop_map(str::to_owned)
}

fn spaced(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let space = || prop::sample::select(vec!["", "", " ", "\n\t", "\r\n  "]);
    (space(), value, space()).prop_map(|(before, value, after)| format!("{before}{value}{after}"))
}

proptest! {
    #[test]
    fn a_raw_value_has_the_members_that_the_parser_sees(text in json()) {
        let raw: &RawValue = serde_json::from_str(&text).unwrap();
        let by_parser = RawMembers::parse(&text);
        match (RawMembers::of(raw), by_parser) {
            (Ok(members), Ok(by_parser)) => {
                let texts = |members: &RawMembers<'_>| -> Vec<_> {
                    members.iter().map(|(key, value)| (key.to_owned(), value.get().to_owned())).collect()
                };
                prop_assert_eq!(texts(&members), texts(&by_parser));
                let whole: HashMap<String, Box<RawValue>> = serde_json::from_str(&text).unwrap();
                prop_assert_eq!(whole.len(), members.len());
            }
            (Err(_), Err(_)) => {}
            (members, by_parser) => prop_assert!(false, "{:?} and {:?}", members, by_parser),
        }
    }

    #[test]
    fn a_list_has_the_elements_that_the_parser_sees(elements in prop::collection::vec(spaced(json()), 0..5)) {
        let text = format!("[{}]", elements.join(","));
        let Ok(list) = Vec::<Json>::from_json(&text, Revision::V2026_07_28.strict()) else {
            prop_assert!(Json::parse(&text).is_err(), "it is refused only if an object in it has a key twice");
            return Ok(());
        };
        let by_parser: Vec<Box<RawValue>> = serde_json::from_str(&text).unwrap();
        prop_assert!(list.iter().map(Json::as_str).eq(by_parser.iter().map(|element| element.get())));
    }
}
