//! A server's text where it is shown: cut, and with nothing in it that acts. The whole has a name that says untrusted.

use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mrtr_client::testing::Script;
use mrtr_client::{CallError, CallErrorKind, Client, Limits, RoundOutcome, Stop, TransportError, TransportFailure};
use mrtr_schema::elicitation::ElicitResult;
use mrtr_schema::{ErrorCode, ErrorObject, RequestId};
use serde_json::{Value, json};

use super::common::{Function, InMemory, asks_form, complete, greeter, rooted};

const ESCAPES: &str = "\u{1b}]0;owned\u{7}\u{9b}2J\r\n\u{8}\u{202e}\u{2066}\u{e0041}";

/// A long text that would take a terminal over.
fn nasty() -> String {
    format!("Pay {}", ESCAPES.repeat(1 << 12))
}

/// True if a text may be shown as it is, in one line.
fn is_harmless(text: &str) -> bool {
    let acts = |char: char| {
        char.is_control()
            || matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
    };
    text.len() < 10_000 && !text.chars().any(acts)
}

fn assert_harmless(error: &CallError) {
    assert!(is_harmless(&error.to_string()), "{:.300}", error.to_string());
    assert!(is_harmless(&format!("{error:?}")), "{:.300}", format!("{error:?}"));
    let mut cause = Error::source(error);
    while let Some(error) = cause {
        assert!(is_harmless(&error.to_string()), "{:.300}", error.to_string());
        cause = error.source();
    }
}

#[tokio::test]
async fn an_error_of_the_server_s_is_cut_and_escaped_and_whole_by_another_name() {
    let mut said = ErrorObject::new(ErrorCode::INTERNAL_ERROR, nasty());
    said.data = Some(json!({ "more": nasty() }).into());
    let error = rooted(Script::new().error(said)).call_tool("t", json!({})).await.unwrap_err();
    assert_harmless(&error);
    assert!(error.to_string().contains(r"Pay \u{1b}]0;owned"), "{error}");
    assert_eq!(error.untrusted_message(), Some(&*nasty()));
}

#[tokio::test]
async fn a_reply_to_another_request_shows_what_the_server_says() {
    let refusal = |message: &str| json!({ "jsonrpc": "2.0", "id": "server-error", "error": { "code": -32600, "message": message } });
    let script = Script::new().text(refusal("Bad Request: no session").to_string()).text(refusal(&nasty()).to_string());
    let client = rooted(script);
    let error = client.call_tool("t", json!({})).await.unwrap_err();
    assert!(
        matches!(&error.kind, CallErrorKind::Stopped { stop: Stop::ForeignReply { id, .. }, .. } if id == "server-error")
    );
    let text = error.to_string();
    assert!(text.contains("server-error") && text.contains("Bad Request: no session"), "{text}");
    assert!(error.pending().is_some());
    let error = client.call_tool("t", json!({})).await.unwrap_err();
    assert_harmless(&error);
    assert_eq!(error.untrusted_message(), Some(&*nasty()));

    let long =
        Function(|_: &Value, _: &RequestId| json!({ "jsonrpc": "2.0", "id": nasty(), "result": {} }).to_string());
    assert_harmless(&rooted(long).call_tool("t", json!({})).await.unwrap_err());
}

#[tokio::test]
async fn keys_and_kinds_of_questions_are_cut_and_escaped() {
    let roots = json!({ "method": "roots/list" });
    let unknown = json!({ "method": nasty() });
    let form = json!({ "method": "elicitation/create", "params": { "message": nasty(), "requestedSchema":
        { "type": "object", "required": [nasty()], "properties": { nasty(): { "type": "string", "enum": [nasty()] } } } } });
    for question in [roots, unknown, form, json!({ "method": "elicitation/create", "params": { "mode": nasty() } })] {
        let asks = json!({ "resultType": "input_required", "inputRequests": { nasty(): question } });
        let error = Client::builder(Script::new().result(&asks)).build().call_tool("t", json!({})).await.unwrap_err();
        assert_harmless(&error);
        let client = Client::builder(Script::new().result(&asks))
            .on_elicit(|form| async move { form.accept(&json!({ "a": 1 })) })
            .on_roots(|_| async { Err::<Vec<_>, _>("no") })
            .build();
        assert_harmless(&client.call_tool("t", json!({})).await.unwrap_err());
    }
    let odd =
        rooted(Script::new().result(json!({ "resultType": nasty() }))).call_tool("t", json!({})).await.unwrap_err();
    assert_harmless(&odd);
    let bad = rooted(Script::new().result(json!({ "content": [{ "type": nasty() }] }))).call_tool("t", json!({})).await;
    assert_harmless(&bad.unwrap_err());
    let gone = TransportError::new(nasty());
    assert!(is_harmless(&gone.to_string()));
}

