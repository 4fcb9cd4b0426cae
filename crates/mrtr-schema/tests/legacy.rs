//! The questions of a server, as the legacy revisions can say them, and the ones that they cannot.
#![cfg(all(feature = "proptest", feature = "validate"))]
#![allow(clippy::unwrap_used, reason = "a panic is the report")]

use mrtr_schema::elicitation::{ElicitFormParams, ElicitRequest, ElicitUrlParams, PrimitiveSchema, Url};
use mrtr_schema::jsonrpc::{Request, Response};
use mrtr_schema::methods::{CallTool, Elicit};
use mrtr_schema::sampling::{CreateMessageParams, CreateMessageRequest, SamplingContent, SamplingMessage};
use mrtr_schema::{
    CallToolResult, ClientCapabilities, Envelope, Era, Feature, Form, InputRequest, InputRequiredResult, MethodResult,
    NotInRevision, RequestState, Revision, Wire, json_schema,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

fn asking(form: Form) -> InputRequest {
    ElicitRequest::new(ElicitFormParams::ask("Please say", form)).into()
}

fn form(field: &str) -> Form {
    Form::parse(&format!(r#"{{"type": "object", "properties": {{"it": {field}}}}}"#)).unwrap()
}

/// A form is said as the revision's own schema has it, or it is refused for a field that takes several values.
#[test]
fn any_form_is_said_in_every_legacy_revision_or_a_field_is_named() {
    for revision in Revision::LEGACY {
        let schemas = jsonschema::draft202012::options().build_map(&json_schema::document(revision.strict())).unwrap();
        let schema = schemas.get("#/$defs/ElicitRequest").unwrap();
        let outcome = TestRunner::new(Config::with_cases(256)).run(&Form::any_value(Revision::V2026_07_28), |form| {
            let takes_several = |field: &PrimitiveSchema| {
                matches!(field, PrimitiveSchema::UntitledMultiSelect(_) | PrimitiveSchema::TitledMultiSelect(_))
            };
            let cannot = !revision.has(Feature::MultiSelects);
            let unsaid =
                form.fields().find(|field| cannot && takes_several(field.schema)).map(|field| field.name.to_owned());
            match (asking(form).to_request(7, revision), unsaid) {
                (Ok(text), None) => {
                    let value: Result<serde_json::Value, _> = serde_json::from_str(&text);
                    // A number that no machine type holds is beyond the validator, not beyond the types.
                    if let Ok(value) = value {
                        prop_assert!(schema.is_valid(&value), "{text}");
                    }
                    let read = Request::<Elicit>::from_json(&text, revision.strict());
                    prop_assert!(read.is_ok(), "{read:?}");
                }
                (Err(error), Some(field)) => {
                    prop_assert!(error.to_string().contains(&format!("`{field}`")), "{error}");
                }
                (said, unsaid) => prop_assert!(false, "{said:?}, and {unsaid:?} cannot be said"),
            }
            Ok(())
        });
        outcome.unwrap_or_else(|error| panic!("{revision}: {error}"));
    }
}

#[test]
fn a_default_that_cannot_be_said_is_left_out() {
    for field in [
        r#"{"type":"string","default":"a"}"#,
        r#"{"type":"integer","default":1}"#,
        r#"{"type":"string","enum":["a"],"default":"a"}"#,
        r#"{"type":"string","oneOf":[{"const":"a","title":"A"}],"default":"a"}"#,
        r#"{"type":"string","enum":["a"],"enumNames":["A"],"default":"a"}"#,
    ] {
        let said = form(field).in_revision(Revision::V2025_06_18).unwrap();
        assert!(!said.as_str().contains("default"), "{said:?}");
        assert_eq!(form(field).in_revision(Revision::V2025_11_25).unwrap().as_str(), form(field).as_str());
    }
    let boolean = form(r#"{"type": "boolean", "default": true}"#);
    assert_eq!(boolean.in_revision(Revision::V2025_06_18).unwrap().as_str(), boolean.as_str(), "said as it came");
}

#[test]
fn a_form_says_its_mode_where_there_are_others() {
    let asked = asking(form(r#"{"type": "string"}"#));
    assert!(asked.to_request(1, Revision::V2025_11_25).unwrap().contains(r#""mode":"form""#));
    assert!(!asked.to_request(1, Revision::V2025_06_18).unwrap().contains("mode"));
}

#[test]
fn a_visit_needs_its_id_and_a_revision_that_has_visits() {
    let mut visit = ElicitUrlParams::new("Connect", Url::new("https://example.com/connect").unwrap());
    let asked = InputRequest::from(ElicitRequest::new(visit.clone()));
    assert!(asked.to_request(1, Revision::V2025_11_25).unwrap_err().to_string().contains("`elicitationId`"));
    visit.elicitation_id = Some("e-1".into());
    let asked = InputRequest::from(ElicitRequest::new(visit));
    assert!(asked.to_request(1, Revision::V2025_11_25).unwrap().contains(r#""elicitationId":"e-1""#));
    assert_eq!(asked.check_in(Revision::V2025_06_18), Err(NotInRevision::Url { revision: Revision::V2025_06_18 }));
    assert!(asked.to_request(1, Revision::V2025_06_18).is_err());
}

#[test]
fn the_oldest_revision_samples_one_block_and_no_tools() {
    let sample = |messages: Vec<SamplingMessage>| CreateMessageParams::new(messages, 10_u64);
    let asked = |params: CreateMessageParams| InputRequest::from(CreateMessageRequest::new(params));
    let text = || SamplingContent::Text(mrtr_schema::content::TextContent::new("Hello"));
    let one = SamplingMessage::new(mrtr_schema::content::Role::User, vec![text()]);
    let said = asked(sample(vec![one])).to_request(1, Revision::V2025_06_18).unwrap();
    assert!(said.contains(r#""content":{"type":"text","text":"Hello"}"#), "a list of one is that one: {said}");

    let two = SamplingMessage::new(mrtr_schema::content::Role::User, vec![text(), text()]);
    let two = asked(sample(vec![two]));
    assert!(two.to_request(1, Revision::V2025_11_25).is_ok());
    assert!(matches!(two.check_in(Revision::V2025_06_18), Err(NotInRevision::SamplingBlocks { .. })));
    assert!(two.to_request(1, Revision::V2025_06_18).is_err());

    let mut with_tools = sample(vec![SamplingMessage::user("Hello")]);
    with_tools.tools = Some(Vec::new());
    assert!(matches!(asked(with_tools).check_in(Revision::V2025_06_18), Err(NotInRevision::SamplingTools { .. })));
}

#[test]
fn what_a_client_declares_means_what_its_revision_has() {
    let said = r#"{"elicitation": {"url": {}}, "sampling": {"tools": {}}, "extensions": {"com.example/approval": {}}}"#;
    let declared = |revision: Revision| ClientCapabilities::from_json(said, revision.lenient()).unwrap();
    assert!(declared(Revision::V2025_11_25).elicits_urls() && declared(Revision::V2025_11_25).samples_with_tools());
    let oldest = declared(Revision::V2025_06_18);
    assert!(oldest.elicits_forms() && !oldest.elicits_urls() && !oldest.samples_with_tools());
    for revision in Revision::LEGACY {
        assert!(!declared(revision).knows(&mrtr_schema::Method::from_static("com.example/approval")));
    }
}

#[test]
fn a_result_of_a_session_has_no_type_and_is_never_interim() {
    for revision in Revision::LEGACY {
        let complete = Response::<CallTool>::new(1, MethodResult::Complete(CallToolResult::new(Vec::new())));
        assert_eq!(complete.to_json(revision).unwrap(), r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#);
        let interim = Response::<CallTool>::new(1, InputRequiredResult::carry(RequestState::new("sealed")));
        assert!(interim.to_json(revision).is_err());
        let stray = r#"{"content": [], "requestState": "sealed"}"#;
        let read = MethodResult::<CallToolResult>::from_json(stray, revision.strict()).unwrap();
        assert!(matches!(read, MethodResult::Complete(_)), "a member that it does not name means nothing there");
    }
}

#[test]
fn only_a_server_of_a_session_sends_requests() {
    let asked = asking(form(r#"{"type": "string"}"#));
    for revision in Revision::ALL {
        let request = asked.to_request("q-1", revision);
        assert_eq!(request.is_ok(), revision.era() == Era::Legacy, "{revision}");
        if let Ok(text) = request {
            let Envelope::Request { id, method, .. } = Envelope::parse(text.as_bytes()).unwrap() else {
                panic!("a request")
            };
            assert_eq!((id, &*method), ("q-1".into(), "elicitation/create"));
        }
    }
}
