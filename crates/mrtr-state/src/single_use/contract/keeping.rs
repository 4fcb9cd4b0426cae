//! The keeping of entries: how long it lasts, and that no clock brings back what is gone.

use std::time::Duration;

use super::super::{Release, Reservation, ReserveOutcome, SingleUse, SingleUseError, StepRecord};
use super::trial::{LEASE, Token, every_verb_is_lost, in_progress, reserve, reserved};
use crate::Timestamp;

pub(super) async fn an_old_entry_is_gone_and_its_token_refused(store: &dyn SingleUse, now: Timestamp) {
    let [committed, held, released, unknown] = std::array::from_fn(|_| Token::fresh(now));
    let end = end_of(&unknown);
    let [just_before, just_after] =
        [-1, 1].map(|tick| Timestamp::from_millis(end.as_millis().wrapping_add_signed(tick)));
    commit(store, &committed, now).await;
    let lapsed = reserved(store, &held, "card", now).await;
    start_and_release(store, &released, now).await;

    assert_committed(&reserve(store, &committed, "card", just_before).await);
    store.mark_started(&lapsed, "charge", just_before).await.expect("its entry is kept");
    every_verb_is_lost(store, &lapsed, end).await;
    let old = [&committed, &held, &released, &unknown].map(|token| [(token, end), (token, just_after)]);
    for (token, now) in old.into_iter().flatten().chain([(&unknown, just_before)]) {
        assert_refused(&store.reserve(&token.answered("card"), LEASE, now).await);
    }
}

pub(super) async fn a_leased_entry_is_kept(store: &dyn SingleUse, now: Timestamp) {
    let token = Token::fresh(now);
    let end = end_of(&token);
    let reservation = reserved(store, &token, "card", now).await;
    store.renew(&reservation, Duration::from_hours(2), now).await.expect("the reservation is held");
    let other = Token::fresh(now);
    let Ok(ReserveOutcome::Reserved(leased, _)) =
        store.reserve(&other.answered("card"), Duration::from_hours(2), now).await
    else {
        panic!("a token that no round has used is reserved")
    };
    purge(store, end).await;
    assert_eq!(
        in_progress(store, &token, "card", end).await.reservation(),
        &reservation,
        "a leased entry outlives its token"
    );
    store.commit(&reservation, b"paid", end).await.expect("a run that goes on is not cut off");
    assert_committed(&reserve(store, &token, "card", end).await);
    store.commit(&leased, b"paid", end).await.expect("a long lease is kept from the first");
}

/// Nor does a purge refuse a live token that was issued before the purged ones.
pub(super) async fn a_purge_refuses_no_token_that_still_lives(store: &dyn SingleUse, now: Timestamp) {
    let [earlier, later] = [now, now + LEASE].map(|issued| Token::living(LONG, issued));
    let spent = Token::fresh(now + LEASE);
    commit(store, &spent, now + LEASE).await;
    purge(store, end_of(&spent)).await;
    for token in [earlier, later] {
        reserved(store, &token, "card", end_of(&spent)).await;
    }
}

pub(super) async fn a_clock_set_back_revives_no_token(store: &dyn SingleUse, now: Timestamp) {
    a_clock_that_is_behind_revives_no_token_purged_elsewhere(store, store, now).await;
}

