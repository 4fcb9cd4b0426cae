//! Lost runs: what they delay, which of them count, and how a task is set aside.

use std::time::Duration;

use mrtr_flow::Clock;
use mrtr_schema::tasks::TaskStatus;

use super::trial::{LEASE, NOON, TOOL, Trial, ann, entry, flow, new_task, opening, run_of, task_of};
use crate::store::{NewTask, Recorded, Run, Trials};
use crate::{End, TaskId, TaskRecord};

/// A task that kills its runners must not keep them busy; and what it has done must not be lost.
pub(super) async fn a_task_that_ends_its_runners_is_set_aside_with_all_it_holds(trial: &Trial) {
    let run = trial.running().await;
    trial.store.park(run, Recorded { opened: opening(&["name"]).opened, ..entry("one") }, None).await.expect("it runs");
    trial.store.wake(run.id).await.expect("it has not ended");
    trial.take().await;
    for lost in 1..7_u32 {
        trial.clock.pass(LEASE);
        let put_off = trial.acquire(9).await;
        let pause = Duration::from_secs(1 << (lost - 1));
        assert_eq!((put_off.tasks.len(), put_off.next), (0, Some(pause)), "after {lost} lost runs the next one waits");
        trial.clock.pass(pause);
        let taken = trial.take().await.record;
        let alone = lost.saturating_sub(2);
        assert_eq!((taken.lost_runs, taken.counted_losses, taken.alone), (lost, alone, lost >= 2));
    }
    trial.clock.pass(LEASE);
    let nothing = trial.acquire(9).await;
    assert_eq!((nothing.tasks.len(), nothing.next), (0, None), "it is no work any more");
    assert_eq!(nothing.set_aside, [run.id], "its runner is told");
    expect_set_aside(trial, run.id).await;
    assert_eq!(trial.answer(run.id, &[("name", "Ann")]).await, ["name"], "an answer is kept");
    trial.expect_nothing_due().await;
    trial.store.retry(run.id).await.expect("it has not ended");
    let retried = trial.take().await;
    assert_eq!((retried.record.set_aside, retried.record.counted_losses), (None, 0), "what it lost counts no more");
    assert!(retried.record.alone, "and it is still on trial");
    assert_eq!(retried.entries, [b"one".to_vec(), b"Ann".to_vec()], "its journal is as it was");
}

pub(super) async fn runs_that_had_company_are_lost_twenty_times(trial: &Trial) {
    let run = trial.create(unlimited()).await.id;
    for lost in 0..20 {
        let taken = trial.take().await;
        assert_eq!((taken.record.lost_runs, taken.record.counted_losses), (lost, 0));
        trial.store.accompany(run_of(&taken)).await.expect("the run has the task");
        let stale = Run { fence: taken.record.fence - 1, ..run_of(&taken) };
        trial.store.accompany(stale).await.expect_err("that run has not");
        trial.lose().await;
    }
    expect_set_aside(trial, run).await;
}

pub(super) async fn a_run_that_recorded_something_is_on_trial_no_more(trial: &Trial) {
    trial.create(new_task(&ann())).await;
    for _ in 0..2 {
        trial.take().await;
        trial.lose().await;
    }
    let taken = trial.take().await;
    assert!(taken.record.alone);
    trial.store.record(run_of(&taken), entry("one")).await.expect("the run has the task");
    assert!(!trial.get(taken.record.id).await.record.alone, "another run may begin beside it");
    trial.clock.pass(LEASE);
    let others = trial.ask(&[TOOL], 9, Trials::Busy).await.tasks;
    assert_eq!(others.len(), 1, "it is work like any other, at once");
    assert_eq!((others[0].record.lost_runs, others[0].record.alone), (0, false));
}

/// A task that ended its process must not take the other tasks down again and again.
pub(super) async fn one_on_trial_is_taken_at_a_time_by_a_runner_without_another(trial: &Trial) {
    for _ in 0..3 {
        trial.create(new_task(&ann())).await;
    }
    for _ in 0..2 {
        assert_eq!(trial.acquire(9).await.tasks.len(), 3, "until two runs of each were lost, all may run together");
        trial.lose().await;
    }
    let other = trial.create(new_task(&ann())).await.id;
    let busy = trial.ask(&[TOOL], 9, Trials::Busy).await;
    assert_eq!(ids(&busy.tasks), [other], "a runner that has another run takes none of them");
    assert!(!busy.trial_waits);
    let mut taken = Vec::new();
    for alone in [true, false, true] {
        let idle = trial.ask(&[TOOL], 9, Trials::Idle).await;
        assert_eq!((idle.tasks.len(), idle.trial_waits), (0, true), "a runner that has none is told of them");
        let acquired = trial.ask(&[TOOL], 9, Trials::Takes { alone }).await;
        assert_eq!(acquired.tasks.iter().map(|task| task.record.alone).collect::<Vec<_>>(), [alone], "and takes one");
        taken.extend(ids(&acquired.tasks));
    }
    taken.sort_unstable();
    taken.dedup();
    assert_eq!(taken.len(), 3, "each has its turn");
    assert_eq!(trial.ask(&[TOOL], 9, Trials::Takes { alone: true }).await.tasks, [], "there are no more");
}

pub(super) async fn those_on_trial_and_the_others_come_in_their_turn(trial: &Trial) {
    let tried = on_trial(trial).await;
    trial.clock.pass(Duration::from_secs(1));
    let other = trial.create(new_task(&ann())).await.id;
    assert!(trial.ask(&[TOOL], 9, Trials::Idle).await.trial_waits, "the one on trial waited longer");
    let taken = trial.take().await;
    assert_eq!(taken.record.id, tried);
    trial.clock.pass(LEASE);
    let idle = trial.ask(&[TOOL], 9, Trials::Idle).await;
    assert_eq!(ids(&idle.tasks), [other], "now the other one did");
}

