//! Parameters as a stranger sends them: one digest for each value, whatever its spelling.

use std::sync::LazyLock;

use mrtr_schema::{RawMembers, RequestState, Revision};
use mrtr_state::{AnswersDigest, Binding, DigestError, Key, ParamsDigest, ParamsKey, Refusal, SealError};

use super::fixture::{GENUINE, Journal, NOW, SEALER, journal};
use super::respell::{respelt, spaced};

pub(super) fn any(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let Ok(params) = RawMembers::parse(&text) else { return };
    let digest = ParamsDigest::of(&params, &KEY);
    assert_eq!(digest, of(&spaced(&text)), "with other spaces");
    let _ = AnswersDigest::of(Some(&params));
    if digest.is_ok() {
        assert_eq!(digest, of(&respelt(&params)), "spelt differently");
        if params.get(NEW_KEY).is_none() {
            assert_ne!(digest, of(&one_more(&text)), "with one member more");
        }
    }
    seals(&params, digest.is_ok());
}

fn of(text: &str) -> Result<ParamsDigest, DigestError> {
    ParamsDigest::of(&RawMembers::parse(text).expect("it is still JSON"), &KEY)
}

static KEY: LazyLock<ParamsKey> = LazyLock::new(|| ParamsKey::of(&Key::new("k", [7; 32]).expect("it is long enough")));

const NEW_KEY: &str = "\0one more";

fn one_more(text: &str) -> String {
    let members = text.trim_start().strip_prefix('{').expect("it is an object").trim_start();
    let comma = if members.starts_with('}') { "" } else { "," };
    format!("{{\"\\u0000one more\":null{comma}{members}")
}

/// A state for these parameters opens with them, and one for others does not.
fn seals<'a>(params: &'a RawMembers<'a>, digests: bool) {
    let Ok(binding) = Binding::new(Revision::V2026_07_28, "tools/call", params) else { return };
    match SEALER.seal(&journal(), &binding, NOW) {
        Ok(state) => {
            assert!(digests);
            assert!(open(&state, &binding).is_ok());
        }
        Err(SealError::Params(_)) => assert!(!digests),
        Err(SealError::ClaimTooLong(_) | SealError::TooLong { .. }) => {}
        Err(error) => panic!("it cannot be sealed: {error}"),
    }
    assert!(open(&GENUINE[0], &binding).is_err(), "it is for another principal");
}

fn open(state: &RequestState, binding: &Binding<'_>) -> Result<(), Refusal> {
    SEALER.open::<Journal>(state, binding, NOW).map(drop)
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let deep = |depth: usize| format!("{{\"x\":{}0{}}}", "{\"b\":[".repeat(depth), "],\"a\":1}".repeat(depth));
    let texts = [
        r#"{"name":"pay","arguments":{"to":"Ann","amount":12.50},"_meta":{"a":1,"a":2}}"#.to_owned(),
        r#"{"uri":"file:///\u00e9\ud83d\ude00","z":[1e2,-0.0,1E+400,1e99999999999999999999,0.1e-9223372036854775808]}"#
            .to_owned(),
        r#" { "b" : null , "a" : [ true , false , { } , [ ] ] , "task" : { } } "#.to_owned(),
        r#"{"a":{"k":1,"k":2},"b":"\ud800","name":"\u0000"}"#.to_owned(),
        r#"{"a":{"abcdefgh":1,"abcdefghi":2,"abcdefg":3,"abcdefg\u0000":4,"":5}}"#.to_owned(),
        "{}".to_owned(),
        deep(62),
        deep(64),
    ];
    texts.map(String::into_bytes).into()
}
