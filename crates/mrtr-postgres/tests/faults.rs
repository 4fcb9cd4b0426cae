//! Faults of a database, on a real server: connections cut, restarts, no room, the wrong server or schema.
#![allow(clippy::unwrap_used, reason = "helpers of tests: a panic is the report")]

#[path = "faults/interrupted.rs"]
mod interrupted;
#[path = "../../mrtr-tasks/tests/tasks/support.rs"]
#[allow(dead_code, reason = "other tests of tasks need more of it")]
mod site;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use mrtr_postgres::testing::Cluster;
use mrtr_postgres::{ConnectError, PostgresOptions, PostgresStore, migrations};
use mrtr_schema::Revision;
use mrtr_state::{FlowId, ProcessRandom};
use mrtr_tasks::record::TransitionError;
use mrtr_tasks::store::{
    Answer, Changed, KeptQuestion, Limits, NewTask, Recorded, Run, StoreError, Trials, Turns, Wanted,
};
use mrtr_tasks::{End, Owner, TaskId, TaskRecord, TaskStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_postgres::{Client, NoTls};

/// Each verb is either carried out once and acknowledged, or the caller is told that it is not known.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn backends_that_are_terminated_in_the_middle_of_verbs_lose_nothing_and_repeat_nothing() {
    let Some(cluster) = Cluster::shared() else { return };
    let address = cluster.fresh_database().unwrap();
    let store = Arc::new(connect(&address).await);
    let killer = keep_killing(&address, "pid <> pg_backend_pid()", Duration::from_millis(15)).await;
    let unknown = Arc::new(AtomicUsize::new(0));
    let workers: Vec<_> = (0..8)
        .map(|_| {
            let (store, unknown) = (Arc::clone(&store), Arc::clone(&unknown));
            tokio::spawn(async move {
                for _ in 0..25 {
                    live(&store, &unknown).await;
                }
            })
        })
        .collect();
    for worker in workers {
        within_minutes(worker).await.unwrap();
    }
    killer.stop().await;
    let unknown = unknown.load(Ordering::Relaxed);
    assert!(unknown < 40, "a verb's fate is mostly known: {unknown} of some thousand were not");
}

/// Each connection is cut when the database has committed and its answer is on the way.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_connection_that_is_lost_after_the_commit_repeats_nothing() {
    let Some(cluster) = Cluster::shared() else { return };
    let address = cluster.fresh_database().unwrap();
    drop(connect(&address).await);
    let proxy = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let through = address.replace(&cluster.port().to_string(), &proxy.local_addr().unwrap().port().to_string());
    let (port, cuts) = (cluster.port(), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&cuts);
    tokio::spawn(async move {
        while let Ok((client, _)) = proxy.accept().await {
            let (server, cuts) = (TcpStream::connect(("127.0.0.1", port)).await.unwrap(), Arc::clone(&counted));
            tokio::spawn(async move { Box::pin(cut_after_commit(client, server, &cuts)).await });
        }
    });
    let options = PostgresOptions::new(&through).unwrap().connections(4).listener(&address).unwrap();
    let (store, unknown) = (options.connect().await.unwrap(), AtomicUsize::new(0));
    for _ in 0..20 {
        within_minutes(live(&store, &unknown)).await;
    }
    let (cuts, unknown) = (cuts.load(Ordering::Relaxed), unknown.load(Ordering::Relaxed));
    assert!(cuts > 10 && unknown == 0, "{unknown} of {cuts} were not known");
}

/// Hands on what each says, until the server has answered the twenty-third request: that answer is lost.
async fn cut_after_commit(mut client: TcpStream, mut server: TcpStream, cuts: &AtomicUsize) {
    let (mut from_client, mut from_server) = ([0; 16 * 1024], [0; 16 * 1024]);
    let mut requests = 0;
    loop {
        tokio::select! {
            read = client.read(&mut from_client) => match read {
                Ok(length) if length > 0 => {
                    requests += 1;
                    server.write_all(&from_client[..length]).await.unwrap();
                }
                _ => return,
            },
            read = server.read(&mut from_server) => match read {
                Ok(length) if length > 0 => {
                    // Ready for the next, and in no transaction.
                    if requests >= 23 && from_server[..length].ends_with(b"Z\0\0\0\x05I") {
                        cuts.fetch_add(1, Ordering::Relaxed);
                        return;
                    }
                    if client.write_all(&from_server[..length]).await.is_err() {
                        return;
                    }
                }
                _ => return,
            },
        }
    }
}

