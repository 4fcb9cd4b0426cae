//! The time of a task: from its creation, as readers see it, longer for a question, and until a store may remove it.

use std::time::Duration;

use mrtr_schema::tasks::TaskStatus;
use mrtr_tasks::record::{Change, Event, TransitionError};
use mrtr_tasks::{End, TaskRecord};

use crate::task::{ACQUIRE, DONE, LEASE, NOON, after, asking, leased, texts};

const MINUTE: Duration = Duration::from_mins(1);

fn for_a_minute(record: TaskRecord) -> TaskRecord {
    TaskRecord { ttl: Some(MINUTE), ..record }
}

#[test]
fn its_time_counts_from_its_creation_and_readers_see_its_end_before_a_store_does() {
    for mut record in [for_a_minute(leased()), for_a_minute(asking(&["name"]))] {
        record.apply(Event::Wake, after(50)).unwrap();
        assert_eq!(record.expires(), Some(after(60)), "whatever has happened since");
        let last = NOON + Duration::from_millis(59_999);
        assert_eq!(record.end(last), None);
        assert_eq!((record.end(after(60)), record.status(after(60))), (Some(End::Expired), TaskStatus::Failed));
        assert_eq!(record.ended, None, "no store has noticed");
    }
}

#[test]
fn nothing_but_its_expiry_happens_to_a_task_whose_time_is_over() {
    let name = texts(&["name"]);
    let change = Change { opened: &name, lasts: Some(MINUTE), ..Change::default() };
    let events = [
        ACQUIRE,
        Event::Renew { fence: 1, lease: LEASE },
        Event::Record { fence: 1, change },
        Event::Park { fence: 1, change, look_again: None },
        Event::HandOver { fence: 1, pause: Duration::ZERO },
        Event::Finish { fence: 1, end: DONE },
        Event::Answer { keys: &name },
        Event::Wake,
        Event::Cancel,
        Event::Retry,
    ];
    for record in [for_a_minute(leased()), for_a_minute(asking(&["name"]))] {
        for event in events {
            let mut next = record.clone();
            assert_eq!(next.apply(event, after(60)), Err(TransitionError::Ended), "{event:?}");
            assert_eq!(next, record, "{event:?}");
        }
        let mut next = record;
        next.apply(Event::Expire, after(61)).unwrap();
        assert_eq!(next.ended, Some((End::Expired, after(61))));
        assert_eq!((next.leased_until, next.due, next.open.len()), (None, None, 0));
    }
}

#[test]
fn it_does_not_expire_before_its_time_nor_without_one() {
    for mut record in [leased(), for_a_minute(leased())] {
        let before = record.clone();
        assert_eq!(record.apply(Event::Expire, after(59)), Err(TransitionError::NotDue));
        assert_eq!(record, before);
    }
    assert_eq!(leased().end(after(u64::MAX / 1_000)), None);
}

#[test]
fn what_must_last_longer_makes_the_ttl_longer_and_never_shorter() {
    let lasts = |seconds| Change { lasts: Some(Duration::from_secs(seconds)), ..Change::default() };
    let mut record = for_a_minute(leased());
    record.apply(Event::Record { fence: 1, change: lasts(30) }, after(20)).unwrap();
    assert_eq!(record.ttl, Some(MINUTE));
    record.apply(Event::Record { fence: 1, change: lasts(50) }, after(20)).unwrap();
    assert_eq!(record.expires(), Some(after(70)));
    record.apply(Event::Park { fence: 1, change: lasts(3_600), look_again: None }, after(30)).unwrap();
    assert_eq!(record.expires(), Some(after(3_630)));
    let mut unlimited = leased();
    unlimited.apply(Event::Record { fence: 1, change: lasts(30) }, after(20)).unwrap();
    assert_eq!(unlimited.ttl, None);
}

#[test]
fn it_may_be_removed_at_the_later_of_the_end_of_its_ttl_and_of_its_retention() {
    let removable = |ttl: Option<u64>, retention: u64| {
        let ttl = ttl.map(Duration::from_secs);
        let mut record = TaskRecord { ttl, retention: Duration::from_secs(retention), ..leased() };
        assert_eq!(record.removable(), None, "it has not ended");
        record.apply(Event::Finish { fence: 1, end: DONE }, after(20)).unwrap();
        record.removable()
    };
    assert_eq!(removable(Some(60), 10), Some(after(60)));
    assert_eq!(removable(Some(60), 100), Some(after(120)));
    assert_eq!(removable(None, 100), Some(after(120)));
}

#[test]
fn a_task_that_expired_is_kept_for_its_retention() {
    let mut record = TaskRecord { retention: Duration::from_secs(10), ..for_a_minute(leased()) };
    assert_eq!(record.removable(), None);
    record.apply(Event::Expire, after(60)).unwrap();
    assert_eq!(record.removable(), Some(after(70)));
}
