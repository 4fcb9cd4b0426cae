//! A token has one spelling: any other text is refused.

use mrtr_schema::RequestState;
use mrtr_state::{Refusal, Sealer};

use crate::common::{AUDIENCE, CALL, NOON, Note, ring, sealers};

/// All of base64 for URLs, what other alphabets and careless transports put in, and a letter that is not ASCII.
const TRIED: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=.,:%~ \t\n\r\0\u{7f}é";

/// The place where the sealed part begins.
const HEADER: usize = "mrtr1x.k1.".len();
const KEY_ID: std::ops::Range<usize> = "mrtr1x.".len().."mrtr1x.k1".len();

/// A token for each number of stray bits that its last character can have.
fn tokens(sealer: &Sealer) -> Vec<String> {
    let tokens: Vec<_> = (0..3)
        .map(|length| CALL.bind(|binding| sealer.seal(&Note("x".repeat(length)), binding, NOON)).unwrap())
        .map(|state| state.untrusted_text().to_owned())
        .collect();
    let mut remainders: Vec<_> = tokens.iter().map(|token| (token.len() - HEADER) % 4).collect();
    remainders.sort_unstable();
    assert_eq!(remainders, [0, 2, 3]);
    for token in &tokens {
        assert!(CALL.open(sealer, &RequestState::new(token), NOON).is_ok());
    }
    tokens
}

fn is_base64url(character: char) -> bool {
    character.is_ascii_alphanumeric() || "-_".contains(character)
}

/// The number of bits of the last character that are in no byte.
fn stray_bits(token: &str) -> usize {
    ((token.len() - HEADER) * 6) % 8
}

fn value(character: char) -> usize {
    TRIED.find(character).unwrap()
}

/// The reason that a token with one character replaced is refused.
fn expected(token: &str, position: usize, replacement: char) -> Refusal {
    let last = position + 1 == token.len();
    let strays = !value(replacement).is_multiple_of(1 << stray_bits(token));
    match position {
        _ if !is_base64url(replacement) => Refusal::Malformed,
        _ if KEY_ID.contains(&position) => Refusal::UnknownKey,
        _ if position < HEADER || (last && strays) => Refusal::Malformed,
        _ => Refusal::Forged,
    }
}

#[test]
fn no_character_can_be_replaced_by_any_other() {
    for sealer in sealers() {
        let token = &tokens(&sealer)[0];
        for (position, original) in token.char_indices() {
            for replacement in TRIED.chars().filter(|replacement| *replacement != original) {
                let changed = format!("{}{replacement}{}", &token[..position], &token[position + 1..]);
                CALL.refuses(&sealer, &changed, NOON, expected(token, position, replacement));
            }
        }
    }
}

#[test]
fn no_end_has_a_second_spelling() {
    for sealer in sealers() {
        for token in tokens(&sealer) {
            let (rest, last) = token.split_at(token.len() - 1);
            for replacement in TRIED.chars().filter(|replacement| !last.contains(*replacement)) {
                let changed = format!("{rest}{replacement}");
                CALL.refuses(&sealer, &changed, NOON, expected(&token, token.len() - 1, replacement));
            }
        }
    }
}

#[test]
fn no_part_of_a_token_is_a_token() {
    for sealer in sealers() {
        for token in tokens(&sealer) {
            for length in 0..token.len() {
                let reason = CALL.refusal(&sealer, &token[..length], NOON);
                assert!([Refusal::Malformed, Refusal::Forged].contains(&reason), "{reason}");
                let reason = CALL.refusal(&sealer, &token[token.len() - length..], NOON);
                assert_eq!(reason, Refusal::Malformed);
                let without_some_at_the_start = format!("{}{}", &token[..HEADER], &token[token.len() - length..]);
                if without_some_at_the_start != token {
                    let reason = CALL.refusal(&sealer, &without_some_at_the_start, NOON);
                    assert!([Refusal::Malformed, Refusal::Forged].contains(&reason), "{reason}");
                }
            }
        }
    }
}