/// The whole life of a task. What was acknowledged is there, once.
async fn live(store: &PostgresStore, unknown: &AtomicUsize) {
    let not_known = |error: &StoreError| {
        assert!(matches!(error, StoreError::Store(_) | StoreError::Busy(_)), "{error:?}");
        unknown.fetch_add(1, Ordering::Relaxed);
    };
    let tool = TaskId::random(&ProcessRandom::new()).to_string();
    let task = new_task(&tool);
    let id = task.record.id;
    let created = match store.create(task, Limits::NONE).await {
        Ok(created) => created,
        Err(error) => return not_known(&error),
    };
    assert!(created.is_new, "nothing else creates it");
    let run = match store.acquire(&wanted(&tool)).await {
        // It was taken on a connection that was lost, and not given back yet.
        Ok(acquired) if acquired.tasks.is_empty() => return not_known(&StoreError::Busy("lost".into())),
        Ok(acquired) => Run { id, fence: acquired.tasks[0].record.fence },
        Err(error) => return not_known(&error),
    };
    for number in 0..5 {
        let key = format!("key {number}");
        let question = KeptQuestion { key: key.clone(), body: b"?".to_vec() };
        let recorded = Recorded {
            entries: Some(format!("step {number}").into_bytes()),
            opened: vec![question],
            progressed: true,
            ..Recorded::default()
        };
        if let Err(error) = store.record(run, recorded).await {
            return not_known(&error);
        }
        let answer = Answer { key: key.clone(), entry: format!("answer {number}").into_bytes() };
        match store.answer(id, &owner(), vec![answer]).await {
            Ok(answered) => assert_eq!(answered, [key], "it is the first answer, whatever became of the connection"),
            Err(error) => return not_known(&error),
        }
    }
    if let Err(error) = store.hand_over(run, Duration::ZERO).await {
        return not_known(&error);
    }
    let task = match store.acquire(&wanted(&tool)).await {
        Ok(acquired) if acquired.tasks.is_empty() => return not_known(&StoreError::Busy("lost".into())),
        Ok(mut acquired) => acquired.tasks.remove(0),
        Err(error) => return not_known(&error),
    };
    let expected: Vec<_> = (0..5)
        .flat_map(|number| [format!("step {number}"), format!("answer {number}")].map(String::into_bytes))
        .collect();
    assert_eq!(task.entries, expected, "each entry is there, once");
    let run = Run { id, fence: task.record.fence };
    match store.finish(run, End::Completed { is_error: false }, b"done".to_vec()).await {
        Ok(()) => assert_eq!(store.get(id, None).await.unwrap().result.as_deref(), Some(&b"done"[..])),
        Err(error) => not_known(&error),
    }
}

/// All that was acknowledged before a crash is there after it; and the store goes on by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_crashes_and_comes_back_has_all_that_was_acknowledged() {
    // With the disk waited for, as it is by default.
    let Some(cluster) = Cluster::start(&[]) else { return };
    let cluster = Arc::new(cluster);
    let store = Arc::new(connect(&cluster.fresh_database().unwrap()).await);
    let stops = Arc::new(AtomicBool::new(false));
    let writer = {
        let (store, stops) = (Arc::clone(&store), Arc::clone(&stops));
        tokio::spawn(async move {
            let (mut acknowledged, mut tried) = (Vec::new(), 0);
            while !stops.load(Ordering::Relaxed) {
                tried += 1;
                if let Ok(created) = store.create(new_task("index"), Limits::NONE).await {
                    assert!(created.is_new);
                    acknowledged.push(created.record.id);
                }
            }
            (acknowledged, tried)
        })
    };
    let since = store.cursor().await.unwrap();
    let hearing = {
        let store = Arc::clone(&store);
        tokio::spawn(async move { while store.changed(since).await.unwrap().changed != Changed::Many {} })
    };
    let restarted = Arc::clone(&cluster);
    tokio::task::spawn_blocking(move || restarted.restart()).await.unwrap().unwrap();
    within_minutes(hearing).await.unwrap();
    // It writes again.
    let last = store.list(None, None, 1_000_000).await.unwrap().len();
    within_minutes(async {
        while store.list(None, None, 1_000_000).await.unwrap().len() <= last {
            tokio::task::yield_now().await;
        }
    })
    .await;
    stops.store(true, Ordering::Relaxed);
    let (acknowledged, tried) = within_minutes(writer).await.unwrap();
    for id in &acknowledged {
        store.get(*id, None).await.unwrap();
    }
    assert!(store.list(None, None, 1_000_000).await.unwrap().len() <= tried, "none is there twice");
}

