//! Lost runs: a lease that ends without an entry, the pause after it, trials, and how a task is set aside.

use std::time::Duration;

use mrtr_schema::tasks::TaskStatus;
use mrtr_state::Timestamp;
use mrtr_tasks::record::{Change, Company, Event, TransitionError};
use mrtr_tasks::{End, TaskRecord};

use crate::task::{ACQUIRE, LEASE, NOON, after, leased, task, texts};

const PROGRESS: Change<'static> = Change { opened: &[], retired: &[], progressed: true, lasts: None };

/// Loses the run that has it: a runner looks when the lease ends, and when the pause is over. Returns the pause.
fn lose(record: &mut TaskRecord) -> Duration {
    let lapsed = record.leased_until.unwrap();
    record.apply(ACQUIRE, lapsed).unwrap();
    let Some(due) = record.due else { return Duration::ZERO };
    record.apply(ACQUIRE, due).unwrap();
    due.since(lapsed)
}

/// A task after so many lost runs, with a run that has it.
fn after_lost(runs: u32) -> (TaskRecord, Timestamp) {
    let mut record = leased();
    (0..runs).for_each(|_| _ = lose(&mut record));
    let now = record.leased_until.unwrap();
    assert_eq!(record.lost_runs, runs);
    (record, now)
}

#[test]
fn the_pause_after_a_lost_run_is_a_second_and_doubles() {
    let mut record = leased();
    let pauses = [(); 4].map(|()| lose(&mut record).as_secs());
    assert_eq!(pauses, [1, 2, 4, 8]);
    assert_eq!((record.fence, record.lost_runs), (5, 4));
}

#[test]
fn the_pause_grows_to_five_minutes() {
    let mut record = leased();
    let pauses: Vec<_> = (0..19)
        .map(|_| {
            record.apply(Event::Accompany { fence: record.fence }, NOON).unwrap();
            lose(&mut record).as_secs()
        })
        .collect();
    assert_eq!(pauses[7..], [[128, 256].as_slice(), &[300; 10]].concat());
}

#[test]
fn from_the_second_lost_run_on_it_is_on_trial_and_runs_alone() {
    let mut record = leased();
    assert!(!record.alone, "a run that is not on trial is not alone");
    lose(&mut record);
    assert!(!record.is_on_trial() && record.attention().is_some(), "one loss puts nothing on trial");
    let lapsed = record.leased_until.unwrap();
    record.apply(ACQUIRE, lapsed).unwrap();
    let due = lapsed + Duration::from_secs(2);
    assert_eq!((record.is_on_trial(), record.attention(), record.trial()), (true, None, Some(due)));
    let beside = Event::Acquire { lease: LEASE, company: Company::Runs };
    record.apply(beside, due).unwrap();
    assert_eq!(
        (record.leased_until, record.due),
        (None, Some(due)),
        "a runner with other runs leaves it, due as it was"
    );
    let mut with_calls = record.clone();
    with_calls.apply(Event::Acquire { lease: LEASE, company: Company::Calls }, due).unwrap();
    assert_eq!((with_calls.leased_until, with_calls.alone), (Some(due + LEASE), false));
    record.apply(ACQUIRE, due).unwrap();
    assert_eq!((record.leased_until, record.alone, record.trial()), (Some(due + LEASE), true, Some(due + LEASE)));
}

#[test]
fn only_a_loss_that_was_alone_to_its_end_counts() {
    let (record, now) = after_lost(2);
    let mut alone = record.clone();
    alone.apply(Event::Lapse, now).unwrap();
    assert_eq!((alone.lost_runs, alone.counted_losses), (3, 1));
    let mut accompanied = record.clone();
    accompanied.apply(Event::Accompany { fence: record.fence }, now).unwrap();
    assert_eq!(accompanied.updated, record.updated, "the client sees nothing of it");
    accompanied.apply(Event::Lapse, now).unwrap();
    assert_eq!((accompanied.lost_runs, accompanied.counted_losses), (3, 0));
    let mut lost = record;
    assert_eq!(lost.apply(Event::Accompany { fence: lost.fence + 1 }, now), Err(TransitionError::Lost));
}

