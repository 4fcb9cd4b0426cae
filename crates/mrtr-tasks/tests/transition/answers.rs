//! Questions and answers: the statuses and the runs that follow from them.

use std::time::Duration;

use mrtr_schema::tasks::TaskStatus;
use mrtr_tasks::record::{Change, Event, TransitionError};

use crate::task::{ACQUIRE, LEASE, NOON, after, asking, leased, texts};

const PARK: Event<'static> = Event::Park {
    fence: 1,
    change: Change { opened: &[], retired: &[], progressed: false, lasts: None },
    look_again: None,
};

#[test]
fn a_question_is_shown_as_soon_as_it_is_recorded_though_the_run_goes_on() {
    let mut record = leased();
    let opened = texts(&["name"]);
    record
        .apply(Event::Record { fence: 1, change: Change { opened: &opened, ..Change::default() } }, after(1))
        .unwrap();
    assert_eq!(record.status(after(1)), TaskStatus::InputRequired);
    assert_eq!(record.leased_until, Some(NOON + LEASE));
    record.apply(PARK, after(2)).unwrap();
    assert_eq!(record.status(after(2)), TaskStatus::InputRequired);
    assert_eq!(record.attention(), None, "it waits for the client alone");
}

#[test]
fn an_answer_starts_a_run_at_once_if_none_has_it() {
    let mut record = asking(&["name"]);
    assert_eq!(record.apply(ACQUIRE, after(5)), Err(TransitionError::NotDue));
    record.apply(Event::Answer { keys: &texts(&["name"]) }, after(5)).unwrap();
    assert_eq!(record.status(after(5)), TaskStatus::Working);
    assert_eq!((record.due, record.updated), (Some(after(5)), after(5)));
    record.apply(ACQUIRE, after(5)).unwrap();
    assert_eq!((record.fence, record.leased_until), (2, Some(after(35))));
}

#[test]
fn a_partial_answer_leaves_it_input_required_also_while_a_run_looks_at_it() {
    let mut record = asking(&["name", "size"]);
    record.apply(Event::Answer { keys: &texts(&["size"]) }, after(5)).unwrap();
    assert_eq!((record.status(after(5)), record.due), (TaskStatus::InputRequired, Some(after(5))));
    record.apply(ACQUIRE, after(6)).unwrap();
    assert_eq!(record.status(after(6)), TaskStatus::InputRequired);
    assert_eq!(record.open, ["name"]);
}

#[test]
fn an_answer_while_a_run_has_it_has_another_run_follow() {
    let mut record = leased();
    let name = texts(&["name"]);
    record.apply(Event::Record { fence: 1, change: Change { opened: &name, ..Change::default() } }, after(1)).unwrap();
    record.apply(Event::Answer { keys: &name }, after(2)).unwrap();
    assert_eq!((record.run_again, record.due), (true, None));
    record.apply(PARK, after(3)).unwrap();
    assert_eq!((record.run_again, record.due), (false, Some(after(3))));
    record.apply(ACQUIRE, after(3)).unwrap();
    record.apply(Event::Park { fence: 2, change: Change::default(), look_again: None }, after(4)).unwrap();
    assert_eq!(record.due, None, "one run follows, not another for ever");
}

#[test]
fn another_run_follows_at_once_though_the_run_would_look_later() {
    let mut record = leased();
    record.apply(Event::Wake, after(1)).unwrap();
    let look_again = Some(Duration::from_mins(1));
    record.apply(Event::Park { fence: 1, change: Change::default(), look_again }, after(2)).unwrap();
    assert_eq!(record.due, Some(after(2)));
}

#[test]
fn a_run_that_looks_again_is_due_then_and_an_answer_brings_it_forward() {
    let mut record = leased();
    let opened = texts(&["name"]);
    let change = Change { opened: &opened, ..Change::default() };
    let look_again = Some(Duration::from_mins(1));
    record.apply(Event::Park { fence: 1, change, look_again }, after(2)).unwrap();
    assert_eq!(record.attention(), Some(after(62)));
    assert_eq!(record.apply(ACQUIRE, after(61)), Err(TransitionError::NotDue));
    record.apply(Event::Answer { keys: &opened }, after(10)).unwrap();
    assert_eq!(record.attention(), Some(after(10)));
    record.apply(Event::Wake, after(20)).unwrap();
    assert_eq!(record.attention(), Some(after(10)), "a run that is due is not put off");
}

#[test]
fn unknown_and_answered_keys_change_nothing() {
    let mut running = leased();
    let opened = texts(&["name", "size"]);
    running.apply(Event::Record { fence: 1, change: Change { opened: &opened, ..Change::default() } }, NOON).unwrap();
    for mut record in [running, asking(&["name", "size"])] {
        record.apply(Event::Answer { keys: &texts(&["name"]) }, after(1)).unwrap();
        let before = record.clone();
        for keys in [texts(&["name"]), texts(&["Size", ""]), texts(&[])] {
            assert_eq!(record.apply(Event::Answer { keys: &keys }, after(9)), Ok(()), "they are acknowledged");
            assert_eq!(record, before, "{keys:?}");
        }
    }
}

#[test]
fn a_question_that_is_retired_is_not_asked_any_more_and_a_fresh_key_is() {
    let mut record = leased();
    let (first, second) = (texts(&["name"]), texts(&["name.2"]));
    record.apply(Event::Record { fence: 1, change: Change { opened: &first, ..Change::default() } }, NOON).unwrap();
    let change = Change { opened: &second, retired: &first, ..Change::default() };
    record.apply(Event::Record { fence: 1, change }, after(1)).unwrap();
    assert_eq!(record.open, second);
    record.apply(Event::Answer { keys: &first }, after(2)).unwrap();
    assert_eq!((record.open.as_slice(), record.run_again), (second.as_slice(), false));
    record
        .apply(
            Event::Park { fence: 1, change: Change { retired: &second, ..Change::default() }, look_again: None },
            after(3),
        )
        .unwrap();
    assert_eq!(record.status(after(3)), TaskStatus::Working);
}

#[test]
fn what_happens_outside_has_it_run_though_questions_are_open() {
    let mut record = asking(&["name"]);
    record.apply(Event::Wake, after(5)).unwrap();
    assert_eq!((record.status(after(5)), record.due), (TaskStatus::InputRequired, Some(after(5))));
}
