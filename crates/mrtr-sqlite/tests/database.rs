//! Tasks and single use in one file: each keeps its contract beside the other, and the file is closed with the last.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

#[path = "../../mrtr-state/tests/single_use/tokens.rs"]
#[allow(dead_code, reason = "other tests of single use need more of it")]
mod tokens;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mrtr_flow::Clock;
use mrtr_server::testing::FixedClock;
use mrtr_sqlite::{SqliteDatabase, SqliteSingleUse, SqliteTaskStore};
use mrtr_state::single_use::{ReserveOutcome, SingleUseError};
use mrtr_state::{SingleUse, Timestamp};
use mrtr_tasks::TaskStore;
use tokens::NOON;

#[tokio::test]
async fn each_kind_keeps_its_contract_in_a_file_of_both() {
    let (folder, made) = (tempfile::tempdir().unwrap(), AtomicUsize::new(0));
    let fresh = || folder.path().join(made.fetch_add(1, Ordering::Relaxed).to_string());
    let open = |now: Timestamp| open(&fresh(), Arc::new(FixedClock::new(now)));
    mrtr_state::single_use::contract::check(async |now| open(now).single_use()).await;
    let tasks = async |clock: Arc<dyn Clock>| SqliteDatabase::open_with_clock(fresh(), clock).unwrap().tasks();
    mrtr_tasks::contract::check(tasks).await;
}

#[tokio::test]
async fn a_file_of_both_is_one_store_with_those_that_open_one_kind() {
    let (folder, made) = (tempfile::tempdir().unwrap(), AtomicUsize::new(0));
    let fresh = || folder.path().join(made.fetch_add(1, Ordering::Relaxed).to_string());
    let single_use = async |now| {
        let path = fresh();
        let database = open(&path, Arc::new(FixedClock::new(now)));
        (database.single_use(), SqliteSingleUse::open(&path, now).unwrap())
    };
    mrtr_state::single_use::contract::check_shared(single_use).await;
    let tasks = async |clock: Arc<dyn Clock>| {
        let path = fresh();
        let database = open(&path, Arc::clone(&clock));
        (database.tasks(), SqliteTaskStore::open_with_clock(&path, clock).unwrap())
    };
    mrtr_tasks::contract::check_shared(tasks).await;
}

#[tokio::test]
async fn the_file_is_closed_with_the_last_store_and_not_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("both.sqlite");
    let database = open(&path, Arc::new(FixedClock::new(NOON)));
    let (tasks, single_use) = (database.tasks(), database.single_use());
    drop(database);
    assert!(tasks.list(None, None, 10).await.unwrap().is_empty());
    drop(tasks);
    let token_use = tokens::use_of(&tokens::seal(NOON), "accept");
    assert!(matches!(single_use.reserve(&token_use, LEASE, NOON).await, Ok(ReserveOutcome::Reserved(..))));
    drop(single_use);
    // SQLite removes the log when the last connection is closed.
    let left: Vec<_> = folder.path().read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, [path]);
}

#[tokio::test]
async fn a_keeper_that_outlives_its_store_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteSingleUse::open(folder.path().join("single-use.sqlite"), NOON).unwrap();
    let token_use = tokens::use_of(&tokens::seal(NOON), "accept");
    let Ok(ReserveOutcome::Reserved(reservation, _)) = store.reserve(&token_use, LEASE, NOON).await else {
        panic!("it is new")
    };
    let mut keeper = store.lease_keeper();
    drop(store);
    let renewed = std::thread::spawn(move || keeper.renew(&[reservation], LEASE, NOON)).join().unwrap();
    assert!(matches!(renewed[..], [Err(SingleUseError::Store(_))]), "{renewed:?}");
}

fn open(path: &Path, clock: Arc<dyn Clock>) -> SqliteDatabase {
    SqliteDatabase::open_with_clock(path, clock).unwrap()
}

const LEASE: Duration = Duration::from_secs(30);
