//! Single use in PostgreSQL on a real server: the contract, many at once, and random verbs beside the model.
#![allow(clippy::unwrap_used, reason = "helpers of tests: a panic is the report")]

#[path = "../../mrtr-state/tests/single_use/many_clocks.rs"]
mod many_clocks;
#[path = "../../mrtr-state/tests/single_use/model.rs"]
mod model;
#[path = "../../mrtr-state/tests/single_use/random_verbs.rs"]
mod random_verbs;
mod support;
#[path = "../../mrtr-state/tests/single_use/tokens.rs"]
mod tokens;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mrtr_flow::Clock;
use mrtr_postgres::testing::Bouncer;
use mrtr_state::Timestamp;
use mrtr_state::single_use::contract;
use proptest::prelude::*;
use tokio::runtime::Runtime;

use support::{Database, within_minutes};
use tokens::NOON;

#[tokio::test]
async fn single_use_keeps_the_contract() {
    let Some(database) = Database::fresh() else { return };
    within_minutes(contract::check(async |now| database.fresh_schema(clock(now)).await)).await;
}

#[tokio::test]
async fn single_use_keeps_the_contract_in_a_schema_that_is_not_empty() {
    let Some(database) = Database::fresh() else { return };
    let same = async |now| database.options().clock(clock(now)).connect().await.unwrap();
    within_minutes(contract::check(same)).await;
}

#[tokio::test]
async fn two_stores_on_one_database_are_one_store() {
    let Some(database) = Database::fresh() else { return };
    within_minutes(contract::check_shared(async |now| database.shared_schema(clock(now)).await)).await;
}

#[tokio::test]
async fn single_use_keeps_the_contract_through_pgbouncer() {
    let Some(database) = Database::fresh() else { return };
    let Some(bouncer) = Bouncer::start(database.cluster) else { return };
    let through = database.through(&bouncer);
    within_minutes(contract::check(async |now| through.fresh_schema(clock(now)).await)).await;
    within_minutes(contract::check_shared(async |now| through.shared_schema(clock(now)).await)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_at_once_by_different_clocks_each_token_is_spent_once() {
    let Some(database) = Database::fresh() else { return };
    let (here, there) = database.shared_schema(clock(NOON)).await;
    many_clocks::many_at_once(&[Arc::new(here), Arc::new(there)]).await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_asked_of_it_in_whatever_order_the_store_does_as_the_model(verbs in random_verbs::verbs()) {
        let Some(database) = Database::fresh() else { return Ok(()) };
        Runtime::new().unwrap().block_on(within_minutes(async {
            let store = database.fresh_schema(clock(NOON)).await;
            random_verbs::play(verbs, vec![Arc::new(store)]).await;
        }));
    }
}

/// A clock that only says since when the store remembers. Otherwise the times count that verbs are told.
fn clock(now: Timestamp) -> Arc<dyn Clock> {
    Arc::new(StandingClock(now))
}

/// Stands at a moment.
#[derive(Debug)]
struct StandingClock(Timestamp);

#[async_trait]
impl Clock for StandingClock {
    fn now(&self) -> Timestamp {
        self.0
    }

    async fn sleep(&self, _: Duration) {
        std::future::pending::<()>().await;
    }
}

/// Turns a hang into a failure.
async fn within_a_minute<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(1), future).await.expect("a caller that waits is woken")
}

const LEASE: Duration = Duration::from_secs(30);
