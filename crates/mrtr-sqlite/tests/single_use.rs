//! Single use in a file: the contract, twenty at once, and random verbs compared with a model and with the store in
//! memory.
#![allow(clippy::unwrap_used, reason = "helpers of tests: a panic is the report")]

#[path = "../../mrtr-state/tests/single_use/any_clock.rs"]
mod any_clock;
#[path = "single_use/file.rs"]
mod file;
#[path = "../../mrtr-state/tests/single_use/many_clocks.rs"]
mod many_clocks;
#[path = "../../mrtr-state/tests/single_use/model.rs"]
mod model;
#[path = "../../mrtr-state/tests/single_use/random_verbs.rs"]
mod random_verbs;
#[path = "../../mrtr-state/tests/single_use/tokens.rs"]
mod tokens;
#[path = "../../mrtr-state/tests/single_use/twenty_at_once.rs"]
mod twenty_at_once;
#[path = "single_use/unprivileged.rs"]
mod unprivileged;

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mrtr_sqlite::SqliteSingleUse;
use mrtr_state::single_use::{ReserveOutcome, SingleUseError, contract};
use mrtr_state::{MemorySingleUse, SingleUse, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;
use random_verbs::verbs;
use tempfile::TempDir;
use tokens::NOON;

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_asked_of_them_in_whatever_order_both_stores_do_as_the_model(verbs in verbs()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let files = Files::new();
        let stores: Vec<Arc<dyn SingleUse>> = vec![
            Arc::new(MemorySingleUse::new(NOON)),
            Arc::new(SqliteSingleUse::open(files.fresh(), NOON).unwrap()),
        ];
        runtime.block_on(random_verbs::play(verbs, stores));
    }

    #[test]
    fn by_any_clock_no_token_is_spent_twice(visits in vec(any_clock::visit(), 1..80)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let files = Files::new();
        let path = files.fresh();
        let open = |now| Arc::new(SqliteSingleUse::open(&path, now).unwrap()) as Arc<dyn SingleUse>;
        runtime.block_on(within_a_minute(any_clock::play(&visits, true, open)));
    }
}

#[tokio::test]
async fn the_store_in_sqlite_keeps_the_contract() {
    let files = Files::new();
    within_a_minute(contract::check(async |now| SqliteSingleUse::open(files.fresh(), now).unwrap())).await;
}

#[tokio::test]
async fn the_store_in_sqlite_keeps_the_contract_in_a_file_that_is_not_empty() {
    let files = Files::new();
    let path = files.fresh();
    within_a_minute(contract::check(async |now| SqliteSingleUse::open(&path, now).unwrap())).await;
}

#[tokio::test]
async fn two_stores_on_one_sqlite_file_are_one_store() {
    let files = Files::new();
    let two = async |now| {
        let path = files.fresh();
        (SqliteSingleUse::open(&path, now).unwrap(), SqliteSingleUse::open(&path, now).unwrap())
    };
    within_a_minute(contract::check_shared(two)).await;
}

#[tokio::test]
async fn a_store_refuses_tokens_from_before_it_began_to_remember() {
    let files = Files::new();
    let path = files.fresh();
    let one_later = NOON + Duration::from_millis(1);
    let (before, after) = (tokens::seal(NOON), tokens::seal(one_later));
    let store = SqliteSingleUse::open(&path, one_later).unwrap();
    let refused = store.reserve(&tokens::use_of(&before, "accept"), LEASE, one_later).await;
    assert!(matches!(refused, Err(SingleUseError::BeforeMemory)));
    let reserved = store.reserve(&tokens::use_of(&after, "accept"), LEASE, one_later).await;
    assert!(matches!(reserved, Ok(ReserveOutcome::Reserved(..))));
}

#[tokio::test]
async fn a_reply_is_still_in_the_file_after_a_restart() {
    let files = Files::new();
    let path = files.fresh();
    let token_use = tokens::use_of(&tokens::seal(NOON), "accept");
    let store = SqliteSingleUse::open(&path, NOON).unwrap();
    let ReserveOutcome::Reserved(reservation, _) = store.reserve(&token_use, LEASE, NOON).await.unwrap() else {
        panic!("it is new")
    };
    store.commit(&reservation, b"paid", NOON).await.unwrap();
    drop(store);
    let store = SqliteSingleUse::open(&path, NOON + LEASE).unwrap();
    assert_eq!(store.reserve(&token_use, LEASE, NOON).await.unwrap(), ReserveOutcome::Committed(b"paid".to_vec()));
}