#[tokio::test]
async fn a_store_whose_connections_are_all_in_use_says_so_in_time() {
    let Some(cluster) = Cluster::shared() else { return };
    let address = cluster.fresh_database().unwrap();
    let wait = Duration::from_millis(100);
    let options = PostgresOptions::new(&address).unwrap().connections(1).wait_for_connection(wait);
    let store = Arc::new(options.connect().await.unwrap());
    let id = store.create(new_task("index"), Limits::NONE).await.unwrap().record.id;
    // A row that another transaction has keeps the one connection waiting.
    let other = client(&address).await;
    other.batch_execute("BEGIN; SELECT * FROM mrtr.state FOR UPDATE").await.unwrap();
    let waiting = {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.wake(id).await })
    };
    within_minutes(async {
        let blocked =
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
        while client(&address).await.query_one(blocked, &[]).await.unwrap().get::<_, i64>(0) == 0 {}
    })
    .await;
    let busy = store.get(id, None).await;
    assert!(matches!(busy, Err(StoreError::Busy(_))), "{busy:?}");
    other.batch_execute("ROLLBACK").await.unwrap();
    within_minutes(waiting).await.unwrap().unwrap();
    store.get(id, None).await.unwrap();
}

/// Without the listener a change is seen by polling; with it again, by hearing.
#[tokio::test]
async fn a_listener_that_was_cut_is_replaced_and_nothing_is_missed() {
    let Some(cluster) = Cluster::shared() else { return };
    let address = cluster.fresh_database().unwrap();
    let seldom = Duration::from_hours(1);
    let here = PostgresOptions::new(&address).unwrap().poll(seldom).connect().await.unwrap();
    let there = connect(&address).await;
    let admin = client(&address).await;
    for _ in 0..3 {
        let since = here.cursor().await.unwrap();
        let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                   WHERE query = 'LISTEN mrtr_changed' AND datname = current_database()";
        assert!(admin.query_one(cut, &[]).await.unwrap().get::<_, i64>(0) >= 1);
        let id = there.create(new_task("index"), Limits::NONE).await.unwrap().record.id;
        let changes = within_minutes(here.changed(since)).await.unwrap();
        let is_told = matches!(&changes.changed, Changed::Many)
            || matches!(&changes.changed, Changed::These(ids) if ids.contains(&id));
        assert!(is_told, "{changes:?}");
        within_minutes(async {
            let listening = "SELECT count(*) FROM pg_stat_activity \
                             WHERE query = 'LISTEN mrtr_changed' AND datname = current_database()";
            while admin.query_one(listening, &[]).await.unwrap().get::<_, i64>(0) < 2 {}
        })
        .await;
    }
}

