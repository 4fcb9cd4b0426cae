//! Bytes from a stranger: told apart, or refused with the right code and, where it can be read, the id.
#![cfg(feature = "proptest")]

use mrtr_schema::tools::CallToolParams;
use mrtr_schema::{Envelope, EnvelopeError, ErrorCode, RequestId, Revision};
use proptest::prelude::*;

fn refused(text: &str) -> (i64, Option<RequestId>) {
    let error = Envelope::parse(text.as_bytes()).expect_err(text);
    (error.code().as_i64(), error.id().cloned())
}

#[test]
fn the_four_kinds_of_message_are_told_apart() {
    let request = Envelope::parse(br#"{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{}}"#);
    assert!(matches!(request, Ok(Envelope::Request { id: RequestId::String(_), .. })));
    let notification = Envelope::parse(br#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#);
    assert!(matches!(notification, Ok(Envelope::Notification { .. })));
    let result = Envelope::parse(br#"{"result":{},"id":1,"jsonrpc":"2.0"}"#);
    assert!(matches!(result, Ok(Envelope::Result { id: RequestId::Integer(1), .. })));
    let error = Envelope::parse(br#"{"jsonrpc":"2.0","error":{"code":-32700,"message":""}}"#);
    assert!(matches!(error, Ok(Envelope::Error { id: None, .. })));
    let error = Envelope::parse(br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":""}}"#);
    assert!(matches!(error, Ok(Envelope::Error { id: None, .. })), "JSON-RPC itself says null there");
}

#[test]
fn what_is_not_json_is_a_parse_error_without_an_id() {
    for text in ["", " ", "{", r#"{"jsonrpc":"2.0","id":1"#, "nul", r#"{"jsonrpc":"2.0","id":1,"method":"x"} trailing"#]
    {
        assert_eq!(refused(text), (ErrorCode::PARSE_ERROR.as_i64(), None), "{text}");
    }
    let not_utf8 = Envelope::parse(b"{\"jsonrpc\":\"\xff\"}");
    assert!(matches!(not_utf8, Err(EnvelopeError::NotJson(_))));
}

#[test]
fn what_is_no_request_is_an_invalid_request_that_keeps_the_id() {
    let with_id = [
        r#"{"jsonrpc":"1.0","id":7,"method":"x"}"#,
        r#"{"id":7,"method":"x"}"#,
        r#"{"jsonrpc":"2.0","id":7}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":3}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"x","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"x","params":[1]}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"x","params":null}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":1,"a":2}}"#,
    ];
    for text in with_id {
        assert_eq!(refused(text), (ErrorCode::INVALID_REQUEST.as_i64(), Some(7.into())), "{text}");
    }
    let without_id = [
        "7",
        "[]",
        r#"[{"jsonrpc":"2.0","id":7,"method":"x"}]"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#,
        r#"{"jsonrpc":"2.0","id":99999999999999999999,"method":"x"}"#,
        r#"{"jsonrpc":"2.0","id":7,"id":8,"method":"x"}"#,
        r#"{"jsonrpc":"2.0","result":{}}"#,
    ];
    for text in without_id {
        assert_eq!(refused(text), (ErrorCode::INVALID_REQUEST.as_i64(), None), "{text}");
    }
    assert!(Envelope::parse(b"[]").unwrap_err().to_string().contains("batches are not supported"));
}

#[test]
fn params_are_raw_until_they_are_read() {
    let text = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{
        "name": "caf\u00e9", "arguments": {"a": 1.50}, "_meta": {"progressToken": 7}, "requestState": 3 }}"#;
    let Ok(Envelope::Request { params, .. }) = Envelope::parse(text.as_bytes()) else { panic!("a request") };
    assert_eq!(params.text("name").unwrap().unwrap(), "café");
    assert_eq!(params.get("arguments").unwrap().get(), r#"{"a": 1.50}"#);
    assert_eq!(params.meta().unwrap().unwrap().get("progressToken").unwrap().get(), "7");
    assert_eq!(
        params.text("requestState").unwrap_err().to_string(),
        "$.requestState: expected a string, found a number"
    );
    let error = params.read::<CallToolParams>(Revision::Sep2322.strict()).unwrap_err();
    assert_eq!(error.path().to_string(), "$.requestState");
}

#[test]
fn many_members_take_no_longer_than_they_must() {
    let members: Vec<_> = (0..50_000).map(|number| format!(r#""k{number}":0"#)).collect();
    let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{{}}}}}"#, members.join(","));
    assert!(Envelope::parse(text.as_bytes()).is_ok());
    let twice = text.replacen("k49999", "k17", 1);
    assert!(Envelope::parse(twice.as_bytes()).unwrap_err().to_string().contains("k17"));
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
        let _ = Envelope::parse(&bytes);
    }

    #[test]
    fn a_message_with_damage_never_panics(at in 0_usize..200, byte: u8) {
        let mut bytes = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"a\u0041":[1e9]}}}"#.to_vec();
        let length = bytes.len();
        bytes[at % length] = byte;
        if let Ok(Envelope::Request { params, .. }) = Envelope::parse(&bytes) {
            let _ = params.meta();
            let _ = params.read::<CallToolParams>(Revision::V2026_07_28.lenient());
        }
    }

    #[test]
    fn arbitrary_params_are_read_or_refused(params in mrtr_schema::arbitrary::json_object()) {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}}"#, params.as_str());
        let Ok(Envelope::Request { params, .. }) = Envelope::parse(text.as_bytes()) else { panic!("a request: {text}") };
        let _ = params.read::<CallToolParams>(Revision::V2026_07_28.strict());
    }
}
