//! What the fuzz target checks, on a few inputs that a generator makes: `cargo xtask fuzz` runs the same body for long.

#[path = "fuzz_respond/body.rs"]
mod body;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

#[test]
fn ht_8_seeds() {
    for seed in body::seeds() {
        body::check(&seed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn ht_8_any_bytes(input in vec(any::<u8>(), 0..512)) {
        body::check(&input);
    }

    #[test]
    fn ht_8_any_changes(pieces in any::<u8>(), changes in vec(any::<[u8; 4]>(), 1..8)) {
        body::check(&[&[2, pieces], changes.as_flattened()].concat());
    }

    #[test]
    fn ht_8_nearly_messages(pieces in any::<u8>(), tokens in vec(select(TOKENS), 0..40)) {
        body::check(&[&[0, pieces], tokens.concat().as_bytes()].concat());
    }
}

const TOKENS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "null",
    "true",
    "1",
    "-0.0e5",
    "\"\"",
    "\"jsonrpc\"",
    "\"2.0\"",
    "\"id\"",
    "\"method\"",
    "\"tools/call\"",
    "\"params\"",
    "\"_meta\"",
    "\"result\"",
    "\"error\"",
    "\"name\"",
    "\"hello\"",
    "\"\\ud800\"",
    "\n",
];
