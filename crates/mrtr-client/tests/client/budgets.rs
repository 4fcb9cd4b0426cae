//! The bounds on what a client keeps of a server that has much to say: in sum, not only for each reply.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use mrtr_client::testing::Script;
use mrtr_client::{
    CallErrorKind, Client, EventKind, Limits, ServerMessage, ServerNotification, Stop, Transport, TransportError,
    TransportRequest, TransportResponse,
};
use mrtr_schema::Json;
use serde_json::{Value, json};

use super::common::{asks_form, complete, results, within_a_minute};

/// A server that says something long so many times before each reply.
#[derive(Debug)]
struct Chatty {
    times: usize,
    params: Json,
}

#[async_trait::async_trait]
impl Transport for Chatty {
    fn server(&self) -> &'static str {
        "chatty"
    }

    async fn exchange(
        &self,
        request: TransportRequest<'_>,
        notified: &mut (dyn FnMut(ServerMessage) + Send),
    ) -> Result<TransportResponse, TransportError> {
        for _ in 0..self.times {
            notified(ServerMessage::Notification(ServerNotification {
                method: "notifications/com.example".to_owned(),
                params: self.params.clone(),
            }));
        }
        let reply = json!({ "jsonrpc": "2.0", "id": request.id, "result": complete("done") });
        Ok(TransportResponse::new(reply.to_string()))
    }
}

async fn bytes_waiting(transport: Chatty) -> (usize, usize) {
    let client = Client::builder(transport).build();
    let events = client.events();
    client.call_tool("t", json!({})).await.unwrap();
    drop(client);
    let events: Vec<_> = events.collect().await;
    assert!(matches!(events.last().unwrap().kind, EventKind::Done), "the newest are there");
    let length = |event: &mrtr_client::CallEvent| match &event.kind {
        EventKind::Other { params, .. } => params.as_str().len(),
        _ => 0,
    };
    (events.iter().map(length).sum(), events.len())
}

#[tokio::test]
async fn events_wait_for_one_who_does_not_read_within_a_budget_of_bytes() {
    let budget = Limits::default().event_bytes;
    let long = Json::of(&json!({ "text": "x".repeat(1 << 20) })).unwrap();
    let (bytes, _) = bytes_waiting(Chatty { times: 100, params: long }).await;
    assert!(bytes <= budget && bytes > budget / 2, "{bytes} of {budget} bytes");
    // There may not be too many short events either.
    let (_, events) = bytes_waiting(Chatty { times: 5000, params: Json::of(&json!({})).unwrap() }).await;
    assert_eq!(events, 1024);
    // An event that is longer than the whole budget is missed by itself, and no other is.
    let long = Json::of(&json!({ "text": "x".repeat(budget) })).unwrap();
    let (bytes, events) = bytes_waiting(Chatty { times: 3, params: long }).await;
    assert_eq!((bytes, events), (0, 2), "a round, and its end");
}

#[tokio::test]
async fn two_who_watch_see_the_same_and_one_who_leaves_is_not_waited_for() {
    let client = Client::builder(Script::new().result(complete("a")).result(complete("b"))).build();
    let (first, mut second) = (client.events(), client.events());
    client.call_tool("t", json!({})).await.unwrap();
    drop(first);
    client.call_tool("t", json!({})).await.unwrap();
    let mut seen = Vec::new();
    while let Some(Some(event)) = second.next().now_or_never() {
        seen.push((event.call, matches!(event.kind, EventKind::Done)));
    }
    assert_eq!(seen, [(1, false), (1, true), (2, false), (2, true)]);
    // A reader that waits wakes with the next event, and at the end of the client.
    let script = Script::new().result(complete("c"));
    let client = Client::builder(script).build();
    let events = client.events();
    let waiting = tokio::spawn(events.collect::<Vec<_>>());
    tokio::task::yield_now().await;
    client.call_tool("t", json!({})).await.unwrap();
    drop(client);
    let seen = tokio::time::timeout(Duration::from_mins(1), waiting).await.unwrap().unwrap();
    assert_eq!(seen.len(), 2);
}

