//! How long entries are kept.

use std::time::Duration;

use super::super::{Claim, GuardError, SingleUse};
use super::tokens::Token;
use super::verbs::{LEASE, NOON, claim, every_verb_is_lost, running, started, taken};
use crate::Timestamp;

pub(super) async fn an_old_entry_is_gone_and_its_token_refused(store: &dyn SingleUse) {
    let [committed, held, released, unknown] = std::array::from_fn(|_| Token::fresh(NOON));
    let end = unknown.answered("card").keep_until();
    let just_before = Timestamp::from_millis(end.as_millis() - 1);
    let holder = taken(store, &committed, "card", NOON).await;
    store.commit(&holder, b"paid", NOON).await.expect("the claim is held");
    let lapsed = taken(store, &held, "card", NOON).await;
    let holder = taken(store, &released, "card", NOON).await;
    started(store, &holder, "charge", None).await;
    store.release(&holder, NOON).await.expect("the claim is held");

    let reply = claim(store, &committed, "card", just_before).await;
    assert_eq!(reply, Claim::Committed(b"paid".to_vec()), "an entry is kept until its token has long expired");
    store.mark_started(&lapsed, "charge", just_before).await.expect("its entry is kept");
    every_verb_is_lost(store, &lapsed, end).await;
    for (token, now) in [(&committed, end), (&held, end), (&released, end), (&unknown, end), (&unknown, just_before)] {
        let refused = store.claim(&token.answered("card"), LEASE, now).await;
        assert!(
            matches!(refused, Err(GuardError::BeforeMemory)),
            "a token whose entry may be gone is refused as BeforeMemory, not {refused:?}"
        );
    }
}

pub(super) async fn a_leased_entry_is_kept(store: &dyn SingleUse) {
    let token = Token::fresh(NOON);
    let end = token.answered("card").keep_until();
    let holder = taken(store, &token, "card", NOON).await;
    store.renew(&holder, Duration::from_hours(2), NOON).await.expect("the claim is held");
    // Other claims purge what is old.
    for _ in 0..8 {
        taken(store, &Token::fresh(end), "card", end).await;
    }
    assert_eq!(running(store, &token, "card", end).await.holder(), &holder, "a leased entry outlives its token");
    store.commit(&holder, b"paid", end).await.expect("a run that goes on is not cut off");
    assert_eq!(
        claim(store, &token, "card", end).await,
        Claim::Committed(b"paid".to_vec()),
        "who waited gets its reply"
    );

    let token = Token::fresh(NOON);
    let Ok(Claim::Taken(holder, _)) = store.claim(&token.answered("card"), Duration::from_hours(2), NOON).await else {
        panic!("a first claim is taken")
    };
    store.commit(&holder, b"paid", end).await.expect("a long lease is kept from the first");
}