#[test]
fn nothing_can_be_put_in_anywhere() {
    for sealer in sealers() {
        for token in tokens(&sealer) {
            for position in 0..=token.len() {
                for extra in ["A", "AAAA", "=", "==", " ", "\t", "\r\n", ".", "\0", "\u{feff}", "%20"] {
                    let changed = format!("{}{extra}{}", &token[..position], &token[position..]);
                    let reason = CALL.refusal(&sealer, &changed, NOON);
                    let odd = !extra.chars().all(is_base64url);
                    assert!(
                        reason == Refusal::Malformed
                            || !odd && [Refusal::UnknownKey, Refusal::Forged].contains(&reason),
                        "{changed:?}: {reason}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_token_twice_is_no_token() {
    for sealer in sealers() {
        for token in tokens(&sealer) {
            let sealed = &token[HEADER..];
            for (changed, reasons) in [
                (format!("{token}{token}"), [Refusal::Malformed; 2]),
                (format!("{token}.{token}"), [Refusal::Malformed; 2]),
                (format!("{token},{token}"), [Refusal::Malformed; 2]),
                (format!("{token}{sealed}"), [Refusal::Malformed, Refusal::Forged]),
            ] {
                let reason = CALL.refusal(&sealer, &changed, NOON);
                assert!(reasons.contains(&reason), "{changed}: {reason}");
            }
        }
    }
}

#[test]
fn case_matters() {
    for sealer in sealers() {
        for token in tokens(&sealer) {
            let (header, sealed) = token.split_at(HEADER);
            CALL.refuses(&sealer, &token.to_uppercase(), NOON, Refusal::Malformed);
            CALL.refuses(&sealer, &token.replacen("mrtr", "Mrtr", 1), NOON, Refusal::Malformed);
            CALL.refuses(&sealer, &format!("{}{sealed}", header.replace("k1", "K1")), NOON, Refusal::UnknownKey);
            let reason = CALL.refusal(&sealer, &format!("{header}{}", sealed.to_lowercase()), NOON);
            assert!([Refusal::Malformed, Refusal::Forged].contains(&reason), "{reason}");
        }
    }
}

#[test]
fn the_other_base64_is_not_ours() {
    for sealer in sealers() {
        let mut met = 0;
        for _ in 0..20 {
            let token = CALL.seal(&sealer, NOON).untrusted_text().to_owned();
            let (header, sealed) = token.split_at(HEADER);
            let standard = sealed.replace('-', "+").replace('_', "/");
            if standard != sealed {
                met += 1;
                CALL.refuses(&sealer, &format!("{header}{standard}"), NOON, Refusal::Malformed);
            }
            let padding = "=".repeat((4 - sealed.len() % 4) % 4);
            let padded = if padding.is_empty() { "====" } else { &padding };
            CALL.refuses(&sealer, &format!("{token}{padded}"), NOON, Refusal::Malformed);
        }
        assert!(met > 10, "most tokens have a `-` or a `_`");
    }
}

#[test]
fn another_version_is_not_taken_for_this_one() {
    for sealer in sealers() {
        let token = &tokens(&sealer)[0];
        let rest = token.strip_prefix("mrtr1").unwrap();
        for version in ["", "mrtr", "mrtr0", "mrtr2", "mrtr10", "mrtr01", "MRTR1", "mrtr1mrtr1", "v1", "v4.local"] {
            CALL.refuses(&sealer, &format!("{version}{rest}"), NOON, Refusal::Malformed);
        }
    }
}

#[test]
fn texts_that_are_no_tokens_are_refused() {
    let sealer = Sealer::new(ring(), AUDIENCE).unwrap();
    let long_id = format!("mrtr1x.{}.AAAA", "k".repeat(33));
    for text in [
        "",
        ".",
        "..",
        "...",
        "mrtr1x",
        "mrtr1x.",
        "mrtr1x..",
        "mrtr1x.k1",
        "mrtr1x.k1.",
        "mrtr1x..AAAA",
        "mrtr1x.k1.A",
        "mrtr1x.k1.AA",
        "mrtr1x.k1.AB",
        "mrtr1x.k/1.AAAA",
        "mrtr1x.k\u{e9}.AAAA",
        "mrtr1\u{e9}.k1.AAAA",
        "null",
        "{}",
        "eyJhbGciOiJub25lIn0.e30.",
        "\u{1f36a}",
        "mrtr1x.k1.\u{1f36a}",
        &long_id,
    ] {
        CALL.refuses(&sealer, text, NOON, Refusal::Malformed);
    }
    let zeros = format!("mrtr1x.k1.{}", "A".repeat(400));
    CALL.refuses(&sealer, &zeros, NOON, Refusal::Forged);
}
