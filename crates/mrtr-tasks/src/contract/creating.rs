//! Creating tasks: once a flow, and no more than an owner may have.

use std::time::Duration;

use futures_util::future::join_all;
use mrtr_schema::Revision;

use super::trial::{
    NOON, TOOL, TTL, Trial, account, ann, anonymous_task, entry, flow, most_open, new_task, opening, owner, run_of,
    task_of,
};
use crate::store::{EXPIRED_PASSED_OVER, Limits, NewTask, Recorded, StoreError, TASK_BYTES, UNCOUNTED_BYTES};
use crate::{End, TaskRecord};

pub(super) async fn a_task_is_kept_as_it_was_given_and_stamped_with_the_time_of_the_store(trial: &Trial) {
    let task = task_of(&ann(), flow(), TOOL);
    let given = TaskRecord {
        revision: Revision::Sep2322,
        poll_interval: Duration::from_millis(2_500),
        retention: Duration::from_secs(90),
        ..task.record
    };
    let task = NewTask { record: given.clone(), entries: Some(b"known".to_vec()), ..task };
    let expected = TaskRecord { created: NOON, updated: NOON, due: Some(NOON), ..given };
    assert_eq!(trial.create(task.clone()).await, expected, "a new task is told as it is kept");
    let kept = trial.get(expected.id).await;
    assert_eq!(kept.record, expected, "each member of a record comes back");
    assert_eq!((kept.now, kept.open, kept.message, kept.result), (NOON, Vec::new(), None, None));
    let taken = trial.take().await;
    let held = (taken.call, taken.entries, taken.open, taken.used);
    assert_eq!(held, (task.call, vec![b"known".to_vec()], Vec::new(), Vec::new()), "a run gets what the task holds");
}

pub(super) async fn an_owner_has_one_task_for_a_flow(trial: &Trial) {
    let flow = flow();
    let first = trial.create(task_of(&ann(), flow, TOOL)).await;
    let other = trial.create(task_of(&owner("bob"), flow, TOOL)).await;
    assert_ne!(first.id, other.id, "a flow of another owner is another flow");
    let again = trial.store.create(task_of(&ann(), flow, "other"), Limits::NONE).await.expect("it is told");
    assert_eq!((again.record, again.is_new), (first.clone(), false), "the task that there is stands as it is");
    trial.store.cancel(first.id, None).await.expect("it has not ended");
    let again = trial.store.create(task_of(&ann(), flow, TOOL), Limits::NONE).await.expect("it is told");
    let found = (again.record.id, again.is_new, again.record.ended);
    assert_eq!(found, (first.id, false, Some((End::Cancelled, NOON))), "a task that has ended is still the flow's");
}

pub(super) async fn of_twenty_creations_at_once_one_is_kept(here: &Trial, there: &Trial) {
    let flow = flow();
    let creations =
        (0..20).map(|number| {
            let trial = if number % 2 == 0 { here } else { there };
            async move {
                trial.store.create(task_of(&ann(), flow, TOOL), Limits::NONE).await.expect("the owner has few tasks")
            }
        });
    let created = join_all(creations).await;
    assert_eq!(created.iter().filter(|created| created.is_new).count(), 1, "one of them is new");
    assert!(created.iter().all(|other| other.record.id == created[0].record.id), "all are told the same task");
}

pub(super) async fn an_owner_has_no_more_open_tasks_than_it_may(trial: &Trial) {
    let first = new_task(&ann());
    trial.store.create(first.clone(), most_open(2)).await.expect("it is the first");
    trial.store.create(new_task(&ann()), most_open(2)).await.expect("it is the second");
    let is_full = async |name, most| {
        matches!(trial.store.create(new_task(&owner(name)), most_open(most)).await, Err(StoreError::Full))
    };
    assert!(is_full("ann", 2).await, "a third is refused");
    assert!(is_full("carl", 0).await, "where none is allowed, the first is refused");
    assert_eq!(trial.store.list(None, None, 9).await.expect("it lists").len(), 2, "what is refused is not kept");
    trial.store.create(new_task(&owner("bob")), most_open(2)).await.expect("another owner's tasks do not count");
    let again = NewTask { record: first.record.clone(), ..new_task(&ann()) };
    let again = trial
        .store
        .create(again, most_open(2))
        .await
        .expect("a task that there is can be told, however many there are");
    assert!(!again.is_new);
    let taken = trial.acquire(1).await.tasks.remove(0);
    let failed = trial.store.finish(run_of(&taken), End::Failed, Vec::new()).await;
    failed.expect("the run has the task");
    trial.store.create(new_task(&ann()), most_open(2)).await.expect("a task that has ended does not count");
    assert!(is_full("ann", 2).await, "a third is refused again");
}

pub(super) async fn a_task_whose_time_is_over_is_not_open_though_none_has_noticed(trial: &Trial) {
    for _ in 0..3 {
        trial.store.create(new_task(&ann()), most_open(3)).await.expect("they are few");
    }
    let full = trial.store.create(new_task(&ann()), most_open(3)).await;
    assert!(matches!(full, Err(StoreError::Full)), "a fourth is refused");
    trial.clock.pass(TTL);
    for _ in 0..3 {
        trial.store.create(new_task(&ann()), most_open(3)).await.expect("those whose time is over are not open");
    }
    let full = trial.store.create(new_task(&ann()), most_open(3)).await;
    assert!(matches!(full, Err(StoreError::Full)), "a fourth is refused again");
    for _ in 0..2 * EXPIRED_PASSED_OVER {
        trial.create(new_task(&ann())).await;
    }
    trial.clock.pass(TTL);
    trial.store.create(new_task(&ann()), most_open(1)).await.expect("however many there are");
    let full = trial.store.create(new_task(&ann()), most_open(1)).await;
    assert!(matches!(full, Err(StoreError::Full)), "a second is refused");
}

