//! A sweep of many tasks whose time is over, while others are created and run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use mrtr_schema::Revision;
use mrtr_state::{FlowId, ProcessRandom, Timestamp};
use mrtr_tasks::store::{Limits, NewTask, Run, TaskStore, Trials, Turns, Wanted};
use mrtr_tasks::{End, Owner, TaskId, TaskRecord};

/// Sweeps so many tasks, in batches. Beside each batch it creates, runs and ends a task of an owner whose tasks
/// expired, too.
pub(crate) async fn sweep_beside_others(store: Arc<dyn TaskStore>, number: usize) {
    let owners = ["ann", "bob", "carl", "dora"];
    for some in (0..number).collect::<Vec<_>>().chunks(64) {
        let ttl = Duration::from_millis(1);
        join_all(some.iter().map(|at| store.create(new_task(owners[at % 4], ttl), Limits::NONE))).await;
    }
    let (began, mut swept, mut batches, mut turn) = (Instant::now(), 0, 0, None);
    while swept < number {
        let batch = store.sweep(256).await.unwrap();
        assert!(batch.expired > 0 || batch.removed > 0, "{swept} of {number} are gone");
        (swept, batches) = (swept + batch.removed, batches + 1);
        let created = store.create(new_task("ann", Duration::from_hours(1)), Limits::NONE).await.unwrap().record.id;
        let mut looks = 0;
        let run = loop {
            let wanted = Wanted {
                tools: vec!["index".to_owned()],
                lease: Duration::from_secs(30),
                most: 1,
                trials: Trials::Busy,
                running: Vec::new(),
                turns: Turns::new(turn, 16, []),
            };
            let acquired = store.acquire(&wanted).await.unwrap();
            (looks, turn) = (looks + 1, acquired.turn);
            if let Some(task) = acquired.tasks.first() {
                break Run { id: task.record.id, fence: task.record.fence };
            }
            assert!(looks <= number / 16, "those that expired are in the way");
        };
        assert_eq!(run.id, created);
        store.finish(run, End::Completed { is_error: false }, Vec::new()).await.unwrap();
    }
    println!("{number} gone in {:?}, {batches} others ran meanwhile", began.elapsed());
    assert!(batches <= 3 * number / 256 + 3, "{batches} batches for {number}");
}

fn new_task(owner: &str, ttl: Duration) -> NewTask {
    let id = TaskId::random(&ProcessRandom::new());
    let flow = FlowId::from_bytes(*id.as_bytes());
    let (owner, noon) = (Owner::from_kept(owner), Timestamp::from_millis(0));
    let record = TaskRecord::new(id, owner, flow, "index", Revision::V2026_07_28, noon);
    NewTask { record: TaskRecord { ttl: Some(ttl), ..record }, call: b"call".to_vec(), entries: None }
}