#[tokio::test]
async fn a_person_is_shown_what_may_be_shown() {
    let form = json!({ "type": "object", "properties": { "a": { "type": "string", "title": nasty() } } });
    let mut asks = asks_form("a", &form);
    asks["inputRequests"]["a"]["params"]["message"] = "Two lines,\n\tthen \u{1b}[2J\u{202e}".into();
    asks["inputRequests"]["u"] = json!({ "method": "elicitation/create",
        "params": { "mode": "url", "message": nasty(), "url": "https://example.com/" } });
    let script = Script::new().result(&asks).result(complete("done")).result(&asks);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (of_forms, of_urls) = (Arc::clone(&seen), Arc::clone(&seen));
    let client = Client::builder(script)
        .on_elicit(move |form| {
            assert_eq!(form.message(), "Two lines,\n\tthen \\u{1b}[2J\\u{202e}");
            assert_eq!(form.untrusted_message(), "Two lines,\n\tthen \u{1b}[2J\u{202e}");
            of_forms.lock().unwrap().extend(form.fields().map(|field| field.title().into_owned()));
            async move { form.decline() }
        })
        .on_url(move |url| {
            assert_eq!(url.untrusted_message(), nasty());
            of_urls.lock().unwrap().push(url.message().replace('\n', ""));
            async move { url.decline() }
        })
        .build();
    client.call_tool("t", json!({})).await.unwrap();
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen.len(), 2);
    assert!(seen.iter().all(|text| text.starts_with(r"Pay \u{1b}]0;owned")), "{seen:?}");
    // What a person reads may be longer than a line of a log.
    assert!(seen.iter().all(|text| text.chars().count() < 40_000), "{seen:?}");
    assert!(
        seen.iter()
            .flat_map(|text| text.as_bytes().chunks(100))
            .all(|part| is_harmless(str::from_utf8(part).unwrap_or("…")))
    );

    let RoundOutcome::Asked(pending) = client.call_tool_once("t", json!({})).await.unwrap() else { panic!("it asks") };
    assert_eq!(pending.message("a").unwrap(), "Two lines,\n\tthen \\u{1b}[2J\\u{202e}");
    assert_eq!(pending.untrusted_message("u"), Some(&*nasty()));
    assert!(is_harmless(&format!("{pending:?}")));
}

#[tokio::test]
async fn the_handler_that_is_not_there_is_named() {
    let form = json!({ "mode": "form", "message": "?", "requestedSchema": { "type": "object", "properties": {} } });
    let url = json!({ "mode": "url", "message": "?", "url": "https://example.com/" });
    let message = json!({ "role": "user", "content": { "type": "text", "text": "Hello" } });
    let sample = json!({ "messages": [message], "maxTokens": 10 });
    let tools = json!({ "messages": [message], "maxTokens": 10, "tools": [] });
    for (method, params, builder) in [
        ("elicitation/create", form, "`on_elicit`"),
        ("elicitation/create", url, "`on_url`"),
        ("sampling/createMessage", sample, "`on_sample`"),
        ("sampling/createMessage", tools, "`on_sample_with_tools`"),
        ("roots/list", json!({}), "`on_roots`"),
    ] {
        let asks =
            json!({ "resultType": "input_required", "inputRequests": { "a": { "method": method, "params": params } } });
        let error = Client::builder(Script::new().result(asks)).build().call_tool("t", json!({})).await.unwrap_err();
        assert!(matches!(error.kind, CallErrorKind::NoHandler { .. }), "{error}");
        assert!(error.to_string().contains(builder), "{error}");
    }
    // A server that knows what this client declared refuses by itself.
    let error = Client::builder(InMemory::new(greeter())).build().call_tool("greet", json!({})).await.unwrap_err();
    assert!(matches!(&error.kind, CallErrorKind::NoHandler { key: None, handler: "on_elicit", .. }), "{error}");
    assert_eq!(
        error.to_string(),
        "the call needs a client that answers `elicitation/create`, and this client has no `on_elicit`"
    );
    assert!(error.pending().is_some(), "another client may resume it");
}

