//! Keeping tasks: for how long, and by which clock.

use std::time::Duration;

use super::trial::{
    LEASE, NOON, TTL, Trial, ann, entry, flow, just_before, most_open, new_task, opening, owner, run_of, task_of,
};
use crate::store::{EXPIRED_PASSED_OVER, Limits, NewTask, StoreError, Swept, Turns};
use crate::{End, TaskRecord};

pub(super) async fn a_task_whose_time_is_over_is_ended(trial: &Trial) {
    let mut ids = Vec::new();
    for number in 0..4_u32 {
        let task = new_task(&ann());
        let ttl = (number > 0).then(|| TTL * number);
        let record = TaskRecord { ttl, retention: TTL * 9, ..task.record };
        ids.push(trial.create(NewTask { record, ..task }).await.id);
    }
    let taken = trial.acquire(9).await.tasks;
    trial.store.park(run_of(&taken[1]), opening(&["name"]), None).await.expect("the run has the task");
    trial.clock.set(just_before(NOON + TTL));
    assert_eq!(trial.store.sweep(9).await.expect("it sweeps"), Swept::default(), "not before its time");
    trial.clock.set(NOON + TTL * 3);
    let sweep = async || trial.store.sweep(2).await.expect("it sweeps");
    assert_eq!(sweep().await, Swept { expired: 2, removed: 0 }, "no more at once than were asked for");
    trial.expect_end(ids[2], End::Expired, None).await;
    assert_eq!(sweep().await, Swept { expired: 1, removed: 0 });
    assert_eq!(sweep().await, Swept::default(), "each ends once");
    for id in &ids[1..] {
        trial.expect_end(*id, End::Expired, None).await;
        assert_eq!(trial.get(*id).await.open, [], "what ended asks nothing");
    }
    assert_eq!(trial.get(ids[0]).await.record.ended, None, "without a ttl there is no end of its time");
    let full = trial.store.create(new_task(&ann()), most_open(1)).await;
    assert!(matches!(full, Err(StoreError::Full)), "what has not ended counts");
    trial.store.create(new_task(&ann()), most_open(2)).await.expect("what expired does not count");
}

/// A task is kept until the later of creation + ttl and end + retention.
pub(super) async fn a_task_is_removed_when_it_is_not_kept_any_longer(trial: &Trial) {
    let flows = [flow(), flow(), flow()];
    let retentions = [Duration::ZERO, TTL * 2, LEASE];
    let mut ids = Vec::new();
    for (flow, retention) in flows.into_iter().zip(retentions) {
        let task = task_of(&ann(), flow, "index");
        let ttl = if retention == LEASE { None } else { Some(TTL) };
        let record = TaskRecord { ttl, retention, ..task.record };
        let id = trial.create(NewTask { record, ..task }).await.id;
        trial.store.finish(run_of(&trial.take().await), End::Failed, b"result".to_vec()).await.expect("it runs");
        ids.push(id);
    }
    let removals = [(2, NOON + LEASE), (0, NOON + TTL), (1, NOON + TTL * 2)];
    for (number, moment) in removals {
        trial.clock.set(just_before(moment));
        assert_eq!(trial.store.sweep(9).await.expect("it sweeps").removed, 0, "a task is kept until then");
        trial.expect_end(ids[number], End::Failed, Some(b"result")).await;
        trial.clock.set(moment);
        assert_eq!(trial.store.sweep(9).await.expect("it sweeps").removed, 1, "and removed from then on");
        let gone = trial.store.get(ids[number], Some(&ann())).await;
        assert!(matches!(gone, Err(StoreError::NotFound)), "what was removed is not found, not {gone:?}");
        let again = task_of(&ann(), flows[number], "index");
        let record = TaskRecord { retention: TTL * 9, ..again.record };
        let again =
            trial.store.create(NewTask { record, ..again }, Limits::NONE).await.expect("the owner has few tasks");
        assert!(again.is_new, "its flow may have a task again");
        trial.store.cancel(again.record.id, None).await.expect("it has not ended");
    }
    assert!(trial.store.list(None, None, 9).await.expect("it lists").iter().all(|task| !ids.contains(&task.record.id)));
}

pub(super) async fn a_clock_set_back_sets_no_task_back(trial: &Trial) {
    trial.clock.set(NOON + TTL);
    let run = trial.running().await;
    trial.clock.set(NOON);
    trial.store.record(run, entry("one")).await.expect("the run has the task");
    let record = trial.get(run.id).await.record;
    assert_eq!((record.created, record.updated), (NOON + TTL, NOON + TTL), "no time of a task goes back");
    trial.store.renew(run, Duration::ZERO, None).await.expect("the run has the task");
    assert_eq!(trial.get(run.id).await.record.leased_until, Some(NOON + TTL + LEASE), "and no lease becomes shorter");
    trial.store.finish(run, End::Failed, Vec::new()).await.expect("the run has the task");
    let record = trial.get(run.id).await.record;
    assert_eq!(record.ended, Some((End::Failed, NOON + TTL)), "it ends no earlier than it last changed");
}

pub(super) async fn tasks_whose_time_is_over_stand_in_no_others_way(trial: &Trial) {
    let number = 3 * EXPIRED_PASSED_OVER;
    for _ in 0..number {
        trial.create(new_task(&ann())).await;
    }
    trial.clock.pass(TTL);
    let (hers, his) = (trial.create(new_task(&ann())).await.id, trial.create(new_task(&owner("bob"))).await.id);
    let first = trial.ask_in_turns(9, Turns::default()).await;
    assert!(first.tasks.iter().any(|task| task.record.id == his), "another owner does not notice them");
    let mut taken: Vec<_> = first.tasks.iter().map(|task| task.record.id).collect();
    let mut next = first.next;
    for _ in 0..number {
        if taken.contains(&hers) {
            break;
        }
        assert_eq!(next, Some(Duration::ZERO), "there is more at once");
        let acquired = trial.ask_in_turns(9, Turns::default()).await;
        taken.extend(acquired.tasks.iter().map(|task| task.record.id));
        next = acquired.next;
    }
    taken.sort_unstable();
    let mut expected = [hers, his];
    expected.sort_unstable();
    assert_eq!(taken, expected, "what has expired is not given, and what has not is");
}
