//! A database that an earlier version wrote is migrated, and its tasks and tokens go on.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

#[path = "../../mrtr-sqlite/tests/earlier/single_use.rs"]
mod earlier;
#[path = "../../mrtr-tasks/tests/tasks/support.rs"]
#[allow(dead_code, reason = "other tests of tasks need more of it")]
mod site;
#[path = "../../mrtr-sqlite/tests/earlier/tasks.rs"]
mod tasks;
#[path = "../../mrtr-state/tests/single_use/tokens.rs"]
#[allow(dead_code, reason = "other tests of single use need more of it")]
mod tokens;

use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use mrtr_postgres::testing::Cluster;
use mrtr_postgres::{PostgresOptions, PostgresStore};
use mrtr_schema::Revision;
use mrtr_server::testing::FixedClock;
use mrtr_state::{FlowId, Timestamp};
use mrtr_tasks::store::{Limits, NewTask, Run, StoreError, TASK_BYTES, Trials, Turns, Wanted};
use mrtr_tasks::{Account, End, Owner, TaskId, TaskRecord, TaskStore};

#[tokio::test]
async fn tasks_and_tokens_in_a_database_of_the_first_version_go_on() {
    let Some(cluster) = Cluster::shared() else { return };
    let address = cluster.fresh_database().unwrap();
    restore(cluster, &address, include_str!("earlier/database-1.sql"));
    let clock = FixedClock::default();
    clock.advance(Duration::from_hours(1));
    let store = connect(&address, clock).await;
    earlier::go_on(&*store, include_str!("earlier/database-1.txt")).await;
    tasks::go_on(store).await;
}