/// A process whose clock is behind meets entries that are gone: the store may refuse their tokens, or know them yet.
pub(super) async fn a_clock_that_is_behind_revives_no_token_purged_elsewhere(
    here: &dyn SingleUse,
    there: &dyn SingleUse,
    now: Timestamp,
) {
    let [committed, held, released] = std::array::from_fn(|_| Token::fresh(now));
    // Its entry is kept for longer than the token lives.
    let leased = Token::fresh(now);
    commit(there, &committed, now).await;
    let first = reserved(there, &held, "card", now).await;
    start_and_release(there, &released, now).await;
    let reservation = reserved(there, &leased, "card", now).await;
    there.renew(&reservation, Duration::from_hours(2), now).await.expect("the reservation is held");
    there.commit(&reservation, b"paid", now).await.expect("the reservation is held");

    let none_is_revived = async |now: Timestamp| {
        for behind in [now, now + LEASE / 2, now] {
            for token in [&committed, &leased] {
                unless_refused(here, token, behind, assert_committed).await;
            }
            unless_refused(here, &held, behind, |outcome| assert_in_progress(outcome, &first)).await;
        }
        // A step ran for it: a round that may continue does so from the record.
        unless_refused(here, &released, now, assert_goes_on).await;
    };
    purge(there, end_of(&committed)).await;
    none_is_revived(now).await;

    // Issued later, it may be reserved though the clock was set back; it ends sooner, and is purged last.
    let sooner = Token::living(Duration::from_mins(5), now + LEASE);
    if let Ok(ReserveOutcome::Reserved(reservation, _)) =
        here.reserve(&sooner.answered("card"), LEASE, now + LEASE).await
    {
        here.commit(&reservation, b"paid", now + LEASE).await.expect("the reservation is held");
        purge(there, end_of(&sooner)).await;
        unless_refused(here, &sooner, now + LEASE, assert_committed).await;
    }
    none_is_revived(now).await;

    for much_later in [now + Duration::from_hours(2), now + Duration::from_hours(8)] {
        purge(there, much_later).await;
        none_is_revived(now).await;
        reserved(here, &Token::fresh(much_later), "card", much_later).await;
    }
}

/// The time at which the entry of a token is gone: two minutes after the token has expired.
fn end_of(token: &Token) -> Timestamp {
    token.expires() + Duration::from_mins(2)
}

async fn commit(store: &dyn SingleUse, token: &Token, now: Timestamp) {
    let reservation = reserved(store, token, "card", now).await;
    store.commit(&reservation, b"paid", now).await.expect("the reservation is held");
}

async fn start_and_release(store: &dyn SingleUse, token: &Token, now: Timestamp) {
    let reservation = reserved(store, token, "card", now).await;
    store.mark_started(&reservation, "charge", now).await.expect("the reservation is held");
    assert_eq!(store.release(&reservation, now).await.expect("the reservation is held"), Release::Kept);
}

/// Reserves often enough for a store that purges a few entries each time.
async fn purge(store: &dyn SingleUse, now: Timestamp) {
    for _ in 0..64 {
        let reservation = reserved(store, &Token::living(LONG, now), "card", now).await;
        store.release(&reservation, now).await.expect("the reservation is held");
    }
}

async fn unless_refused(store: &dyn SingleUse, token: &Token, now: Timestamp, expect: impl FnOnce(&ReserveOutcome)) {
    match store.reserve(&token.answered("card"), LEASE, now).await {
        Err(SingleUseError::BeforeMemory) => {}
        Ok(outcome) => expect(&outcome),
        Err(other) => panic!("a token that may be forgotten is refused as BeforeMemory, not as {other:?}"),
    }
}

fn assert_refused(outcome: &Result<ReserveOutcome, SingleUseError>) {
    assert!(
        matches!(outcome, Err(SingleUseError::BeforeMemory)),
        "a token whose entry may be gone is refused as BeforeMemory, not {outcome:?}"
    );
}

fn assert_committed(outcome: &ReserveOutcome) {
    assert_eq!(
        *outcome,
        ReserveOutcome::Committed(b"paid".to_vec()),
        "a reply stands until its entry is gone, whatever the clock"
    );
}

fn assert_in_progress(outcome: &ReserveOutcome, reservation: &Reservation) {
    let in_progress =
        matches!(outcome, ReserveOutcome::InProgress(in_progress) if in_progress.reservation() == reservation);
    assert!(in_progress, "a reservation stands until its entry is gone, whatever the clock, not {outcome:?}");
}

fn assert_goes_on(outcome: &ReserveOutcome) {
    let goes_on = matches!(outcome, ReserveOutcome::Reserved(_, steps) if *steps == [StepRecord::new("charge", None)])
        || matches!(outcome, ReserveOutcome::InProgress(_));
    assert!(goes_on, "a record stands until its entry is gone, whatever the clock, not {outcome:?}");
}

/// A life beyond that of all tokens that are spent here.
const LONG: Duration = Duration::from_hours(4);
