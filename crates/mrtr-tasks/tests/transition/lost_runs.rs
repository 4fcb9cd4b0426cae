//! Lost runs: a lease that ends without an entry, the pause after it, and the end of a task that kills its runners.

use std::time::Duration;

use mrtr_schema::tasks::TaskStatus;
use mrtr_state::Timestamp;
use mrtr_tasks::record::{Change, Event, Refusal};
use mrtr_tasks::{End, TaskRecord};

use crate::task::{ACQUIRE, LEASE, NOON, after, leased, task, texts};

const PROGRESS: Change<'static> = Change { opened: &[], retired: &[], progressed: true, lasts: None };

/// Has the run that has it be lost: a runner looks when the lease ends, and when the pause is over. Gives the pause.
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
fn the_fifth_lost_run_in_a_row_ends_it_as_stuck() {
    let (mut record, now) = after_lost(4);
    assert_eq!(record.end(now), None);
    record.apply(ACQUIRE, now).unwrap();
    assert_eq!((record.ended, record.leased_until), (Some((End::Stuck, now)), None));
    assert_eq!((record.status(now), record.lost_runs), (TaskStatus::Failed, 5));
    assert_eq!(record.apply(Event::Retry, now), Err(Refusal::Ended));
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
    assert_eq!(record.apply(ACQUIRE, after(30)), Err(Refusal::NotDue), "it is put off once");
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
    for runs in 0..5 {
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
        Event::Park { fence, change: Change::default(), look_again: None },
        Event::HandOver { fence, pause: Duration::ZERO },
        Event::Retry,
    ];
    for event in events {
        let mut record = record.clone();
        record.apply(event, now).unwrap();
        assert_eq!(record.lost_runs, 0, "{event:?}");
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
