//! Creating tasks: once a flow, and no more than an owner may have.

use std::time::Duration;

use futures_util::future::join_all;
use mrtr_schema::Revision;

use super::trial::{MOST_OPEN, NOON, TOOL, Trial, ann, flow, new_task, owner, run_of, task_of};
use crate::store::{NewTask, StoreError};
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
    let again = trial.store.create(task_of(&ann(), flow, "other"), MOST_OPEN).await.expect("it is told");
    assert_eq!((again.record, again.is_new), (first.clone(), false), "the task that there is stands as it is");
    trial.store.cancel(first.id, None).await.expect("it has not ended");
    let again = trial.store.create(task_of(&ann(), flow, TOOL), MOST_OPEN).await.expect("it is told");
    let found = (again.record.id, again.is_new, again.record.ended);
    assert_eq!(found, (first.id, false, Some((End::Cancelled, NOON))), "a task that has ended is still the flow's");
}

pub(super) async fn of_twenty_creations_at_once_one_is_kept(here: &Trial, there: &Trial) {
    let flow = flow();
    let creations = (0..20).map(|number| {
        let trial = if number % 2 == 0 { here } else { there };
        async move { trial.store.create(task_of(&ann(), flow, TOOL), MOST_OPEN).await.expect("the owner has few tasks") }
    });
    let created = join_all(creations).await;
    assert_eq!(created.iter().filter(|created| created.is_new).count(), 1, "one of them is new");
    assert!(created.iter().all(|other| other.record.id == created[0].record.id), "all are told the same task");
}

pub(super) async fn an_owner_has_no_more_open_tasks_than_it_may(trial: &Trial) {
    let first = new_task(&ann());
    trial.store.create(first.clone(), 2).await.expect("it is the first");
    trial.store.create(new_task(&ann()), 2).await.expect("it is the second");
    let is_full =
        async |name, most| matches!(trial.store.create(new_task(&owner(name)), most).await, Err(StoreError::Full));
    assert!(is_full("ann", 2).await, "a third is refused");
    assert!(is_full("carl", 0).await, "where none is allowed, the first is refused");
    assert_eq!(trial.store.list(None, None, 9).await.expect("it lists").len(), 2, "what is refused is not kept");
    trial.store.create(new_task(&owner("bob")), 2).await.expect("another owner's tasks do not count");
    let again = NewTask { record: first.record.clone(), ..new_task(&ann()) };
    let again = trial.store.create(again, 2).await.expect("a task that there is can be told, however many there are");
    assert!(!again.is_new);
    let taken = trial.acquire(1).await.tasks.remove(0);
    let failed = trial.store.finish(run_of(&taken), End::Failed, Vec::new()).await;
    failed.expect("the run has the task");
    trial.store.create(new_task(&ann()), 2).await.expect("a task that has ended does not count");
    assert!(is_full("ann", 2).await, "a third is refused again");
}
