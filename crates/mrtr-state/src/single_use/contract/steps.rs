//! Steps and their records.

use super::super::{Release, SingleUse, SingleUseError, StepRecord};
use super::together;
use super::tokens::Token;
use super::verbs::{LATER, NOON, reserved, started, taken_over};

pub(super) async fn a_recorded_step_does_not_start_again(store: &dyn SingleUse) {
    let token = Token::fresh(NOON);
    let reservation = reserved(store, &token, "card", NOON).await;
    started(store, &reservation, "charge", None).await;
    started(store, &reservation, "charge", Some(b"4.20")).await;
    let again = store.mark_started(&reservation, "charge", NOON).await;
    assert!(matches!(again, Err(SingleUseError::OutOfTurn(_))), "a recorded step does not start again, not {again:?}");
    let (_, steps) = taken_over(store, &token, "card", LATER).await;
    assert_eq!(steps, [StepRecord::new("charge", Some(b"4.20".to_vec()))], "a step out of turn leaves its record");
}

pub(super) async fn a_step_may_be_recorded_that_was_not_marked(store: &dyn SingleUse) {
    let token = Token::fresh(NOON);
    let reservation = reserved(store, &token, "card", NOON).await;
    started(store, &reservation, "charge", None).await;
    store.record(&reservation, "post", b"dropped", NOON).await.expect("a step needs no mark to be recorded");
    assert_eq!(store.release(&reservation, NOON).await.expect("the reservation is held"), Release::Kept);
    let (_, steps) = taken_over(store, &token, "card", NOON).await;
    let expected = [StepRecord::new("charge", None), StepRecord::new("post", Some(b"dropped".to_vec()))];
    assert_eq!(steps, expected, "a step that was only recorded stands where it was recorded");

    let token = Token::fresh(NOON);
    let reservation = reserved(store, &token, "card", NOON).await;
    store.record(&reservation, "charge", b"", NOON).await.expect("a step needs no mark to be recorded");
    let kept = store.release(&reservation, NOON).await.expect("the reservation is held");
    assert_eq!(kept, Release::Kept, "a record counts as a step that has started");
}

pub(super) async fn the_last_record_of_a_step_stands(store: &dyn SingleUse) {
    let token = Token::fresh(NOON);
    let first = reserved(store, &token, "card", NOON).await;
    started(store, &first, "charge", Some(b"4.20")).await;
    started(store, &first, "post", None).await;
    for outcome in [&b"9.99"[..], b"", b"dropped"] {
        store.record(&first, "charge", outcome, NOON).await.expect("a step may be recorded again");
    }
    let (second, steps) = taken_over(store, &token, "card", LATER).await;
    let expected = [StepRecord::new("charge", Some(b"dropped".to_vec())), StepRecord::new("post", None)];
    assert_eq!(steps, expected, "the last record of a step stands, in the place of the first");

    store.record(&second, "charge", b"refunded", LATER).await.expect("a later reservation may record it again");
    let lost = store.record(&first, "charge", b"4.20", LATER).await;
    assert!(
        matches!(lost, Err(SingleUseError::Lost)),
        "a record of a reservation that lost the reservation is lost, not {lost:?}"
    );
    store.release(&second, LATER).await.expect("the reservation is held");
    let (_, steps) = taken_over(store, &token, "card", LATER).await;
    assert_eq!(steps[0], StepRecord::new("charge", Some(b"refunded".to_vec())), "the last record of a step stands");
}

/// A run that is cut short while it records says afterwards that the step was dropped.
pub(super) async fn a_verb_that_was_dropped_half_way_does_not_come_after_the_next(store: &dyn SingleUse) {
    let token = Token::fresh(NOON);
    let reservation = reserved(store, &token, "card", NOON).await;
    for number in 0..20 {
        let (step, outcome) = (format!("step {number}"), b"4.20".repeat(number));
        together::begin_and_drop(store.mark_started(&reservation, &step, NOON)).await;
        together::begin_and_drop(store.record(&reservation, &step, &outcome, NOON)).await;
        store.record(&reservation, &step, b"dropped", NOON).await.expect("a step may be recorded again");
    }
    let (_, steps) = taken_over(store, &token, "card", LATER).await;
    let expected: Vec<_> =
        (0..20).map(|number| StepRecord::new(format!("step {number}"), Some(b"dropped".to_vec()))).collect();
    assert_eq!(steps, expected, "verbs take effect in the order in which they were begun, or not at all");
}

pub(super) async fn records_are_in_the_order_in_which_steps_started(store: &dyn SingleUse) {
    let token = Token::fresh(NOON);
    let first = reserved(store, &token, "card", NOON).await;
    for step in ["zeta", "alpha", "mid"] {
        started(store, &first, step, None).await;
    }
    store.record(&first, "mid", b"1", NOON).await.expect("the step has started");
    store.record(&first, "alpha", b"2", NOON).await.expect("the step has started");

    let (second, _) = taken_over(store, &token, "card", LATER).await;
    store.mark_started(&second, "beta", LATER).await.expect("the reservation is held");
    store.mark_started(&second, "zeta", LATER).await.expect("a step in doubt may start again");
    store.record(&second, "zeta", b"3", LATER).await.expect("the step has started");
    store.release(&second, LATER).await.expect("the reservation is held");

    let (_, steps) = taken_over(store, &token, "card", LATER).await;
    let expected = [("zeta", Some("3")), ("alpha", Some("2")), ("mid", Some("1")), ("beta", None)];
    let expected = expected.map(|(name, outcome)| StepRecord::new(name, outcome.map(Into::into)));
    assert_eq!(steps, expected, "records are in the order in which their steps first started");
}
