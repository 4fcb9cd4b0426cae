//! Digests of parameters: the file is what the plain canonical form gives, and the crate digests the same.

use mrtr_schema::RawMembers;
use mrtr_state::{Key, ParamsDigest, ParamsKey};

use crate::file::{ABOUT, DigestFile, DigestedParams, NamedKey, RefusedParams, check, hex, read};
use crate::reference::digested;

const FILE: &str = "digests.json";
const SECRET: [u8; 32] = [7; 32];
const SECRET_BASE64: &str = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";

/// Each line means the same throughout, and something else than each other line.
const SAME: &[&[&str]] = &[
    &["{}", " { } ", r#"{"_meta":{"a":1},"inputResponses":{},"requestState":"x","task":{"ttl":1}}"#],
    &[r#"{"name":"pay"}"#, r#"{"name":"p\u0061y"}"#, r#"{"n\u0061me" : "pay", "_meta": null}"#],
    &[r#"{"a":null}"#],
    &[r#"{"a":true}"#],
    &[r#"{"a":false}"#],
    &[r#"{"a":0}"#, r#"{"a":-0}"#, r#"{"a":0.000}"#, r#"{"a":0e9}"#, r#"{"a":-0.0E-99999999999999999999}"#],
    &[r#"{"a":1}"#, r#"{"a":1.0}"#, r#"{"a":10e-1}"#, r#"{"a":0.01E+2}"#, r#"{"a":1e00}"#],
    &[r#"{"a":-1}"#],
    &[r#"{"a":100}"#, r#"{"a":1e2}"#, r#"{"a":100.0}"#],
    &[r#"{"a":-12.50}"#, r#"{"a":-125e-1}"#, r#"{"a":-0.125e2}"#],
    &[r#"{"a":0.05}"#, r#"{"a":5e-2}"#],
    &[r#"{"a":105}"#],
    &[r#"{"a":12345678901234567890123456789}"#],
    &[r#"{"a":12345678901234567890123456788}"#],
    &[r#"{"a":1e400}"#, r#"{"a":10e399}"#],
    &[r#"{"a":1e9223372036854775807}"#, r#"{"a":10e9223372036854775806}"#],
    &[r#"{"a":1e9223372036854775808}"#],
    &[r#"{"a":10e9223372036854775807}"#],
    &[r#"{"a":1E-99999999999999999999}"#],
    &[r#"{"a":1e-99999999999999999999}"#],
    &[r#"{"a":""}"#],
    &[r#"{"a":"1"}"#],
    &[r#"{"a":"\"\\/\b\f\n\r\t\u0000"}"#, r#"{"a":"\u0022\u005C\/\u0008\u000c\u000A\u000d\u0009\u0000"}"#],
    &[r#"{"a":"ü"}"#, r#"{"a":"\u00fc"}"#, r#"{"a":"\u00FC"}"#],
    &[r#"{"a":"u\u0308"}"#],
    &[r#"{"a":"🍪"}"#, r#"{"a":"\ud83c\udf6a"}"#, r#"{"a":"\uD83C\uDF6A"}"#],
    &[r#"{"a":[]}"#, r#"{"a":[ ]}"#],
    &[r#"{"a":[1,2]}"#, "{\"a\":[\n1 ,\t2\r]}"],
    &[r#"{"a":[2,1]}"#],
    &[r#"{"a":[12]}"#],
    &[r#"{"a":[[1],2]}"#],
    &[r#"{"a":["b","c"]}"#],
    &[r#"{"a":["bc"]}"#],
    &[r#"{"a":{}}"#],
    &[r#"{"a":{"_meta":{},"task":1}}"#, r#"{"a":{"task":1,"_meta":{}}}"#],
    &[r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#],
    &[r#"{"a":2,"b":1}"#],
    &[r#"{"ab":1,"a":2,"B":3,"":4}"#, r#"{"":4,"B":3,"a":2,"ab":1}"#],
    // In the order of bytes the cookie comes last; in that of UTF-16 it would come first.
    &[r#"{"🍪":1,"\uffff":2}"#, r#"{"\uffff":2,"\ud83c\udf6a":1}"#],
    &[
        r#"{"name":"pay","arguments":{"to":{"name":"Ann","city":"Zürich"},"amount":100}}"#,
        r#"{"arguments":{"amount":1e2,"to":{"city":"Z\u00fcrich","name":"Ann"}},"name":"pay","requestState":"…"}"#,
    ],
];

const REFUSED: &[(&str, &str)] = &[
    (r#"{"a":{"b":1,"b":1}}"#, "an object has the same key twice"),
    (r#"{"a":{"b":1,"\u0062":2}}"#, "an object has the same key twice"),
    (r#"{"a":[{"c":1,"b":{},"c":1}]}"#, "an object has the same key twice"),
    (r#"{"a":"\ud83c"}"#, "a string is not text"),
    (r#"{"a":{"\udf6a":1}}"#, "a string is not text"),
];

#[test]
fn the_file_is_what_the_inputs_give() {
    let digests = SAME.iter().copied().flatten().map(|params| {
        let tree = digested(params);
        DigestedParams { params: (*params).into(), canonical: hex(tree.canonical()), digest: hex(tree.digest(&SECRET)) }
    });
    let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(128), "]".repeat(128));
    let refused = REFUSED.iter().copied().chain([(&*deep, "values are nested too deeply")]);
    let refused = refused.map(|(params, reason)| RefusedParams { params: params.into(), reason: reason.into() });
    let key = NamedKey { id: "k".into(), base64: SECRET_BASE64.into() };
    check(FILE, &DigestFile { about: ABOUT.into(), key, digests: digests.collect(), refused: refused.collect() });
}

#[test]
fn the_crate_digests_what_the_file_says() {
    let DigestFile { key, digests, refused, .. } = read(FILE);
    let key = ParamsKey::of(&Key::from_base64(&*key.id, &key.base64).unwrap());
    for DigestedParams { params, digest, .. } in digests {
        let found = ParamsDigest::of(&RawMembers::parse(&params).unwrap(), &key).expect(&params);
        assert_eq!(hex(found.as_bytes()), digest, "{params}");
    }
    for RefusedParams { params, reason } in refused {
        let error = ParamsDigest::of(&RawMembers::parse(&params).unwrap(), &key).expect_err(&params);
        assert_eq!(error.to_string(), reason, "{params}");
    }
}

#[test]
fn what_means_the_same_has_the_same_digest_and_nothing_else_has() {
    let mut all: Vec<_> = SAME
        .iter()
        .map(|line| {
            let digests: Vec<_> = line.iter().map(|params| digested(params).digest(&SECRET)).collect();
            assert!(digests.iter().all(|digest| *digest == digests[0]), "{line:?}");
            digests[0]
        })
        .collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), SAME.len());
}
