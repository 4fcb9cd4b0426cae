//! A round that ends in an error keeps its token: the next retry goes on from the record.

use std::time::Duration;

use serde_json::json;

use crate::shop::{Manner, Shop, again, buyer, is_refused, request, text};
use crate::store::in_time;

#[tokio::test]
async fn a_client_that_declares_too_little_may_come_again() {
    for shop in Shop::all(Manner::default()) {
        let second = shop.first().await;
        let mut poor = second.clone();
        poor["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        let refused = shop.send(&poor).await;
        assert_eq!(refused["error"]["code"], -32021, "{}: {refused}", shop.kind);
        assert_eq!(shop.outside.counts(), [1, 1, 0], "{}", shop.kind);
        let state = second["params"]["requestState"].as_str();
        let other = shop.send(&request(8, state, &buyer("Eve"))).await;
        assert!(is_refused(&other), "steps ran for Ada's answers: {other}");
        let asked = shop.send(&again(&second, 9)).await;
        assert!(asked["result"]["inputRequests"]["rating"].is_object(), "{}: {asked}", shop.kind);
        assert_eq!(shop.outside.counts(), [1, 1, 0], "{}", shop.kind);
    }
}

#[tokio::test]
async fn after_an_internal_error_a_retry_goes_on_from_the_record() {
    for shop in Shop::all(Manner { fails_first: true, ..Manner::default() }) {
        let second = shop.first().await;
        let failed = shop.send(&second).await;
        assert_eq!(failed["error"]["code"], -32603, "{}: {failed}", shop.kind);
        let asked = shop.send(&again(&second, 9)).await;
        assert!(asked["result"]["inputRequests"]["rating"].is_object(), "{}: {asked}", shop.kind);
        assert_eq!(shop.outside.counts(), [1, 1, 0], "{}", shop.kind);
    }
}

#[tokio::test]
async fn a_store_that_fails_before_a_step_costs_nothing() {
    for verb in ["reserve", "mark_started"] {
        for shop in Shop::all(Manner::default()) {
            let second = shop.first().await;
            shop.failures.fail_once(verb);
            let failed = shop.send(&second).await;
            assert_eq!(failed["error"]["code"], -32603, "{} {verb}: {failed}", shop.kind);
            assert!(!failed.to_string().contains("disk"), "{failed}");
            assert_eq!(shop.outside.counts(), [0, 0, 0], "{} {verb}", shop.kind);
            let asked = shop.send(&again(&second, 9)).await;
            assert!(asked["result"]["inputRequests"]["rating"].is_object(), "{} {verb}: {asked}", shop.kind);
            assert_eq!(shop.outside.counts(), [1, 1, 0], "{} {verb}", shop.kind);
        }
    }
}

#[tokio::test]
async fn a_store_that_fails_after_a_step_leaves_it_in_doubt() {
    for shop in Shop::all(Manner::default()) {
        let second = shop.first().await;
        shop.failures.fail_once("record");
        let failed = shop.send(&second).await;
        assert_eq!(failed["error"]["code"], -32603, "{}: {failed}", shop.kind);
        let told = shop.send(&again(&second, 9)).await;
        assert!(text(&told).contains("`charge` was started and interrupted"), "{}: {told}", shop.kind);
        assert_eq!(shop.outside.counts(), [1, 0, 0], "{}", shop.kind);
    }
}

#[tokio::test]
async fn a_store_that_fails_to_commit_lets_the_next_one_in_when_the_reservation_lapses() {
    for shop in Shop::all(Manner::default()) {
        let second = shop.first().await;
        shop.failures.fail_once("commit");
        let failed = shop.send(&second).await;
        assert_eq!(failed["error"]["code"], -32603, "{}: {failed}", shop.kind);
        shop.clock.advance(Duration::from_secs(31));
        let asked = shop.send(&again(&second, 9)).await;
        assert!(asked["result"]["inputRequests"]["rating"].is_object(), "{}: {asked}", shop.kind);
        assert_eq!(shop.outside.counts(), [1, 1, 0], "{}", shop.kind);
    }
}

#[tokio::test]
async fn a_tool_error_is_a_reply_and_is_kept() {
    for shop in Shop::all(Manner::default()) {
        let second = shop.first().await;
        let state = second["params"]["requestState"].as_str();
        let refusal = request(2, state, &json!({ "buyer": { "action": "decline" } }));
        let told = shop.send(&refusal).await;
        assert_eq!(text(&told), "`buyer` was declined");
        assert_eq!(shop.send(&again(&refusal, 3)).await["result"], told["result"], "{}", shop.kind);
        assert!(is_refused(&shop.send(&second).await), "{}", shop.kind);
        assert_eq!(shop.outside.counts(), [0, 0, 0], "{}", shop.kind);
    }
}

#[tokio::test]
async fn a_store_that_hangs_ends_the_round_and_loses_nothing() {
    // Before the reservation, and before the commit: two places for each verb and in each step, and one between the
    // steps.
    for place in [1, 16] {
        for shop in Shop::all(Manner::default()) {
            let second = shop.first().await;
            shop.wire.set(place);
            let (failed, ()) = tokio::join!(in_time("it hangs with the store", shop.send(&second)), async {
                shop.wire.reached().await;
                shop.clock.advance(Duration::from_secs(31));
            });
            assert_eq!(failed["error"]["code"], -32603, "{} at {place}: {failed}", shop.kind);
            let asked = shop.send(&again(&second, 9)).await;
            assert!(asked["result"]["inputRequests"]["rating"].is_object(), "{} at {place}: {asked}", shop.kind);
            assert_eq!(shop.outside.counts(), [1, 1, 0], "{} at {place}", shop.kind);
        }
    }
}
