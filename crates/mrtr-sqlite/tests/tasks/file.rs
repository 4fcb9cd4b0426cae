//! Abilities that only a store on a file has, and traces that it must not leave there.

use std::sync::Arc;
use std::time::Duration;

use mrtr_flow::Clock;
use mrtr_schema::Revision;
use mrtr_sqlite::{SqliteOpenErrorKind, SqliteTaskStore};
use mrtr_state::FlowId;
use mrtr_tasks::store::{
    Answer, Changed, Cursor, KeptQuestion, Limits, NewTask, Recorded, Run, TaskStore, Trials, Turns, Wanted,
};
use mrtr_tasks::{End, Owner, TaskId, TaskRecord};
use rusqlite::Connection;

use crate::clock::{NOON, SetClock};
use crate::{Files, open, unprivileged, within_a_minute};

#[tokio::test]
async fn what_was_acknowledged_is_still_in_the_file_after_a_restart() {
    let (files, clock) = (Files::new(), clock());
    let path = files.fresh();
    let store = open(&path, &clock);
    let run = running(&store, 1).await;
    store.park(run, asking(), None).await.unwrap();
    store.answer(run.id, &owner(), vec![Answer { key: "name".into(), entry: b"Ann".to_vec() }]).await.unwrap();
    let (before, cursor) = (store.get(run.id, None).await.unwrap(), store.cursor().await.unwrap());
    drop(store);
    let store = open(&path, &clock);
    assert_eq!(store.get(run.id, None).await.unwrap(), before);
    assert_eq!(store.cursor().await.unwrap(), cursor, "changes go on where they were");
    let taken = store.acquire(&wanted()).await.unwrap().tasks.remove(0);
    assert_eq!((taken.record.fence, &taken.call[..]), (2, &b"call"[..]));
    assert_eq!(taken.entries, [b"step".to_vec(), b"Ann".to_vec()]);
}

/// A process that begins afterwards has not seen the clock go back: what it finds in the file has to do.
#[tokio::test]
async fn a_clock_set_back_between_two_processes_keeps_no_task_waiting() {
    let (files, clock) = (Files::new(), Arc::new(SetClock::at(NOON + Duration::from_hours(3))));
    let (path, shared) = (files.fresh(), Arc::clone(&clock) as Arc<dyn Clock>);
    let store = open(&path, &shared);
    running(&store, 1).await;
    create(&store, 2).await;
    drop(store);
    clock.set(NOON);
    let store = open(&path, &shared);
    let acquired = store.acquire(&wanted()).await.unwrap();
    assert_eq!(acquired.tasks.len(), 1, "the one that was created and not yet taken");
    let next = acquired.next.expect("the other one is taken over");
    assert!(next <= Duration::from_mins(5), "{next:?}");
}

#[tokio::test]
async fn a_dropped_store_has_closed_its_file() {
    let files = Files::new();
    let path = files.fresh();
    let store = open(&path, &clock());
    store.sweep(1).await.unwrap();
    drop(store);
    // SQLite removes the log when the last connection is closed.
    let left: Vec<_> = path.parent().unwrap().read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, [path]);
}

