//! A URL that is asked for again: the person is given time before it is shown to them once more.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mrtr_client::testing::Script;
use mrtr_client::{Action, Call, CallErrorKind, Client, EventKind, Limits, PendingCall, RoundOutcome, UnsafeUrl};
use mrtr_schema::elicitation::{ElicitAction, ElicitResult, Url};
use mrtr_schema::{Json, JsonObject, Revision};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::common::{asks_roots, complete};

fn asks_url(url: &str) -> Value {
    let params = json!({ "mode": "url", "message": "Please connect", "url": url });
    json!({ "resultType": "input_required", "requestState": "sealed",
        "inputRequests": { "connect": { "method": "elicitation/create", "params": params } } })
}

fn reply(call: &mut Call, reply: &Value) -> Action {
    call.replied(Ok(Json::from(reply.clone()).as_raw()), None);
    call.action()
}

/// The pauses before a URL that is asked for so many times.
fn pauses(limits: Limits, seed: u64, times: u32) -> Vec<Duration> {
    let mut call = Call::new(Revision::V2026_07_28, "tools/call", JsonObject::default(), limits, seed);
    let asks = asks_url("https://example.com/connect");
    assert!(matches!(reply(&mut call, &asks), Action::Gather(_)), "it is shown at once the first time");
    (0..times)
        .map(|_| {
            call.answered("connect", &ElicitResult::new(ElicitAction::Accept)).unwrap();
            let Action::Wait(pause) = reply(&mut call, &asks) else { panic!("it waits: {:?}", call.action()) };
            call.waited();
            assert!(matches!(call.action(), Action::Gather(questions) if questions.len() == 1));
            pause
        })
        .collect()
}

#[test]
fn the_pause_doubles_and_varies_and_has_an_end() {
    let limits = Limits { rounds: 50, ..Limits::default() };
    let (first, second) = (pauses(limits, 1, 20), pauses(limits, 2, 20));
    assert_ne!(first, second, "clients that were asked together do not come back together");
    for (times, pause) in first.iter().enumerate() {
        let longest = Duration::from_secs(1 << times.min(5)).min(Duration::from_secs(30));
        assert!(*pause >= longest / 2 && *pause <= longest, "{times}: {pause:?}");
    }
}

#[test]
fn another_url_and_another_question_are_not_put_off() {
    let mut call = Call::new(Revision::V2026_07_28, "tools/call", JsonObject::default(), Limits::default(), 1);
    let consent = ElicitResult::new(ElicitAction::Accept);
    let (one, two) = (asks_url("https://example.com/1"), asks_url("https://example.com/2"));
    reply(&mut call, &one);
    call.answered("connect", &consent).unwrap();
    let Action::Wait(first) = reply(&mut call, &one) else { panic!("it waits") };
    call.waited();
    call.answered("connect", &consent).unwrap();
    assert!(matches!(reply(&mut call, &two), Action::Gather(_)));
    call.answered("connect", &consent).unwrap();
    assert!(matches!(reply(&mut call, &asks_roots("r", None)), Action::Gather(_)));
    call.answered("r", &mrtr_schema::roots::ListRootsResult::new([])).unwrap();
    assert!(matches!(reply(&mut call, &two), Action::Gather(_)), "it was not shown in the round before");
    call.answered("connect", &consent).unwrap();
    let Action::Wait(again) = reply(&mut call, &two) else { panic!("it waits") };
    assert!(first <= Duration::from_secs(1) && again <= Duration::from_secs(1), "it begins anew");
}

#[test]
fn an_answer_that_is_given_during_the_pause_is_sent_after_it() {
    let mut call = Call::new(Revision::V2026_07_28, "tools/call", JsonObject::default(), Limits::default(), 1);
    let consent = ElicitResult::new(ElicitAction::Accept);
    for _ in 0..2 {
        reply(&mut call, &asks_url("https://example.com/"));
        call.answered("connect", &consent).unwrap();
    }
    assert!(matches!(call.action(), Action::Wait(_)));
    call.waited();
    assert!(matches!(call.action(), Action::Send(_)));
}