/// Callers that share an owner, and that the transport tells apart, do not use up each other's limits. Each of them
/// finds the task by its flow or its id.
pub(super) async fn accounts_of_one_owner_count_apart(trial: &Trial) {
    let create = async |address: &str, limits| trial.store.create(anonymous_task(address), limits).await;
    let first = create("192.0.2.1", most_open(1)).await.expect("it is the first").record;
    assert_eq!(first.account, account("192.0.2.1"));
    assert_eq!(trial.store.get(first.id, Some(&first.owner)).await.expect("it is kept").record, first);
    let is_full = async |address: &str| matches!(create(address, most_open(1)).await, Err(StoreError::Full));
    assert!(is_full("192.0.2.1").await, "a second is refused");
    let other = create("192.0.2.2", most_open(1)).await.expect("another address has its own").record;
    let moved =
        NewTask { record: TaskRecord { account: other.account, ..first.clone() }, ..anonymous_task("192.0.2.2") };
    let again = trial.store.create(moved, most_open(1)).await.expect("it is told");
    assert_eq!((again.record.id, again.is_new), (first.id, false), "the flow keeps its task from another address");
    let limits = Limits { bytes: TASK_BYTES + 200, ..Limits::NONE };
    let heavy = create("192.0.2.1", limits).await;
    assert!(matches!(heavy, Err(StoreError::OwnerBytes)), "bytes count by address");
    create("192.0.2.3", limits).await.expect("another address has its own");
    trial.store.cancel(first.id, Some(&first.owner)).await.expect("its owner ends it");
    create("192.0.2.1", most_open(1)).await.expect("a task that has ended does not count");
    assert!(is_full("192.0.2.1").await, "a second is refused again");
    assert!(is_full("192.0.2.2").await, "the end of one address's task makes no room for another");
    trial.clock.pass(TTL);
    create("192.0.2.2", most_open(1)).await.expect("one whose time is over is not open");
    trial.clock.pass(TTL * 2);
    while trial.store.sweep(9).await.expect("it sweeps").removed > 0 {}
    create("192.0.2.1", Limits { bytes: TASK_BYTES + 200, open: 1, ..Limits::NONE }).await.expect("nothing is left");
}

/// The store counts what each verb adds and erases, for an owner and for all.
pub(super) async fn an_owner_and_a_store_keep_no_more_bytes_than_they_may(trial: &Trial) {
    let create = async |name: &str, call: usize, bytes: u64, store_bytes: u64| {
        let task = NewTask { call: vec![0; call], entries: Some(vec![0; 100]), ..new_task(&owner(name)) };
        trial.store.create(task, Limits { bytes, store_bytes, ..Limits::NONE }).await
    };
    // This creates no task, so the test can ask as often as it likes.
    let keeps_at_least = async |bytes: u64| {
        let limit = bytes + TASK_BYTES + 99;
        let hers = matches!(create("ann", 0, limit, u64::MAX).await, Err(StoreError::OwnerBytes));
        assert!(hers, "ann keeps {bytes} bytes");
        let all = matches!(create("bob", 0, u64::MAX, limit).await, Err(StoreError::StoreBytes));
        assert!(all, "all keep {bytes} bytes");
    };
    let (first, fits) = (TASK_BYTES + 1100, async |bytes| create("ann", 1000, bytes, bytes).await);
    let id = fits(first).await.expect("it just fits").record.id;
    keeps_at_least(first).await;
    let run = run_of(&trial.take().await);
    let large = || "0123456789".repeat(10_000);
    trial.store.record(run, Recorded { opened: opening(&["name"]).opened, ..entry(&large()) }).await.expect("it runs");
    keeps_at_least(first + 100_005 - UNCOUNTED_BYTES).await;
    trial.answer(id, &[("name", &large())]).await;
    keeps_at_least(first + 200_005 - UNCOUNTED_BYTES).await;
    trial.store.compact(run, 3, vec![0; 100]).await.expect("the run has the task");
    trial.store.finish(run, End::Failed, vec![0; 5000]).await.expect("a result is kept whatever it takes");
    keeps_at_least(TASK_BYTES + 5000).await;
    let second = fits(TASK_BYTES + 5000 + first).await.expect("what a task held is erased with its end").record.id;
    trial.store.cancel(second, None).await.expect("it has not ended");
    keeps_at_least(2 * TASK_BYTES + 5000).await;
    let third = fits(2 * TASK_BYTES + 5000 + first).await.expect("it just fits").record.id;
    let run = run_of(&trial.take().await);
    trial.store.record(run, entry(&large())).await.expect("the run has the task");
    trial.store.compact(run, 2, vec![0; 100]).await.expect("the run has the task");
    trial.clock.pass(TTL * 2);
    while trial.store.sweep(9).await.expect("it sweeps").removed > 0 {}
    assert!(trial.store.get(third, None).await.is_err(), "its time is over");
    fits(first).await.expect("what was removed does not count");
}
