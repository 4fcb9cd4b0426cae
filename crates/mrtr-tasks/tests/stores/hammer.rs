//! Many workers at once on one task, each on one of the stores that share it; and many tasks at once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use mrtr_schema::Revision;
use mrtr_state::{FlowId, ProcessRandom};
use mrtr_tasks::record::TransitionError;
use mrtr_tasks::store::{
    Answer, KeptQuestion, Limits, NewTask, Recorded, Run, StoreError, TaskStore, Trials, Turns, Wanted,
};
use mrtr_tasks::{End, Owner, TaskId, TaskRecord};
use tokio::sync::Barrier;

use crate::clock::NOON;

/// Workers on one task, each on one of the stores, which share their tasks.
pub(crate) async fn hammer(stores: &[Arc<dyn TaskStore>]) {
    for _ in 0..ROUNDS {
        let id = asking(&*stores[0]).await;
        let won = at_once(stores, move |store, worker| async move { contend(&*store, id, worker).await }).await;
        expect_each_once(&*stores[0], won.concat()).await;
        let ends = at_once(stores, move |store, worker| async move { end(&*store, id, worker).await }).await;
        let ends: Vec<_> = ends.into_iter().flatten().collect();
        assert_eq!(ends.len(), 1, "a task ends once: {ends:?}");
        let kept = stores[0].get(id, None).await.unwrap();
        assert_eq!(kept.record.ended.map(|(end, _)| end), Some(ends[0].0));
        assert_eq!(kept.result, ends[0].1, "and its result is that of the one that ended it");
    }
}

/// Refused verbs spoil nothing beside them.
pub(crate) async fn many_tasks(store: Arc<dyn TaskStore>) {
    let all = (0..200).map(|_| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            let tool = TaskId::random(&ProcessRandom::new()).to_string();
            let id = create(&*store, &tool).await;
            let wanted = Wanted {
                tools: vec![tool],
                lease: LEASE,
                most: 9,
                trials: Trials::Busy,
                running: Vec::new(),
                turns: Turns::default(),
            };
            let run = Run { id, fence: store.acquire(&wanted).await.unwrap().tasks[0].record.fence };
            let stale = store.record(Run { fence: 9, ..run }, recorded("stale", &["name"])).await;
            assert!(matches!(stale, Err(StoreError::Refused(TransitionError::Lost))), "{stale:?}");
            store.record(run, recorded("kept", &["name"])).await.unwrap();
            let used = store.record(run, recorded("used", &["name"])).await;
            assert!(matches!(used, Err(StoreError::KeyUsed(_))), "{used:?}");
            store.hand_over(run, Duration::ZERO).await.unwrap();
            assert_eq!(store.acquire(&wanted).await.unwrap().tasks[0].entries, [b"kept".to_vec()]);
        })
    });
    for task in all.collect::<Vec<_>>() {
        task.await.unwrap();
    }
}

/// A worker's success: a key that it answered, or a fence that it had.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Won {
    Key(String, Vec<u8>),
    Fence(u64, Vec<u8>),
}

/// Answers every key, and runs the task whenever it gets it.
async fn contend(store: &dyn TaskStore, id: TaskId, worker: usize) -> Vec<Won> {
    let mut won = Vec::new();
    for key in KEYS {
        let entry = format!("{key} by {worker}").into_bytes();
        let answers = vec![Answer { key: key.to_owned(), entry: entry.clone() }];
        let answered = store.answer(id, &owner(), answers).await.unwrap();
        won.extend(answered.into_iter().map(|key| Won::Key(key, entry.clone())));
        if let [task] = &store.acquire(&wanted()).await.unwrap().tasks[..] {
            let run = Run { id, fence: task.record.fence };
            let entry = format!("run {} by {worker}", run.fence).into_bytes();
            store.record(run, recorded(&String::from_utf8_lossy(&entry), &[])).await.unwrap();
            store.hand_over(run, Duration::ZERO).await.unwrap();
            won.push(Won::Fence(run.fence, entry));
        }
    }
    won
}

