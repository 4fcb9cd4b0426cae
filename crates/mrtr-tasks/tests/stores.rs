//! Tasks in memory: the contract, many at once, and random verbs compared with a model.
#![allow(clippy::unwrap_used, reason = "helpers of tests: a panic is the report")]

#[path = "stores/clock.rs"]
mod clock;
#[path = "stores/hammer.rs"]
#[allow(dead_code, reason = "tests of other stores need more of it")]
mod hammer;
#[path = "stores/model.rs"]
mod model;
#[path = "stores/random_verbs.rs"]
mod random_verbs;
#[path = "stores/sweeping.rs"]
mod sweeping;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use mrtr_flow::Clock;
use mrtr_tasks::contract;
use mrtr_tasks::store::{MemoryTaskStore, TaskStore};
use proptest::collection::vec;
use proptest::prelude::*;

use clock::{NOON, SetClock};
use model::{Model, Order};
use random_verbs::verb;

#[tokio::test]
async fn the_store_in_memory_keeps_the_contract() {
    within_a_minute(contract::check(async |clock| MemoryTaskStore::new(clock))).await;
}

#[tokio::test]
async fn a_clock_set_back_keeps_no_task_waiting() {
    within_a_minute(contract::check_set_back(async |clock| MemoryTaskStore::new(clock))).await;
}

#[tokio::test]
async fn a_sweep_of_many_leaves_room_for_others() {
    within_a_minute(sweeping::sweep_beside_others(Arc::new(MemoryTaskStore::default()), 20_000)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_at_once_on_a_task_in_memory_one_wins() {
    let store: Arc<dyn TaskStore> = Arc::new(MemoryTaskStore::new(Arc::new(SetClock::at(NOON))));
    within_a_minute(hammer::hammer(&[store])).await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_asked_of_it_in_whatever_order_the_store_does_as_the_model(verbs in vec(verb(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let clock = Arc::new(SetClock::at(NOON));
        let stores: Vec<Arc<dyn TaskStore>> = vec![Arc::new(MemoryTaskStore::new(Arc::clone(&clock) as Arc<dyn Clock>))];
        runtime.block_on(within_a_minute(random_verbs::play(verbs, &clock, Model::new(true, Order::ByCreation), stores)));
    }
}

/// Turns a hang into a failure.
async fn within_a_minute<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(1), future).await.expect("a caller that waits is woken")
}
