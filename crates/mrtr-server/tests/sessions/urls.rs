//! URLs to visit: consent once, a look after a pause that doubles, and a notification when it is done.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mrtr_schema::{Method, NamespacedInput};
use mrtr_server::testing::FixedClock;
use mrtr_server::{Failure, Flow, Server, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::client::{Legacy, until};
use crate::tools::{Outside, builder};

/// A page that is visited some time, and how often it was looked at.
#[derive(Clone, Default)]
struct Page {
    looks: Arc<AtomicUsize>,
    done_after: Arc<AtomicUsize>,
}

impl Page {
    fn is_done(&self) -> std::future::Ready<bool> {
        std::future::ready(self.looks.fetch_add(1, Ordering::SeqCst) >= self.done_after.load(Ordering::SeqCst))
    }

    fn looks(&self) -> usize {
        self.looks.load(Ordering::SeqCst)
    }
}

async fn connect(flow: Flow) -> Result<String, Failure> {
    let page = flow.state::<Page>();
    flow.elicit_url("connect", "Please connect", "https://example.com/connect").until(|| page.is_done()).await?;
    Ok("connected".to_owned())
}

struct Approval;

#[derive(Serialize, Deserialize, JsonSchema)]
struct Pending {
    what: String,
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

async fn approve(flow: Flow) -> Result<String, Failure> {
    let page = flow.state::<Page>();
    let decided = || async { page.is_done().await.then_some(Decision { approved: true }) };
    let pending = Pending { what: "deploy".to_owned() };
    let decision = flow.ask::<Approval>("approval", pending).until(decided).await?;
    Ok(decision.approved.to_string())
}

fn server(page: &Page, clock: &FixedClock) -> Server {
    builder(&Outside::default(), clock)
        .state(page.clone())
        .tool(Tool::new("connect", connect))
        .tool(Tool::new("approve", approve))
        .input_by_url::<Approval>(|pending, id| (pending.what.clone(), format!("https://example.com/approve/{id}")))
        .build()
        .unwrap()
}

#[tokio::test]
async fn consent_is_asked_for_once_and_completion_is_looked_for() {
    let (page, clock) = (Page::default(), FixedClock::default());
    page.done_after.store(4, Ordering::SeqCst);
    let client = Legacy::open(&server(&page, &clock), "2025-11-25").await;
    let mut call = client.call("connect", json!({})).await;
    let asked = call.question().await;
    assert_eq!(
        (&asked["params"]["mode"], &asked["params"]["url"]),
        (&json!("url"), &json!("https://example.com/connect"))
    );
    let id = asked["params"]["elicitationId"].clone();
    assert!(id.is_string(), "{asked}");
    client.answer(&asked, json!({ "action": "accept" })).await;
    // Twice as long each time, from two seconds on.
    for (looks, pause) in [(2, 2), (3, 4), (4, 8)] {
        until("it was looked for", || page.looks() == looks).await;
        tokio::task::yield_now().await;
        clock.advance(Duration::from_millis(1000 * pause - 1));
        client.request("ping", json!({})).await;
        assert_eq!(page.looks(), looks, "not before the pause is over");
        clock.advance(Duration::from_millis(1));
    }
    let done = call.next().await.unwrap();
    assert_eq!(
        (&done["method"], &done["params"]["elicitationId"]),
        (&json!("notifications/elicitation/complete"), &id)
    );
    assert_eq!(call.text().await, "connected");
}

#[tokio::test]
async fn what_is_never_done_ends_the_call() {
    let (page, clock) = (Page::default(), FixedClock::default());
    page.done_after.store(usize::MAX, Ordering::SeqCst);
    let client = Legacy::open(&server(&page, &clock), "2025-11-25").await;
    let mut call = client.call("connect", json!({})).await;
    let asked = call.question().await;
    client.answer(&asked, json!({ "action": "accept" })).await;
    let mut looks = 1;
    while call_is_open(&client) {
        looks += 1;
        until("it was looked for, or given up", || page.looks() >= looks || !call_is_open(&client)).await;
        tokio::task::yield_now().await;
        clock.advance(Duration::from_mins(1));
        tokio::task::yield_now().await;
    }
    assert_eq!(call.error_text().await, "`connect` did not end within 600s");
}

fn call_is_open(client: &Legacy) -> bool {
    client.server.detached() > 0
}

#[tokio::test]
async fn a_refusal_to_go_there_stands() {
    let page = Page::default();
    page.done_after.store(usize::MAX, Ordering::SeqCst);
    let client = Legacy::open(&server(&page, &FixedClock::default()), "2025-11-25").await;
    let mut call = client.call("connect", json!({})).await;
    let asked = call.question().await;
    client.answer(&asked, json!({ "action": "decline" })).await;
    assert_eq!(call.error_text().await, "`connect` was declined");
}

#[tokio::test]
async fn the_older_revision_has_no_urls() {
    let client = Legacy::open(
        &server(&Page { done_after: Arc::new(9.into()), ..Page::default() }, &FixedClock::default()),
        "2025-06-18",
    )
    .await;
    let text = client.call("connect", json!({})).await.error_text().await;
    assert!(text.contains("elicitation.url"), "{text}");
    let text = client.call("approve", json!({})).await.error_text().await;
    assert!(text.contains("com.example/approval"), "{text}");
}

#[tokio::test]
async fn an_input_of_an_applications_own_falls_to_its_page_and_is_asked_for_once() {
    let (page, clock) = (Page::default(), FixedClock::default());
    page.done_after.store(3, Ordering::SeqCst);
    let client = Legacy::open(&server(&page, &clock), "2025-11-25").await;
    let mut call = client.call("approve", json!({})).await;
    let asked = call.question().await;
    assert_eq!(asked["params"]["mode"], "url");
    client.answer(&asked, json!({ "action": "accept" })).await;
    for looks in [2, 3] {
        until("it was looked for", || page.looks() == looks).await;
        tokio::task::yield_now().await;
        clock.advance(Duration::from_mins(1));
    }
    let done = call.next().await.unwrap();
    assert_eq!(done["method"], "notifications/elicitation/complete", "and no second question: {done}");
    assert_eq!(call.text().await, "true");
}
