//! Waits under a clock that is set back: none becomes longer than it was ever to be.

use std::time::Duration;

use mrtr_flow::Clock;

use super::trial::{LEASE, NOON, TOOL, TTL, Trial, ann, new_task, run_of};
use crate::store::{Recorded, Trials};

pub(super) async fn what_is_new_does_not_wait_for_the_clock(trial: &Trial) {
    trial.expect_nothing_due().await;
    trial.clock.set(NOON + TTL);
    let id = trial.create(new_task(&ann())).await.id;
    trial.clock.set(NOON);
    assert_eq!(trial.take().await.record.id, id, "it was due at once");
}

pub(super) async fn a_pause_is_no_longer_than_it_was_to_be(trial: &Trial) {
    let pause = Duration::from_mins(1);
    trial.clock.set(NOON + TTL);
    let parked = trial.running().await;
    trial.store.park(parked, Recorded::default(), Some(pause)).await.expect("the run has the task");
    let handed_over = trial.running().await;
    trial.store.hand_over(handed_over, pause / 2).await.expect("the run has the task");
    trial.clock.set(NOON);
    let nothing = trial.acquire(9).await;
    assert_eq!((nothing.tasks.len(), nothing.next), (0, Some(pause / 2)), "their pauses begin anew");
    trial.clock.pass(pause / 2);
    assert_eq!(trial.take().await.record.id, handed_over.id);
    trial.clock.pass(pause / 2);
    assert!(trial.acquire(9).await.tasks.iter().any(|task| task.record.id == parked.id));
}

pub(super) async fn a_lost_run_delays_the_next_no_longer(trial: &Trial) {
    trial.clock.set(NOON + TTL);
    let mut run = trial.running().await;
    for lost in 1..4_u32 {
        let pause = Duration::from_secs(1 << (lost - 1));
        trial.clock.pass(LEASE);
        assert_eq!(trial.acquire(9).await.next, Some(pause));
        trial.clock.set(NOON + (TTL / 8) * (4 - lost));
        assert_eq!(trial.acquire(9).await.next, Some(pause), "after {lost} lost runs, whatever the clock says");
        trial.clock.pass(pause);
        let taken = trial.take().await;
        assert_eq!((taken.record.id, taken.record.lost_runs), (run.id, lost));
        run = run_of(&taken);
    }
}

/// The store cannot tell the two leases apart at once, so it gives out neither task before a live run has had the time
/// to renew its own.
pub(super) async fn a_lease_of_a_dead_run_ends_and_that_of_a_live_one_does_not(trial: &Trial) {
    trial.clock.set(NOON + TTL);
    let (dead, live) = (trial.running().await, trial.running().await);
    trial.clock.set(NOON);
    let nothing = trial.acquire(9).await;
    assert_eq!(nothing.tasks, [], "both may live");
    let longest = nothing.next.expect("it has to be looked at again");
    assert!(longest <= LONGEST, "a lease of {LEASE:?} is over within {LONGEST:?}, not after {longest:?}");
    let end = trial.clock.now() + longest;
    while trial.clock.now() < end {
        trial.store.renew(live, LEASE, None).await.expect("the run has the task");
        trial.clock.pass(LEASE / 3);
    }
    trial.store.renew(live, LEASE, None).await.expect("the run has the task");
    trial.lose_no_time().await;
    assert_eq!(trial.take().await.record.id, dead.id, "the other one is not taken");
    trial.store.renew(live, LEASE, None).await.expect("it has its task still");
}

pub(super) async fn room_is_not_made_for_ever(trial: &Trial) {
    trial.clock.set(NOON + TTL / 2);
    trial.create(new_task(&ann())).await;
    for _ in 0..2 {
        trial.take().await;
        trial.lose().await;
    }
    trial.clock.pass(LONGEST);
    assert!(trial.ask(&[TOOL], 9, Trials::Busy).await.trial_waits, "one makes room for it, and is gone");
    trial.clock.set(NOON);
    assert!(!trial.ask(&[TOOL], 9, Trials::Busy).await.trial_waits, "it waits from now on");
    trial.clock.pass(LONGEST * 2);
    assert!(trial.ask(&[TOOL], 9, Trials::Busy).await.trial_waits, "another makes room");
}

/// The time within which the lease of a lost run ends, even if the clock was set back under it.
const LONGEST: Duration = Duration::from_mins(5);