#[test]
fn the_fifth_loss_that_counts_sets_it_aside_and_it_has_not_ended() {
    let (mut record, now) = after_lost(6);
    record.retention = Duration::from_hours(9);
    assert_eq!((record.counted_losses, record.set_aside), (4, None));
    record.apply(ACQUIRE, now).unwrap();
    assert_eq!((record.set_aside, record.leased_until, record.due, record.ended), (Some(now), None, None, None));
    assert_eq!((record.status(now), record.updated), (TaskStatus::Working, now), "its client is told");
    assert_eq!(record.attention().or(record.trial()), None);
    assert_eq!(record.apply(ACQUIRE, now + LEASE * 100), Err(TransitionError::NotDue));
    record.apply(Event::Wake, now).unwrap();
    assert_eq!(record.due, None, "only the operator has it run");
    record.apply(Event::Retry, now).unwrap();
    assert_eq!((record.due, record.set_aside), (Some(now), None));
    assert_eq!((record.is_on_trial(), record.counted_losses), (true, 0), "it is still on trial");
    for _ in 0..5 {
        record.apply(ACQUIRE, record.due.unwrap()).unwrap();
        record.apply(Event::Lapse, record.leased_until.unwrap()).unwrap();
    }
    assert!(record.set_aside.is_some(), "five more, and it is set aside again");
}

#[test]
fn twenty_lost_runs_of_any_kind_set_it_aside() {
    let mut record = leased();
    for _ in 0..19 {
        lose(&mut record);
        record.apply(Event::Accompany { fence: record.fence }, NOON).unwrap();
    }
    assert_eq!((record.lost_runs, record.counted_losses, record.set_aside), (19, 0, None));
    let now = record.leased_until.unwrap();
    record.apply(Event::Lapse, now).unwrap();
    assert_eq!(record.set_aside, Some(now));
}

#[test]
fn what_is_set_aside_ends_with_its_ttl_or_without_one_with_its_retention() {
    let (mut record, now) = after_lost(6);
    record.retention = Duration::from_hours(1);
    record.apply(ACQUIRE, now).unwrap();
    assert_eq!(record.expires(), Some(now + record.retention));
    let mut retried = record.clone();
    retried.apply(Event::Retry, now).unwrap();
    assert_eq!(retried.expires(), None, "it has no ttl again");
    let over = now + record.retention;
    assert_eq!((record.end(over), record.status(over)), (Some(End::Expired), TaskStatus::Failed));
    assert_eq!(record.apply(Event::Retry, over), Err(TransitionError::Ended));
    record.apply(Event::Expire, over).unwrap();
    assert_eq!((record.ended, record.set_aside), (Some((End::Expired, over)), None));
    let with_ttl = TaskRecord { ttl: Some(Duration::from_hours(9)), set_aside: Some(now), ..task() };
    assert_eq!(with_ttl.expires(), Some(NOON + Duration::from_hours(9)));
}

#[test]
fn room_is_made_for_one_on_trial_that_is_due() {
    let (mut record, now) = after_lost(2);
    let reserve = Event::Reserve { lease: LEASE };
    assert_eq!(record.apply(reserve, now), Err(TransitionError::NotDue), "a run has it");
    assert_eq!(task().apply(reserve, now), Err(TransitionError::NotDue), "it is not on trial");
    record.apply(Event::Lapse, now).unwrap();
    assert_eq!(record.apply(reserve, now), Err(TransitionError::NotDue), "it is put off");
    let due = record.due.unwrap();
    record.apply(reserve, due).unwrap();
    assert_eq!((record.reserved_until, record.due), (Some(due + LEASE), Some(due)));
    record.apply(ACQUIRE, due).unwrap();
    assert_eq!(record.reserved_until, None);
}

#[test]
fn the_pause_counts_from_the_end_of_the_lease() {
    let mut record = leased();
    record.apply(ACQUIRE, after(31)).unwrap();
    assert_eq!((record.fence, record.leased_until), (2, Some(after(61))), "the pause was over");
    assert_eq!(record.lost_runs, 1);
}

