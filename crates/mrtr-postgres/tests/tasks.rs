//! Tasks in PostgreSQL on a real server: the contract, many at once, and random verbs beside the model.
#![allow(clippy::unwrap_used, reason = "helpers of tests: a panic is the report")]

#[path = "../../mrtr-tasks/tests/stores/clock.rs"]
mod clock;
#[path = "../../mrtr-tasks/tests/stores/hammer.rs"]
mod hammer;
#[path = "../../mrtr-tasks/tests/stores/model.rs"]
mod model;
#[path = "../../mrtr-tasks/tests/stores/random_verbs.rs"]
mod random_verbs;
mod support;
#[path = "../../mrtr-tasks/tests/stores/sweeping.rs"]
mod sweeping;

use std::sync::Arc;
use std::time::Duration;

use mrtr_flow::Clock;
use mrtr_postgres::testing::Bouncer;
use mrtr_tasks::{Account, TaskStore};
use proptest::collection::vec;
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use tokio::runtime::Runtime;

use clock::{NOON, SetClock};
use support::{Database, within_minutes};

#[tokio::test]
async fn tasks_keep_the_contract() {
    let Some(database) = Database::fresh() else { return };
    within_minutes(mrtr_tasks::contract::check(async |clock| database.fresh_schema(clock).await)).await;
}

#[tokio::test]
async fn two_stores_on_one_database_are_one_store_of_tasks() {
    let Some(database) = Database::fresh() else { return };
    within_minutes(mrtr_tasks::contract::check_shared(async |clock| database.shared_schema(clock).await)).await;
}

#[tokio::test]
async fn tasks_keep_the_contract_through_pgbouncer() {
    let Some(database) = Database::fresh() else { return };
    let Some(bouncer) = Bouncer::start(database.cluster) else { return };
    let through = database.through(&bouncer);
    within_minutes(mrtr_tasks::contract::check(async |clock| through.fresh_schema(clock).await)).await;
    within_minutes(mrtr_tasks::contract::check_shared(async |clock| through.shared_schema(clock).await)).await;
}

/// By the database's clock, with nothing that a test tells.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_at_once_in_three_stores_one_wins() {
    let Some(database) = Database::fresh() else { return };
    let mut stores: Vec<Arc<dyn TaskStore>> = Vec::new();
    for _ in 0..3 {
        stores.push(Arc::new(database.options().connect().await.unwrap()));
    }
    within_minutes(hammer::hammer(&stores)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn verbs_of_many_tasks_that_arrive_together_do_not_mix() {
    let Some(database) = Database::fresh() else { return };
    let store = database.options().wait_for_connection(Duration::from_mins(1)).connect().await.unwrap();
    within_minutes(hammer::many_tasks(Arc::new(store))).await;
}

#[tokio::test]
async fn a_sweep_of_many_leaves_room_for_others() {
    let Some(database) = Database::fresh() else { return };
    let store = database.options().wait_for_connection(Duration::from_mins(1)).connect().await.unwrap();
    within_minutes(sweeping::sweep_beside_others(Arc::new(store), 2_000)).await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_asked_of_it_in_whatever_order_the_store_does_as_the_model_of_tasks(
        verbs in vec(random_verbs::verb(), 1..60)
    ) {
        let Some(database) = Database::fresh() else { return Ok(()) };
        let clock = Arc::new(SetClock::at(NOON));
        Runtime::new().unwrap().block_on(within_minutes(async {
            let store = database.fresh_schema(Arc::clone(&clock) as Arc<dyn Clock>).await;
            random_verbs::play(verbs, &clock, model::Model::new(false, model::Order::By(turn)), vec![Arc::new(store)]).await;
        }));
    }
}

/// Accounts come by the first half of the digest of their name.
fn turn(account: &Account) -> u128 {
    let digest: [u8; 32] = Sha256::digest(account.as_str()).into();
    u128::from_be_bytes(*digest.first_chunk().unwrap())
}
