//! Versions: another that both know is tried, once, and kept to from then on.

use mrtr_client::testing::Script;
use mrtr_client::{CallError, CallErrorKind, Client};
use mrtr_schema::error_object::UnsupportedVersionData;
use mrtr_schema::{ErrorCode, ErrorObject, Json, Revision};
use serde_json::{Value, json};

use super::common::{InMemory, asks_roots, calls, complete, greeter, rooted, sent, text};

fn supports(versions: &[&str]) -> ErrorObject {
    let data = UnsupportedVersionData::new("2026-07-28", versions.iter().map(ToString::to_string).collect::<Vec<_>>());
    ErrorObject::with_data("This protocol version is not supported", &data)
}

#[tokio::test]
async fn the_latest_version_that_both_know_is_spoken_from_then_on() {
    let mut asks = asks_roots("r", Some("s"));
    asks["inputRequests"]["r"] = json!({ "method": "roots/list" });
    let script = Script::new()
        .error(supports(&["2025-11-25", "draft-2026-02", "sep-2322"]))
        .result(asks)
        .result(json!({ "content": [] }))
        .result(json!({ "content": [] }));
    let client = rooted(script.clone());
    client.call_tool("t", json!({})).await.unwrap();
    assert_eq!(client.revision(), Revision::Sep2322);
    client.call_tool("t", json!({})).await.unwrap();

    let sent = sent(&script);
    assert_eq!(sent[0]["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert!(sent[1..].iter().all(|message| message["params"].get("_meta").is_none()), "{sent:?}");
    assert_ne!(sent[0]["id"], sent[1]["id"]);
    assert_eq!(calls(&script)[0], calls(&script)[1], "the same request");
    assert_eq!(sent.len(), 4, "the second call knows already");
}

#[tokio::test]
async fn replies_are_read_in_the_version_that_was_agreed_on() {
    // In the draft a task is told by its member, and an interim result by its fields.
    let script = Script::new()
        .error(supports(&["draft-2026-02"]))
        .result(json!({ "requestState": "s", "inputRequests": { "e": { "method": "elicitation/create",
            "params": { "message": "Well?", "requestedSchema": { "type": "object", "properties": {} } } } } }))
        .result(json!({ "content": [{ "type": "text", "text": "done" }] }));
    let client = Client::builder(script.clone()).on_elicit(|form| async move { form.decline() }).build();
    assert_eq!(text(&client.call_tool("t", json!({})).await.unwrap()), "done");
}

#[tokio::test]
async fn a_version_that_this_client_does_not_know_is_the_servers_error() {
    for versions in [&["2025-11-25"][..], &[]] {
        let script = Script::new().error(supports(versions)).result(complete("never"));
        let client = rooted(script.clone());
        let error = client.call_tool("t", json!({})).await.unwrap_err();
        let CallErrorKind::Server { error, .. } = error.kind else { panic!("{error}") };
        assert_eq!(error.code, ErrorCode::UNSUPPORTED_PROTOCOL_VERSION);
        assert_eq!(script.sent().len(), 1, "{versions:?}");
        assert_eq!(client.revision(), Revision::V2026_07_28);
    }
}

#[tokio::test]
async fn a_server_that_names_the_version_it_refused_is_tried_with_it_once_more() {
    let script = Script::new().error(supports(&["2026-07-28"])).result(complete("at last"));
    let client = rooted(script.clone());
    client.call_tool("t", json!({})).await.unwrap();
    assert_eq!(script.sent().len(), 2);
    let stubborn = Script::new().error(supports(&["2026-07-28"])).error(supports(&["2026-07-28"]));
    assert!(matches!(
        rooted(stubborn).call_tool("t", json!({})).await,
        Err(CallError { kind: CallErrorKind::Server { .. }, .. })
    ));
}

#[tokio::test]
async fn a_server_that_refuses_everything_is_not_asked_for_ever() {
    let all = ["draft-2026-02", "sep-2322", "2026-07-28"];
    let mut script = Script::new();
    for _ in 0..10 {
        script = script.error(supports(&all));
    }
    let client = rooted(script.clone());
    let error = client.call_tool("t", json!({})).await.unwrap_err();
    assert!(matches!(error.kind, CallErrorKind::Server { .. }), "{error}");
    assert_eq!(script.sent().len(), 4, "each version once, and the last one named once more");
    assert_eq!(client.revision(), Revision::V2026_07_28, "nothing was agreed on");
}

#[tokio::test]
async fn a_call_that_has_begun_stays_in_its_version() {
    let script = Script::new().result(asks_roots("r", Some("s"))).error(supports(&["sep-2322"]));
    let error = rooted(script.clone()).call_tool("t", json!({})).await.unwrap_err();
    assert!(matches!(error.kind, CallErrorKind::Server { .. }), "its state belongs to it: {error}");
    assert_eq!(script.sent().len(), 2);
}

#[tokio::test]
async fn data_that_makes_no_sense_is_the_servers_error() {
    for data in [json!(null), json!({}), json!({ "requested": 1, "supported": "sep-2322" }), json!([])] {
        let mut error = ErrorObject::new(ErrorCode::UNSUPPORTED_PROTOCOL_VERSION, "no");
        error.data = Some(data.into());
        let script = Script::new().error(error);
        assert!(matches!(rooted(script).list_tools().await, Err(CallError { kind: CallErrorKind::Server { .. }, .. })));
    }
}

#[tokio::test]
async fn what_a_caller_puts_into_metadata_is_kept_beside_ours() {
    let transport = InMemory::new(greeter());
    let client = Client::builder(transport.clone()).info("tests", "1.2.3").build();
    let params = json!({ "_meta": { "com.example/trace": "abc", "io.modelcontextprotocol/protocolVersion": "v9" } });
    let Value::Object(params) = params else { unreachable!() };
    client.resume_as::<Json>(client.prepare("tools/list", params.into())).await.unwrap();
    let meta = &transport.sent()[0]["params"]["_meta"];
    assert_eq!(meta["com.example/trace"], "abc");
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"], json!({ "name": "tests", "version": "1.2.3" }));
}