#[tokio::test]
async fn a_server_that_misses_a_capability_names_the_handler_for_it() {
    for (wanted, missing) in [
        (json!({ "sampling": {} }), Some(("sampling/createMessage", "on_sample"))),
        (json!({ "sampling": { "tools": {} } }), Some(("sampling/createMessage", "on_sample_with_tools"))),
        (json!({ "elicitation": { "url": {} }, "roots": {} }), Some(("elicitation/create", "on_url"))),
        // This client has a handler for forms, and an extension may be more than an input.
        (json!({ "elicitation": { "form": {} } }), None),
        (json!({ "extensions": { "com.example/seat": {} } }), None),
    ] {
        let mut refusal = ErrorObject::new(ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY, "No");
        refusal.data = Some(json!({ "requiredCapabilities": wanted }).into());
        let script = Script::new().error(refusal.clone()).error(refusal);
        let client = Client::builder(script).on_elicit(|form| async move { form.decline() }).build();
        let by_hand = client.call_tool_once("t", json!({})).await.map(drop).unwrap_err();
        for error in [client.call_tool("t", json!({})).await.unwrap_err(), by_hand] {
            match (&error.kind, missing) {
                (CallErrorKind::NoHandler { key: None, method, handler }, Some(missing)) => {
                    assert_eq!((&**method, *handler), missing);
                }
                (CallErrorKind::Server { .. }, None) => {
                    assert_eq!(error.to_string(), "the server answered: No (-32021)");
                }
                _ => panic!("{wanted}: {error:?}"),
            }
        }
    }
}

/// A cause that has one of its own.
#[derive(Debug)]
struct Outer(std::io::Error);

impl std::fmt::Display for Outer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("sending failed")
    }
}

impl Error for Outer {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

#[test]
fn the_innermost_cause_is_said_and_the_others_can_be_got() {
    let error = TransportError::new(Outer(std::io::Error::other("the cable is cut")));
    assert_eq!(error.to_string(), "the cable is cut");
    assert!(error.source().is_none(), "it would be said twice");
    assert_eq!(error.get_ref().to_string(), "sending failed");
    assert!(error.get_ref().is::<Outer>());
}

/// An error with its causes, as programs write it that end with it.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.extend([": ", &error.to_string()]);
        cause = error.source();
    }
    text
}

#[tokio::test]
async fn a_cause_is_said_once() {
    let form = json!({ "type": "object", "properties": {} });
    let ask = asks_form("booking", &form);
    let client = Client::builder(
        Script::new().result(&ask).result(&ask).result(json!({ "resultType": "complete", "content": 7 })),
    )
    .on_elicit(|form| async move {
        assert!(form.context().call == 1, "no screen");
        Err::<ElicitResult, _>(Outer(std::io::Error::other("the screen is locked")))
    })
    .build();
    let error = client.call_tool("t", json!({})).await.unwrap_err();
    assert_eq!(error.to_string(), "`booking` was not answered: sending failed");
    assert_eq!(with_causes(&error), "`booking` was not answered: sending failed: the screen is locked");
    assert_eq!(with_causes(&error), with_causes(&error.kind));
    let error = client.call_tool("t", json!({})).await.unwrap_err();
    assert_eq!(with_causes(&error), "`booking` was not answered: the handler panicked: no screen");
    let error = client.call_tool("t", json!({})).await.unwrap_err();
    assert_eq!(with_causes(&error), error.to_string());
    let gone = TransportError::of(TransportFailure::Unreachable, Outer(std::io::Error::other("the cable is cut")));
    assert_eq!(with_causes(&gone), "the cable is cut");
}

