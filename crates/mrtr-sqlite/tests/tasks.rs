//! Tasks in a file: the contract, many at once, random verbs in lock-step with the store in memory, and what only a
//! file can do.
#![allow(clippy::unwrap_used, reason = "helpers of tests: a panic is the report")]

#[path = "tasks/at_once.rs"]
mod at_once;
#[path = "../../mrtr-tasks/tests/stores/clock.rs"]
mod clock;
#[path = "tasks/file.rs"]
mod file;
#[path = "../../mrtr-tasks/tests/stores/hammer.rs"]
mod hammer;
#[path = "../../mrtr-tasks/tests/stores/model.rs"]
mod model;
#[path = "../../mrtr-tasks/tests/stores/random_verbs.rs"]
mod random_verbs;
#[path = "../../mrtr-tasks/tests/stores/sweeping.rs"]
mod sweeping;
#[path = "single_use/unprivileged.rs"]
mod unprivileged;

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mrtr_flow::Clock;
use mrtr_sqlite::SqliteTaskStore;
use mrtr_tasks::contract;
use mrtr_tasks::store::{MemoryTaskStore, TaskStore};
use proptest::collection::vec;
use proptest::prelude::*;
use tempfile::TempDir;

use clock::{NOON, SetClock};
use model::{Model, Order};
use random_verbs::verb;

#[tokio::test]
async fn the_store_in_sqlite_keeps_the_contract() {
    let files = Files::new();
    within_a_minute(contract::check(async |clock| open(files.fresh(), &clock))).await;
}

#[tokio::test]
async fn a_clock_set_back_keeps_no_task_waiting() {
    let files = Files::new();
    within_a_minute(contract::check_set_back(async |clock| open(files.fresh(), &clock))).await;
}

#[tokio::test]
async fn two_stores_on_one_sqlite_file_are_one_store() {
    let files = Files::new();
    let two = async |clock| {
        let path = files.fresh();
        (open(&path, &clock), open(&path, &clock))
    };
    within_a_minute(contract::check_shared(two)).await;
}

#[tokio::test]
async fn a_sweep_of_many_leaves_room_for_others() {
    let files = Files::new();
    let store = SqliteTaskStore::open(files.fresh()).unwrap();
    within_a_minute(sweeping::sweep_beside_others(Arc::new(store), 2_000)).await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_asked_of_them_in_whatever_order_both_stores_do_as_the_model(verbs in vec(verb(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let (files, clock) = (Files::new(), Arc::new(SetClock::at(NOON)));
        let shared: Arc<dyn Clock> = Arc::clone(&clock) as Arc<dyn Clock>;
        let (memory, sqlite) = (MemoryTaskStore::new(Arc::clone(&shared)), open(files.fresh(), &shared));
        let stores: Vec<Arc<dyn TaskStore>> = vec![Arc::new(memory), Arc::new(sqlite)];
        runtime.block_on(within_a_minute(random_verbs::play(verbs, &clock, Model::new(true, Order::ByCreation), stores)));
    }
}

/// Turns a hang into a failure.
async fn within_a_minute<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(1), future).await.expect("a caller that waits is woken")
}

/// Places for files that are removed at the end.
struct Files {
    folder: TempDir,
    made: AtomicUsize,
}

impl Files {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), made: AtomicUsize::new(0) }
    }

    fn fresh(&self) -> PathBuf {
        self.folder.path().join(format!("{}.sqlite", self.made.fetch_add(1, Ordering::Relaxed)))
    }
}

fn open(path: impl AsRef<Path>, clock: &Arc<dyn Clock>) -> SqliteTaskStore {
    SqliteTaskStore::open_with_clock(path, Arc::clone(clock)).unwrap()
}
