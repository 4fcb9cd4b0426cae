//! The connection goes away, or the process does, at every place where a run waits.

use std::time::Duration;

use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::task::yield_now;

use crate::shop::{Manner, Shop, again, request, stars, state, text};

/// Sends a request, and drops the connection at the wire's place. Returns true if the run reached that place.
async fn send_and_hang_up(shop: &Shop, request: &Value) -> bool {
    let hung_up = tokio::select! {
        biased;
        () = shop.wire.reached() => true,
        _ = shop.send(request) => false,
    };
    shop.wire.go_on();
    hung_up
}

#[tokio::test]
async fn a_lost_connection_repeats_nothing_wherever_it_is_lost() {
    for kind in 0..2 {
        for place in 1.. {
            let shop = Shop::all(Manner::default()).swap_remove(kind);
            let second = shop.first().await;
            shop.wire.set(place);
            let hung_up = send_and_hang_up(&shop, &second).await;
            shop.wire.set(0);
            let asked = shop.send(&again(&second, 20)).await;
            let done = shop.send(&request(3, state(&asked), &stars(5))).await;
            assert_eq!(text(&done), "Ada gave 5 stars", "{} at {place}", shop.kind);
            assert_eq!(shop.outside.counts(), [1, 1, 1], "{} at {place}", shop.kind);
            if !hung_up {
                assert!(place > 12, "there are more places than {place} to hang up at");
                break;
            }
        }
    }
}

#[tokio::test]
async fn without_a_connection_the_running_step_is_finished_and_no_other_begun() {
    for shop in Shop::all(Manner::default()) {
        let second = shop.first().await;
        // Two places for the reservation and two for the mark: the next is in the first step.
        shop.wire.set(5);
        assert!(send_and_hang_up(&shop, &second).await);
        // One more in the step, two for its record, one between the steps, and two for the release.
        shop.wire.passed(11).await;
        assert_eq!(shop.outside.counts(), [1, 0, 0], "{}", shop.kind);
    }
}

#[tokio::test]
async fn a_connection_dropped_after_any_number_of_polls_repeats_nothing() {
    for polls in 0..40 {
        let shop = Shop::all(Manner::default()).swap_remove(0);
        let second = shop.first().await;
        {
            let mut sending = Box::pin(shop.send(&second));
            for _ in 0..polls {
                tokio::select! {
                    biased;
                    _ = &mut sending => break,
                    () = yield_now() => {}
                }
            }
        }
        let asked = shop.send(&again(&second, 20)).await;
        let done = shop.send(&request(3, state(&asked), &stars(5))).await;
        assert_eq!(text(&done), "Ada gave 5 stars", "after {polls}");
        assert_eq!(shop.outside.counts(), [1, 1, 1], "after {polls}");
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

/// Crashes at a place, comes back when the reservation has lapsed, and sends again. Returns `None` if the run did not
/// reach the place.
fn crash_and_retry(kind: usize, place: usize, manner: Manner) -> Option<(Shop, Value, Value)> {
    let shop = Shop::all(manner).swap_remove(kind);
    let process = runtime();
    let (second, crashed) = process.block_on(async {
        let second = shop.first().await;
        shop.wire.set(place);
        let crashed = tokio::select! {
            biased;
            () = shop.wire.reached() => true,
            _ = shop.send(&second) => false,
        };
        (second, crashed)
    });
    drop(process);
    let shop = shop.reopened(manner);
    shop.clock.advance(Duration::from_secs(31));
    let reply = runtime().block_on(shop.send(&again(&second, 20)));
    crashed.then_some((shop, second, reply))
}

#[test]
fn after_a_crash_a_step_in_doubt_is_not_run_again_and_the_caller_is_told() {
    for kind in 0..2 {
        let mut in_doubt = 0;
        for place in 1.. {
            let Some((shop, second, reply)) = crash_and_retry(kind, place, Manner::default()) else { break };
            let counts = shop.outside.counts();
            assert!(counts.iter().all(|count| *count <= 1), "{} at {place}: {counts:?}", shop.kind);
            if reply["result"]["isError"] == true {
                in_doubt += 1;
                assert!(text(&reply).contains("was started and interrupted"), "{reply}");
                let same = runtime().block_on(shop.send(&again(&second, 21)));
                assert_eq!(same["result"], reply["result"], "the outcome is final");
            } else {
                assert_eq!(counts, [1, 1, 0], "{} at {place}: {reply}", shop.kind);
                assert!(reply["result"]["inputRequests"]["rating"].is_object(), "{reply}");
            }
        }
        assert!(in_doubt > 4, "a crash between mark and record leaves a step in doubt: {in_doubt}");
    }
}

#[test]
fn after_a_crash_an_idempotent_step_in_doubt_runs_again() {
    for kind in 0..2 {
        for place in 1.. {
            let manner = Manner { idempotent: true, ..Manner::default() };
            let Some((shop, _, reply)) = crash_and_retry(kind, place, manner) else { break };
            assert!(reply["result"]["inputRequests"]["rating"].is_object(), "{} at {place}: {reply}", shop.kind);
            let counts = shop.outside.counts();
            assert!([[1, 1, 0], [2, 1, 0], [1, 2, 0]].contains(&counts), "{} at {place}: {counts:?}", shop.kind);
        }
    }
}
