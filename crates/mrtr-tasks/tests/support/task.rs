//! A task and its times, for tests of its record.

use std::time::Duration;

use mrtr_schema::Revision;
use mrtr_state::{FlowId, Timestamp};
use mrtr_tasks::record::{Change, Company, Event};
use mrtr_tasks::{End, Owner, TaskId, TaskRecord};

pub(crate) const NOON: Timestamp = Timestamp::from_millis(1_785_240_000_000);
pub(crate) const LEASE: Duration = Duration::from_secs(30);
/// A runner that has no other run takes it.
pub(crate) const ACQUIRE: Event<'static> = Event::Acquire { lease: LEASE, company: Company::Nothing };
pub(crate) const DONE: End = End::Completed { is_error: false };

/// A task that was created at noon.
pub(crate) fn task() -> TaskRecord {
    let owner = Owner::new("tracker", None, None);
    TaskRecord::new(
        TaskId::from_bytes([1; 16]),
        owner,
        FlowId::from_bytes([7; 16]),
        "echo",
        Revision::V2026_07_28,
        NOON,
    )
}

/// A task that a run has had since noon.
#[allow(dead_code, reason = "not every test that includes this file begins there")]
pub(crate) fn leased() -> TaskRecord {
    let mut task = task();
    task.apply(ACQUIRE, NOON).unwrap();
    task
}

/// A task whose first run asked these at noon and ended.
#[allow(dead_code, reason = "not every test that includes this file begins there")]
pub(crate) fn asking(keys: &[&str]) -> TaskRecord {
    let mut task = leased();
    let opened = texts(keys);
    let change = Change { opened: &opened, progressed: true, ..Change::default() };
    task.apply(Event::Park { fence: 1, change, look_again: None }, NOON).unwrap();
    task
}

pub(crate) fn texts(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|&key| key.to_owned()).collect()
}

/// So many seconds after noon.
pub(crate) fn after(seconds: u64) -> Timestamp {
    NOON + Duration::from_secs(seconds)
}
