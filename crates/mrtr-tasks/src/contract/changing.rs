//! Hearing of changes.

use std::time::Duration;

use futures_util::future::join;
use mrtr_state::Timestamp;

use super::trial::{LEASE, NOON, TTL, Trial, ann, answer, new_task, opening, run_of};
use crate::TaskId;
use crate::store::{Changed, Changes, Cursor, NewTask, Recorded};
use crate::{End, TaskRecord};

pub(super) async fn every_change_after_a_cursor_is_told(trial: &Trial) {
    let bystander = trial.create(new_task(&ann())).await.id;
    let taken = trial.take().await;
    let mut since = cursor(trial).await;
    let task = new_task(&ann());
    let record = TaskRecord { retention: TTL, ..task.record };
    let id = trial.create(NewTask { record, ..task }).await.id;
    since = expect_told(trial, since, id, "create").await;
    let run = run_of(&trial.take().await);
    since = expect_told(trial, since, id, "acquire").await;
    trial.store.record(run, opening(&["name"])).await.expect("the run has the task");
    since = expect_told(trial, since, id, "record").await;
    trial.store.renew(run, LEASE, Some(b"half way".to_vec())).await.expect("the run has the task");
    since = expect_told(trial, since, id, "renew with a message").await;
    trial.store.park(run, Recorded::default(), None).await.expect("the run has the task");
    since = expect_told(trial, since, id, "park").await;
    trial.store.answer(id, &ann(), vec![answer("name", "Ann")]).await.expect("it has not ended");
    since = expect_told(trial, since, id, "answer").await;
    let run = run_of(&trial.take().await);
    trial.store.hand_over(run, Duration::ZERO).await.expect("the run has the task");
    since = expect_told(trial, since, id, "hand_over").await;
    trial.store.wake(id).await.expect("it has not ended");
    since = expect_told(trial, since, id, "wake").await;
    trial.store.retry(id).await.expect("it has not ended");
    since = expect_told(trial, since, id, "retry").await;
    trial.store.cancel(id, None).await.expect("it has not ended");
    since = expect_told(trial, since, id, "cancel").await;
    trial.store.finish(run_of(&taken), End::Failed, Vec::new()).await.expect("the run has the task");
    since = expect_told(trial, since, bystander, "finish").await;

    let expiring = trial.create(new_task(&ann())).await.id;
    trial.clock.set(NOON + TTL);
    // By then the sweep has removed it as well, and the store tells of it all the same.
    assert_eq!(trial.store.sweep(9).await.expect("it sweeps").expired, 1);
    expect_told(trial, since, expiring, "sweep").await;
}

pub(super) async fn waiting_ends_with_a_change(trial: &Trial) {
    waiting_here_ends_with_a_change_elsewhere(trial, trial).await;
}

pub(super) async fn waiting_here_ends_with_a_change_elsewhere(here: &Trial, there: &Trial) {
    for _ in 0..5 {
        let id = there.asking(&["name"]).await;
        let since = cursor(here).await;
        let (changes, answered) =
            join(here.store.changed(since), there.store.answer(id, &ann(), vec![answer("name", "Ann")])).await;
        answered.expect("it has not ended");
        let changes = changes.expect("a store that works tells changes");
        assert!(names(&changes, id), "a caller that waits is told of a change by any instance, not {changes:?}");
        let (changes, cancelled) = join(here.store.changed(changes.until), there.store.cancel(id, None)).await;
        cancelled.expect("it has not ended");
        assert!(names(&changes.expect("a store that works tells changes"), id), "and of the next one");
    }
}

pub(super) async fn more_changes_than_a_store_names_leave_none_out(trial: &Trial) {
    let mut since = cursor(trial).await;
    let mut created = Vec::new();
    for number in 0..1_200 {
        trial.clock.set(Timestamp::from_millis(NOON.as_millis() + number));
        created.push(trial.create(new_task(&ann())).await.id);
    }
    let last = cursor(trial).await;
    let mut told = Vec::new();
    while since < last {
        let changes = trial.store.changed(since).await.expect("a store that works tells changes");
        assert!(changes.until > since, "a caller comes forward");
        since = changes.until;
        match changes.changed {
            Changed::Many => return,
            Changed::These(ids) => told.extend(ids),
        }
    }
    assert!(created.iter().all(|id| told.contains(id)), "each is told, or that there are many");
}

async fn cursor(trial: &Trial) -> Cursor {
    trial.store.cursor().await.expect("a store that works knows where it stands")
}

async fn expect_told(trial: &Trial, since: Cursor, id: TaskId, verb: &str) -> Cursor {
    let changes = trial.store.changed(since).await.expect("a store that works tells changes");
    assert!(names(&changes, id), "{verb} is a change of the task, not {changes:?}");
    assert_eq!(cursor(trial).await, changes.until, "and the last one");
    changes.until
}

fn names(changes: &Changes, id: TaskId) -> bool {
    match &changes.changed {
        Changed::Many => true,
        Changed::These(ids) => ids.contains(&id),
    }
}