#[tokio::test]
async fn a_task_that_has_ended_holds_nothing_and_one_that_was_removed_leaves_nothing() {
    let (files, clock) = (Files::new(), Arc::new(SetClock::at(NOON)));
    let path = files.fresh();
    let store = open(&path, &(Arc::clone(&clock) as Arc<dyn Clock>));
    let other = Connection::open(&path).unwrap();
    let rows = |table| {
        let count = format!("SELECT count(*) FROM {table}");
        other.query_row(&count, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    for (number, end) in [(1, None), (2, Some(End::Failed)), (3, Some(End::Expired))] {
        let run = running(&store, number).await;
        store.record(run, asking()).await.unwrap();
        assert_eq!((rows("entry"), rows("question")), (2, 1));
        match end {
            None => store.cancel(run.id, Some(&owner())).await.unwrap(),
            Some(End::Failed) => store.finish(run, End::Failed, b"error".to_vec()).await.unwrap(),
            Some(_) => {
                clock.set(NOON + TTL);
                assert_eq!(store.sweep(9).await.unwrap().expired, 1);
            }
        }
        assert_eq!((rows("entry"), rows("question")), (0, 0), "{end:?}");
    }
    store.sweep(9).await.unwrap();
    assert_eq!((rows("task"), rows("shown"), rows("owner")), (0, 0, 0));
}

/// A caller that fell far behind is told that much has changed.
#[tokio::test]
async fn the_list_of_changes_does_not_grow_for_ever_and_no_number_is_given_twice() {
    let (files, clock) = (Files::new(), clock());
    let path = files.fresh();
    let store = Arc::new(open(&path, &clock));
    let id = create(&store, 1).await;
    let wakes: Vec<_> = (0..20_000)
        .map(|_| {
            let store = Arc::clone(&store);
            async move { store.wake(id).await.unwrap() }
        })
        .collect();
    within_a_minute(futures_util::future::join_all(wakes)).await;
    let other = Connection::open(&path).unwrap();
    let kept: i64 = other.query_row("SELECT count(*) FROM change", [], |row| row.get(0)).unwrap();
    assert!(kept < 9_000, "{kept}");
    let last = store.cursor().await.unwrap();
    assert_eq!(last, Cursor(20_001));
    for since in [0, 300, 20_001 - 257] {
        let changes = store.changed(Cursor(since)).await.unwrap();
        assert_eq!((changes.changed, changes.until), (Changed::Many, last), "since {since}");
    }
    let changes = store.changed(Cursor(20_001 - 256)).await.unwrap();
    assert_eq!((changes.changed, changes.until), (Changed::These(vec![id]), last), "a task is named once");
}

#[tokio::test]
async fn two_tasks_have_two_ids() {
    let (files, clock) = (Files::new(), clock());
    let store = open(files.fresh(), &clock);
    let id = create(&store, 1).await;
    let mut same = new_task(2);
    same.record.id = id;
    assert!(store.create(same, Limits::NONE).await.is_err());
    assert_eq!(store.list(None, None, 9).await.unwrap().len(), 1);
    create(&store, 2).await;
}

async fn running(store: &SqliteTaskStore, number: u8) -> Run {
    let id = create(store, number).await;
    let taken = store.acquire(&wanted()).await.unwrap().tasks.remove(0);
    assert_eq!(taken.record.id, id);
    Run { id, fence: taken.record.fence }
}

async fn create(store: &SqliteTaskStore, number: u8) -> TaskId {
    store.create(new_task(number), Limits::NONE).await.unwrap().record.id
}

fn new_task(number: u8) -> NewTask {
    let (id, flow) = (TaskId::from_bytes([number; 16]), FlowId::from_bytes([number; 16]));
    let record = TaskRecord::new(id, owner(), flow, "index", Revision::V2026_07_28, NOON);
    NewTask { record: TaskRecord { ttl: Some(TTL), ..record }, call: b"call".to_vec(), entries: None }
}

fn asking() -> Recorded {
    let opened = vec![KeptQuestion { key: "name".into(), body: b"name?".to_vec() }];
    Recorded { entries: Some(b"step".to_vec()), opened, message: Some(b"half way".to_vec()), ..Recorded::default() }
}

fn wanted() -> Wanted {
    Wanted {
        tools: vec!["index".into()],
        lease: Duration::from_secs(30),
        most: 1,
        trials: Trials::Busy,
        running: Vec::new(),
        turns: Turns::default(),
    }
}

fn owner() -> Owner {
    Owner::from_kept("ann")
}

fn clock() -> Arc<dyn Clock> {
    Arc::new(SetClock::at(NOON))
}

const TTL: Duration = Duration::from_hours(1);

/// It holds what people answered and what tools replied.
#[tokio::test]
async fn the_file_and_what_sqlite_writes_beside_it_are_for_their_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("private.sqlite");
    let store = open(&path, &clock());
    store.sweep(1).await.unwrap();
    let modes: Vec<_> = folder.path().read_dir().unwrap().map(|file| mode(&file.unwrap().path())).collect();
    assert_eq!(modes, [0o600; 3], "the file, its log and the index of that");
    drop(store);
}

fn mode(path: &std::path::Path) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(path).unwrap().permissions()) & 0o777
}

#[tokio::test]
async fn a_file_that_was_deleted_or_replaced_takes_nothing_more() {
    for is_replaced in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deleted.sqlite");
        let store = open(&path, &clock());
        store.sweep(1).await.unwrap();
        let other = folder.path().join("other.sqlite");
        std::fs::copy(&path, &other).unwrap();
        std::fs::remove_file(&path).unwrap();
        if is_replaced {
            std::fs::rename(&other, &path).unwrap();
        }
        let refused = store.sweep(1).await.unwrap_err();
        let said = std::iter::successors(Some(&refused as &dyn std::error::Error), |error| error.source());
        let said = said.map(ToString::to_string).collect::<Vec<_>>().join(": ");
        assert!(said.contains(if is_replaced { "replaced" } else { "deleted" }), "{said}");
    }
}

#[test]
fn an_error_of_opening_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let (lost, text) = (folder.path().join("none/tasks.sqlite"), folder.path().join("notes.txt"));
    std::fs::write(&text, "no database, but some text that is longer than the head of one ".repeat(10)).unwrap();
    for (path, says) in [(lost, ": the file cannot be created"), (text, ": SQLite cannot open the file")] {
        let error = SqliteTaskStore::open(&path).map(drop).unwrap_err();
        assert_eq!(error.to_string(), format!("{}{says}", path.display()));
        assert_eq!(error.path(), path);
        assert!(std::error::Error::source(&error).is_some(), "the cause stands behind it");
    }
}

#[test]
fn a_file_that_cannot_be_written_is_refused_at_the_start() {
    let refused = |path: &std::path::Path| {
        let opened = SqliteTaskStore::open(path);
        let error = opened.map(drop).expect_err("it cannot be written");
        assert!(matches!(error.kind(), SqliteOpenErrorKind::ReadOnly), "{error:?}");
        assert!(error.to_string().starts_with(&format!("{}: the file cannot be written", path.display())), "{error}");
    };
    if let Some(path) = std::env::var_os(READ_ONLY) {
        return refused(std::path::Path::new(&path));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("read-only.sqlite");
    drop(open(&path, &clock()));
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o444)).unwrap();
    let test = "file::a_file_that_cannot_be_written_is_refused_at_the_start";
    unprivileged::run_again(test, READ_ONLY, &path, folder.path());
}

const READ_ONLY: &str = "MRTR_TEST_READ_ONLY";
