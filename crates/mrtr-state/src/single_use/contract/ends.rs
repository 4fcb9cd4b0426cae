//! Steps and their records, how a reservation ends, and what is left of it.

use super::super::{Release, ReserveOutcome, SingleUse, SingleUseError, StepRecord};
use super::trial::{self, LATER, NOON, Token, every_verb_is_lost, in_progress, reserve, reserved, started, taken_over};

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
        trial::begin_and_drop(store.mark_started(&reservation, &step, NOON)).await;
        trial::begin_and_drop(store.record(&reservation, &step, &outcome, NOON)).await;
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

pub(super) async fn a_commit_stands_for_its_answers_and_no_others(store: &dyn SingleUse) {
    let token = Token::fresh(NOON);
    let reservation = reserved(store, &token, "card", NOON).await;
    store.mark_started(&reservation, "charge", NOON).await.expect("the reservation is held");
    store.commit(&reservation, b"paid", NOON).await.expect("the reservation is held");
    for now in [NOON, LATER] {
        assert_eq!(
            reserve(store, &token, "card", now).await,
            ReserveOutcome::Committed(b"paid".to_vec()),
            "the reply stands"
        );
        assert_eq!(
            reserve(store, &token, "cash", now).await,
            ReserveOutcome::OtherAnswers,
            "a reply is for its answers"
        );
    }
}

pub(super) async fn a_large_reply_and_an_empty_one_come_back_as_they_were(store: &dyn SingleUse) {
    let large: Vec<u8> = (0..=u8::MAX).cycle().take(1024 * 1024).collect();
    for bytes in [large, Vec::new()] {
        let token = Token::fresh(NOON);
        let reservation = reserved(store, &token, "card", NOON).await;
        started(store, &reservation, "charge", Some(&bytes)).await;
        let (reservation, steps) = taken_over(store, &token, "card", LATER).await;
        assert_eq!(steps, [StepRecord::new("charge", Some(bytes.clone()))], "an outcome comes back as it was");
        store.commit(&reservation, &bytes, LATER).await.expect("the reservation is held");
        let again = reserve(store, &token, "card", LATER).await;
        assert!(again == ReserveOutcome::Committed(bytes), "a reply comes back as it was");
    }
}

pub(super) async fn a_reservation_ends_once(store: &dyn SingleUse) {
    let committed = Token::fresh(NOON);
    let reservation = reserved(store, &committed, "card", NOON).await;
    store.commit(&reservation, b"paid", NOON).await.expect("the reservation is held");
    every_verb_is_lost(store, &reservation, NOON).await;
    assert_eq!(
        reserve(store, &committed, "card", NOON).await,
        ReserveOutcome::Committed(b"paid".to_vec()),
        "the reply stands"
    );

    let released = Token::fresh(NOON);
    let reservation = reserved(store, &released, "card", NOON).await;
    started(store, &reservation, "charge", None).await;
    assert_eq!(store.release(&reservation, NOON).await.expect("the reservation is held"), Release::Kept);
    every_verb_is_lost(store, &reservation, NOON).await;

    let forgotten = Token::fresh(NOON);
    let reservation = reserved(store, &forgotten, "card", NOON).await;
    store.release(&reservation, NOON).await.expect("the reservation is held");
    every_verb_is_lost(store, &reservation, NOON).await;
}

pub(super) async fn a_release_without_a_step_leaves_nothing(store: &dyn SingleUse) {
    let token = Token::fresh(NOON);
    let first = reserved(store, &token, "card", NOON).await;
    assert_eq!(store.release(&first, NOON).await.expect("the reservation is held"), Release::Forgotten);
    let second = reserved(store, &token, "cash", NOON).await;
    assert!(second.fence() > first.fence(), "a later reservation has a higher fence, also after a release");
    every_verb_is_lost(store, &first, NOON).await;
}

pub(super) async fn a_release_after_a_step_leaves_its_record(store: &dyn SingleUse) {
    let token = Token::fresh(NOON);
    let first = reserved(store, &token, "card", NOON).await;
    started(store, &first, "charge", Some(b"4.20")).await;
    started(store, &first, "post", None).await;
    assert_eq!(
        store.release(&first, NOON).await.expect("the reservation is held"),
        Release::Kept,
        "a step had started"
    );
    assert_eq!(
        reserve(store, &token, "cash", NOON).await,
        ReserveOutcome::OtherAnswers,
        "a step ran for other answers"
    );

    let (second, steps) = taken_over(store, &token, "card", NOON).await;
    let record = [StepRecord::new("charge", Some(b"4.20".to_vec())), StepRecord::new("post", None)];
    assert_eq!(steps, record, "a round after a release goes on from its record");
    assert!(second.fence() > first.fence(), "a later reservation has a higher fence");

    let kept = store.release(&second, NOON).await.expect("the reservation is held");
    assert_eq!(kept, Release::Kept, "a step of an earlier reservation counts, though this one started none");
    assert_eq!(taken_over(store, &token, "card", NOON).await.1, record, "the record stands");
}

pub(super) async fn waiting_ends_with_the_reservation(store: &dyn SingleUse) {
    waiting_ends_with_a_reservation_elsewhere(store, store).await;
}

pub(super) async fn waiting_ends_with_a_reservation_elsewhere(here: &dyn SingleUse, there: &dyn SingleUse) {
    let token = &Token::fresh(NOON);
    let reservation = &reserved(there, token, "card", NOON).await;
    let awaited = &in_progress(here, token, "card", NOON).await;
    let (waited, forgotten) = trial::meanwhile(here.ended(awaited), there.release(reservation, NOON)).await;
    waited.expect("waiting ends with a release");
    assert_eq!(forgotten.expect("the reservation is held"), Release::Forgotten);
    here.ended(awaited).await.expect("waiting for a released reservation ends at once");

    let reservation = &reserved(there, token, "card", NOON).await;
    here.ended(awaited).await.expect("waiting for an earlier reservation ends at once");
    started(there, reservation, "charge", None).await;
    let awaited = &in_progress(here, token, "card", NOON).await;
    let (waited, kept) = trial::meanwhile(here.ended(awaited), there.release(reservation, NOON)).await;
    waited.expect("waiting ends with a release that leaves a record");
    assert_eq!(kept.expect("the reservation is held"), Release::Kept);

    taken_over(there, token, "card", NOON).await;
    let awaited = &in_progress(here, token, "card", NOON).await;
    let (waited, (reservation, _)) =
        trial::meanwhile(here.ended(awaited), taken_over(there, token, "card", LATER)).await;
    waited.expect("waiting ends when another round takes the reservation over");

    let awaited = &in_progress(here, token, "card", LATER).await;
    let all_wait = trial::all((0..20).map(|_| here.ended(awaited)));
    let (waited, committed) = trial::meanwhile(all_wait, there.commit(&reservation, b"paid", LATER)).await;
    committed.expect("the reservation is held");
    assert!(waited.iter().all(Result::is_ok), "waiting ends with a commit, for every caller");
    here.ended(awaited).await.expect("waiting for a committed reservation ends at once");
    assert_eq!(
        reserve(here, token, "card", LATER).await,
        ReserveOutcome::Committed(b"paid".to_vec()),
        "its reply is there"
    );
}
