//! What the promises have in common: verbs with expected answers, and the moments at which they are asked.

use std::time::Duration;

use super::super::{Claim, GuardError, Holder, Running, SingleUse, StepRecord};
use super::tokens::Token;
use crate::Timestamp;

pub(super) async fn claim(store: &dyn SingleUse, token: &Token, answer: &str, now: Timestamp) -> Claim {
    store.claim(&token.answered(answer), LEASE, now).await.expect("the token is fresh")
}

pub(super) async fn taken_over(
    store: &dyn SingleUse,
    token: &Token,
    answer: &str,
    now: Timestamp,
) -> (Holder, Vec<StepRecord>) {
    match claim(store, token, answer, now).await {
        Claim::Taken(holder, steps) => (holder, steps),
        other => panic!("a claim that nobody holds is taken, not {other:?}"),
    }
}

pub(super) async fn taken(store: &dyn SingleUse, token: &Token, answer: &str, now: Timestamp) -> Holder {
    let (holder, steps) = taken_over(store, token, answer, now).await;
    assert_eq!(steps, [], "a claim before which no step started has no record");
    holder
}

pub(super) async fn running(store: &dyn SingleUse, token: &Token, answer: &str, now: Timestamp) -> Running {
    match claim(store, token, answer, now).await {
        Claim::Running(running) => running,
        other => panic!("a claim that somebody holds is running, not {other:?}"),
    }
}

/// Marks a step, and records it if it gave something.
pub(super) async fn started(store: &dyn SingleUse, holder: &Holder, step: &str, outcome: Option<&[u8]>) {
    store.mark_started(holder, step, NOON).await.expect("the claim is held");
    if let Some(outcome) = outcome {
        store.record(holder, step, outcome, NOON).await.expect("the step has started");
    }
}

pub(super) async fn every_verb_is_lost(store: &dyn SingleUse, holder: &Holder, now: Timestamp) {
    let lost = [
        ("renew", store.renew(holder, LEASE, now).await),
        ("mark_started", store.mark_started(holder, "refund", now).await),
        ("record", store.record(holder, "charge", b"0", now).await),
        ("commit", store.commit(holder, b"unpaid", now).await),
        ("release", store.release(holder, now).await.map(drop)),
    ];
    for (verb, outcome) in lost {
        let lost = matches!(outcome, Err(GuardError::Lost));
        assert!(lost, "{verb} of whoever does not hold the claim is lost, not {outcome:?}");
    }
}

/// A moment like any other.
pub(super) const NOON: Timestamp = Timestamp::from_millis(1_785_240_000_000);
pub(super) const LEASE: Duration = Duration::from_secs(30);
pub(super) const JUST_BEFORE_IT_LAPSES: Timestamp = Timestamp::from_millis(NOON.as_millis() + 29_999);
/// When a claim of noon has lapsed, and its token is still good.
pub(super) const LATER: Timestamp = Timestamp::from_millis(NOON.as_millis() + 60_000);
