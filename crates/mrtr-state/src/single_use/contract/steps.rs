//! Steps and their records.

use super::super::{GuardError, SingleUse, StepRecord};
use super::tokens::Token;
use super::verbs::{LATER, NOON, started, taken, taken_over};

pub(super) async fn steps_are_marked_then_recorded(store: &dyn SingleUse) {
    let token = Token::fresh(NOON);
    let holder = taken(store, &token, "card", NOON).await;
    out_of_turn(&store.record(&holder, "charge", b"4.20", NOON).await, "a step is marked before it is recorded");
    started(store, &holder, "charge", None).await;
    started(store, &holder, "charge", Some(b"4.20")).await;
    out_of_turn(&store.record(&holder, "charge", b"9.99", NOON).await, "a step is recorded once");
    out_of_turn(&store.mark_started(&holder, "charge", NOON).await, "a recorded step does not start again");
    let (_, steps) = taken_over(store, &token, "card", LATER).await;
    assert_eq!(steps, [StepRecord::new("charge", Some(b"4.20".to_vec()))], "the first record of a step stands");
}

pub(super) async fn records_are_in_the_order_in_which_steps_started(store: &dyn SingleUse) {
    let token = Token::fresh(NOON);
    let first = taken(store, &token, "card", NOON).await;
    for step in ["zeta", "alpha", "mid"] {
        started(store, &first, step, None).await;
    }
    store.record(&first, "mid", b"1", NOON).await.expect("the step has started");
    store.record(&first, "alpha", b"2", NOON).await.expect("the step has started");

    let (second, _) = taken_over(store, &token, "card", LATER).await;
    store.mark_started(&second, "beta", LATER).await.expect("the claim is held");
    store.mark_started(&second, "zeta", LATER).await.expect("a step in doubt may start again");
    store.record(&second, "zeta", b"3", LATER).await.expect("the step has started");
    store.release(&second, LATER).await.expect("the claim is held");

    let (_, steps) = taken_over(store, &token, "card", LATER).await;
    let expected = [("zeta", Some("3")), ("alpha", Some("2")), ("mid", Some("1")), ("beta", None)];
    let expected = expected.map(|(name, outcome)| StepRecord::new(name, outcome.map(Into::into)));
    assert_eq!(steps, expected, "records are in the order in which their steps first started");
}

fn out_of_turn(outcome: &Result<(), GuardError>, promise: &str) {
    assert!(matches!(outcome, Err(GuardError::OutOfTurn(_))), "{promise}, not {outcome:?}");
}