/// Checks that each key and each fence was won once, and that all that was acknowledged is kept once.
async fn expect_each_once(store: &dyn TaskStore, won: Vec<Won>) {
    let keys: Vec<_> = won.iter().filter_map(|won| if let Won::Key(key, _) = won { Some(key) } else { None }).collect();
    let fences: Vec<_> =
        won.iter().filter_map(|won| if let Won::Fence(at, _) = won { Some(at) } else { None }).collect();
    assert_eq!(keys.len(), KEYS.len(), "each key is answered once: {won:?}");
    assert_eq!(fences.iter().collect::<BTreeSet<_>>().len(), fences.len(), "each run has its own fence: {won:?}");
    let acquired = store.acquire(&wanted()).await.unwrap();
    let [task] = &acquired.tasks[..] else { panic!("it was handed over: {acquired:?}") };
    let mut expected: Vec<_> = won
        .into_iter()
        .map(|won| match won {
            Won::Key(_, entry) | Won::Fence(_, entry) => entry,
        })
        .collect();
    let mut entries = task.entries.clone();
    expected.sort_unstable();
    entries.sort_unstable();
    assert_eq!(entries, expected, "what was acknowledged is kept, once");
}

/// Cancels, or finishes under the fence that the task has. Returns how the task ended, if this call ended it.
async fn end(store: &dyn TaskStore, id: TaskId, worker: usize) -> Option<(End, Option<Vec<u8>>)> {
    let fence = store.get(id, None).await.unwrap().record.fence;
    let (ended, end, result) = if worker.is_multiple_of(2) {
        (store.cancel(id, Some(&owner())).await, End::Cancelled, None)
    } else {
        let result = format!("result of {worker}").into_bytes();
        (store.finish(Run { id, fence }, End::Failed, result.clone()).await, End::Failed, Some(result))
    };
    match ended {
        Ok(()) => Some((end, result)),
        Err(StoreError::Refused(TransitionError::Ended)) => None,
        Err(other) => panic!("{other:?}"),
    }
}

/// Lets all workers begin together.
async fn at_once<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    stores: &[Arc<dyn TaskStore>],
    work: impl Fn(Arc<dyn TaskStore>, usize) -> F + Copy + Send + 'static,
) -> Vec<T> {
    let together = Arc::new(Barrier::new(WORKERS));
    let workers = (0..WORKERS).map(|worker| {
        let (store, together) = (Arc::clone(&stores[worker % stores.len()]), Arc::clone(&together));
        tokio::spawn(async move {
            together.wait().await;
            work(store, worker).await
        })
    });
    let mut outputs = Vec::new();
    for worker in workers.collect::<Vec<_>>() {
        outputs.push(worker.await.unwrap());
    }
    outputs
}

/// A task that asks under all keys.
async fn asking(store: &dyn TaskStore) -> TaskId {
    let id = create(store, TOOL).await;
    let run = Run { id, fence: store.acquire(&wanted()).await.unwrap().tasks[0].record.fence };
    store.park(run, Recorded { entries: None, ..recorded("", &KEYS) }, None).await.unwrap();
    id
}

async fn create(store: &dyn TaskStore, tool: &str) -> TaskId {
    let id = TaskId::random(&ProcessRandom::new());
    let flow = FlowId::from_bytes(*id.as_bytes());
    let record = TaskRecord::new(id, owner(), flow, tool, Revision::V2026_07_28, NOON);
    store.create(NewTask { record, call: Vec::new(), entries: None }, Limits::NONE).await.unwrap();
    id
}

fn recorded(entry: &str, keys: &[&str]) -> Recorded {
    let opened = keys.iter().map(|&key| KeptQuestion { key: key.to_owned(), body: Vec::new() }).collect();
    Recorded { entries: Some(entry.into()), opened, ..Recorded::default() }
}

fn wanted() -> Wanted {
    Wanted {
        tools: vec![TOOL.to_owned()],
        lease: LEASE,
        most: 1,
        trials: Trials::Busy,
        running: Vec::new(),
        turns: Turns::default(),
    }
}

fn owner() -> Owner {
    Owner::from_kept("ann")
}

const TOOL: &str = "index";
const LEASE: Duration = Duration::from_secs(30);
const KEYS: [&str; 5] = ["name", "role", "age", "place", "time"];
const WORKERS: usize = 12;
const ROUNDS: usize = 5;