#[tokio::test]
async fn a_file_opened_again_by_an_earlier_clock_refuses_what_it_purged() {
    let files = Files::new();
    let path = files.fresh();
    let spent = tokens::use_of(&tokens::seal(NOON), "accept");
    let long_lived = tokens::use_of(&tokens::seal_for(Duration::from_hours(4), NOON), "accept");
    let store = SqliteSingleUse::open(&path, NOON).unwrap();
    let ReserveOutcome::Reserved(reservation, _) = store.reserve(&spent, LEASE, NOON).await.unwrap() else {
        panic!("it is new")
    };
    store.commit(&reservation, b"paid", NOON).await.unwrap();
    let ReserveOutcome::Reserved(reservation, _) = store.reserve(&long_lived, LEASE, spent.keep_until()).await.unwrap()
    else {
        panic!("it lives")
    };
    store.release(&reservation, spent.keep_until()).await.unwrap();
    drop(store);
    let yesterday = Timestamp::from_millis(NOON.as_millis() - 24 * 3_600_000);
    for earlier in [NOON, yesterday, Timestamp::from_millis(0)] {
        let store = SqliteSingleUse::open(&path, earlier).unwrap();
        let refused = store.reserve(&spent, LEASE, earlier).await;
        assert!(matches!(refused, Err(SingleUseError::BeforeMemory)), "{refused:?}");
        let ReserveOutcome::Reserved(reservation, _) = store.reserve(&long_lived, LEASE, earlier).await.unwrap() else {
            panic!("no token of its end was purged")
        };
        store.release(&reservation, earlier).await.unwrap();
    }
}

#[tokio::test]
async fn a_clock_that_was_ahead_for_a_moment_shuts_out_no_later_token() {
    let files = Files::new();
    any_clock::ahead_for_a_moment(&SqliteSingleUse::open(files.fresh(), NOON).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_at_once_in_sqlite_by_different_clocks_each_token_is_spent_once() {
    let files = Files::new();
    let path = files.fresh();
    let open = || Arc::new(SqliteSingleUse::open(&path, NOON).unwrap());
    many_clocks::many_at_once(&[open(), open()]).await;
}

#[tokio::test]
async fn a_dropped_store_has_closed_its_file() {
    let files = Files::new();
    let path = files.fresh();
    drop(SqliteSingleUse::open(&path, NOON).unwrap());
    // SQLite removes the log when the last connection is closed.
    let left: Vec<_> = path.parent().unwrap().read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, [path]);
}

#[tokio::test]
async fn whoever_no_longer_waits_is_not_in_the_way() {
    let files = Files::new();
    let store = Arc::new(SqliteSingleUse::open(files.fresh(), NOON).unwrap());
    let token_use = tokens::use_of(&tokens::seal(NOON), "accept");
    let ReserveOutcome::Reserved(reservation, _) = store.reserve(&token_use, LEASE, NOON).await.unwrap() else {
        panic!("it is new")
    };
    let ReserveOutcome::InProgress(in_progress) = store.reserve(&token_use, LEASE, NOON).await.unwrap() else {
        panic!("it is held")
    };
    let gone = tokio::time::timeout(Duration::ZERO, store.ended(&in_progress)).await;
    assert!(gone.is_err(), "the reservation has not ended");
    store.commit(&reservation, b"paid", NOON).await.unwrap();
    assert_eq!(store.reserve(&token_use, LEASE, NOON).await.unwrap(), ReserveOutcome::Committed(b"paid".to_vec()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_twenty_at_once_in_sqlite_one_runs_and_all_get_its_reply() {
    let files = Files::new();
    twenty_at_once::twenty_at_once(Arc::new(SqliteSingleUse::open(files.fresh(), NOON).unwrap())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn verbs_of_many_tokens_that_arrive_together_do_not_mix() {
    let files = Files::new();
    let store = Arc::new(SqliteSingleUse::open(files.fresh(), NOON).unwrap());
    let tasks: Vec<_> = (0..200_u32)
        .map(|number| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let token_use = tokens::use_of(&tokens::seal(NOON), "accept");
                let outcome = store.reserve(&token_use, LEASE, NOON).await.unwrap();
                let ReserveOutcome::Reserved(reservation, _) = outcome else { panic!("it is new") };
                // A refusal in the same transaction as others' work.
                store.record(&reservation, "charge", b"", NOON).await.unwrap();
                let refused = store.mark_started(&reservation, "charge", NOON).await;
                assert!(matches!(refused, Err(SingleUseError::OutOfTurn(step)) if step == "charge"));
                store.commit(&reservation, &number.to_be_bytes(), NOON).await.unwrap();
                let reply = store.reserve(&token_use, LEASE, NOON).await.unwrap();
                assert_eq!(reply, ReserveOutcome::Committed(number.to_be_bytes().to_vec()));
            })
        })
        .collect();
    for task in tasks {
        within_a_minute(task).await.unwrap();
    }
}

/// Turns a hang into a failure.
async fn within_a_minute<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(1), future).await.expect("whoever waits is woken")
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

const LEASE: Duration = Duration::from_secs(30);
