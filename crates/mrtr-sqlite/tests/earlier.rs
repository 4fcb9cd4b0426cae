//! A file that an earlier version wrote opens: its tasks go on, and its tokens stay used.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

#[path = "earlier/single_use.rs"]
mod single_use;
#[path = "../../mrtr-tasks/tests/tasks/support.rs"]
#[allow(dead_code, reason = "other tests of tasks need more of it")]
mod site;
#[path = "earlier/tasks.rs"]
mod tasks;
#[path = "../../mrtr-state/tests/single_use/tokens.rs"]
#[allow(dead_code, reason = "other tests of single use need more of it")]
mod tokens;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mrtr_schema::Revision;
use mrtr_server::testing::FixedClock;
use mrtr_sqlite::{SqliteDatabase, SqliteSingleUse, SqliteTaskStore};
use mrtr_state::single_use::{ReserveOutcome, SingleUseError};
use mrtr_state::{FlowId, SingleUse, Timestamp};
use mrtr_tasks::store::{Limits, NewTask, Run, StoreError, TASK_BYTES, Trials, Turns, Wanted};
use mrtr_tasks::{Account, End, Owner, TaskId, TaskRecord, TaskStore};
use tokens::NOON;

#[tokio::test]
async fn tasks_in_a_file_of_the_first_version_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tasks.sqlite");
    std::fs::write(&file, include_bytes!("earlier/tasks-1.sqlite")).unwrap();
    let clock = FixedClock::default();
    clock.advance(Duration::from_hours(1));
    tasks::go_on(Arc::new(SqliteTaskStore::open_with_clock(file, Arc::new(clock)).unwrap())).await;
}

#[tokio::test]
async fn tokens_in_a_file_of_the_first_version_stay_used() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("single-use.sqlite");
    std::fs::write(&file, include_bytes!("earlier/single-use-1.sqlite")).unwrap();
    let store = SqliteSingleUse::open(file, NOON).unwrap();
    single_use::go_on(&store, include_str!("earlier/single-use-1.txt")).await;
}

/// Each file gains what it lacks, and what it had goes on.
#[tokio::test]
async fn files_of_the_first_version_that_gain_the_other_kind_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let (tasks_file, tokens_file) = (folder.path().join("tasks.sqlite"), folder.path().join("single-use.sqlite"));
    std::fs::write(&tasks_file, include_bytes!("earlier/tasks-1.sqlite")).unwrap();
    std::fs::write(&tokens_file, include_bytes!("earlier/single-use-1.sqlite")).unwrap();
    let clock = FixedClock::default();
    clock.advance(Duration::from_hours(1));
    let database = SqliteDatabase::open_with_clock(tasks_file, Arc::new(clock)).unwrap();
    tasks::go_on(Arc::new(database.tasks())).await;
    let database = SqliteDatabase::open_with_clock(tokens_file, Arc::new(FixedClock::new(NOON))).unwrap();
    single_use::go_on(&database.single_use(), include_str!("earlier/single-use-1.txt")).await;
}

/// A file does not know what was used in an earlier one, so it refuses that, and everything else of its time.
#[tokio::test]
async fn tokens_used_in_a_file_of_their_own_do_not_live_again_in_a_file_of_tasks_that_gains_single_use() {
    let folder = tempfile::tempdir().unwrap();
    let (tasks_file, tokens_file) = (folder.path().join("tasks.sqlite"), folder.path().join("single-use.sqlite"));
    drop(SqliteTaskStore::open(&tasks_file).unwrap());
    let token_use = tokens::use_of(&tokens::seal(NOON), "accept");
    let before = SqliteSingleUse::open(&tokens_file, NOON).unwrap();
    let ReserveOutcome::Reserved(reservation, _) = before.reserve(&token_use, LEASE, NOON).await.unwrap() else {
        panic!("it is new")
    };
    before.commit(&reservation, b"paid", NOON).await.unwrap();
    assert!(SqliteSingleUse::open(&tasks_file, NOON).is_err(), "no memory is begun beside tasks by mistake");
    let soon = NOON + Duration::from_millis(1);
    let database = SqliteDatabase::open_with_clock(&tasks_file, Arc::new(FixedClock::new(soon))).unwrap();
    let refused = database.single_use().reserve(&token_use, LEASE, soon).await;
    assert!(matches!(refused, Err(SingleUseError::BeforeMemory)), "{refused:?}");
    drop(database);
    // Nor for one that opens it later, whichever type does.
    let again = SqliteSingleUse::open(&tasks_file, soon + LEASE).unwrap();
    let refused = again.reserve(&token_use, LEASE, soon + LEASE).await;
    assert!(matches!(refused, Err(SingleUseError::BeforeMemory)), "{refused:?}");
    let issued_since = tokens::use_of_at(&tokens::seal(soon), "accept", soon);
    assert!(matches!(again.reserve(&issued_since, LEASE, soon).await, Ok(ReserveOutcome::Reserved(..))));
    // The earlier file still knows.
    assert_eq!(before.reserve(&token_use, LEASE, soon).await.unwrap(), ReserveOutcome::Committed(b"paid".to_vec()));
}