/// The order holds whichever tool is theirs, and whether or not they are on trial.
pub(super) async fn tasks_come_in_the_order_in_which_they_became_due(trial: &Trial) {
    let waiting = trial.create(task_of(&ann(), flow(), "waiting")).await.id;
    trial.clock.pass(Duration::from_secs(1));
    let first = on_trial(trial).await;
    let second = trial.create(task_of(&ann(), flow(), "another")).await.id;
    for _ in 0..2 {
        assert_eq!(ids(&trial.acquire_of(&["another"], 9).await.tasks), [second]);
        trial.clock.pass(LEASE);
        let lost = trial.acquire_of(&["another"], 9).await;
        assert_eq!(lost.tasks, [], "a lost run delays the next");
        trial.clock.pass(lost.next.unwrap_or_default());
    }
    let tools = ["another", TOOL, "waiting"];
    let idle = trial.ask(&tools, 9, Trials::Idle).await;
    assert_eq!((ids(&idle.tasks), idle.trial_waits), (vec![waiting], false), "it waited longer than those on trial");
    for tried in [first, second] {
        let taken = trial.ask(&tools, 9, Trials::Takes { alone: true }).await;
        assert_eq!(ids(&taken.tasks), [tried], "of those on trial, the one that waited longest");
    }
}

pub(super) async fn one_runner_makes_room_for_what_waits_too_long(trial: &Trial) {
    let tried = on_trial(trial).await;
    trial.clock.pass(Duration::from_secs(299));
    let others = [trial.create(new_task(&ann())).await.id, trial.create(new_task(&ann())).await.id];
    assert_eq!(ids(&trial.ask(&[TOOL], 1, Trials::Busy).await.tasks), others[..1], "an instance may be idle soon");
    trial.clock.pass(Duration::from_secs(1));
    let first = trial.ask(&[TOOL], 9, Trials::Busy).await;
    assert_eq!((first.tasks.len(), first.trial_waits), (0, true), "it claims nothing until it has no run");
    let second = trial.ask(&[TOOL], 9, Trials::Busy).await;
    assert_eq!((ids(&second.tasks), second.trial_waits), (others[1..].to_vec(), false), "another goes on");
    trial.clock.pass(LEASE / 2);
    assert!(trial.ask(&[TOOL], 9, Trials::MakesRoom).await.trial_waits);
    trial.clock.pass(LEASE / 2);
    assert!(!trial.ask(&[TOOL], 9, Trials::Busy).await.trial_waits, "the first has said that it lives");
    trial.clock.pass(LEASE / 2);
    assert!(trial.ask(&[TOOL], 9, Trials::Busy).await.trial_waits, "the first has gone");
    assert_eq!(ids(&trial.ask(&[TOOL], 9, Trials::Takes { alone: true }).await.tasks), [tried]);
    assert!(!trial.ask(&[TOOL], 9, Trials::MakesRoom).await.trial_waits, "there is nothing to make room for");
}

pub(super) async fn a_task_without_a_ttl_has_its_retention_once_it_is_set_aside(trial: &Trial) {
    let ids = [trial.create(unlimited()).await.id, trial.create(unlimited()).await.id];
    for _ in 0..2 {
        assert_eq!(trial.acquire(9).await.tasks.len(), 2);
        trial.lose().await;
    }
    while !trial.acquire(1).await.tasks.is_empty() || trial.get(ids[0]).await.record.set_aside.is_none() {
        trial.clock.pass(LEASE * 20);
    }
    let since = trial.get(ids[0]).await.record.set_aside.expect("it is set aside");
    trial.clock.set(since);
    assert_eq!(trial.store.sweep(9).await.expect("it sweeps").expired, 0);
    trial.store.retry(ids[1]).await.expect("it has not ended");
    trial.clock.set(since + RETENTION);
    assert_eq!(trial.get(ids[0]).await.record.end(since + RETENTION), Some(End::Expired));
    assert_eq!(trial.get(ids[1]).await.record.expires(), None, "the operator came in time");
    assert_eq!(trial.store.sweep(9).await.expect("it sweeps").expired, 1);
    trial.expect_end(ids[0], End::Expired, None).await;
}

async fn expect_set_aside(trial: &Trial, id: TaskId) {
    let kept = trial.get(id).await;
    let now = trial.clock.now();
    assert!(kept.record.set_aside.is_some_and(|since| since <= now && since > NOON), "it is set aside");
    assert_eq!((kept.record.due, kept.record.leased_until, kept.record.ended), (None, None, None), "and has not ended");
    let status = if kept.open.is_empty() { TaskStatus::Working } else { TaskStatus::InputRequired };
    assert_eq!(kept.record.status(now), status);
}

/// A task whose next run is due, and on trial.
async fn on_trial(trial: &Trial) -> TaskId {
    let id = trial.create(new_task(&ann())).await.id;
    for _ in 0..2 {
        trial.take().await;
        trial.lose().await;
    }
    id
}

fn unlimited() -> NewTask {
    let task = new_task(&ann());
    NewTask { record: TaskRecord { ttl: None, retention: RETENTION, ..task.record }, ..task }
}

fn ids(tasks: &[crate::store::AcquiredTask]) -> Vec<TaskId> {
    tasks.iter().map(|task| task.record.id).collect()
}

const RETENTION: Duration = Duration::from_hours(2);