#[tokio::test]
async fn renewals_keep_their_connection_and_make_another_when_it_was_cut() {
    let Some(cluster) = Cluster::shared() else { return };
    let address = cluster.fresh_database().unwrap();
    let (store, admin) = (connect(&address).await, client(&address).await);
    store.create(new_task("index"), Limits::NONE).await.unwrap();
    let task = store.acquire(&wanted("index")).await.unwrap().tasks.remove(0).record;
    let mut keeper = store.lease_keeper();
    let mut renew = || {
        let runs = [Run { id: task.id, fence: task.fence }];
        let renewed = std::thread::scope(|scope| scope.spawn(|| keeper.renew(&runs, Duration::from_secs(30))).join());
        assert!(matches!(renewed.as_deref(), Ok([Ok(())])), "{renewed:?}");
    };
    let renewing = "FROM pg_stat_activity WHERE query LIKE '%WITH ORDINALITY AS run (id, fence, number)%' \
                    AND pid <> pg_backend_pid() AND datname = current_database()";
    let (look, cut) =
        (format!("SELECT pid {renewing}"), format!("SELECT count(pg_terminate_backend(pid, 60000)) {renewing}"));
    for _ in 0..2 {
        renew();
        let first: i32 = admin.query_one(&look, &[]).await.unwrap().get(0);
        for _ in 0..3 {
            renew();
        }
        let last: Vec<i32> = admin.query(&look, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
        assert_eq!(last, [first], "one connection for all");
        assert_eq!(admin.query_one(&cut, &[]).await.unwrap().get::<_, i64>(0), 1);
    }
    renew();
}

/// A transaction that commits late has lower numbers than others that were seen before.
#[tokio::test]
async fn a_change_that_commits_out_of_order_is_told() {
    let Some(cluster) = Cluster::shared() else { return };
    let address = cluster.fresh_database().unwrap();
    let store = connect(&address).await;
    let (early, late) = (TaskId::from_bytes([1; 16]), TaskId::from_bytes([2; 16]));
    let slow = client(&address).await;
    slow.batch_execute(&format!("BEGIN; INSERT INTO mrtr.change (task) VALUES ('{late}')")).await.unwrap();
    let quick = client(&address).await;
    let mut since = store.cursor().await.unwrap();
    for (writer, statement, id) in [
        (&quick, format!("INSERT INTO mrtr.change (task) VALUES ('{early}')"), early),
        (&slow, "COMMIT".to_owned(), late),
    ] {
        writer.batch_execute(&statement).await.unwrap();
        let changes = within_minutes(store.changed(since)).await.unwrap();
        assert_eq!(changes.changed, Changed::These(vec![id]));
        since = changes.until;
        assert_eq!(store.cursor().await.unwrap(), since, "each is told once");
    }
}

#[tokio::test]
async fn an_instance_that_stops_while_it_claims_keeps_no_task_from_others() {
    let Some(cluster) = Cluster::shared() else { return };
    let address = cluster.fresh_database().unwrap();
    let store = connect(&address).await;
    let id = store.create(new_task("index"), Limits::NONE).await.unwrap().record.id;
    // As far as the first trip of claiming goes.
    let stopped = client(&address).await;
    stopped
        .batch_execute(
            "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '2s'; \
                           SELECT * FROM mrtr.state FOR UPDATE",
        )
        .await
        .unwrap();
    assert!(store.acquire(&wanted("index")).await.unwrap().tasks.is_empty(), "it is left out, and not waited for");
    within_minutes(store.wake(id)).await.unwrap();
    assert_eq!(store.acquire(&wanted("index")).await.unwrap().tasks.len(), 1);
    // The one that was dropped half way is not left in the middle of a transaction.
    let dropped = tokio::time::timeout(Duration::ZERO, store.acquire(&wanted("index"))).await;
    drop(dropped);
    store.create(new_task("other"), Limits::NONE).await.unwrap();
    assert_eq!(store.acquire(&wanted("other")).await.unwrap().tasks.len(), 1);
}

/// Without a pause a runner would ask again and again, hundreds of times a second.
#[tokio::test]
async fn a_row_that_another_session_has_locked_is_not_said_to_be_due_at_once() {
    let Some(cluster) = Cluster::shared() else { return };
    let address = cluster.fresh_database().unwrap();
    let (store, other) = (connect(&address).await, client(&address).await);
    store.create(new_task("index"), Limits::NONE).await.unwrap();
    other.batch_execute("BEGIN; SELECT * FROM mrtr.state FOR UPDATE").await.unwrap();
    let locked = store.acquire(&wanted("index")).await.unwrap();
    assert_eq!(locked.tasks, []);
    assert!(locked.next.unwrap() >= Duration::from_millis(100), "{:?}", locked.next);
    other.batch_execute("COMMIT").await.unwrap();
    assert_eq!(store.acquire(&wanted("index")).await.unwrap().tasks.len(), 1);
}

#[tokio::test]
async fn the_clock_of_the_database_decides() {
    let Some(cluster) = Cluster::shared() else { return };
    let address = cluster.fresh_database().unwrap();
    let store = connect(&address).await;
    let before = store.now().await.unwrap();
    // Whatever the instance thinks that the time is.
    let created = store.create(new_task("index"), Limits::NONE).await.unwrap().record;
    assert!(created.created >= before && created.created <= store.now().await.unwrap());
    let lease = Duration::from_secs(30);
    let taken = store.acquire(&wanted("index")).await.unwrap();
    let until = taken.tasks[0].record.leased_until.unwrap();
    let now = store.now().await.unwrap();
    assert!(until <= now + lease && until.since(now) > lease / 2);
    assert!(taken.next.unwrap() <= lease, "it says when the lease ends");
    let stale = store.wake(TaskId::from_bytes([9; 16])).await;
    assert!(matches!(stale, Err(StoreError::NotFound)));
    let run = Run { id: created.id, fence: 9 };
    let lost = store.renew(run, lease, None).await;
    assert!(matches!(lost, Err(StoreError::Refused(TransitionError::Lost))), "{lost:?}");
}

#[tokio::test]
async fn a_database_that_takes_no_writes_is_refused() {
    let Some(cluster) = Cluster::shared() else { return };
    let address = cluster.fresh_database().unwrap();
    drop(connect(&address).await);
    let database = address.rsplit('/').next().unwrap();
    let setting = format!("ALTER DATABASE {database} SET default_transaction_read_only = on");
    client(&address).await.batch_execute(&setting).await.unwrap();
    let refused = PostgresStore::connect(&address).await;
    assert!(matches!(refused, Err(ConnectError::ReadOnly)), "{refused:?}");
}

#[tokio::test]
async fn a_schema_that_is_too_old_or_too_new_is_refused_in_clear_words() {
    let Some(cluster) = Cluster::shared() else { return };
    let address = cluster.fresh_database().unwrap();
    let options = || PostgresOptions::new(&address).unwrap();
    let old = options().migrate_at_start(false).connect().await.unwrap_err();
    assert!(matches!(old, ConnectError::OlderSchema { found: 0, .. }), "{old:?}");
    assert!(old.to_string().contains("mrtr postgres migrate"), "{old}");
    // As the operator does it, twice.
    let admin = client(&address).await;
    for _ in 0..2 {
        admin.batch_execute(&migrations::sql(&mrtr_postgres::Schema::default())).await.unwrap();
    }
    drop(options().migrate_at_start(false).connect().await.unwrap());
    admin.batch_execute("INSERT INTO mrtr.migration (number) VALUES (99)").await.unwrap();
    let new = options().connect().await.unwrap_err();
    assert_eq!(
        new.to_string(),
        format!("the schema `mrtr` has version 99; this program knows versions up to {}", migrations::NEWEST)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_that_start_at_once_one_migrates_and_all_can_begin() {
    let Some(cluster) = Cluster::shared() else { return };
    let address = cluster.fresh_database().unwrap();
    let starts: Vec<_> = (0..8)
        .map(|_| {
            let address = address.clone();
            tokio::spawn(async move { PostgresOptions::new(&address).unwrap().connections(2).connect().await })
        })
        .collect();
    for start in starts {
        start.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_as_such() {
    let options = PostgresOptions::new("postgres://mrtr@127.0.0.1:1/mrtr").unwrap();
    let refused = options.connect().await;
    assert!(matches!(refused, Err(ConnectError::Unreachable(_))), "{refused:?}");
}

/// Terminates backends, one kind of them, until it is stopped.
struct Killer {
    stops: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

async fn keep_killing(address: &str, which: &str, pause: Duration) -> Killer {
    let (admin, stops) = (client(address).await, Arc::new(AtomicBool::new(false)));
    let kill = format!(
        "SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity WHERE {which} \
         AND datname = current_database() ORDER BY random() LIMIT 1) AS one"
    );
    let stop = Arc::clone(&stops);
    let task = tokio::spawn(async move {
        while !stop.load(Ordering::Relaxed) {
            admin.batch_execute(&kill).await.unwrap();
            tokio::time::sleep(pause).await;
        }
    });
    Killer { stops, task }
}

impl Killer {
    async fn stop(self) {
        self.stops.store(true, Ordering::Relaxed);
        self.task.await.unwrap();
    }
}

async fn connect(address: &str) -> PostgresStore {
    PostgresStore::connect(address).await.unwrap()
}

async fn client(address: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(address, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Turns a hang into a failure.
async fn within_minutes<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(2), future).await.expect("it goes on")
}

fn new_task(tool: &str) -> NewTask {
    let id = TaskId::random(&ProcessRandom::new());
    let now = mrtr_state::Timestamp::from_millis(7);
    let record = TaskRecord::new(id, owner(), FlowId::from_bytes(*id.as_bytes()), tool, Revision::V2026_07_28, now);
    NewTask { record, call: b"call".to_vec(), entries: None }
}

fn wanted(tool: &str) -> Wanted {
    Wanted {
        tools: vec![tool.to_owned()],
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
