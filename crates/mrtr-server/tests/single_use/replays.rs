//! Replays of every earlier state, with the same answers and with others.

use serde_json::json;

use crate::shop::{Manner, Shop, again, buyer, is_refused, request, stars, state, text};

#[tokio::test]
async fn a_flow_runs_through_and_each_step_took_effect_once() {
    for shop in Shop::all(Manner::default()) {
        let second = shop.first().await;
        let asked = shop.send(&second).await;
        assert_eq!(shop.outside.counts(), [1, 1, 0], "{}", shop.kind);
        let done = shop.send(&request(3, state(&asked), &stars(5))).await;
        assert_eq!(text(&done), "Ada gave 5 stars");
        assert_eq!(shop.outside.counts(), [1, 1, 1], "{}", shop.kind);
    }
}

#[tokio::test]
async fn a_replay_with_the_same_answers_gets_the_stored_reply_under_the_new_id() {
    for shop in Shop::all(Manner::default()) {
        let second = shop.first().await;
        let asked = shop.send(&second).await;
        let third = request(3, state(&asked), &stars(5));
        let done = shop.send(&third).await;
        for (number, (earlier, reply)) in
            [(&second, &asked), (&third, &done), (&second, &asked)].into_iter().enumerate()
        {
            let replay = shop.send(&again(earlier, 100 + number as u64)).await;
            assert_eq!(replay["result"], reply["result"], "{}", shop.kind);
        }
        assert_eq!(shop.outside.counts(), [1, 1, 1], "{}", shop.kind);
    }
}

#[tokio::test]
async fn a_replay_with_other_answers_is_refused() {
    for shop in Shop::all(Manner::default()) {
        let second = shop.first().await;
        let asked = shop.send(&second).await;
        let third = request(3, state(&asked), &stars(5));
        shop.send(&third).await;
        let first_state = second["params"]["requestState"].as_str();
        for (state, answers) in [
            (first_state, buyer("Eve")),
            (first_state, json!({})),
            (state(&asked), stars(1)),
            (state(&asked), json!({ "rating": { "action": "decline" } })),
        ] {
            let replay = shop.send(&request(9, state, &answers)).await;
            assert!(is_refused(&replay), "{}: {replay}", shop.kind);
        }
        assert_eq!(shop.outside.counts(), [1, 1, 1], "{}", shop.kind);
    }
}

#[tokio::test]
async fn a_shop_that_refuses_replays_refuses_them_all_the_same_way() {
    for shop in Shop::all(Manner { refuse_replays: true, ..Manner::default() }) {
        let second = shop.first().await;
        let asked = shop.send(&second).await;
        assert!(is_refused(&shop.send(&second).await), "{}", shop.kind);
        let first_state = second["params"]["requestState"].as_str();
        assert!(is_refused(&shop.send(&request(9, first_state, &buyer("Eve"))).await), "{}", shop.kind);
        let done = shop.send(&request(3, state(&asked), &stars(5))).await;
        assert_eq!(text(&done), "Ada gave 5 stars");
        assert_eq!(shop.outside.counts(), [1, 1, 1], "{}", shop.kind);
    }
}

#[tokio::test]
async fn answers_spelt_otherwise_are_the_same_answers() {
    for shop in Shop::all(Manner::default()) {
        let second = shop.first().await;
        let asked = shop.send(&second).await;
        let spelt = second.to_string().replace("\"Ada\"", "\"\\u0041da\"");
        let replay = shop.send(&serde_json::from_str(&spelt).unwrap()).await;
        assert_eq!(replay["result"], asked["result"], "{}", shop.kind);
    }
}

#[tokio::test]
async fn retries_without_a_state_run_no_step() {
    for shop in Shop::all(Manner::default()) {
        shop.first().await;
        let mut answers = buyer("Ada");
        answers["rating"] = stars(5)["rating"].clone();
        for id in 2..6 {
            let asked = shop.send(&request(id, None, &answers)).await;
            assert!(asked["result"]["inputRequests"]["buyer"].is_object(), "{}: {asked}", shop.kind);
        }
        assert_eq!(shop.outside.counts(), [0, 0, 0], "{}", shop.kind);
    }
}
