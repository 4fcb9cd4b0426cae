//! The store in PostgreSQL on a real server: the contracts, many at once, random verbs, faults, and pgbouncer.
#![allow(clippy::unwrap_used, reason = "helpers of tests: a panic is the report")]

#[path = "postgres/support.rs"]
mod support;

use std::sync::Arc;

use mrtr_server::extend::SystemClock;
use support::{Database, set_clock, within_minutes};

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
async fn single_use_keeps_the_contract() {
    let Some(database) = Database::fresh() else { return };
    within_minutes(mrtr_state::single_use::contract::check(async |now| database.fresh_schema(set_clock(now)).await))
        .await;
}

#[tokio::test]
async fn single_use_keeps_the_contract_in_a_schema_that_is_not_empty() {
    let Some(database) = Database::fresh() else { return };
    within_minutes(mrtr_state::single_use::contract::check(async |now| database.same_schema(set_clock(now)).await))
        .await;
}

#[tokio::test]
async fn two_stores_on_one_database_are_one_store_for_single_use() {
    let Some(database) = Database::fresh() else { return };
    let two = async |now| database.shared_schema(set_clock(now)).await;
    within_minutes(mrtr_state::single_use::contract::check_shared(two)).await;
}

#[tokio::test]
async fn a_store_that_goes_by_a_clock_connects() {
    let Some(database) = Database::fresh() else { return };
    drop(database.fresh_schema(Arc::new(SystemClock::default())).await);
}