/// The version before writes and removes tasks while this one goes on: they have their turns, and no sum of what is
/// kept drifts by them.
#[tokio::test]
async fn an_instance_of_the_version_before_goes_on_beside_this_one() {
    let Some(cluster) = Cluster::shared() else { return };
    let address = cluster.fresh_database().unwrap();
    let store = connect(&address, FixedClock::default()).await;
    let created = store.create(new_task(1), Limits::NONE).await.unwrap().record;
    let now = created.created.as_millis();
    let (before, connection) = tokio_postgres::connect(&address, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    before.batch_execute(&ADD_OF_VERSION_2.replace("{now}", &now.to_string())).await.unwrap();
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
    before.batch_execute(REMOVE_OF_VERSION_2).await.unwrap();
    store.create(new_task(3), limits(TASK_BYTES)).await.expect("what it has removed does not count");
}

/// A task of an account that its owner does not give its name to: the version before counts its end for the owner.
#[tokio::test]
async fn a_task_that_the_version_before_ends_does_not_count_in_its_account() {
    let Some(cluster) = Cluster::shared() else { return };
    let address = cluster.fresh_database().unwrap();
    let store = connect(&address, FixedClock::default()).await;
    let (before, connection) = tokio_postgres::connect(&address, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let task = |number| {
        let task = new_task(number);
        NewTask { record: TaskRecord { account: Account::from_kept("an address"), ..task.record }, ..task }
    };
    let one = Limits { open: 1, ..Limits::NONE };
    store.create(task(1), one).await.unwrap();
    assert!(matches!(store.create(task(2), one).await, Err(StoreError::Full)));
    // It finds no count of the owner's to take it from.
    let end = "version = version + 1, ended_as = 'cancelled', ended = updated, due = NULL, attention = NULL, \
               expires = NULL, removable = updated";
    before.batch_execute(&format!("UPDATE mrtr.state SET {end}")).await.unwrap();
    store.create(task(2), one).await.expect("the first has ended");
    assert!(matches!(store.create(task(3), one).await, Err(StoreError::Full)), "the second has not");
    store.create(new_task(4), one).await.expect("the owner's own account has none");
    assert!(matches!(store.create(new_task(5), one).await, Err(StoreError::Full)));
}

/// The version before does not know when a task was set aside, and leaves the moment in the row.
#[tokio::test]
async fn a_task_that_the_version_before_wakes_or_takes_is_set_aside_no_more() {
    let Some(cluster) = Cluster::shared() else { return };
    let address = cluster.fresh_database().unwrap();
    let store = connect(&address, FixedClock::default()).await;
    let (before, connection) = tokio_postgres::connect(&address, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let id = store.create(new_task(1), Limits::NONE).await.unwrap().record.id;
    let set_aside = async || store.get(id, None).await.unwrap().record.set_aside.is_some();
    before.batch_execute("UPDATE mrtr.state SET set_aside = updated, due = NULL, attention = NULL").await.unwrap();
    assert!(set_aside().await);
    before.batch_execute("UPDATE mrtr.state SET due = updated, attention = updated").await.unwrap();
    assert!(!set_aside().await, "it is due");
    let lease = "due = NULL, leased_until = updated + 30000, attention = updated + 30000, fence = fence + 1";
    before.batch_execute(&format!("UPDATE mrtr.state SET {lease}")).await.unwrap();
    assert!(!set_aside().await, "it runs");
}

/// The version before counts no runs that are lost once a task was parked, and leaves it among those on trial.
#[tokio::test]
async fn a_task_that_the_version_before_has_parked_leaves_those_on_trial() {
    let Some(cluster) = Cluster::shared() else { return };
    let address = cluster.fresh_database().unwrap();
    let store = connect(&address, FixedClock::default()).await;
    let (before, connection) = tokio_postgres::connect(&address, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    store.create(new_task(1), Limits::NONE).await.unwrap();
    let parked = "lost_runs = 0, due = NULL, attention = NULL, trial = updated";
    before.batch_execute(&format!("UPDATE mrtr.state SET {parked}")).await.unwrap();
    assert_eq!(store.acquire(&wanted()).await.unwrap().tasks, []);
    let trial: Option<i64> = before.query_one("SELECT trial FROM mrtr.state", &[]).await.unwrap().get(0);
    assert_eq!(trial, None);
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

/// The statement by which that version creates a task, but for its values.
const ADD_OF_VERSION_2: &str = "
    WITH added AS (INSERT INTO mrtr.task (id, owner_key, owner, flow, tool, revision, created, poll_interval, retention)
            SELECT '02020202-0202-0202-0202-020202020202', owner_key, owner, '02020202-0202-0202-0202-020202020202', tool,
                revision, {now}, 1000, 0 FROM mrtr.task RETURNING place, owner_key),
        stated AS (INSERT INTO mrtr.state (place, version, stamp, shard, tool, updated, ttl, fence, due, run_again,
            progressed, lost_runs, open, last_entry, attention, expires)
            SELECT place, 0, 7, 3, 'index', {now}, NULL, 0, {now}, false, false, 0, '{}', 0, {now}, NULL FROM added),
        called AS (INSERT INTO mrtr.entry (task, number, bytes) SELECT place, 0, 'call' FROM added)
    INSERT INTO mrtr.open_count AS count (owner_key, shard, open) SELECT owner_key, 3, 1 FROM added
        ON CONFLICT (owner_key, shard) DO UPDATE SET open = count.open + 1";

/// The statement by which that version removes tasks, but for which.
const REMOVE_OF_VERSION_2: &str = "
    WITH old AS MATERIALIZED (SELECT place FROM mrtr.state),
        states AS (DELETE FROM mrtr.state WHERE place = ANY (ARRAY(SELECT place FROM old))),
        shown AS (DELETE FROM mrtr.shown WHERE task = ANY (ARRAY(SELECT place FROM old))),
        tasks AS (DELETE FROM mrtr.task WHERE place = ANY (ARRAY(SELECT place FROM old)) RETURNING owner_key),
        counts AS (DELETE FROM mrtr.open_count WHERE owner_key = ANY (ARRAY(SELECT owner_key FROM tasks)) AND open = 0)
    SELECT count(*) FROM old";

/// Not a test: leaves a dump of this version in the target folder, for later ones to read.
#[test]
#[ignore = "it makes what tests of later versions read"]
fn leave_a_database() {
    let cluster = Cluster::shared().unwrap();
    let address = cluster.fresh_database().unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    tasks::leave(async {
        let store = connect(&address, FixedClock::default()).await;
        std::fs::write(folder.join("database.txt"), earlier::leave(&*store).await).unwrap();
        let store: Arc<dyn TaskStore> = store;
        store
    });
    let dumped = cluster.program("pg_dump").args(["--inserts", "--no-owner", &address]).output().unwrap();
    assert!(dumped.status.success(), "{}", String::from_utf8_lossy(&dumped.stderr));
    std::fs::write(folder.join("database.sql"), dumped.stdout).unwrap();
}

async fn connect(address: &str, clock: FixedClock) -> Arc<PostgresStore> {
    let options = PostgresOptions::new(address).unwrap().clock(Arc::new(clock));
    Arc::new(options.connect().await.unwrap())
}

fn restore(cluster: &Cluster, address: &str, dump: &str) {
    let mut psql = cluster.program("psql");
    psql.args(["-q", "-v", "ON_ERROR_STOP=1", address]).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut psql = psql.spawn().unwrap();
    psql.stdin.take().unwrap().write_all(dump.as_bytes()).unwrap();
    assert!(psql.wait().unwrap().success());
}
