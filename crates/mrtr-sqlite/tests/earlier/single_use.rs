//! Tokens that an earlier version left in a store in all their states, and how they go on.

use std::time::Duration;

use mrtr_state::single_use::{Release, Reservation, ReserveOutcome, SingleUse, StepRecord};

use crate::tokens::{NOON, seal_for, use_of_at};

/// Leaves tokens behind, and gives them, a line each.
pub(crate) async fn leave(store: &dyn SingleUse) -> String {
    let tokens: Vec<_> = (0..5).map(|_| seal_for(LIFE, NOON)).collect();
    let [committed, begun, recorded, released, forgotten] = &tokens[..] else { panic!("there are five") };
    let reservation = reserve(store, committed, "accept").await;
    store.mark_started(&reservation, "charge", NOON).await.unwrap();
    store.commit(&reservation, b"paid", NOON).await.unwrap();
    let reservation = reserve(store, begun, "accept").await;
    store.mark_started(&reservation, "charge", NOON).await.unwrap();
    let reservation = reserve(store, recorded, "accept").await;
    store.mark_started(&reservation, "charge", NOON).await.unwrap();
    store.record(&reservation, "charge", b"4.20", NOON).await.unwrap();
    store.mark_started(&reservation, "ship", NOON).await.unwrap();
    let reservation = reserve(store, released, "accept").await;
    store.mark_started(&reservation, "charge", NOON).await.unwrap();
    store.record(&reservation, "charge", b"4.20", NOON).await.unwrap();
    assert_eq!(store.release(&reservation, NOON).await.unwrap(), Release::Kept);
    let reservation = reserve(store, forgotten, "accept").await;
    assert_eq!(store.release(&reservation, NOON).await.unwrap(), Release::Forgotten);
    tokens.join("\n")
}

/// Uses on what was left.
pub(crate) async fn go_on(store: &dyn SingleUse, tokens: &str) {
    let tokens: Vec<_> = tokens.lines().collect();
    let [committed, begun, recorded, released, forgotten] = tokens[..] else { panic!("there are five") };
    assert_eq!(ask(store, committed, "accept").await, ReserveOutcome::Committed(b"paid".to_vec()));
    assert_eq!(ask(store, committed, "decline").await, ReserveOutcome::OtherAnswers);
    let in_doubt = || StepRecord::new("charge", None);
    let charged = || StepRecord::new("charge", Some(b"4.20".to_vec()));
    finishes(store, begun, vec![in_doubt()]).await;
    finishes(store, recorded, vec![charged(), StepRecord::new("ship", None)]).await;
    finishes(store, released, vec![charged()]).await;
    finishes(store, forgotten, Vec::new()).await;
}

async fn finishes(store: &dyn SingleUse, token: &str, expected: Vec<StepRecord>) {
    if !expected.is_empty() {
        assert_eq!(ask(store, token, "decline").await, ReserveOutcome::OtherAnswers);
    }
    let ReserveOutcome::Reserved(reservation, steps) = ask(store, token, "accept").await else { panic!("it lapsed") };
    assert_eq!(steps, expected);
    store.commit(&reservation, b"done", LATER).await.unwrap();
    assert_eq!(ask(store, token, "accept").await, ReserveOutcome::Committed(b"done".to_vec()));
}

async fn ask(store: &dyn SingleUse, token: &str, answer: &str) -> ReserveOutcome {
    store.reserve(&use_of_at(token, answer, LATER), LEASE, LATER).await.unwrap()
}

async fn reserve(store: &dyn SingleUse, token: &str, answer: &str) -> Reservation {
    match store.reserve(&use_of_at(token, answer, NOON), LEASE, NOON).await.unwrap() {
        ReserveOutcome::Reserved(reservation, _) => reservation,
        other => panic!("{other:?}"),
    }
}

const LIFE: Duration = Duration::from_hours(24);
const LEASE: Duration = Duration::from_secs(30);
const LATER: mrtr_state::Timestamp = mrtr_state::Timestamp::from_millis(NOON.as_millis() + 3_600_000);
