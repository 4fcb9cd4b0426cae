//! Single use in memory: the contract, twenty at once, and random verbs compared with a model.
#![allow(clippy::unwrap_used, reason = "helpers of tests: a panic is the report")]

#[path = "single_use/any_clock.rs"]
mod any_clock;
#[path = "single_use/full.rs"]
mod full;
#[path = "single_use/many_clocks.rs"]
mod many_clocks;
#[path = "single_use/model.rs"]
mod model;
#[path = "single_use/random_verbs.rs"]
mod random_verbs;
#[path = "single_use/tokens.rs"]
mod tokens;
#[path = "single_use/twenty_at_once.rs"]
mod twenty_at_once;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use mrtr_state::single_use::{ReserveOutcome, SingleUseError, contract};
use mrtr_state::{MemorySingleUse, SingleUse};
use proptest::collection::vec;
use proptest::prelude::*;
use random_verbs::verbs;
use tokens::NOON;

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_asked_of_it_in_whatever_order_the_store_does_as_the_model(verbs in verbs()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(random_verbs::play(verbs, vec![Arc::new(MemorySingleUse::new(NOON))]));
    }

    #[test]
    fn by_any_clock_no_token_is_spent_twice(visits in vec(any_clock::visit(), 1..80)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let open = |now| Arc::new(MemorySingleUse::new(now)) as Arc<dyn SingleUse>;
        runtime.block_on(within_a_minute(any_clock::play(&visits, false, open)));
    }
}

#[tokio::test]
async fn the_store_in_memory_keeps_the_contract() {
    within_a_minute(contract::check(async |now| MemorySingleUse::new(now))).await;
}

#[tokio::test]
async fn a_store_refuses_tokens_from_before_it_began_to_remember() {
    let one_later = NOON + Duration::from_millis(1);
    let (before, after) = (tokens::seal(NOON), tokens::seal(one_later));
    let store = MemorySingleUse::new(one_later);
    let refused = store.reserve(&tokens::use_of(&before, "accept"), LEASE, one_later).await;
    assert!(matches!(refused, Err(SingleUseError::BeforeMemory)));
    let reserved = store.reserve(&tokens::use_of(&after, "accept"), LEASE, one_later).await;
    assert!(matches!(reserved, Ok(ReserveOutcome::Reserved(..))));
}

#[tokio::test]
async fn a_clock_that_was_ahead_for_a_moment_shuts_out_no_later_token() {
    any_clock::ahead_for_a_moment(&MemorySingleUse::new(NOON)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_at_once_in_memory_by_different_clocks_each_token_is_spent_once() {
    many_clocks::many_at_once(&[Arc::new(MemorySingleUse::new(NOON))]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_twenty_at_once_in_memory_one_runs_and_all_get_its_reply() {
    twenty_at_once::twenty_at_once(Arc::new(MemorySingleUse::new(NOON))).await;
}

/// Turns a hang into a failure.
async fn within_a_minute<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(1), future).await.expect("whoever waits is woken")
}

const LEASE: Duration = Duration::from_secs(30);
