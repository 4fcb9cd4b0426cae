//! Servers of the legacy era that keep to no rule: each costs its client a bounded amount, and the client reports it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mrtr_client::{Builder, CallErrorKind, Client, Limits, Stop};
use mrtr_http::HttpTransport;
use mrtr_schema::Revision;
use serde_json::{Value, json};

use crate::support::scripted::{Answer, Asked, Scripted};
use crate::support::within;
use crate::tracker::text;

/// A server that begins a session in this version, takes every answer, and has a call answered by this.
async fn legacy(version: &'static str, call: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Scripted {
    Scripted::start(move |_, asked| match asked.message["method"].as_str() {
        Some("initialize") => {
            let server = json!({ "name": "s", "version": "1" });
            let result = json!({ "protocolVersion": version, "capabilities": {}, "serverInfo": server });
            let headers = "Content-Type: application/json\r\nMcp-Session-Id: s-1\r\n";
            Answer::with(200, headers, &asked.reply(json!({ "result": result })))
        }
        Some("tools/call") => call(asked),
        _ => Answer::with(202, "", ""),
    })
    .await
}

fn client(scripted: &Scripted) -> Builder {
    Client::builder(HttpTransport::new(&scripted.url()).unwrap()).revision(Revision::V2025_11_25)
}

fn event(message: &Value) -> Vec<u8> {
    format!("data: {message}\n\n").into_bytes()
}

