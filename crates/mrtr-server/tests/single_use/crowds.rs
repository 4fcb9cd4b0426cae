//! Many at once, and claims that live as long as their runs.

use std::time::Duration;

use serde_json::Value;
use tokio::task::{JoinSet, yield_now};

use crate::shop::{Manner, Shop, again, buyer, is_refused, request, text};
use crate::store::in_time;

async fn all_at_once(shop: &Shop, requests: Vec<Value>) -> Vec<Value> {
    let mut sending = JoinSet::new();
    for request in requests {
        let shop = shop.clone();
        sending.spawn(async move { shop.send(&request).await });
    }
    sending.join_all().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_twenty_parallel_retries_one_runs_and_all_get_its_reply() {
    for shop in Shop::all(Manner::default()) {
        let second = shop.first().await;
        let replies = all_at_once(&shop, (0..20).map(|number| again(&second, 20 + number)).collect()).await;
        assert_eq!(replies.len(), 20);
        for reply in &replies {
            assert_eq!(reply["result"], replies[0]["result"], "{}", shop.kind);
            assert!(reply["result"]["inputRequests"]["rating"].is_object(), "{}: {reply}", shop.kind);
        }
        assert_eq!(shop.outside.counts(), [1, 1, 0], "{}", shop.kind);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_twenty_retries_with_different_answers_one_runs_and_the_rest_are_refused() {
    for shop in Shop::all(Manner::default()) {
        let second = shop.first().await;
        let state = second["params"]["requestState"].as_str();
        let requests = (0..20).map(|number| request(20 + number, state, &buyer(&format!("buyer {number}")))).collect();
        let replies = all_at_once(&shop, requests).await;
        let refused = replies.iter().filter(|reply| is_refused(reply)).count();
        assert_eq!((refused, shop.outside.counts()), (19, [1, 1, 0]), "{}", shop.kind);
    }
}

#[tokio::test]
async fn a_reservation_lives_as_long_as_its_run_and_a_retry_waits_for_it() {
    for shop in Shop::all(Manner { slow: Duration::from_secs(100), ..Manner::default() }) {
        let second = shop.first().await;
        let (sending, request) = (shop.clone(), second.clone());
        let first = tokio::spawn(async move { sending.send(&request).await });
        // The claim and the mark have two places each; then the step waits for the clock.
        shop.wire.passed(4).await;
        let mut retry = None;
        for tens in 1..=10 {
            shop.clock.advance(Duration::from_secs(10));
            in_time("the reservation was not renewed", async {
                while shop.failures.renewals() < tens && !first.is_finished() {
                    yield_now().await;
                }
            })
            .await;
            if tens == 8 {
                let (sending, request) = (shop.clone(), again(&second, 3));
                retry = Some(tokio::spawn(async move { sending.send(&request).await }));
            }
        }
        let both = in_time("the run and its retry did not end", async { tokio::join!(first, retry.unwrap()) });
        let (first, retry) = both.await;
        assert_eq!(first.unwrap()["result"], retry.unwrap()["result"], "{}", shop.kind);
        assert_eq!(shop.outside.counts(), [1, 1, 0], "{}", shop.kind);
    }
}

#[tokio::test]
async fn whoever_lost_the_reservation_gets_no_further_and_whoever_took_it_repeats_nothing() {
    for shop in Shop::all(Manner::default()) {
        shop.failures.never_renew();
        let second = shop.first().await;
        // The second place of a step is after its effect: reservation (2), mark (2), work (1).
        shop.wire.set(6);
        let (sending, request) = (shop.clone(), second.clone());
        let stalled = tokio::spawn(async move { sending.send(&request).await });
        shop.wire.reached().await;
        assert_eq!(shop.outside.counts(), [1, 0, 0], "{}", shop.kind);
        shop.clock.advance(Duration::from_secs(31));
        let reply = shop.send(&again(&second, 3)).await;
        assert!(text(&reply).contains("`charge` was started and interrupted"), "{}: {reply}", shop.kind);
        shop.wire.go_on();
        let stalled = stalled.await.unwrap();
        assert_eq!(stalled["error"]["code"], -32603, "{}: {stalled}", shop.kind);
        assert_eq!(shop.outside.counts(), [1, 0, 0], "{}", shop.kind);
        assert_eq!(shop.send(&again(&second, 4)).await["result"], reply["result"], "{}", shop.kind);
    }
}
