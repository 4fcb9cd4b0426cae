//! The checks of the fuzz target, on a few inputs that a generator makes: `cargo xtask fuzz` runs the same body for
//! long.

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

/// The inputs that libFuzzer starts from have bodies of every size: such as do not count, such as are gathered in
/// several parts, and such as are too large.
#[test]
fn ht_8_seeds_have_bodies_of_every_size() {
    let tried: Vec<_> = body::seeds().iter().filter_map(|seed| body::check(seed)).collect();
    let sizes = [(0, 4 << 10, 200), (4 << 10, 16 << 10, 200), (16 << 10, 68 << 10, 200), (68 << 10, 96 << 10, 200)];
    for (least, most, status) in [&sizes[..], &[(96 << 10, usize::MAX, 413)]].concat() {
        let is_tried = |(size, got): &(usize, u16)| (least + 1..=most).contains(size) && *got == status;
        assert!(tried.iter().any(is_tried), "{status} for {least} to {most} bytes: {tried:?}");
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

proptest! {
    // Fewer, since they take longer.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn ht_8_any_changes_of_long_ones(size in any::<[u8; 3]>(), pieces in any::<u8>(), changes in vec(any::<[u8; 4]>(), 0..4)) {
        body::check(&[&[3, pieces], &size[..], changes.as_flattened()].concat());
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
