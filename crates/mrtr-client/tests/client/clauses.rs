//! Clauses of the requirements that are the client's to keep, by their ids.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use mrtr_client::testing::Script;
use mrtr_client::{Action, AnswerError, Call, CallErrorKind, Client, EventKind, Limits, RoundOutcome, Stop};
use mrtr_schema::completion::{CompleteParams, CompletionArgument, PromptReference};
use mrtr_schema::content::{Role, TextContent};
use mrtr_schema::elicitation::ElicitResult;
use mrtr_schema::roots::ListRootsResult;
use mrtr_schema::sampling::{CreateMessageResult, SamplingContent, ToolUseContent};
use mrtr_schema::{Json, JsonObject, Method, NamespacedInput, Revision};
use mrtr_server::flow::Answered;
use mrtr_server::{Failure, Flow, Server, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::common::{InMemory, Login, asks_form, asks_roots, calls, complete, rooted, sent, state_only, text};

/// Asks for roots under two keys.
fn asks_two() -> Value {
    let mut asks = asks_roots("a", Some("s"));
    asks["inputRequests"]["b"] = json!({ "method": "roots/list" });
    asks
}

#[tokio::test]
async fn cl_1_nothing_is_sent_before_every_question_is_answered() {
    let script = Script::new().result(asks_two()).result(complete("done"));
    let (answer_b, b_is_answered) = tokio::sync::watch::channel(false);
    let client = Client::builder(script.clone())
        .on_roots(move |context| {
            let mut may_answer = b_is_answered.clone();
            async move {
                if context.key == "b" {
                    may_answer.wait_for(|may| *may).await.unwrap();
                }
                Ok::<_, String>(Vec::new())
            }
        })
        .build();
    let mut events = client.events();
    let mut call = Box::pin(client.call_tool("t", json!({})));
    // All that can be done without the second answer is done in one go: nothing here waits for time or for a socket.
    for _ in 0..3 {
        assert!((&mut call).now_or_never().is_none(), "it is not done");
    }
    let mut answered = Vec::new();
    while let Some(Some(event)) = events.next().now_or_never() {
        if let EventKind::Answered(key) = event.kind {
            answered.push(key);
        }
    }
    assert_eq!(answered, ["a"], "one is answered, and the other is open");
    assert_eq!(script.sent().len(), 1, "and nothing was sent");
    answer_b.send_replace(true);
    tokio::time::timeout(Duration::from_mins(1), call).await.unwrap().unwrap();
    assert_eq!(calls(&script)[1].1["inputResponses"], json!({ "a": { "roots": [] }, "b": { "roots": [] } }));
    assert_eq!(script.sent().len(), 2);
}

#[tokio::test]
async fn cl_1_nothing_is_sent_by_hand_while_one_of_two_questions_is_open() {
    let script = Script::new().result(asks_two()).result(complete("done"));
    let client = Client::builder(script.clone()).build();
    let RoundOutcome::Asked(mut pending) = client.call_tool_once("t", json!({})).await.unwrap() else {
        panic!("it asks")
    };
    pending.answer("b", &ListRootsResult::new([])).unwrap();
    let RoundOutcome::Asked(mut pending) = client.advance(pending).await.unwrap() else { panic!("one is open") };
    assert_eq!(script.sent().len(), 1);
    assert_eq!(pending.unanswered().collect::<Vec<_>>(), ["a"]);
    pending.answer("a", &ListRootsResult::new([])).unwrap();
    assert!(matches!(client.advance(pending).await.unwrap(), RoundOutcome::Complete(_)));
    assert_eq!(calls(&script)[1].1["inputResponses"].as_object().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn cl_2_the_state_is_echoed_byte_for_byte() {
    let state = "v1.\u{0}\u{7f}\"\\/ é 🦀 \u{2028}=%+\n";
    let script = Script::new().result(state_only(state)).result(complete("done"));
    rooted(script.clone()).call_tool("t", json!({})).await.unwrap();
    assert_eq!(calls(&script)[1].1["requestState"], state);
}

#[tokio::test(start_paused = true)]
async fn cl_3_each_retry_has_a_new_id() {
    let script = Script::new().result(state_only("s")).result(asks_roots("a", None)).result(complete("done"));
    let other = script.clone().result(complete("of another client"));
    rooted(script.clone()).call_tool("t", json!({})).await.unwrap();
    rooted(other).call_tool("t", json!({})).await.unwrap();
    let ids: HashSet<_> = sent(&script).iter().map(|message| message["id"].to_string()).collect();
    assert_eq!(ids.len(), 4);
}

#[tokio::test]
async fn cl_4_the_fields_belong_to_that_retry_only() {
    let script = Script::new().result(asks_roots("a", Some("s"))).result(complete("first")).result(complete("second"));
    let client = rooted(script.clone());
    client.call_tool("t", json!({})).await.unwrap();
    client.call_tool("t", json!({})).await.unwrap();
    assert_eq!(calls(&script)[2], calls(&script)[0]);

    // Answers that a caller gave along do not outlive the first request either.
    let script = Script::new().result(asks_roots("a", None)).result(complete("done"));
    let client = rooted(script.clone());
    let params = json!({ "name": "t", "requestState": "given", "inputResponses": { "x": {} } });
    client.resume(client.prepare("tools/call", JsonObject::of(&params).unwrap())).await.unwrap();
    assert_eq!(calls(&script)[0].1, params);
    assert_eq!(calls(&script)[1].1, json!({ "name": "t", "inputResponses": { "a": { "roots": [] } } }));
}

/// The test drives the call by hand: a client that has a question and asks no person would go round in circles.
#[test]
fn cl_4_a_key_that_was_skipped_in_one_round_is_asked_in_the_next() {
    let params = JsonObject::parse(r#"{"name": "t"}"#).unwrap();
    let mut call = Call::new(Revision::V2026_07_28, "tools/call", params, Limits::default(), 1);
    let asked = |call: &Call| match call.action() {
        Action::Gather(questions) => questions.into_iter().map(|(key, _)| key).collect::<Vec<_>>(),
        other => panic!("it was asked: {other:?}"),
    };
    let sent = |call: &Call| match call.action() {
        Action::Send(request) => serde_json::from_str::<Value>(request.params.get()).unwrap()["inputResponses"].take(),
        other => panic!("all is answered: {other:?}"),
    };
    let mut asks = asks_roots("first", Some("one"));
    asks["inputRequests"]["again"] = json!({ "method": "com.example/unknown" });
    call.replied(Ok(Json::from(asks).as_raw()), None);
    assert_eq!(asked(&call), ["first", "again"]);
    call.skipped("again").unwrap();
    call.answered("first", &ListRootsResult::new([])).unwrap();
    assert_eq!(sent(&call), json!({ "first": { "roots": [] } }));

    call.replied(Ok(Json::from(asks_roots("again", Some("two"))).as_raw()), None);
    assert_eq!(asked(&call), ["again"]);
    call.answered("again", &ListRootsResult::new([])).unwrap();
    assert_eq!(sent(&call), json!({ "again": { "roots": [] } }));
}

#[tokio::test]
async fn cl_5_a_retry_keeps_what_its_caller_says_of_it() {
    let script = Script::new().result(asks_roots("a", Some("s"))).result(complete("done"));
    let client = rooted(script.clone());
    let meta = json!({ "com.example/trace": { "id": "abc", "depth": 0.10 } });
    let params = json!({ "name": "t", "arguments": {}, "_meta": meta });
    client.resume(client.prepare("tools/call", JsonObject::of(&params).unwrap())).await.unwrap();
    let metas: Vec<_> = calls(&script).into_iter().map(|(_, params)| params["_meta"].clone()).collect();
    assert_eq!(metas, [meta.clone(), meta]);
}

#[tokio::test]
async fn cl_5_a_retry_is_the_original_request_and_the_new_fields() {
    let script = Script::new().result(asks_roots("a", Some("s"))).result(complete("done"));
    let arguments = r#"{"big": 123456789012345678901234567890, "small": 0.10, "nested": {"b": 1, "a": [null]}}"#;
    let arguments = JsonObject::parse(arguments).unwrap();
    rooted(script.clone()).call_tool("t", &arguments).await.unwrap();
    let messages = script.sent();
    assert!(messages.iter().all(|message| message.as_str().contains(arguments.as_str())), "{messages:?}");
    let mut retry = calls(&script)[1].clone();
    for field in ["inputResponses", "requestState"] {
        assert!(retry.1.as_object_mut().unwrap().remove(field).is_some());
    }
    assert_eq!(retry, calls(&script)[0]);
}

#[tokio::test(start_paused = true)]
async fn cl_6_the_result_of_a_retry_is_never_kept() {
    let page = json!({ "resultType": "complete", "contents": [], "ttlMs": 60_000, "cacheScope": "public" });
    let script = Script::new().result(state_only("s")).result(&page).result(&page);
    let client = rooted(script.clone());
    for _ in 0..3 {
        client.read_resource("docs://a").await.unwrap();
    }
    assert_eq!(script.sent().len(), 3, "the third request is answered by the second result");
}

#[tokio::test]
async fn el_3_a_url_is_shown_whole_with_who_asks_and_nothing_else_touches_it() {
    let url = "https://example.com/connect?id=1&next=https%3A%2F%2Fevil.example#part";
    let params = json!({ "mode": "url", "message": "Connect", "url": url });
    let asks = json!({ "resultType": "input_required",
        "inputRequests": { "connect": { "method": "elicitation/create", "params": params } } });
    let script = Script::new().result(asks).result(complete("done"));
    let shown = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&shown);
    let client = Client::builder(script.clone())
        .on_url(move |request| {
            seen.lock().unwrap().push((request.url().to_owned(), request.context().server.to_string()));
            async move { request.decline() }
        })
        .build();
    client.call_tool("sync", json!({})).await.unwrap();
    assert_eq!(*shown.lock().unwrap(), [(url.to_owned(), "a script".to_owned())]);
    assert_eq!(calls(&script)[1].1["inputResponses"], json!({ "connect": { "action": "decline" } }));
}

async fn connect(flow: Flow) -> Result<String, Failure> {
    let done = flow.state::<Arc<AtomicBool>>();
    let url = flow.elicit_url("connect", "Connect your account", "https://example.com/connect");
    url.until(async || done.load(Ordering::Relaxed)).await?;
    Ok("connected".to_owned())
}

#[tokio::test]
async fn el_4_an_accept_is_consent_and_the_server_finds_out_on_the_retry() {
    let done = Arc::new(AtomicBool::new(false));
    let server = Server::builder("urls", "1.0.0").state(Arc::clone(&done)).tool(Tool::new("connect", connect));
    let transport = InMemory::new(server.build().unwrap());
    let visits = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&visits);
    let client = Client::builder(transport.clone())
        .on_url(move |request| {
            *counted.lock().unwrap() += 1;
            // The person comes back from the page the second time.
            done.store(*counted.lock().unwrap() == 2, Ordering::Relaxed);
            async move {
                let mut consent = request.consent();
                consent.content = ElicitResult::accept(JsonObject::parse(r#"{"token": "secret"}"#).unwrap()).content;
                consent
            }
        })
        .build();
    assert_eq!(text(&client.call_tool("connect", json!({})).await.unwrap()), "connected");
    assert_eq!(*visits.lock().unwrap(), 2);
    let answers = transport.sent().into_iter().map(|sent| sent["params"]["inputResponses"].clone());
    assert_eq!(answers.skip(1).collect::<Vec<_>>(), vec![json!({ "connect": { "action": "accept" } }); 2]);
}

fn person() -> Value {
    json!({ "type": "object", "required": ["name", "age"], "properties": {
        "name": { "type": "string", "minLength": 2 },
        "age": { "type": "integer", "minimum": 18 },
        "size": { "type": "number", "default": 1.50 },
        "colours": { "type": "array", "items": { "type": "string", "enum": ["red", "blue"] }, "default": ["red"] },
    } })
}

#[tokio::test]
async fn el_5_an_answer_is_checked_before_it_is_sent() {
    let script = Script::new().result(asks_form("who", &person()));
    let client = Client::builder(script.clone())
        .on_elicit(|_| async { ElicitResult::accept(JsonObject::parse(r#"{"name": "Ada", "age": 7}"#).unwrap()) })
        .build();
    let error = client.call_tool("t", json!({})).await.unwrap_err();
    assert!(
        matches!(&error.kind, CallErrorKind::InvalidAnswer { error: AnswerError::Invalid { key, .. }, .. } if key == "who"),
        "{error}"
    );
    assert_eq!(script.sent().len(), 1);

    // A handler may check before it answers, and the same rules hold for a call driven by hand.
    let mut pending = error.into_pending().unwrap();
    assert!(matches!(pending.accept("who", &json!({ "name": "A", "age": 40 })), Err(AnswerError::Invalid { .. })));
    assert!(pending.accept("who", &json!({ "name": {}, "age": 40 })).is_err());
    let nested = json!({ "name": "Ada", "age": 40, "not asked": {} });
    assert!(matches!(pending.accept("who", &nested), Err(AnswerError::WrongKind { .. })), "no form holds objects");
    assert!(pending.accept("who", &json!({ "name": "Ada", "age": 40, "colours": null })).is_ok());
}

#[tokio::test]
async fn el_5_defaults_are_filled_in_as_the_server_wrote_them() {
    let script = Script::new().result(asks_form("who", &person())).result(complete("done"));
    let client = Client::builder(script.clone())
        .on_elicit(|form| async move { form.accept(&json!({ "name": "Ada", "age": 40 })) })
        .build();
    client.call_tool("t", json!({})).await.unwrap();
    let content = json!({ "name": "Ada", "age": 40, "size": 1.5, "colours": ["red"] });
    assert_eq!(calls(&script)[1].1["inputResponses"]["who"], json!({ "action": "accept", "content": content }));
}

async fn how_it_went(flow: Flow) -> Result<&'static str, Failure> {
    Ok(match flow.elicit::<Login>("login", "Who are you?").answer().await {
        Answered::Accepted(_) => "accepted",
        Answered::Declined => "declined",
        Answered::Cancelled => "cancelled",
    })
}

#[tokio::test]
async fn el_5_decline_and_cancel_are_told_apart() {
    let server = Server::builder("forms", "1.0.0").tool(Tool::new("ask", how_it_went)).build().unwrap();
    for (answer, expected) in [(ElicitResult::decline(), "declined"), (ElicitResult::cancel(), "cancelled")] {
        let client = Client::builder(InMemory::new(server.clone()))
            .on_elicit(move |_| {
                let answer = answer.clone();
                async move { answer }
            })
            .build();
        assert_eq!(text(&client.call_tool("ask", json!({})).await.unwrap()), expected);
    }
}

fn asks_model(params: &Value) -> Value {
    json!({ "resultType": "input_required",
        "inputRequests": { "m": { "method": "sampling/createMessage", "params": params } } })
}

fn said(content: SamplingContent) -> CreateMessageResult {
    CreateMessageResult::new(Role::Assistant, content, "a-model")
}

#[tokio::test]
async fn sa_1_tools_are_taken_only_where_they_were_offered() {
    let tool = json!({ "name": "weather", "inputSchema": { "type": "object" } });
    let message = json!({ "role": "user", "content": { "type": "text", "text": "Hello" } });
    let with_tools = json!({ "messages": [message], "maxTokens": 10, "tools": [tool] });
    let model = |_, _| async { Ok::<_, String>(said(SamplingContent::Text(TextContent::new("Hi")))) };

    let script = Script::new().result(asks_model(&with_tools)).result(complete("done"));
    let client = Client::builder(script).on_sample(model).build();
    let error = client.call_tool("t", json!({})).await.unwrap_err();
    assert!(matches!(error.kind, CallErrorKind::NoHandler { .. }), "{error}");
    assert!(!client.capabilities().samples_with_tools());

    let script = Script::new().result(asks_model(&with_tools)).result(complete("done"));
    let client = Client::builder(script).on_sample_with_tools(model).build();
    assert!(client.capabilities().samples_with_tools());
    client.call_tool("t", json!({})).await.unwrap();

    // A model that uses a tool which it was not offered has gone wrong.
    let script = Script::new().result(asks_model(&json!({ "messages": [message], "maxTokens": 10 })));
    let uses = SamplingContent::ToolUse(ToolUseContent::new("1", "weather", JsonObject::default()));
    let client = Client::builder(script)
        .on_sample(move |_, _| {
            let uses = said(uses.clone());
            async move { Ok::<_, String>(uses) }
        })
        .build();
    let error = client.call_tool("t", json!({})).await.unwrap_err();
    assert!(matches!(error.kind, CallErrorKind::InvalidAnswer { .. }), "{error}");
}

#[tokio::test]
async fn sa_1_a_choice_of_tools_is_taken_only_where_tools_were_offered() {
    let message = json!({ "role": "user", "content": { "type": "text", "text": "Hello" } });
    let model = |_, _| async { Ok::<_, String>(said(SamplingContent::Text(TextContent::new("Hi")))) };
    for choice in [json!({}), json!({ "mode": "auto" }), json!({ "mode": "none" }), json!({ "mode": "required" })] {
        let with_choice = json!({ "messages": [message], "maxTokens": 10, "toolChoice": choice });
        let script = || Script::new().result(asks_model(&with_choice)).result(complete("done"));

        let asked = script();
        let error =
            Client::builder(asked.clone()).on_sample(model).build().call_tool("t", json!({})).await.unwrap_err();
        assert!(matches!(&error.kind, CallErrorKind::NoHandler { key: Some(key), .. } if key == "m"), "{error}");
        assert_eq!(asked.sent().len(), 1, "nothing is answered");

        Client::builder(script()).on_sample_with_tools(model).build().call_tool("t", json!({})).await.unwrap();
    }
}

#[tokio::test]
async fn sa_1_a_conversation_whose_tool_uses_have_no_results_reaches_no_model() {
    let uses = json!({ "role": "assistant", "content": { "type": "tool_use", "id": "1", "name": "w", "input": {} } });
    let mixed = json!({ "role": "user", "content": [
        { "type": "tool_result", "toolUseId": "1", "content": [] }, { "type": "text", "text": "and more" }] });
    let tools = json!([{ "name": "w", "inputSchema": { "type": "object" } }]);
    for messages in [json!([uses]), json!([uses, mixed])] {
        let params = json!({ "messages": messages, "maxTokens": 10, "tools": tools });
        let client = Client::builder(Script::new().result(asks_model(&params)))
            .on_sample_with_tools(|_, _| async { Err::<CreateMessageResult, _>("the model was asked") })
            .build();
        let error = client.call_tool("t", json!({})).await.unwrap_err();
        assert!(matches!(&error.kind, CallErrorKind::BadQuestion { key, .. } if key == "m"), "{error}");
    }
}

#[tokio::test]
async fn sa_3_a_refused_sampling_ends_the_call_and_nothing_is_invented() {
    let message = json!({ "role": "user", "content": { "type": "text", "text": "Hello" } });
    let script = Script::new().result(asks_model(&json!({ "messages": [message], "maxTokens": 10 })));
    let client = Client::builder(script.clone())
        .on_sample(|_, _| async { Err::<CreateMessageResult, _>("the user said no") })
        .build();
    let error = client.call_tool("t", json!({})).await.unwrap_err();
    let CallErrorKind::NotAnswered { source, .. } = &error.kind else { panic!("{error}") };
    assert_eq!(source.to_string(), "the user said no");
    assert_eq!(script.sent().len(), 1);
}

struct Approval;

#[derive(Serialize, Deserialize, JsonSchema)]
struct Pending {
    approver: String,
    deadline: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Decision {
    approved: bool,
}

impl NamespacedInput for Approval {
    const METHOD: Method = Method::from_static("com.example/approval");
    type Params = Pending;
    type Response = Decision;
}

fn asks_approval() -> Value {
    json!({ "method": "com.example/approval", "params": { "approver": "Ada", "deadline": "2026-08-01T12:00:00Z" } })
}

#[tokio::test]
async fn ns_3_what_is_not_known_is_skipped_and_the_rest_answered() {
    let mut asks = asks_roots("known", Some("s"));
    asks["inputRequests"]["approval"] = asks_approval();
    asks["inputRequests"]["odd"] = json!({ "method": "what/ever" });
    let script = Script::new().result(asks).result(complete("done"));
    rooted(script.clone()).call_tool("t", json!({})).await.unwrap();
    assert_eq!(calls(&script)[1].1["inputResponses"], json!({ "known": { "roots": [] } }));
}

#[tokio::test]
async fn ns_3_where_nothing_can_be_answered_the_error_names_it_and_carries_the_call() {
    let asks = json!({ "resultType": "input_required", "requestState": "s",
        "inputRequests": { "sign_off": asks_approval() } });
    let script = Script::new().result(asks);
    let error = rooted(script).call_tool("deploy", json!({})).await.unwrap_err();
    let CallErrorKind::Stopped { stop: Stop::Unanswerable(keys) } = error.kind else { panic!("{error}") };
    let pending = error.pending.unwrap();
    assert_eq!(keys, ["sign_off"]);
    let pending_approval = pending.input::<Approval>("sign_off").unwrap().unwrap();
    assert_eq!(pending_approval.approver, "Ada", "it can be shown who is waited for");
    assert_eq!(pending_approval.deadline, "2026-08-01T12:00:00Z");

    // A client that knows the input goes on from there.
    let saved = serde_json::to_string(&pending).unwrap();
    let script = Script::new().result(complete("deployed"));
    let client = Client::builder(script.clone())
        .on_input::<Approval, _, _, _>(|_, _| async { Ok::<_, String>(Decision { approved: true }) })
        .build();
    assert!(client.capabilities().knows(&Approval::METHOD));
    client.resume(serde_json::from_str(&saved).unwrap()).await.unwrap();
    assert_eq!(calls(&script)[0].1["inputResponses"], json!({ "sign_off": { "approved": true } }));
}

#[tokio::test]
async fn ns_3_what_one_client_skipped_another_may_know() {
    let mut asks = asks_roots("known", Some("s"));
    asks["inputRequests"]["sign_off"] = asks_approval();
    let client = Client::builder(Script::new().result(asks))
        .on_roots(|_| async {
            tokio::task::yield_now().await;
            Err::<Vec<_>, _>("not now")
        })
        .build();
    let pending = client.call_tool("deploy", json!({})).await.unwrap_err().into_pending().unwrap();
    let script = Script::new().result(complete("deployed"));
    let client = Client::builder(script.clone())
        .on_roots(|_| async { Ok::<_, String>(Vec::new()) })
        .on_input::<Approval, _, _, _>(|_, _| async { Ok::<_, String>(Decision { approved: true }) })
        .build();
    client.resume(pending).await.unwrap();
    let answers = json!({ "known": { "roots": [] }, "sign_off": { "approved": true } });
    assert_eq!(calls(&script)[0].1["inputResponses"], answers);
}

#[tokio::test]
async fn sv_1_a_question_where_none_may_be_asked_is_no_reply() {
    for asks in [
        asks_roots("a", None),
        json!({ "resultType": "task", "taskId": "t", "status": "working",
        "createdAt": "2026-08-01T12:00:00Z", "lastUpdatedAt": "2026-08-01T12:00:00Z", "ttlMs": null }),
    ] {
        let error = rooted(Script::new().result(asks)).list_tools().await.unwrap_err();
        assert!(matches!(error.kind, CallErrorKind::Stopped { stop: Stop::BadReply(_), .. }), "{error}");
    }
}

#[tokio::test]
async fn sv_1_a_completion_that_asks_is_no_reply() {
    let typed = CompletionArgument::new("language", "py");
    let params = CompleteParams::new(PromptReference::new("review"), typed);
    for revision in [Revision::V2026_07_28, Revision::Sep2322] {
        for asks in [asks_roots("a", Some("s")), state_only("s")] {
            let script = Script::new().result(asks).result(json!({ "completion": { "values": [] } }));
            let client = Client::builder(script.clone())
                .revision(revision)
                .on_roots(|_| async { Ok::<_, String>(Vec::new()) })
                .build();
            let error = client.complete(&params).await.unwrap_err();
            assert!(
                matches!(error.kind, CallErrorKind::Stopped { stop: Stop::BadReply(_), .. }),
                "{revision}: {error}"
            );
            assert_eq!(script.sent().len(), 1, "nothing is answered");
        }
    }
}

#[tokio::test]
async fn ty_4_a_result_of_a_kind_that_nobody_declared_is_no_reply() {
    let error = rooted(Script::new().result(json!({ "resultType": "surprise" }))).call_tool("t", json!({})).await;
    assert!(matches!(error.unwrap_err().kind, CallErrorKind::Stopped { stop: Stop::BadReply(_), .. }));
}
