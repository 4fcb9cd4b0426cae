//! What the promises have in common: verbs with expected answers, and the moments at which they are asked.

use std::time::Duration;

use super::super::{InProgress, Reservation, ReserveOutcome, SingleUse, SingleUseError, StepRecord};
use super::tokens::Token;
use crate::Timestamp;

pub(super) async fn reserve(store: &dyn SingleUse, token: &Token, answer: &str, now: Timestamp) -> ReserveOutcome {
    store.reserve(&token.answered(answer), LEASE, now).await.expect("the token is fresh")
}

pub(super) async fn taken_over(
    store: &dyn SingleUse,
    token: &Token,
    answer: &str,
    now: Timestamp,
) -> (Reservation, Vec<StepRecord>) {
    match reserve(store, token, answer, now).await {
        ReserveOutcome::Reserved(reservation, steps) => (reservation, steps),
        other => panic!("a token that no round holds is reserved, not {other:?}"),
    }
}

pub(super) async fn reserved(store: &dyn SingleUse, token: &Token, answer: &str, now: Timestamp) -> Reservation {
    let (reservation, steps) = taken_over(store, token, answer, now).await;
    assert_eq!(steps, [], "where no step has started there is no record");
    reservation
}

pub(super) async fn in_progress(store: &dyn SingleUse, token: &Token, answer: &str, now: Timestamp) -> InProgress {
    match reserve(store, token, answer, now).await {
        ReserveOutcome::InProgress(in_progress) => in_progress,
        other => panic!("a token that another round holds is in progress, not {other:?}"),
    }
}

/// Marks a step, and records it if it gave something.
pub(super) async fn started(store: &dyn SingleUse, reservation: &Reservation, step: &str, outcome: Option<&[u8]>) {
    store.mark_started(reservation, step, NOON).await.expect("the reservation is held");
    if let Some(outcome) = outcome {
        store.record(reservation, step, outcome, NOON).await.expect("the step has started");
    }
}

/// Renews by a keeper, while this runtime is blocked.
pub(super) fn renewed_by_keeper(
    store: &dyn SingleUse,
    reservations: &[Reservation],
    now: Timestamp,
) -> Vec<Result<(), SingleUseError>> {
    let mut keeper = store.lease_keeper();
    std::thread::scope(|scope| scope.spawn(|| keeper.renew(reservations, LEASE, now)).join())
        .expect("a keeper does not panic")
}

pub(super) async fn every_verb_is_lost(store: &dyn SingleUse, reservation: &Reservation, now: Timestamp) {
    let lost = [
        ("renew", store.renew(reservation, LEASE, now).await),
        ("mark_started", store.mark_started(reservation, "refund", now).await),
        ("record", store.record(reservation, "charge", b"0", now).await),
        ("commit", store.commit(reservation, b"unpaid", now).await),
        ("release", store.release(reservation, now).await.map(drop)),
    ];
    for (verb, outcome) in lost {
        let lost = matches!(outcome, Err(SingleUseError::Lost));
        assert!(lost, "{verb} under a reservation that no longer holds is lost, not {outcome:?}");
    }
}

/// A moment like any other.
pub(super) const NOON: Timestamp = Timestamp::from_millis(1_785_240_000_000);
pub(super) const LEASE: Duration = Duration::from_secs(30);
pub(super) const JUST_BEFORE_IT_LAPSES: Timestamp = Timestamp::from_millis(NOON.as_millis() + 29_999);
/// When a reservation of noon has lapsed, and its token is still good.
pub(super) const LATER: Timestamp = Timestamp::from_millis(NOON.as_millis() + 60_000);
