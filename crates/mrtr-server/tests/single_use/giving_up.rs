//! Work that is given up under a reservation: a renewal that fails, a run that hangs, a step that its handler dropped.

use std::future::{Future, pending};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mrtr_schema::ErrorCode;
use mrtr_server::flow::Race2;
use mrtr_server::testing::{Client, FixedClock};
use mrtr_server::{Failure, Flow, Guard, ProtocolError, Server, Tool};
use serde_json::json;
use tokio::task::yield_now;

use crate::log::Log;
use crate::shop::{Manner, Shop, text};
use crate::store::stores;

/// Moves the clock by ten seconds so often, from the moment at which the slow step waits for it, and each time waits
/// for the renewal that is due then.
async fn pass_tens(shop: &Shop, times: usize) {
    // Before and after `reserve`, and before and after `mark_started` of the slow step.
    shop.wire.passed(4).await;
    for tried in 1..=times {
        settle().await;
        shop.clock.advance(Duration::from_secs(10));
        if tried < times {
            shop.failures.tried(tried).await;
        }
    }
}

/// Lets what has been woken go on until it waits again.
async fn settle() {
    for _ in 0..20 {
        yield_now().await;
    }
}

#[tokio::test]
async fn a_renewal_that_fails_is_logged_and_the_round_goes_on() {
    for shop in Shop::all(Manner { slow: Duration::from_secs(25), ..Manner::default() }) {
        let second = shop.first().await;
        let log = Log::start();
        shop.failures.never_renew();
        let (asked, ()) = tokio::join!(shop.send(&second), pass_tens(&shop, 3));
        assert!(asked["result"]["inputRequests"]["rating"].is_object(), "{}: {asked}", shop.kind);
        let text = log.text();
        assert!(text.contains("a reservation could not be renewed") && text.contains("the disk is full"), "{text}");
    }
}

#[tokio::test]
async fn a_round_whose_renewal_finds_the_reservation_lost_begins_nothing_more() {
    for shop in Shop::all(Manner { slow: Duration::from_secs(15), ..Manner::default() }) {
        let second = shop.first().await;
        shop.failures.lose();
        let (refused, ()) = tokio::join!(shop.send(&second), pass_tens(&shop, 2));
        assert_eq!(refused["error"]["code"], -32603, "{}: {refused}", shop.kind);
        assert_eq!(shop.outside.counts(), [0, 0, 0], "{}: another may be charging", shop.kind);
    }
}

#[tokio::test]
async fn a_run_that_hangs_is_ended_and_its_reservation_renewed_no_more() {
    for shop in Shop::all(Manner { slow: Duration::from_hours(1), ..Manner::default() }) {
        let second = shop.first().await;
        let (told, ()) = tokio::join!(shop.send(&second), pass_tens(&shop, 60));
        assert_eq!(text(&told), "The run did not end within 600s: it was waiting for step `wait`", "{}", shop.kind);
        assert_eq!(shop.server.detached(), 0, "{}", shop.kind);
        let renewals = shop.failures.renewals();
        assert!((59..=60).contains(&renewals), "{}: {renewals}", shop.kind);
        shop.clock.advance(Duration::from_secs(100));
        settle().await;
        assert_eq!(shop.failures.renewals(), renewals, "{}", shop.kind);
    }
}

/// Sends a request that fails after this handler's work, and sends it again. Returns what both runs made of it.
async fn twice<H, F>(work: H) -> Vec<String>
where
    H: Fn(Arc<Flow>) -> F + Copy + Send + Sync + 'static,
    F: Future<Output = Result<String, Failure>> + Send + 'static,
{
    let mut seen = Vec::new();
    let clock = FixedClock::default();
    for (_, store, _folder) in stores(&clock) {
        let runs = Arc::new(AtomicU32::new(0));
        let handler = move |flow: Flow| {
            let runs = Arc::clone(&runs);
            async move {
                let flow = Arc::new(flow);
                flow.roots("roots").await?;
                let worked = work(Arc::clone(&flow)).await?;
                if runs.fetch_add(1, Ordering::Relaxed) == 0 {
                    // An error keeps the token, and what was recorded with it.
                    return Err(ProtocolError::new(ErrorCode::INTERNAL_ERROR, worked).into());
                }
                Ok::<_, Failure>(worked)
            }
        };
        let tool = Tool::new("tool", handler).single_use(Guard::new(store));
        let server = Server::builder("test", "1").clock(clock.clone()).tool(tool).build().unwrap();
        let call = Client::new(&server).call_tool("tool", json!({})).await.answer_raw("roots", json!({ "roots": [] }));
        let failed = call.clone().send().await;
        seen.push(failed.response()["error"]["message"].to_string());
        seen.push(call.send().await.expect_text());
    }
    seen
}

#[tokio::test]
async fn a_step_that_its_handler_dropped_is_so_for_whoever_goes_on_from_the_record() {
    let seen = twice(async |flow: Arc<Flow>| {
        let network = flow.step("network", pending::<Result<String, Failure>>()).into_future();
        let cache = flow.step("cache", async { Ok::<_, Failure>("cache".to_owned()) }).into_future();
        Ok(tokio::select! { biased; page = network => page?, page = cache => page? })
    });
    assert_eq!(seen.await, ["\"cache\"", "cache", "\"cache\"", "cache"]);
}

#[tokio::test]
async fn who_won_a_race_is_so_for_whoever_goes_on_from_the_record() {
    let seen = twice(async |flow: Arc<Flow>| {
        let network = flow.step("network", pending::<Result<String, Failure>>()).idempotent();
        let cache = flow.branch(async { flow.step("cache", async { Ok::<_, Failure>("cache".to_owned()) }).await });
        Ok(match flow.race((network, cache)).await? {
            Race2::First(page) => page,
            Race2::Second(page) => page?,
        })
    });
    assert_eq!(seen.await, ["\"cache\"", "cache", "\"cache\"", "cache"]);
}