/// A list of so many pages, whose cursors are this long.
fn pages(count: usize, cursor: usize, sent: &Arc<AtomicUsize>) -> impl Transport {
    let sent = Arc::clone(sent);
    results(move |request| {
        sent.fetch_add(1, Ordering::Relaxed);
        let page = request["params"]["cursor"].as_str().map_or(0, |cursor| cursor[..4].parse::<usize>().unwrap()) + 1;
        let mut result = json!({ "resultType": "complete", "tools": [], "ttlMs": 60_000, "cacheScope": "public" });
        if page < count {
            result["nextCursor"] = format!("{page:04}{}", "x".repeat(cursor)).into();
        }
        result
    })
}

#[tokio::test]
async fn what_was_asked_for_counts_in_what_is_kept() {
    let limits = Limits { cache_bytes: 1 << 20, ..Limits::default() };
    let sent = Arc::new(AtomicUsize::new(0));
    let client = Client::builder(pages(10, 200_000, &sent)).limits(limits).build();
    client.list_tools().await.unwrap();
    assert_eq!(sent.load(Ordering::Relaxed), 10);
    client.list_tools().await.unwrap();
    // A page takes its own cursor and that of the next: two or three are kept.
    assert!((17..20).contains(&sent.load(Ordering::Relaxed)), "{}", sent.load(Ordering::Relaxed));
    assert_eq!(Limits::default().cache_bytes, 64 << 20);
}

#[tokio::test]
async fn a_list_has_a_budget_over_all_its_pages() {
    let sent = Arc::new(AtomicUsize::new(0));
    let client = Client::builder(pages(40, 1 << 20, &sent)).build();
    let error = client.list_tools().await.unwrap_err();
    let most = Limits::default().list_bytes;
    assert!(matches!(error.kind, CallErrorKind::Stopped { stop: Stop::ListTooLong(n), .. } if n == most), "{error}");
    assert_eq!(error.pending().unwrap().method(), "tools/list");
    assert_eq!(sent.load(Ordering::Relaxed), 16, "a mebibyte each");

    // An item takes what its type takes, however little it says.
    let sent = Arc::new(AtomicUsize::new(0));
    let pages = Arc::clone(&sent);
    let tiny = results(move |request| {
        pages.fetch_add(1, Ordering::Relaxed);
        let page = request["params"]["cursor"].as_str().map_or(0, |cursor| cursor.parse::<usize>().unwrap()) + 1;
        let prompts: Vec<Value> = (0..10_000).map(|_| json!({ "name": "" })).collect();
        json!({ "resultType": "complete", "prompts": prompts, "nextCursor": page.to_string() })
    });
    let error = Client::builder(tiny).build().list_prompts().await.unwrap_err();
    assert!(matches!(error.kind, CallErrorKind::Stopped { stop: Stop::ListTooLong(_), .. }), "{error}");
    let by_its_items = most / (10_000 * size_of::<mrtr_schema::prompts::Prompt>()) + 1;
    assert!(sent.load(Ordering::Relaxed) <= by_its_items, "{} pages", sent.load(Ordering::Relaxed));
}

#[test]
fn a_hundred_thousand_fields_are_gone_through_in_one_pass() {
    const FIELDS: usize = 100_000;
    let counted = within_a_minute(|| {
        let names = || (0..FIELDS).map(|number| format!("a-field-with-a-rather-long-name-{number}"));
        let fields: serde_json::Map<_, _> = names().map(|name| (name, json!({ "type": "boolean" }))).collect();
        let form = json!({ "type": "object", "properties": fields, "required": names().collect::<Vec<_>>() });
        let counted = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&counted);
        let client = Client::builder(Script::new().result(asks_form("f", &form)).result(complete("done")))
            .on_elicit(move |form| {
                count.store(form.fields().filter(|field| field.is_required).count(), Ordering::Relaxed);
                async move { form.decline() }
            })
            .build();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(client.call_tool("t", json!({}))).unwrap();
        counted.load(Ordering::Relaxed)
    });
    assert_eq!(counted, FIELDS);
}
