//! A state belongs to the arguments of its request: to what they mean, not to how they are spelt.

use mrtr_state::{DigestError, Refusal, SealError};

use crate::common::{Asked, CALL, NOON, member_names, sealers};

/// The parameters that are asked first.
const FIRST: &str = r#"{
    "name": "pay",
    "arguments": {
        "to": {"name": "Ann", "city": "Zürich"},
        "amount": 100,
        "tags": ["a", "b", null, true],
        "note": "1/2"
    }
}"#;

/// Parameters that mean what those mean, written by another client.
const SAME: [&str; 6] = [
    // Without spaces, and in another order at each depth.
    r#"{"arguments":{"note":"1/2","tags":["a","b",null,true],"amount":100,"to":{"city":"Zürich","name":"Ann"}},"name":"pay"}"#,
    r#"{"name":"pay","arguments":{"amount":1e2,"note":"1\/2","tags":["a","b",null,true],"to":{"city":"Zürich","name":"Ann"}}}"#,
    r#"{"name":"pay","arguments":{"amount":100.0,"note":"\u0031/2","tags":["a","b",null,true],"to":{"city":"Z\u00fcrich","name":"Ann"}}}"#,
    r#"{"n\u0061me":"p\u0061y","argument\u0073":{"amount":0.01E+4,"note":"1/2","t\u0061gs":["\u0061","b",null,true],"to":{"city":"Z\u00FCrich","name":"Ann"}}}"#,
    r#"{"name":"pay","arguments":{"amount":10000e-2,"note":"1/2","tags":["a","b",null,true],"to":{"city":"Zürich","name":"Ann"}},
        "_meta":{"progressToken":7},"inputResponses":{"a":{"action":"accept"}},"requestState":"…","task":{"ttl":1}}"#,
    r#"{"_meta":{"a":1,"a":2},"inputResponses":[],"requestState":null,"task":"?",
        "name":"pay","arguments":{"amount":100,"note":"1/2","tags":["a","b",null,true],"to":{"city":"Zürich","name":"Ann"}}}"#,
];

/// Something else, if only a little.
const OTHER: [&str; 19] = [
    r#"{"name":"pay"}"#,
    r#"{"name":"pay","arguments":null}"#,
    r#"{"name":"pay","arguments":{}}"#,
    r#"{"name":"pay","arguments":{"amount":100,"note":"1/2","tags":["a","b",null,true]}}"#,
    r#"{"name":"pay","arguments":{"amount":101,"note":"1/2","tags":["a","b",null,true],"to":{"city":"Zürich","name":"Ann"}}}"#,
    r#"{"name":"pay","arguments":{"amount":-100,"note":"1/2","tags":["a","b",null,true],"to":{"city":"Zürich","name":"Ann"}}}"#,
    r#"{"name":"pay","arguments":{"amount":100.00000000000000000001,"note":"1/2","tags":["a","b",null,true],"to":{"city":"Zürich","name":"Ann"}}}"#,
    r#"{"name":"pay","arguments":{"amount":1e3,"note":"1/2","tags":["a","b",null,true],"to":{"city":"Zürich","name":"Ann"}}}"#,
    r#"{"name":"pay","arguments":{"amount":"100","note":"1/2","tags":["a","b",null,true],"to":{"city":"Zürich","name":"Ann"}}}"#,
    r#"{"name":"pay","arguments":{"amount":100,"note":0.5,"tags":["a","b",null,true],"to":{"city":"Zürich","name":"Ann"}}}"#,
    r#"{"name":"pay","arguments":{"amount":100,"note":"1/2","tags":["b","a",null,true],"to":{"city":"Zürich","name":"Ann"}}}"#,
    r#"{"name":"pay","arguments":{"amount":100,"note":"1/2","tags":["ab",null,true],"to":{"city":"Zürich","name":"Ann"}}}"#,
    r#"{"name":"pay","arguments":{"amount":100,"note":"1/2","tags":[["a","b"],null,true],"to":{"city":"Zürich","name":"Ann"}}}"#,
    r#"{"name":"pay","arguments":{"amount":100,"note":"1/2","tags":["a","b",null,false],"to":{"city":"Zürich","name":"Ann"}}}"#,
    r#"{"name":"pay","arguments":{"amount":100,"note":"1/2","tags":["a","b",null,true],"to":{"city":"Zürich","name":"Bob"}}}"#,
    // The same letters, but ü as u and a combining mark.
    r#"{"name":"pay","arguments":{"amount":100,"note":"1/2","tags":["a","b",null,true],"to":{"city":"Zu\u0308rich","name":"Ann"}}}"#,
    r#"{"name":"pay","arguments":{"amount":100,"note":"1/2","tags":["a","b",null,true],"to":{"city":"Zürich","name":"Ann"},"more":null}}"#,
    r#"{"name":"pay","more":1,"arguments":{"amount":100,"note":"1/2","tags":["a","b",null,true],"to":{"city":"Zürich","name":"Ann"}}}"#,
    // What may change on the outside may not further in.
    r#"{"name":"pay","arguments":{"_meta":{},"amount":100,"note":"1/2","tags":["a","b",null,true],"to":{"city":"Zürich","name":"Ann"}}}"#,
];