#[tokio::test]
async fn an_error_shows_its_kind_to_a_programmer() {
    let debug = async |script: Script| {
        let error = rooted(script).call_tool("t", json!({})).await.unwrap_err();
        (format!("{:?}", error.kind), format!("{error:?}"))
    };
    let (kind, error) = debug(Script::new().unreachable()).await;
    assert_eq!(kind, r#"Transport(Unreachable, "it cannot be reached")"#);
    assert!(error.starts_with("CallError { kind: Transport, message: \"no connection to a script: "), "{error}");
    let (kind, _) = debug(Script::new().error(ErrorObject::new(ErrorCode::INTERNAL_ERROR, "no"))).await;
    assert_eq!(kind, r#"Server("the server answered: no (-32603)")"#);
    let (kind, _) = debug(Script::new().result(json!({ "resultType": "input_required" }))).await;
    assert!(kind.starts_with("Stopped(BadReply(\""), "{kind}");
    assert_eq!(format!("{:?}", mrtr_client::AnswerError::NotAsked("a".to_owned())), r#"NotAsked("`a` was not asked")"#);
}

#[tokio::test(start_paused = true)]
async fn what_failed_in_transport_is_said_with_the_server_and_the_cause() {
    let silent = Client::builder(Script::new().silence()).build().call_tool("t", json!({})).await.unwrap_err();
    assert_eq!(silent.to_string(), "a script did not answer in time: no result came within 120s");
    let gone = rooted(Script::new().unreachable()).call_tool("t", json!({})).await.unwrap_err();
    assert_eq!(gone.to_string(), "no connection to a script: it cannot be reached");
    let CallErrorKind::Transport { source, .. } = gone.kind else { panic!("{gone}") };
    assert!(source.failure() == TransportFailure::Unreachable && !source.may_have_run());
    let impatient = Limits { exchange: Duration::ZERO, ..Limits::default() };
    let silent = Client::builder(Script::new().silence()).limits(impatient).build();
    let silent_at_once = silent.call_tool("t", json!({})).await.unwrap_err();
    assert!(silent_at_once.to_string().ends_with("no result came at once, since `Limits::exchange` is 0"));
    for failure in [TransportFailure::Unauthorized, TransportFailure::Forbidden, TransportFailure::NotFound] {
        let error = rooted(Script::new().failure(failure)).call_tool("t", json!({})).await.unwrap_err();
        let CallErrorKind::Transport { source, .. } = error.kind else { panic!("{error}") };
        assert!(source.failure() == failure && !source.may_have_run(), "{source:?}");
    }
    let CallErrorKind::Transport { source, .. } = silent_at_once.kind else { panic!("{silent_at_once}") };
    assert_eq!(source.failure(), TransportFailure::TimedOut);
}

#[tokio::test]
async fn every_error_of_a_call_that_was_made_carries_it() {
    let client = rooted(Script::new().result(json!({ "resultType": "complete", "content": 7 })));
    let error = client.call_tool("t", json!({ "a": 1 })).await.unwrap_err();
    assert!(matches!(error.kind, CallErrorKind::BadResult { .. }), "{error}");
    assert!(error.to_string().contains("$.content"), "{error}");
    assert_eq!(error.into_pending().unwrap().params().as_str(), r#"{"name":"t","arguments":{"a":1}}"#);

    // Arguments that cannot be written make no call, and none is made up that could be sent without them.
    let error = client.call_tool("t", [1]).await.unwrap_err();
    assert!(matches!(error.kind, CallErrorKind::BadParams(_)) && error.pending().is_none(), "{error}");
    assert_eq!(error.to_string(), "the arguments of `t` are an array, and not an object");
}

#[tokio::test]
async fn what_an_address_asks_for_is_not_shown() {
    let saved = json!({ "format": 1, "server": "https://example.com/mcp?key=hush#now", "revision": "2026-07-28",
        "method": "tools/call", "params": {}, "rounds": 1 });
    let pending: mrtr_client::PendingCall = serde_json::from_value(saved).unwrap();
    let error = rooted(Script::new()).resume(pending).await.unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(shown.contains("https://example.com/mcp?…") && !shown.contains("hush"), "{shown}");
    let saved = json!({ "format": 1, "server": "https://example.com/mcp#now", "revision": "2026-07-28",
        "method": "tools/call", "params": {}, "rounds": 1 });
    let error = rooted(Script::new()).resume(serde_json::from_value(saved).unwrap()).await.unwrap_err();
    assert!(error.to_string().contains("https://example.com/mcp#…, and"), "{error}");
}