#[tokio::test(start_paused = true)]
async fn a_person_is_not_shown_the_same_url_over_and_over() {
    let asks = asks_url("https://example.com/connect");
    let script = Script::new().result(asks.clone()).result(asks.clone()).result(asks).result(complete("connected"));
    let shown = Arc::new(Mutex::new(Vec::new()));
    let at = Arc::clone(&shown);
    let client = Client::builder(script)
        .on_url(move |request| {
            at.lock().unwrap().push(Instant::now());
            async move { request.consent() }
        })
        .build();
    let mut events = client.events();
    client.call_tool("sync", json!({})).await.unwrap();
    let shown = shown.lock().unwrap().clone();
    let pauses: Vec<_> = shown.windows(2).map(|two| two[1] - two[0]).collect();
    assert!(pauses[0] >= Duration::from_millis(500) && pauses[1] >= Duration::from_secs(1), "{pauses:?}");
    assert!(pauses[1] <= Duration::from_secs(3), "{pauses:?}");
    let mut put_off = 0;
    while let Some(event) = events.next().await {
        match event.kind {
            EventKind::BackOff(_) => put_off += 1,
            EventKind::Done => break,
            _ => {}
        }
    }
    assert_eq!(put_off, 2, "a user interface is told");
}

#[tokio::test]
async fn a_call_that_is_driven_by_hand_is_told_to_wait_and_keeps_count_when_saved() {
    let asks = asks_url("https://example.com/connect");
    let script = Script::new().result(asks.clone()).result(asks.clone()).result(asks).result(complete("connected"));
    let client = Client::builder(script).on_url(|request| async move { request.consent() }).build();
    let mut round = client.call_tool_once("sync", json!({})).await.unwrap();
    let mut pauses = Vec::new();
    loop {
        let mut pending = match round {
            RoundOutcome::Complete(_) => break,
            RoundOutcome::Asked(pending) => pending,
            RoundOutcome::BackOff(pending, pause) => {
                pauses.push(pause);
                let saved = serde_json::to_string(&pending).unwrap();
                serde_json::from_str::<PendingCall>(&saved).unwrap()
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(pending.unanswered().collect::<Vec<_>>(), ["connect"]);
        pending.answer("connect", &ElicitResult::new(ElicitAction::Accept)).unwrap();
        round = client.advance(pending).await.unwrap();
    }
    assert_eq!(pauses.len(), 2);
    assert!(pauses[0] <= Duration::from_secs(1) && pauses[1] >= Duration::from_secs(1), "{pauses:?}");
}

#[tokio::test]
async fn a_url_that_is_not_safe_reaches_no_handler_unless_the_host_wants_every_url() {
    for url in ["javascript:alert(1)", "file:///etc/passwd", "http://evil.example/", "acme-login:now"] {
        let script = Script::new().result(asks_url(url)).result(complete("connected"));
        let client = Client::builder(script.clone())
            .on_url(|_| async { unreachable!("the client has checked it") as ElicitResult })
            .build();
        let error = client.call_tool("sync", json!({})).await.unwrap_err();
        let CallErrorKind::BadQuestion { key, source } = &error.kind else { panic!("{error:?}") };
        assert!(key == "connect" && source.is::<UnsafeUrl>());
        let told = format!("the server asks for `connect` in a way that is not allowed: {source}");
        assert!(error.to_string() == told && error.pending().is_some(), "{error}");

        let script = Script::new().result(asks_url(url)).result(complete("connected"));
        let client =
            Client::builder(script).danger_accept_any_url().on_url(|request| async move { request.consent() }).build();
        client.call_tool("sync", json!({})).await.unwrap();
    }
}

#[test]
fn a_page_is_offered_from_anywhere_if_it_is_encrypted_and_else_from_this_machine() {
    let check = |url: &str| UnsafeUrl::check(&Url::new(url).unwrap());
    let offered = ["https://example.com/", "HTTPS://EXAMPLE.COM/", "http://localhost/", "http://LocalHost:8000/"];
    for url in
        offered.into_iter().chain(["http://app.localhost/", "http://127.0.0.1/", "http://127.9.9.9/", "http://[::1]/"])
    {
        check(url).unwrap_or_else(|error| panic!("{url}: {error}"));
    }
    let plain = ["http://example.com/", "http://localhost.example.com/", "http://notlocalhost/", "http://[::2]/"];
    for url in plain.into_iter().chain(["http://10.0.0.1/", "http://127.0.0.1.example.com/"]) {
        assert!(matches!(check(url), Err(UnsafeUrl::Unencrypted(_))), "{url}: {:?}", check(url));
    }
}