/// Not a test: leaves files of this version in the target folder, for later ones to open.
#[tokio::test]
#[ignore = "it makes what tests of later versions read"]
async fn leave_a_file_of_tokens() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let store = SqliteSingleUse::open(folder.join("single-use.sqlite"), NOON).unwrap();
    std::fs::write(folder.join("single-use.txt"), single_use::leave(&store).await).unwrap();
}

/// Not a test: leaves a file of this version in the target folder, for later ones to open.
#[test]
#[ignore = "it makes what tests of later versions read"]
fn leave_a_file() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tasks.sqlite");
    tasks::leave(async {
        let store: Arc<dyn TaskStore> =
            Arc::new(SqliteTaskStore::open_with_clock(&file, Arc::new(FixedClock::default())).unwrap());
        store
    });
    // So that it is one file.
    drop(SqliteTaskStore::open(file).unwrap());
}

/// The version before writes and removes tasks while this one has the file open: they have their turns, and no sum of
/// what is kept drifts by them.
#[tokio::test]
async fn a_process_of_the_version_before_goes_on_beside_this_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tasks.sqlite");
    let store = SqliteTaskStore::open_with_clock(&file, Arc::new(FixedClock::default())).unwrap();
    let before = rusqlite::Connection::open(&file).unwrap();
    let created = store.create(new_task(1), Limits::NONE).await.unwrap().record;
    let (now, id) = (i64::try_from(created.created.as_millis()).unwrap(), [2_u8; 16]);
    before.execute("INSERT INTO change (id) VALUES (?1)", [id]).unwrap();
    let place = before.last_insert_rowid();
    before.execute(ADD_OF_VERSION_2, rusqlite::params![place, id, now]).unwrap();
    before.execute("UPDATE owner SET open = open + 1 WHERE number = 1", []).unwrap();
    before.execute("INSERT INTO entry (task, number, bytes) VALUES (?1, 0, x'07')", [place]).unwrap();
    let acquired = store.acquire(&wanted()).await.unwrap().tasks;
    assert_eq!(acquired.len(), 2, "what it has created is claimed");
    for task in &acquired {
        let run = Run { id: task.record.id, fence: task.record.fence };
        store.finish(run, End::Failed, vec![0; 1000]).await.unwrap();
    }
    let limits = |bytes| Limits { bytes, ..Limits::NONE };
    let kept = 2 * (TASK_BYTES + 1000);
    let refused = store.create(new_task(3), limits(kept + TASK_BYTES - 1)).await;
    assert!(matches!(refused, Err(StoreError::OwnerBytes)), "what came of them counts: {refused:?}");
    before.execute("DELETE FROM shown WHERE task = ?1", [place]).unwrap();
    before.execute("DELETE FROM task WHERE place = ?1", [place]).unwrap();
    store.create(new_task(3), limits(kept / 2 + TASK_BYTES)).await.expect("what it has removed does not count");
}

