//! The canonical bytes that parameters and answers are digested as, value by value.

use mrtr_schema::RawMembers;
use mrtr_state::{AnswersDigest, DigestError};
use sha2::{Digest, Sha256};

fn digest(value: &str) -> Result<[u8; 32], DigestError> {
    let text = format!("{{\"k\":{value}}}");
    AnswersDigest::of(Some(&RawMembers::parse(&text).expect("JSON"))).map(|digest| *digest.as_bytes())
}

#[test]
fn bytes_of_values() {
    for (value, bytes) in VALUES {
        let whole = [b"{s\0\0\0\x01k", *bytes, b"}"].concat();
        assert_eq!(digest(value), Ok(Sha256::digest(whole).into()), "{value}");
    }
}

#[test]
fn refusals() {
    for (value, refusal) in REFUSED {
        assert_eq!(digest(value), Err(refusal.clone()), "{value}");
    }
}

#[test]
fn depth() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(digest(&nested(127)).is_ok());
    assert_eq!(digest(&nested(128)), Err(DigestError::TooDeep));
}

/// Short objects are put in order where they stand, and long ones at the end; what is inside each may be either.
#[test]
fn members_of_any_length_count_in_their_order() {
    for inner in [1, 100, 200, 240, 300] {
        for outer in 0..130 {
            let (inner, outer) = ("i".repeat(inner), "o".repeat(outer));
            let in_order = format!(r#"{{"a":"{outer}","b":[{{"c":1,"d":"{inner}"}}],"e":{{"f":2,"g":3}}}}"#);
            let mixed = format!(r#"{{"e":{{"g":3,"f":2}},"b":[{{"d":"{inner}","c":1}}],"a":"{outer}"}}"#);
            assert_eq!(digest(&mixed), digest(&in_order), "{mixed}");
            let twice = format!(r#"{{"e":{{"g":3,"f":2}},"b":[{{"d":"{inner}","c":1}}],"a":"{outer}","b":1}}"#);
            assert_eq!(digest(&twice), Err(DigestError::DuplicateKey), "{twice}");
        }
    }
}

const VALUES: &[(&str, &[u8])] = &[
    ("null", b"n"),
    (" true ", b"t"),
    ("false", b"f"),
    ("0", b"d0e0;"),
    ("-0.00e7", b"d0e0;"),
    ("7", b"d7e0;"),
    ("4522", b"d4522e0;"),
    ("100", b"d1e2;"),
    ("1E+2", b"d1e2;"),
    ("-12.50", b"d-125e-1;"),
    ("10.01", b"d1001e-2;"),
    ("0.0070", b"d7e-3;"),
    ("0.5e-2", b"d5e-3;"),
    ("1e9223372036854775807", b"d1e9223372036854775807;"),
    ("1e-9223372036854775808", b"d1e-9223372036854775808;"),
    ("10e9223372036854775807", b"x10e9223372036854775807;"),
    ("-1E99999999999999999999", b"x-1E99999999999999999999;"),
    ("0e99999999999999999999", b"d0e0;"),
    (r#""""#, b"s\0\0\0\0"),
    (r#""a\"\\\u00e9\ud83d\ude00""#, b"s\0\0\0\x09a\"\\\xc3\xa9\xf0\x9f\x98\x80"),
    (r#""eight or more, and \n""#, b"s\0\0\0\x14eight or more, and \n"),
    ("[ ]", b"[]"),
    ("[1,[ null ], {}]", b"[d1e0;[n]{}]"),
    (r#"{"b":{"d":1,"c":2},"a":[{"z":3,"y":4}]}"#, NESTED),
    (r#"{"a":[{"y":4,"z":3}],"b":{"c":2,"d":1}}"#, NESTED),
    (r#"{"abcdefghi":1,"abcdefgh":2,"\u0000":3,"":4}"#, KEYS),
];

const NESTED: &[u8] =
    b"{s\0\0\0\x01a[{s\0\0\0\x01yd4e0;s\0\0\0\x01zd3e0;}]s\0\0\0\x01b{s\0\0\0\x01cd2e0;s\0\0\0\x01dd1e0;}}";
const KEYS: &[u8] = b"{s\0\0\0\0d4e0;s\0\0\0\x01\0d3e0;s\0\0\0\x08abcdefghd2e0;s\0\0\0\x09abcdefghid1e0;}";

const REFUSED: &[(&str, DigestError)] = &[
    (r#"{"a":1,"a":1}"#, DigestError::DuplicateKey),
    (r#"[{"b":1,"a":2,"\u0062":3}]"#, DigestError::DuplicateKey),
    (r#"{"abcdefghi":1,"b":2,"abcdefghi":3}"#, DigestError::DuplicateKey),
    (r#""\ud800""#, DigestError::NotText),
    (r#"{"\udc00":1}"#, DigestError::NotText),
    (r#"["\ud83d\ud83d"]"#, DigestError::NotText),
];
