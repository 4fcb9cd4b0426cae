//! A store in memory that is full takes no new token, and forgets none that it has.

use std::time::Duration;

use mrtr_state::single_use::{Claim, GuardError, Holder, Redemption, Release, StepRecord};
use mrtr_state::{MemorySingleUse, SingleUse, Timestamp};

use crate::LEASE;
use crate::tokens::{self, NOON};

const LIMIT: usize = 64 * 1024;

#[tokio::test]
async fn a_full_store_takes_no_new_token_and_knows_every_old_one() {
    let store = MemorySingleUse::new(NOON).limit(LIMIT);
    let released = fresh();
    let holder = taken(&store, &released, NOON).await;
    store.mark_started(&holder, "charge", NOON).await.unwrap();
    store.release(&holder, NOON).await.unwrap();
    let [recording, lapsed] = [fresh(), fresh()];
    let running = taken(&store, &recording, NOON).await;
    taken(&store, &lapsed, NOON).await;
    let spent = spend_until_full(&store, b"paid", NOON).await;

    for redemption in &spent {
        let again = store.claim(redemption, LEASE, NOON).await.unwrap();
        assert_eq!(again, Claim::Committed(b"paid".to_vec()));
    }
    // What runs is recorded and committed, and what ran goes on, however full it is.
    store.mark_started(&running, "charge", NOON).await.unwrap();
    store.record(&running, "charge", &vec![7; 2 * LIMIT], NOON).await.unwrap();
    store.commit(&running, &vec![8; 2 * LIMIT], NOON).await.unwrap();
    assert_eq!(store.claim(&recording, LEASE, NOON).await.unwrap(), Claim::Committed(vec![8; 2 * LIMIT]));
    let Ok(Claim::Taken(_, steps)) = store.claim(&released, LEASE, NOON).await else { panic!("it goes on") };
    assert_eq!(steps, [StepRecord::new("charge", None)]);
    taken(&store, &lapsed, NOON + LEASE).await;
    assert_full(&store.claim(&fresh(), LEASE, NOON + LEASE).await);
}

#[tokio::test]
async fn a_full_store_has_room_again_when_tokens_have_expired_or_were_given_back() {
    let store = MemorySingleUse::new(NOON).limit(LIMIT);
    let given_back = taken(&store, &fresh(), NOON).await;
    let spent = spend_until_full(&store, b"paid", NOON).await;
    assert_eq!(store.release(&given_back, NOON).await.unwrap(), Release::Forgotten);
    taken(&store, &fresh(), NOON).await;
    assert_full(&store.claim(&fresh(), LEASE, NOON).await);

    let end = spent[0].keep_until();
    let just_before = Timestamp::from_millis(end.as_millis() - 1);
    assert_full(&store.claim(&long_lived(), LEASE, just_before).await);
    for _ in &spent {
        let holder = taken(&store, &long_lived(), end).await;
        store.commit(&holder, b"paid", end).await.unwrap();
    }
    for _ in 0..2 {
        drop(store.claim(&long_lived(), LEASE, end).await);
    }
    assert_full(&store.claim(&long_lived(), LEASE, end).await);
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
    assert_full(&nothing.claim(&fresh(), LEASE, NOON).await);
}

async fn spend_until_full(store: &MemorySingleUse, reply: &[u8], now: Timestamp) -> Vec<Redemption> {
    let mut spent = Vec::new();
    loop {
        let redemption = fresh();
        let claim = store.claim(&redemption, LEASE, now).await;
        let Ok(Claim::Taken(holder, _)) = claim else {
            assert_full(&claim);
            return spent;
        };
        store.commit(&holder, reply, now).await.unwrap();
        spent.push(redemption);
        assert!(spent.len() < LIMIT, "it is never full");
    }
}

async fn taken(store: &MemorySingleUse, redemption: &Redemption, now: Timestamp) -> Holder {
    match store.claim(redemption, LEASE, now).await {
        Ok(Claim::Taken(holder, _)) => holder,
        other => panic!("{other:?}"),
    }
}

fn assert_full(claim: &Result<Claim, GuardError>) {
    let Err(error @ GuardError::Full { held, limit }) = claim else { panic!("it is full, not {claim:?}") };
    assert!(*limit <= held + 1000, "{held} of {limit}");
    let said = error.to_string();
    assert!(said.contains(&format!("{held} of {limit} bytes")) && said.contains("raise its limit"), "{said}");
}

fn fresh() -> Redemption {
    tokens::redeem(&tokens::seal(NOON), "accept")
}

fn long_lived() -> Redemption {
    tokens::redeem(&tokens::seal_for(Duration::from_hours(4), NOON), "accept")
}
