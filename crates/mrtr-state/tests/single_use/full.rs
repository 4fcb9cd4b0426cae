//! A store in memory that is full takes no new token, and forgets none that it has.

use std::time::Duration;

use mrtr_state::single_use::{Release, Reservation, ReserveOutcome, SingleUseError, StepRecord};
use mrtr_state::{MemorySingleUse, SingleUse, Timestamp, TokenUse};

use crate::LEASE;
use crate::tokens::{self, NOON};

const LIMIT: usize = 64 * 1024;

#[tokio::test]
async fn a_full_store_takes_no_new_token_and_knows_every_old_one() {
    let store = MemorySingleUse::new(NOON).limit(LIMIT);
    let released = fresh();
    let reservation = reserved(&store, &released, NOON).await;
    store.mark_started(&reservation, "charge", NOON).await.unwrap();
    store.release(&reservation, NOON).await.unwrap();
    let [recording, lapsed] = [fresh(), fresh()];
    let in_progress = reserved(&store, &recording, NOON).await;
    reserved(&store, &lapsed, NOON).await;
    let spent = spend_until_full(&store, b"paid", NOON).await;

    for token_use in &spent {
        let again = store.reserve(token_use, LEASE, NOON).await.unwrap();
        assert_eq!(again, ReserveOutcome::Committed(b"paid".to_vec()));
    }
    // What runs is recorded and committed, and what ran goes on, however full it is.
    store.mark_started(&in_progress, "charge", NOON).await.unwrap();
    store.record(&in_progress, "charge", &vec![7; 2 * LIMIT], NOON).await.unwrap();
    store.commit(&in_progress, &vec![8; 2 * LIMIT], NOON).await.unwrap();
    assert_eq!(store.reserve(&recording, LEASE, NOON).await.unwrap(), ReserveOutcome::Committed(vec![8; 2 * LIMIT]));
    let Ok(ReserveOutcome::Reserved(_, steps)) = store.reserve(&released, LEASE, NOON).await else {
        panic!("it goes on")
    };
    assert_eq!(steps, [StepRecord::new("charge", None)]);
    reserved(&store, &lapsed, NOON + LEASE).await;
    assert_full(&store.reserve(&fresh(), LEASE, NOON + LEASE).await);
}

#[tokio::test]
async fn a_full_store_has_room_again_when_tokens_have_expired_or_were_given_back() {
    let store = MemorySingleUse::new(NOON).limit(LIMIT);
    let given_back = reserved(&store, &fresh(), NOON).await;
    let spent = spend_until_full(&store, b"paid", NOON).await;
    assert_eq!(store.release(&given_back, NOON).await.unwrap(), Release::Forgotten);
    reserved(&store, &fresh(), NOON).await;
    assert_full(&store.reserve(&fresh(), LEASE, NOON).await);

    let end = spent[0].keep_until();
    let just_before = Timestamp::from_millis(end.as_millis() - 1);
    assert_full(&store.reserve(&long_lived(), LEASE, just_before).await);
    for _ in &spent {
        let reservation = reserved(&store, &long_lived(), end).await;
        store.commit(&reservation, b"paid", end).await.unwrap();
    }
    for _ in 0..2 {
        drop(store.reserve(&long_lived(), LEASE, end).await);
    }
    assert_full(&store.reserve(&long_lived(), LEASE, end).await);
}

#[tokio::test]
async fn what_is_kept_is_counted_in_bytes() {
    let counts = async |reply: usize| {
        let store = MemorySingleUse::new(NOON).limit(LIMIT);
        spend_until_full(&store, &vec![0; reply], NOON).await.len()
    };
    let [empty, page, half] = [counts(0).await, counts(4096).await, counts(LIMIT / 2).await];
    assert!((LIMIT / 1000..=LIMIT / 200).contains(&empty), "some hundred bytes each: {empty}");
    assert!((12..=16).contains(&page), "{page}");
    assert_eq!(half, 2);
    let nothing = MemorySingleUse::new(NOON).limit(0);
    assert_full(&nothing.reserve(&fresh(), LEASE, NOON).await);
}

#[tokio::test]
async fn steps_are_counted_as_replies_are() {
    let counts = async |outcome: usize| {
        let store = MemorySingleUse::new(NOON).limit(LIMIT);
        let running = reserved(&store, &fresh(), NOON).await;
        store.mark_started(&running, "charge", NOON).await.unwrap();
        store.record(&running, "charge", &vec![0; outcome], NOON).await.unwrap();
        spend_until_full(&store, &[0; 4096], NOON).await.len()
    };
    let [none, half] = [counts(0).await, counts(LIMIT / 2).await];
    assert!((12..=16).contains(&none), "{none}");
    assert!((6..=8).contains(&half), "half of the room is taken by a step: {half}");
}

async fn spend_until_full(store: &MemorySingleUse, reply: &[u8], now: Timestamp) -> Vec<TokenUse> {
    let mut spent = Vec::new();
    loop {
        let token_use = fresh();
        let outcome = store.reserve(&token_use, LEASE, now).await;
        let Ok(ReserveOutcome::Reserved(reservation, _)) = outcome else {
            assert_full(&outcome);
            return spent;
        };
        store.commit(&reservation, reply, now).await.unwrap();
        spent.push(token_use);
        assert!(spent.len() < LIMIT, "it is never full");
    }
}

async fn reserved(store: &MemorySingleUse, token_use: &TokenUse, now: Timestamp) -> Reservation {
    match store.reserve(token_use, LEASE, now).await {
        Ok(ReserveOutcome::Reserved(reservation, _)) => reservation,
        other => panic!("{other:?}"),
    }
}

fn assert_full(outcome: &Result<ReserveOutcome, SingleUseError>) {
    let Err(error @ SingleUseError::Full { held, limit }) = outcome else { panic!("it is full, not {outcome:?}") };
    assert!(*limit <= held + 1000, "{held} of {limit}");
    let said = error.to_string();
    assert!(said.contains(&format!("{held} of {limit} bytes")) && said.contains("raise its limit"), "{said}");
}

fn fresh() -> TokenUse {
    tokens::use_of(&tokens::seal(NOON), "accept")
}

fn long_lived() -> TokenUse {
    tokens::use_of(&tokens::seal_for(Duration::from_hours(4), NOON), "accept")
}