#[test]
fn the_same_parameters_open_however_they_are_spelt() {
    for sealer in sealers() {
        let state = Asked { params: FIRST, ..CALL }.seal(&sealer, NOON);
        for params in SAME {
            assert!(Asked { params, ..CALL }.open(&sealer, &state, NOON).is_ok(), "{params}");
        }
    }
}

#[test]
fn other_parameters_are_refused_however_alike() {
    for sealer in sealers() {
        let state = Asked { params: FIRST, ..CALL }.seal(&sealer, NOON);
        for params in OTHER {
            Asked { params, ..CALL }.refuses(&sealer, state.untrusted_text(), NOON, Refusal::OtherParams);
        }
    }
}

/// Whatever the protocol calls it, here or on another method: only what a retry brings is free.
#[test]
fn a_state_is_bound_to_every_member_but_those_of_the_round() {
    const FREE: [&str; 4] = ["_meta", "inputResponses", "requestState", "task"];
    let names = member_names();
    for known in FREE.into_iter().chain(["cursor", "ref", "argument", "context", "uri", "progressToken", "taskId"]) {
        assert!(names.iter().any(|name| name == known), "{known} is a name of the protocol");
    }
    for sealer in sealers() {
        let plain = Asked { params: r#"{"name": "pay"}"#, ..CALL };
        let plain_state = plain.seal(&sealer, NOON);
        for name in names.iter().filter(|name| *name != "name") {
            let [params, changed] = ["x", "y"].map(|value| format!(r#"{{"name": "pay", "{name}": "{value}"}}"#));
            let [with, other] = [&params, &changed].map(|params| Asked { params, ..CALL });
            let state = with.seal(&sealer, NOON);
            let free = FREE.contains(&&**name);
            for (opener, state) in [(with, &plain_state), (plain, &state), (other, &state)] {
                match opener.open(&sealer, state, NOON) {
                    Ok(_) => assert!(free, "{name} is bound"),
                    Err(refusal) => assert!(!free && refusal == Refusal::OtherParams, "{name}: {refusal}"),
                }
            }
        }
    }
}

/// Objects with a key twice, in the arguments, at several depths and under several spellings.
const TWICE: [&str; 5] = [
    r#"{"name":"pay","arguments":{"amount":100,"amount":100}}"#,
    r#"{"name":"pay","arguments":{"amount":100,"b":1,"\u0061mount":5}}"#,
    r#"{"name":"pay","arguments":{"z":{"b":1,"a":2,"b":3}}}"#,
    r#"{"name":"pay","arguments":{"z":[[{"a":[{"":1,"":2}]}]]}}"#,
    r#"{"name":"pay","arguments":{"\ud83c\udf6a":1,"🍪":2}}"#,
];

#[test]
fn a_key_twice_is_refused_on_the_way_in_and_on_the_way_out() {
    for sealer in sealers() {
        for params in TWICE {
            let twice = Asked { params, ..CALL };
            let error = twice.try_seal(&sealer, NOON).unwrap_err();
            assert!(matches!(error, SealError::Params(DigestError::DuplicateKey)), "{params}: {error}");
            twice.refuses(&sealer, CALL.seal(&sealer, NOON).untrusted_text(), NOON, Refusal::OtherParams);
        }
    }
}

#[test]
fn a_key_twice_in_the_parameters_themselves_is_not_even_read() {
    for params in
        [r#"{"name":"pay","name":"pay"}"#, r#"{"name":"pay","n\u0061me":"grant"}"#, r#"{"_meta":1,"_meta":2}"#]
    {
        assert!(mrtr_schema::RawMembers::parse(params).is_err(), "{params}");
    }
}

#[test]
fn half_a_character_is_refused() {
    for sealer in sealers() {
        for text in [r"\ud83c", r"\udf6a", r"\udf6a\ud83c", r"\ud83cx"] {
            let params = format!(r#"{{"name":"pay","arguments":{{"a":"{text}"}}}}"#);
            let half = Asked { params: &params, ..CALL };
            let error = half.try_seal(&sealer, NOON).unwrap_err();
            assert!(matches!(error, SealError::Params(DigestError::NotText)), "{params}: {error}");
            half.refuses(&sealer, CALL.seal(&sealer, NOON).untrusted_text(), NOON, Refusal::OtherParams);
        }
    }
}

#[test]
fn nesting_is_followed_to_127_levels_and_no_further() {
    for sealer in sealers() {
        for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
            let nested = |depth: usize| {
                let inner = if open == "[" { "" } else { "1" };
                format!(r#"{{"name":"pay","arguments":{}{inner}{}}}"#, open.repeat(depth), close.repeat(depth))
            };
            let deepest = nested(127);
            let asked = Asked { params: &deepest, ..CALL };
            let state = asked.seal(&sealer, NOON);
            assert!(asked.open(&sealer, &state, NOON).is_ok());
            for depth in [128, 100_000] {
                let params = nested(depth);
                let deeper = Asked { params: &params, ..CALL };
                let error = deeper.try_seal(&sealer, NOON).unwrap_err();
                assert!(matches!(error, SealError::Params(DigestError::TooDeep)), "{error}");
                deeper.refuses(&sealer, state.untrusted_text(), NOON, Refusal::OtherParams);
            }
        }
    }
}
