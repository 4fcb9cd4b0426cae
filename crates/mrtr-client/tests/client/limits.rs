//! Limits: how far a call goes before it is given back, and that it can go on from there.

use std::time::Duration;

use mrtr_client::testing::Script;
use mrtr_client::{
    Action, Call, CallErrorKind, Client, Limits, ServerMessage, Stop, Transport, TransportError, TransportRequest,
    TransportResponse,
};
use mrtr_schema::{Json, JsonObject, Revision};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::common::{asks_form, asks_roots, calls, complete, results, rooted, state_only};

fn back_off(limits: Limits, seed: u64, times: u32) -> Vec<Duration> {
    let mut call = Call::new(Revision::V2026_07_28, "tools/call", JsonObject::default(), limits, seed);
    let reply = Json::from(state_only("s"));
    (0..times)
        .map(|_| {
            call.replied(Ok(reply.as_raw()), None);
            let Action::Wait(pause) = call.action() else { panic!("it waits") };
            call.waited();
            pause
        })
        .collect()
}

#[test]
fn pauses_double_and_vary_and_have_an_end() {
    let limits = Limits { state_only_rounds: 40, ..Limits::default() };
    let (first, second) = (back_off(limits, 1, 40), back_off(limits, 2, 40));
    assert_ne!(first, second, "clients that are put off together do not come back together");
    for (times, pause) in first.iter().enumerate() {
        let longest = Duration::from_millis(100 << times.min(16)).min(Duration::from_secs(30));
        assert!(*pause >= longest / 2 && *pause <= longest, "{times}: {pause:?}");
    }
    let extreme = Limits { backoff: Duration::MAX, ..limits };
    assert!(back_off(extreme, 3, 40).iter().all(|pause| *pause <= Duration::from_secs(30)));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_keeps_asking_nothing_is_left_and_the_call_given_back() {
    let server = results(|_| state_only("again"));
    let limits = Limits { state_only_rounds: 3, ..Limits::default() };
    let client = Client::builder(server).limits(limits).build();
    let error = client.call_tool("t", json!({})).await.unwrap_err();
    assert!(matches!(error.kind, CallErrorKind::Stopped { stop: Stop::TooManyStateOnlyRounds(3), .. }), "{error}");
    let script = Script::new().result(complete("done"));
    let other = rooted(script.clone());
    let pending = error.into_pending().unwrap().trust_other_server(other.server());
    other.resume(pending).await.unwrap();
    assert_eq!(calls(&script)[0].1["requestState"], "again");
}

#[tokio::test(start_paused = true)]
async fn a_busy_server_is_left_alone_for_as_long_as_it_wants() {
    let script = Script::new().busy(Some(Duration::from_secs(7))).busy(None).result(complete("done"));
    let begun = Instant::now();
    rooted(script.clone()).call_tool("t", json!({})).await.unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(7), "{:?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    assert_eq!(calls(&script)[0], calls(&script)[2]);

    let mut script = Script::new();
    for _ in 0..20 {
        script = script.busy(Some(Duration::MAX));
    }
    let begun = Instant::now();
    let error = rooted(script).call_tool("t", json!({})).await.unwrap_err();
    assert!(matches!(error.kind, CallErrorKind::Stopped { stop: Stop::TooManyStateOnlyRounds(8), .. }), "{error}");
    assert_eq!(begun.elapsed(), Duration::from_hours(8), "within reason");
}

/// A server that puts the first request off for a minute, as with HTTP's `Retry-After`.
#[derive(Debug)]
struct RetryAfter;

#[async_trait::async_trait]
impl Transport for RetryAfter {
    fn server(&self) -> &'static str {
        "busy"
    }

    async fn exchange(
        &self,
        request: TransportRequest<'_>,
        _: &mut (dyn FnMut(ServerMessage) + Send),
    ) -> Result<TransportResponse, TransportError> {
        let is_retry = request.message.contains("requestState");
        let result = if is_retry { complete("done") } else { state_only("s") };
        let reply = json!({ "jsonrpc": "2.0", "id": request.id, "result": result });
        Ok(TransportResponse::new(reply.to_string()).retry_after(Duration::from_mins(1)))
    }
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_asks_nothing_may_say_how_long_to_wait() {
    let begun = Instant::now();
    Client::builder(RetryAfter).build().call_tool("t", json!({})).await.unwrap();
    assert_eq!(begun.elapsed(), Duration::from_mins(1));
}

#[tokio::test(start_paused = true)]
async fn gathering_has_a_deadline_if_one_is_set() {
    let form = json!({ "type": "object", "properties": {} });
    let mut asks = asks_form("never", &form);
    asks["inputRequests"]["soon"] = asks["inputRequests"]["never"].clone();
    let limits = Limits { gathering: Some(Duration::from_mins(5)), ..Limits::default() };
    let client = Client::builder(Script::new().result(asks))
        .limits(limits)
        .on_elicit(|form| async move {
            if form.context().key == "never" {
                return std::future::pending().await;
            }
            form.decline()
        })
        .build();
    let begun = Instant::now();
    let error = client.call_tool("t", json!({})).await.unwrap_err();
    assert_eq!(begun.elapsed(), Duration::from_mins(5));
    assert!(matches!(error.kind, CallErrorKind::GatheringTooLong), "{error}");
    let pending = error.into_pending().unwrap();
    assert_eq!(pending.unanswered().collect::<Vec<_>>(), ["never"], "what was answered is kept");
}

#[tokio::test]
async fn a_state_longer_than_is_taken_is_not_carried() {
    let limits = Limits { state_bytes: 10, ..Limits::default() };
    let script = Script::new().result(asks_roots("a", Some("0123456789"))).result(asks_roots("b", Some("0123456789a")));
    let client = Client::builder(script).limits(limits).on_roots(|_| async { Ok::<_, String>(Vec::new()) }).build();
    let error = client.call_tool("t", json!({})).await.unwrap_err();
    assert!(matches!(error.kind, CallErrorKind::Stopped { stop: Stop::StateTooLong(11) }), "{error}");
    let pending = error.into_pending().unwrap();
    assert!(!serde_json::to_string(&pending).unwrap().contains("0123456789a"));
    assert!(pending.question("a").is_some(), "the call is as it was before that reply");
}

#[tokio::test]
async fn a_reply_longer_than_is_taken_is_not_read() {
    let limits = Limits { reply_bytes: 200, ..Limits::default() };
    let script = Script::new().result(complete("short")).result(complete(&"long".repeat(100)));
    let client = Client::builder(script).limits(limits).build();
    client.call_tool("t", json!({})).await.unwrap();
    let error = client.call_tool("t", json!({})).await.unwrap_err();
    assert!(matches!(error.kind, CallErrorKind::Stopped { stop: Stop::ReplyTooLong(_), .. }), "{error}");
}

#[tokio::test]
async fn a_server_may_ask_for_so_much_at_once() {
    let asks = |count: usize| {
        let requests: serde_json::Map<String, Value> =
            (0..count).map(|number| (format!("key-{number}"), json!({ "method": "roots/list" }))).collect();
        json!({ "resultType": "input_required", "inputRequests": requests })
    };
    let script = Script::new().result(asks(256)).result(complete("done")).result(asks(257)).result(asks(10_000));
    let client = rooted(script);
    client.call_tool("t", json!({})).await.unwrap();
    for count in [257, 10_000] {
        let error = client.call_tool("t", json!({})).await.unwrap_err();
        assert!(
            matches!(error.kind, CallErrorKind::Stopped { stop: Stop::TooManyQuestions(n), .. } if n == count),
            "{error}"
        );
    }
}
