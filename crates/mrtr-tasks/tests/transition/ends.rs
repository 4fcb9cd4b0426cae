//! The end of a task: it comes once, and for good.

use std::time::Duration;

use mrtr_schema::tasks::TaskStatus;
use mrtr_tasks::End;
use mrtr_tasks::record::{Change, Event, TransitionError};

use crate::task::{ACQUIRE, DONE, LEASE, NOON, after, asking, leased, task, texts};

/// One event of every kind, under the fence of the run that has it.
fn every_event(fence: u64, keys: &[String]) -> [Event<'_>; 11] {
    let change = Change { opened: keys, retired: &[], progressed: true, lasts: Some(LEASE) };
    [
        ACQUIRE,
        Event::Renew { fence, lease: LEASE },
        Event::Record { fence, change },
        Event::Park { fence, change, look_again: Some(LEASE) },
        Event::HandOver { fence, pause: Duration::ZERO },
        Event::Finish { fence, end: End::Failed },
        Event::Answer { keys },
        Event::Wake,
        Event::Cancel,
        Event::Expire,
        Event::Retry,
    ]
}

#[test]
fn whatever_happens_to_a_task_that_has_ended_is_refused() {
    let keys = texts(&["name"]);
    for end in End::ALL {
        let mut record = leased();
        record.apply(Event::Finish { fence: 1, end }, after(1)).unwrap();
        for event in every_event(1, &keys) {
            for now in [NOON, after(1), after(1_000_000)] {
                let mut next = record.clone();
                assert_eq!(next.apply(event, now), Err(TransitionError::Ended), "{event:?}");
                assert_eq!(next, record, "{event:?}");
            }
        }
    }
}

#[test]
fn each_end_has_its_status_and_is_told_with_its_time() {
    use TaskStatus::{Cancelled, Completed, Failed};
    let statuses = [Completed, Completed, Failed, Failed, Failed, Cancelled];
    for (end, status) in End::ALL.into_iter().zip(statuses) {
        let mut record = leased();
        record.apply(Event::Finish { fence: 1, end }, after(1)).unwrap();
        assert_eq!(record.status(NOON), status);
        assert_eq!(record.ended, Some((end, after(1))));
    }
}

#[test]
fn of_cancel_and_finish_the_first_wins() {
    let finish = Event::Finish { fence: 1, end: DONE };
    for (first, second, end) in [(Event::Cancel, finish, End::Cancelled), (finish, Event::Cancel, DONE)] {
        let mut record = leased();
        record.apply(first, after(1)).unwrap();
        assert_eq!(record.apply(second, after(2)), Err(TransitionError::Ended));
        assert_eq!(record.ended, Some((end, after(1))));
    }
}

#[test]
fn a_cancel_ends_a_task_wherever_it_stands() {
    let mut put_off = leased();
    put_off.apply(ACQUIRE, NOON + LEASE).unwrap();
    for mut record in [task(), leased(), asking(&["name"]), put_off] {
        record.apply(Event::Cancel, after(60)).unwrap();
        assert_eq!(record.status(after(60)), TaskStatus::Cancelled);
        assert_eq!((record.leased_until, record.due, record.attention()), (None, None, None));
        assert!(record.open.is_empty(), "nothing is asked of the client any more");
    }
}

#[test]
fn an_answer_and_a_cancel_at_once_leave_it_cancelled() {
    let name = texts(&["name"]);
    let events = [Event::Answer { keys: &name }, Event::Cancel];
    for order in [[0, 1], [1, 0]] {
        let mut record = asking(&["name"]);
        let results = order.map(|index| record.apply(events[index], after(1)));
        assert_eq!(results[0], Ok(()));
        assert_eq!(record.status(after(1)), TaskStatus::Cancelled);
    }
}

#[test]
fn a_task_that_ends_while_the_clock_goes_back_ended_no_earlier_than_it_changed() {
    let mut record = leased();
    record.apply(Event::Record { fence: 1, change: Change::default() }, after(60)).unwrap();
    record.apply(Event::Cancel, after(10)).unwrap();
    assert_eq!(record.ended, Some((End::Cancelled, after(60))));
    assert_eq!(record.updated, after(60));
}