fn asks(id: &Value) -> Value {
    let form = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    let params = json!({ "message": "?", "requestedSchema": form });
    json!({ "jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params })
}

fn done(asked: &Asked) -> Value {
    let result = json!({ "content": [{ "type": "text", "text": "done" }] });
    json!({ "jsonrpc": "2.0", "id": asked.message["id"], "result": result })
}

/// The client's answers, with the ids of the questions.
fn answers(scripted: &Scripted) -> Vec<Value> {
    let is_answer = |asked: &Asked| asked.message.get("method").is_none();
    scripted.asked().into_iter().filter(is_answer).map(|asked| asked.message).collect()
}

async fn stopped(client: &Client) -> Stop {
    match within("an end", client.call_tool("t", json!({}))).await.unwrap_err().kind {
        CallErrorKind::Stopped { stop, .. } => stop,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_version_that_this_client_does_not_have_is_an_error_that_names_all() {
    for version in ["2024-11-05", "2026-07-28", "2099-01-01", "\u{1b}[2J"] {
        let scripted = legacy(version, |_| Answer::Nothing).await;
        let stop = stopped(&client(&scripted).build()).await;
        assert!(matches!(&stop, Stop::OtherVersion(named) if named == version), "{stop}");
        let text = stop.to_string();
        assert!(text.contains("2025-06-18 and 2025-11-25") && text.contains("2026-07-28"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }
}

#[tokio::test]
async fn a_server_that_asks_and_asks_is_left_after_so_many_rounds() {
    // It has what it asks next in its output at once, and asks without waiting for an answer.
    let scripted =
        legacy("2025-11-25", |_| Answer::stream((0..1000).map(|number| event(&asks(&json!(number)))).collect())).await;
    let limits = Limits { questions: 20, ..Limits::default() };
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let never = move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        std::future::pending::<mrtr_schema::elicitation::ElicitResult>()
    };
    let stop = stopped(&client(&scripted).limits(limits).on_elicit(never).build()).await;
    assert!(matches!(stop, Stop::TooManyQuestions(21)), "{stop}");
    assert!(asked.load(Ordering::SeqCst) <= 20);
}

#[tokio::test]
async fn rounds_are_counted_as_those_of_a_modern_call_are() {
    // Each question comes once the one before was answered.
    let tool = async |flow: mrtr_server::Flow| {
        for round in 0..20 {
            flow.roots(format!("where-{round}")).await?;
        }
        Ok::<_, mrtr_server::Failure>("at last")
    };
    let server = mrtr_server::Server::builder("s", "1.0.0").tool(mrtr_server::Tool::new("t", tool)).build().unwrap();
    let front = crate::front::Front::start(server, None).await;
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let limits = Limits { rounds: 5, ..Limits::default() };
        let client =
            crate::tracker::answering(Client::builder(front.transport())).limits(limits).revision(revision).build();
        assert!(matches!(stopped(&client).await, Stop::TooManyRounds(5)), "{revision}");
    }
}

#[tokio::test]
async fn questions_are_bounded_in_bytes_together() {
    let long = |id: u32| {
        let mut asks = asks(&json!(id));
        asks["params"]["message"] = "x".repeat(4000).into();
        event(&asks)
    };
    let scripted = legacy("2025-11-25", move |_| Answer::stream((0..5).map(long).collect())).await;
    let limits = Limits { reply_bytes: 10_000, ..Limits::default() };
    let never = |_| std::future::pending::<mrtr_schema::elicitation::ElicitResult>();
    let stop = stopped(&client(&scripted).limits(limits).on_elicit(never).build()).await;
    assert!(matches!(stop, Stop::ReplyTooLong(_)), "{stop}");
}

#[tokio::test]
async fn an_id_that_is_repeated_is_asked_once_and_answers_to_nothing_are_passed_over() {
    let scripted = legacy("2025-11-25", |_| {
        let foreign = json!({ "jsonrpc": "2.0", "id": "nobody's", "result": { "content": [] } });
        let ping = json!({ "jsonrpc": "2.0", "id": "p", "method": "ping" });
        let unknown = json!({ "jsonrpc": "2.0", "id": "u", "method": "com.example/spy", "params": {} });
        let bad = json!({ "jsonrpc": "2.0", "id": "b", "method": "elicitation/create", "params": { "message": 7 } });
        let gone = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "none" } });
        let roots = json!({ "jsonrpc": "2.0", "id": "r", "method": "roots/list" });
        let messages = [foreign, asks(&json!(1)), asks(&json!(1)), ping, unknown, bad, gone, roots];
        let mut pieces: Vec<_> = messages.iter().map(event).collect();
        pieces[0].splice(0..0, *b"id: e-1\nretry: 1\ndata:\n\n");
        Answer::stream(pieces)
    })
    .await;
    let count = Arc::new(AtomicUsize::new(0));
    let asked = Arc::clone(&count);
    let client = client(&scripted)
        .on_elicit(move |form| {
            asked.fetch_add(1, Ordering::SeqCst);
            async move { form.accept(&json!({ "a": "b" })) }
        })
        .build();
    // The server takes no GET, so that the call ends there; by then it has the answers.
    let error = within("an end", client.call_tool("t", json!({}))).await.unwrap_err();
    assert!(error.to_string().contains("cannot be resumed"), "{error}");
    assert_eq!(count.load(Ordering::SeqCst), 1);
    let code = |id: &str| {
        answers(&scripted).into_iter().find(|answer| answer["id"] == id).map(|answer| answer["error"]["code"].clone())
    };
    assert_eq!((code("u"), code("b")), (Some(json!(-32601)), Some(json!(-32602))));
    assert_eq!(code("r"), Some(json!(-32601)), "a kind without a handler is refused, and never declined");
    assert!(answers(&scripted).iter().any(|answer| *answer == json!({ "jsonrpc": "2.0", "id": "p", "result": {} })));
}

#[tokio::test]
async fn a_question_that_was_not_offered_is_refused_and_the_call_goes_on() {
    let scripted =
        legacy("2025-11-25", |asked| Answer::stream(vec![event(&asks(&json!(1))), event(&done(asked))])).await;
    let client = client(&scripted).build();
    assert_eq!(text(&client.call_tool("t", json!({})).await.unwrap()), "done");
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_not_sent() {
    let scripted = legacy("2025-11-25", |_| Answer::stream(vec![event(&asks(&json!(1)))])).await;
    let wrong = |_| async {
        mrtr_schema::elicitation::ElicitResult::accept(mrtr_schema::JsonObject::parse(r#"{"a": 7}"#).unwrap())
    };
    let error =
        within("an end", client(&scripted).on_elicit(wrong).build().call_tool("t", json!({}))).await.unwrap_err();
    assert!(matches!(error.kind, CallErrorKind::InvalidAnswer { .. }), "{error}");
    assert!(answers(&scripted).is_empty());
}

/// A server whose streams end without a message: each GET has a new id, as if something had come.
async fn ends_empty(after: usize) -> Scripted {
    let (gets, id) = (AtomicUsize::new(0), Arc::new(std::sync::Mutex::new(Value::Null)));
    Scripted::start(move |number, asked| {
        let primed = format!("id: {number}\ndata:\n\n").into_bytes();
        match asked.message["method"].as_str() {
            Some("initialize") => {
                let result = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
                    "serverInfo": { "name": "s", "version": "1" } });
                let headers = "Content-Type: application/json\r\nMcp-Session-Id: s-1\r\n";
                Answer::with(200, headers, &asked.reply(json!({ "result": result })))
            }
            Some("tools/call") => {
                *id.lock().unwrap() = asked.message["id"].clone();
                Answer::stream(vec![primed])
            }
            Some(_) => Answer::with(202, "", ""),
            None if gets.fetch_add(1, Ordering::SeqCst) < after => Answer::stream(vec![primed]),
            None => {
                let call = Asked { headers: Vec::new(), message: json!({ "id": *id.lock().unwrap() }) };
                Answer::stream(vec![event(&done(&call))])
            }
        }
    })
    .await
}

fn gets(scripted: &Scripted) -> usize {
    scripted.asked().iter().filter(|asked| asked.header("last-event-id").is_some()).count()
}

#[tokio::test]
async fn gets_that_end_empty_are_repeated_ever_more_slowly() {
    let scripted = ends_empty(usize::MAX).await;
    let limits = Limits { exchange: Duration::from_secs(2), ..Limits::default() };
    let error = within("an end", client(&scripted).limits(limits).build().call_tool("t", json!({}))).await.unwrap_err();
    assert!(error.to_string().contains("no result came within"), "{error}");
    // At 0.1, 0.3, 0.7 and 1.5 seconds; one every tenth of a second would be twenty.
    assert!((1..=5).contains(&gets(&scripted)), "{} GETs", gets(&scripted));

    let scripted = ends_empty(3).await;
    let result = within("a result", client(&scripted).build().call_tool("t", json!({}))).await.unwrap();
    assert_eq!((text(&result).as_str(), gets(&scripted)), ("done", 4), "a server may have its call polled");
}

#[tokio::test]
async fn a_session_that_ends_again_and_again_is_not_begun_for_ever() {
    let scripted = legacy("2025-11-25", |_| Answer::with(404, "", "")).await;
    let error = within("an end", client(&scripted).build().call_tool("t", json!({}))).await.unwrap_err();
    assert!(error.to_string().starts_with("the session with http://127.0.0.1"), "{error}");
    let begun = scripted.asked().iter().filter(|asked| asked.message["method"] == "initialize").count();
    assert_eq!(begun, 5);
}

#[tokio::test]
async fn a_session_id_that_is_none_is_refused() {
    let scripted = Scripted::start(|_, asked| {
        let long = "x".repeat(HttpTransport::SESSION_ID_BYTES + 1);
        let headers = format!("Content-Type: application/json\r\nMcp-Session-Id: {long}\r\n");
        Answer::with(200, &headers, &asked.reply(json!({ "result": {} })))
    })
    .await;
    let error = client(&scripted).build().call_tool("t", json!({})).await.unwrap_err();
    assert!(error.to_string().contains("the id of the session"), "{error}");
}
