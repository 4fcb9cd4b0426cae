//! Ends: a task has one, and holds nothing after it.

use std::time::Duration;

use futures_util::future::join;

use super::trial::{LEASE, NOON, TTL, Trial, ann, answer, entry, is_refused, just_before, opening};
use crate::End;
use crate::record::TransitionError;
use crate::store::{Recorded, Run, StoreError};

pub(super) async fn a_task_ends_once_by_cancel_or_by_finish(trial: &Trial) {
    let run = trial.running().await;
    trial.store.cancel(run.id, Some(&ann())).await.expect("it has not ended");
    trial.expect_refused(run, TransitionError::Ended).await;
    trial.expect_end(run.id, End::Cancelled, None).await;
    for end in [End::Completed { is_error: false }, End::Completed { is_error: true }, End::Failed] {
        let run = trial.running().await;
        trial.clock.pass(Duration::from_secs(1));
        trial.store.finish(run, end, b"result".to_vec()).await.expect("the run has the task");
        let late = trial.store.cancel(run.id, Some(&ann())).await;
        assert!(is_refused(&late, TransitionError::Ended), "a task that has ended is not cancelled, not {late:?}");
        trial.expect_end(run.id, end, Some(b"result")).await;
        let record = trial.get(run.id).await.record;
        assert_eq!(record.ended.map(|(_, moment)| moment), Some(record.updated), "its end is its last change");
    }
}

pub(super) async fn of_cancel_and_finish_at_once_one_wins(trial: &Trial) {
    of_cancel_here_and_finish_there_one_wins(trial, trial).await;
}

pub(super) async fn of_cancel_here_and_finish_there_one_wins(here: &Trial, there: &Trial) {
    for number in 0..20 {
        let run = there.running().await;
        let owner = ann();
        let cancel = here.store.cancel(run.id, Some(&owner));
        let end = End::Completed { is_error: false };
        let finish = there.store.finish(run, end, b"result".to_vec());
        let (cancelled, finished) = if number % 2 == 0 {
            join(cancel, finish).await
        } else {
            let (finished, cancelled) = join(finish, cancel).await;
            (cancelled, finished)
        };
        if finished.is_ok() {
            assert!(is_refused(&cancelled, TransitionError::Ended), "one of the two wins, not both: {cancelled:?}");
            here.expect_end(run.id, end, Some(b"result")).await;
        } else {
            assert!(
                is_refused(&finished, TransitionError::Ended) && cancelled.is_ok(),
                "one of the two wins: {finished:?}"
            );
            there.expect_end(run.id, End::Cancelled, None).await;
        }
    }
}

pub(super) async fn nothing_happens_to_a_task_that_has_ended(trial: &Trial) {
    let run = trial.running().await;
    trial.store.record(run, opening(&["name"])).await.expect("the run has the task");
    trial.store.finish(run, End::Failed, b"error".to_vec()).await.expect("the run has the task");
    trial.clock.pass(Duration::from_secs(1));
    expect_ended(trial, run).await;
    trial.expect_end(run.id, End::Failed, Some(b"error")).await;
}

pub(super) async fn what_a_task_held_is_erased_when_it_ends(trial: &Trial) {
    let [cancelled, finished, expired] = [trial.running().await, trial.running().await, trial.running().await];
    for run in [cancelled, finished, expired] {
        let message = Some(b"half way".to_vec());
        let recorded = Recorded { opened: opening(&["name"]).opened, message, ..entry("one") };
        trial.store.record(run, recorded).await.expect("the run has the task");
    }
    trial.store.cancel(cancelled.id, None).await.expect("it has not ended");
    trial.store.finish(finished, End::Failed, Vec::new()).await.expect("the run has the task");
    for run in [cancelled, finished] {
        let kept = trial.get(run.id).await;
        assert_eq!((kept.open, kept.record.open), (Vec::new(), Vec::new()), "a task that has ended asks nothing");
        assert_eq!(kept.message.as_deref(), Some(&b"half way"[..]), "the last message stays");
    }
    trial.clock.pass(TTL);
    assert_eq!(trial.acquire(9).await.tasks, [], "and it is not run any more");
    assert_eq!(trial.store.sweep(9).await.expect("it sweeps").expired, 1);
}

/// The task does nothing more, whether or not a sweep has noticed.
pub(super) async fn a_task_whose_time_is_over_does_nothing_more(trial: &Trial) {
    let waiting = trial.asking(&["name"]).await;
    let run = trial.running().await;
    trial.clock.set(just_before(NOON + TTL));
    trial.store.renew(run, LEASE, None).await.expect("its time is not over");
    trial.clock.set(NOON + TTL);
    expect_ended(trial, run).await;
    expect_ended(trial, Run { id: waiting, fence: 1 }).await;
    assert_eq!(trial.store.sweep(9).await.expect("it sweeps").expired, 2, "a sweep notices");
    trial.store.sweep(9).await.expect("it sweeps");
    for id in [waiting, run.id] {
        trial.store.get(id, None).await.expect_err("it was not kept any longer");
    }
}

async fn expect_ended(trial: &Trial, run: Run) {
    trial.expect_refused(run, TransitionError::Ended).await;
    let before = trial.get(run.id).await;
    let answered = trial.store.answer(run.id, &ann(), vec![answer("name", "Ann")]).await.map(drop);
    let outcomes: [(&str, Result<(), StoreError>); 4] = [
        ("answer", answered),
        ("wake", trial.store.wake(run.id).await),
        ("cancel", trial.store.cancel(run.id, None).await),
        ("retry", trial.store.retry(run.id).await),
    ];
    for (verb, outcome) in outcomes {
        assert!(is_refused(&outcome, TransitionError::Ended), "{verb} does not happen to it, not {outcome:?}");
    }
    trial.clock.pass(LEASE);
    trial.expect_nothing_due().await;
    assert_eq!(trial.get(run.id).await.record, before.record, "what is refused changes nothing");
}