/// A task of an account that its owner does not give its name to: the version before counts its end for the owner.
#[tokio::test]
async fn a_task_that_the_version_before_ends_does_not_count_in_its_account() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tasks.sqlite");
    let store = SqliteTaskStore::open_with_clock(&file, Arc::new(FixedClock::default())).unwrap();
    let before = rusqlite::Connection::open(&file).unwrap();
    let task = |number| {
        let task = new_task(number);
        NewTask { record: TaskRecord { account: Account::from_kept("an address"), ..task.record }, ..task }
    };
    let one = Limits { open: 1, ..Limits::NONE };
    store.create(task(1), one).await.unwrap();
    assert!(matches!(store.create(task(2), one).await, Err(StoreError::Full)));
    let end = "ended_as = 'cancelled', ended = created, due = NULL, attention = NULL, removable = created";
    before.execute(&format!("UPDATE task SET {end}"), []).unwrap();
    before.execute("UPDATE owner SET open = open - 1 WHERE name = 'ann'", []).unwrap();
    store.create(task(2), one).await.expect("the first has ended");
    assert!(matches!(store.create(task(3), one).await, Err(StoreError::Full)), "the second has not");
    store.create(new_task(4), one).await.expect("the owner's own account has none");
    assert!(matches!(store.create(new_task(5), one).await, Err(StoreError::Full)));
}

/// The version before does not know when a task was set aside, and leaves the moment in the row.
#[tokio::test]
async fn a_task_that_the_version_before_wakes_or_takes_is_set_aside_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tasks.sqlite");
    let store = SqliteTaskStore::open_with_clock(&file, Arc::new(FixedClock::default())).unwrap();
    let before = rusqlite::Connection::open(&file).unwrap();
    let id = store.create(new_task(1), Limits::NONE).await.unwrap().record.id;
    let set_aside = async || store.get(id, None).await.unwrap().record.set_aside.is_some();
    before.execute("UPDATE task SET set_aside = created, due = NULL, attention = NULL", []).unwrap();
    assert!(set_aside().await);
    before.execute("UPDATE task SET due = created, attention = created", []).unwrap();
    assert!(!set_aside().await, "it is due");
    let lease = "due = NULL, leased_until = created + 30000, attention = created + 30000, fence = fence + 1";
    before.execute(&format!("UPDATE task SET {lease}"), []).unwrap();
    assert!(!set_aside().await, "it runs");
}

/// The columns that indexes search follow from the record as this version reads it.
#[tokio::test]
async fn what_the_version_before_has_left_in_an_index_is_put_right_by_the_next_write() {
    for column in ["attention", "trial", "expires"] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tasks.sqlite");
        let store = SqliteTaskStore::open_with_clock(&file, Arc::new(FixedClock::default())).unwrap();
        let before = rusqlite::Connection::open(&file).unwrap();
        let id = store.create(new_task(1), Limits::NONE).await.unwrap().record.id;
        let read = || -> Option<i64> {
            before.query_row(&format!("SELECT {column} FROM task"), [], |row| row.get(0)).unwrap()
        };
        let right = read();
        before.execute(&format!("UPDATE task SET {column} = created + 3600000"), []).unwrap();
        assert_ne!(read(), right, "{column}");
        // It is due already, so nothing of the record changes.
        store.wake(id).await.unwrap();
        assert_eq!(read(), right, "{column}");
    }
}

fn new_task(number: u8) -> NewTask {
    let (id, flow) = (TaskId::from_bytes([number; 16]), FlowId::from_bytes([number; 16]));
    let (owner, noon) = (Owner::from_kept("ann"), Timestamp::from_millis(0));
    let record = TaskRecord::new(id, owner, flow, "index", Revision::V2026_07_28, noon);
    NewTask { record, call: Vec::new(), entries: None }
}

fn wanted() -> Wanted {
    Wanted {
        tools: vec!["index".to_owned()],
        lease: Duration::from_secs(30),
        most: 9,
        trials: Trials::Busy,
        running: Vec::new(),
        turns: Turns::default(),
    }
}

const ADD_OF_VERSION_2: &str = "
    INSERT INTO task (place, owner, id, flow, tool, revision, created, poll_interval, retention, updated, ttl, fence,
                      leased_until, due, run_again, progressed, lost_runs, open, ended_as, ended, counted_losses,
                      alone_fence, reserved_until, set_aside, attention, trial, expires, removable)
    VALUES (?1, 1, ?2, ?2, 'index', 3, ?3, 1000, 0, ?3, NULL, 0, NULL, ?3, 0, 0, 0, '[]', NULL, NULL, 0, NULL, NULL, NULL,
            ?3, NULL, NULL, NULL)";

const LEASE: Duration = Duration::from_secs(30);
