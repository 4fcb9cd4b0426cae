//! The checks of the fuzz target, on a few inputs that a generator makes: `cargo xtask fuzz` runs the same body for
//! long.

#[path = "fuzz_open/body.rs"]
mod body;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

#[test]
fn seeds() {
    for seed in body::seeds() {
        body::check(&seed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn any_bytes(input in vec(any::<u8>(), 0..256)) {
        body::check(&input);
    }

    #[test]
    fn one_change(part in 0..5_u8, change in any::<[u8; 6]>()) {
        body::check(&[&[part], &change[..]].concat());
    }

    #[test]
    fn nearly_json(tokens in vec(select(TOKENS), 0..40)) {
        body::check(format!("{AS_PARAMS}{{{}}}", tokens.concat()).as_bytes());
    }

    #[test]
    fn json(value in value()) {
        body::check(format!("{AS_PARAMS}{{\"arguments\":{value}}}").as_bytes());
    }

    #[test]
    fn deep(depth in 100..140_usize, reversed in any::<bool>()) {
        let (open, close) = if reversed { ("{\"b\":", ",\"a\":0}") } else { ("[", "]") };
        body::check(format!("{AS_PARAMS}{{\"x\":{}1{}}}", open.repeat(depth), close.repeat(depth)).as_bytes());
    }
}

fn value() -> impl Strategy<Value = String> {
    let scalar = select(TOKENS).prop_filter("a scalar", |token| !matches!(*token, "{" | "}" | "[" | "]" | ":" | ","));
    scalar.prop_map(str::to_owned).prop_recursive(6, 64, 8, |inner| {
        let key = select(TOKENS).prop_filter("a string", |token| token.starts_with('"'));
        let members = vec((key, inner.clone()), 0..8);
        prop_oneof![
            vec(inner, 0..8).prop_map(|elements| format!("[{}]", elements.join(","))),
            members.prop_map(|members| {
                let members: Vec<_> = members.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

/// The first character of a text that is tried as parameters.
const AS_PARAMS: char = '\u{4}';

const TOKENS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "null",
    "true",
    "false",
    "0",
    "-0",
    "-0.0e5",
    "1",
    "10",
    "0.10",
    "1e2",
    "100",
    "12.50",
    "-7E+3",
    "1e400",
    "1e9223372036854775807",
    "0.1e-9223372036854775808",
    "1e99999999999999999999",
    "\"\"",
    "\"a\"",
    "\"\\u0061\"",
    "\"b\"",
    "\"ab\"",
    "\"a\\u0000\"",
    "\"\\ud83d\\ude00\"",
    "\"😀\"",
    "\"\\ud800\"",
    "\"\\udc00x\"",
    "\"\\\\\"",
    "\"\\\"\"",
    "\"\\n\\/\"",
    "\"abcdefgh\"",
    "\"abcdefghi\"",
    "\"_meta\"",
    "\"name\"",
    "\"ÿ\"",
];
