//! Leases and fences: which run has a task, and what the others can still do.

use std::time::Duration;

use mrtr_tasks::record::{Change, Event, TransitionError};
use mrtr_tasks::{End, TaskRecord};

use crate::task::{ACQUIRE, DONE, LEASE, NOON, after, leased, task, texts};

const RENEW: Event<'static> = Event::Renew { fence: 1, lease: LEASE };

/// All events that a run writes.
fn writes(fence: u64, keys: &[String]) -> [Event<'_>; 5] {
    let change = Change { opened: keys, retired: keys, progressed: true, lasts: Some(LEASE) };
    [
        Event::Renew { fence, lease: LEASE },
        Event::Record { fence, change },
        Event::Park { fence, change, look_again: None },
        Event::HandOver { fence, pause: Duration::ZERO },
        Event::Finish { fence, end: DONE },
    ]
}

fn assert_lost(record: &TaskRecord, fence: u64) {
    for event in writes(fence, &texts(&["name"])) {
        let mut next = record.clone();
        assert_eq!(next.apply(event, after(31)), Err(TransitionError::Lost), "{event:?}");
        assert_eq!(next, *record, "{event:?}");
    }
}

#[test]
fn a_new_task_is_due_and_one_run_gets_it() {
    let mut record = task();
    assert_eq!((record.attention(), record.fence), (Some(NOON), 0));
    record.apply(ACQUIRE, after(1)).unwrap();
    assert_eq!((record.fence, record.leased_until, record.due), (1, Some(after(31)), None));
    assert_eq!(record.attention(), Some(after(31)), "when the lease ends");
    assert_eq!(record.apply(ACQUIRE, after(30)), Err(TransitionError::NotDue));
    assert_eq!(record.updated, NOON, "the client sees nothing of it");
}

#[test]
fn a_lease_can_be_renewed_after_its_end_until_another_run_takes_the_task() {
    let mut record = leased();
    record.apply(RENEW, after(100)).unwrap();
    assert_eq!((record.leased_until, record.lost_runs), (Some(after(130)), 0));
    assert_eq!(record.apply(ACQUIRE, after(129)), Err(TransitionError::NotDue));
    record.apply(ACQUIRE, after(131)).unwrap();
    assert_eq!((record.fence, record.leased_until), (2, Some(after(161))));
    assert_eq!(record.apply(RENEW, after(131)), Err(TransitionError::Lost));
}

#[test]
fn a_lease_does_not_become_shorter_when_the_clock_goes_back() {
    let mut record = leased();
    record.apply(RENEW, NOON).unwrap();
    record.apply(Event::Renew { fence: 1, lease: Duration::from_secs(1) }, NOON).unwrap();
    assert_eq!(record.leased_until, Some(NOON + LEASE));
}

#[test]
fn a_run_whose_lease_is_over_may_write_until_another_takes_the_task() {
    for event in writes(1, &texts(&["name"])) {
        assert_eq!(leased().apply(event, after(1_000)), Ok(()), "{event:?}");
    }
}

#[test]
fn a_run_that_was_taken_over_writes_nothing() {
    let mut record = leased();
    record.apply(Event::Record { fence: 1, change: Change { progressed: true, ..Change::default() } }, NOON).unwrap();
    record.apply(ACQUIRE, after(30)).unwrap();
    assert_eq!(record.fence, 2);
    assert_lost(&record, 1);
}

#[test]
fn a_run_that_was_put_off_as_lost_writes_nothing_though_no_other_has_begun() {
    let mut record = leased();
    record.apply(ACQUIRE, after(30)).unwrap();
    assert_eq!((record.fence, record.leased_until), (1, None));
    assert_lost(&record, 1);
}

#[test]
fn a_run_that_gave_it_up_writes_nothing() {
    for given_up in &writes(1, &[])[2..4] {
        let mut record = leased();
        record.apply(*given_up, after(1)).unwrap();
        assert_lost(&record, 1);
    }
}

#[test]
fn a_fence_of_the_future_or_of_no_run_writes_nothing() {
    assert_lost(&leased(), 2);
    assert_lost(&task(), 0);
}

#[test]
fn a_task_that_is_handed_over_is_due_after_the_pause() {
    let mut record = leased();
    record.apply(Event::HandOver { fence: 1, pause: Duration::from_secs(5) }, after(1)).unwrap();
    assert_eq!((record.leased_until, record.due), (None, Some(after(6))));
    assert_eq!(record.apply(ACQUIRE, after(5)), Err(TransitionError::NotDue));
    assert_eq!(record.apply(ACQUIRE, after(6)), Ok(()));
}

#[test]
fn a_task_that_is_handed_over_runs_again_though_what_came_meanwhile_was_noted() {
    let mut record = leased();
    record.apply(Event::Wake, NOON).unwrap();
    record.apply(Event::HandOver { fence: 1, pause: Duration::ZERO }, after(1)).unwrap();
    assert_eq!(record.due, Some(after(1)));
}

#[test]
fn a_run_that_finishes_ends_it_as_it_says() {
    for end in End::ALL {
        let mut record = leased();
        record.apply(Event::Finish { fence: 1, end }, after(1)).unwrap();
        assert_eq!(record.end(after(1)), Some(end));
    }
}