#[test]
fn a_task_that_was_put_off_is_not_due_before_its_pause_is_over() {
    let mut record = leased();
    record.apply(ACQUIRE, after(30)).unwrap();
    assert_eq!((record.leased_until, record.attention()), (None, Some(after(31))));
    let before = record.clone();
    assert_eq!(record.apply(ACQUIRE, after(30)), Err(TransitionError::NotDue), "it is put off once");
    assert_eq!(record, before);
    assert_eq!(record.updated, NOON, "the client sees nothing of it");
}

#[test]
fn what_came_while_a_run_was_lost_is_not_noted_of_no_run() {
    let mut record = leased();
    record.apply(Event::Wake, NOON).unwrap();
    record.apply(ACQUIRE, after(30)).unwrap();
    assert_eq!((record.run_again, record.due), (false, Some(after(31))), "another run follows anyway");
}

#[test]
fn a_run_that_recorded_something_new_is_not_lost() {
    for runs in 0..7 {
        let (mut record, now) = after_lost(runs);
        record.apply(Event::Record { fence: record.fence, change: PROGRESS }, now).unwrap();
        record.apply(ACQUIRE, now).unwrap();
        assert_eq!((record.lost_runs, record.leased_until), (0, Some(now + LEASE)), "the next begins at once");
        assert_eq!(lose(&mut record).as_secs(), 1, "that one records nothing new");
    }
}

#[test]
fn a_run_that_recorded_nothing_new_is_lost() {
    let mut record = leased();
    record.apply(Event::Record { fence: 1, change: Change::default() }, NOON).unwrap();
    record.apply(Event::Renew { fence: 1, lease: LEASE }, after(1)).unwrap();
    lose(&mut record);
    assert_eq!(record.lost_runs, 1);
}

#[test]
fn an_answer_is_no_entry_of_the_run() {
    let mut record = leased();
    let keys = texts(&["name"]);
    record.apply(Event::Record { fence: 1, change: Change { opened: &keys, ..Change::default() } }, NOON).unwrap();
    record.apply(Event::Answer { keys: &keys }, NOON).unwrap();
    lose(&mut record);
    assert_eq!(record.lost_runs, 1);
}

#[test]
fn a_park_a_hand_over_and_a_retry_reset_the_count() {
    let (record, now) = after_lost(4);
    let fence = record.fence;
    let events = [
        (Event::Park { fence, change: Change::default(), look_again: None }, 0),
        (Event::HandOver { fence, pause: Duration::ZERO }, 0),
        (Event::Retry, 2),
    ];
    for (event, lost) in events {
        let mut record = record.clone();
        record.apply(event, now).unwrap();
        assert_eq!((record.lost_runs, record.counted_losses), (lost, 0), "{event:?}");
    }
}

#[test]
fn a_retry_has_it_run_now() {
    let mut put_off = leased();
    put_off.apply(ACQUIRE, after(30)).unwrap();
    put_off.apply(Event::Retry, after(30)).unwrap();
    assert_eq!((put_off.due, put_off.lost_runs), (Some(after(30)), 0));
    let mut running = leased();
    running.apply(Event::Retry, after(1)).unwrap();
    assert_eq!((running.run_again, running.leased_until), (true, Some(NOON + LEASE)), "the run that has it goes on");
}

#[test]
fn an_answer_brings_the_next_run_forward_and_the_count_stays() {
    let mut record = task();
    record.open = texts(&["name"]);
    record.apply(ACQUIRE, NOON).unwrap();
    (0..3).for_each(|_| _ = lose(&mut record));
    let lapsed = record.leased_until.unwrap();
    record.apply(ACQUIRE, lapsed).unwrap();
    assert_eq!(record.due, Some(lapsed + Duration::from_secs(8)));
    record.apply(Event::Answer { keys: &texts(&["name"]) }, lapsed).unwrap();
    assert_eq!((record.due, record.lost_runs), (Some(lapsed), 4));
}
