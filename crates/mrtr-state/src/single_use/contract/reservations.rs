//! Reserving a token, and what a round may do while it holds the reservation.

use super::super::{InProgress, Release, Reservation, ReserveOutcome, SingleUse, SingleUseError, StepRecord};
use super::trial::{
    self, JUST_BEFORE_IT_LAPSES, LATER, LEASE, NOON, Token, every_verb_is_lost, in_progress, renewed_by_keeper,
    reserve, reserved, started, taken_over,
};

pub(super) async fn one_of_twenty_at_once_reserves(store: &dyn SingleUse) {
    one_of_twenty_at_once_reserves_in_one_place(store, store).await;
}

pub(super) async fn one_of_twenty_at_once_reserves_in_one_place(here: &dyn SingleUse, there: &dyn SingleUse) {
    let token_use = &Token::fresh(NOON).answered("card");
    let stores = [here, there].into_iter().cycle().take(20);
    let outcomes = trial::all(stores.map(|store| store.reserve(token_use, LEASE, NOON))).await;
    let mut reservations = Vec::new();
    let mut others = Vec::new();
    for outcome in outcomes {
        match outcome {
            Ok(ReserveOutcome::Reserved(reservation, steps)) if steps.is_empty() => reservations.push(reservation),
            Ok(ReserveOutcome::InProgress(in_progress)) => others.push(in_progress),
            other => panic!("a token that no round has used is reserved or in progress, not {other:?}"),
        }
    }
    let [reservation] = &*reservations else { panic!("one of twenty at once reserves, not {}", reservations.len()) };
    let expected = InProgress::new(reservation.clone(), NOON + LEASE);
    assert!(
        others.iter().all(|in_progress| *in_progress == expected),
        "the others learn the reservation and its lease"
    );
}

pub(super) async fn a_reservation_is_seen_whatever_the_answers(store: &dyn SingleUse) {
    let token = Token::fresh(NOON);
    let reservation = reserved(store, &token, "card", NOON).await;
    for answer in ["card", "cash"] {
        assert_eq!(in_progress(store, &token, answer, JUST_BEFORE_IT_LAPSES).await.reservation(), &reservation);
    }
}

pub(super) async fn a_lapsed_reservation_is_taken_over_with_its_record(store: &dyn SingleUse) {
    let token = Token::fresh(NOON);
    let first = reserved(store, &token, "card", NOON).await;
    started(store, &first, "charge", Some(b"4.20")).await;
    started(store, &first, "post", None).await;
    assert_eq!(
        reserve(store, &token, "cash", LATER).await,
        ReserveOutcome::OtherAnswers,
        "a step ran for other answers"
    );
    let (second, steps) = taken_over(store, &token, "card", NOON + LEASE).await;
    let record = [StepRecord::new("charge", Some(b"4.20".to_vec())), StepRecord::new("post", None)];
    assert_eq!(steps, record, "a round goes on from the record of the one that lapsed");
    assert!(second.fence() > first.fence(), "a later reservation has a higher fence");
}

pub(super) async fn a_lapsed_reservation_without_a_step_is_taken_over_with_any_answers(store: &dyn SingleUse) {
    let token = Token::fresh(NOON);
    reserved(store, &token, "card", NOON).await;
    let second = reserved(store, &token, "cash", NOON + LEASE).await;
    started(store, &second, "charge", None).await;
    store.release(&second, LATER).await.expect("the reservation is held");
    assert_eq!(reserve(store, &token, "card", LATER).await, ReserveOutcome::OtherAnswers, "the newer answers stand");
    taken_over(store, &token, "cash", LATER).await;
}

pub(super) async fn a_lost_reservation_changes_nothing(store: &dyn SingleUse) {
    let token = Token::fresh(NOON);
    let first = reserved(store, &token, "card", NOON).await;
    started(store, &first, "charge", None).await;
    let (second, _) = taken_over(store, &token, "card", LATER).await;
    every_verb_is_lost(store, &first, LATER).await;
    // Nor does a clock that is behind give it back.
    every_verb_is_lost(store, &first, NOON).await;

    assert_eq!(store.release(&second, LATER).await.expect("the reservation is held"), Release::Kept);
    let (third, steps) = taken_over(store, &token, "card", LATER).await;
    assert_eq!(steps, [StepRecord::new("charge", None)], "a verb that is lost leaves no trace");

    let stranger = Reservation::new(Token::fresh(NOON).answered("card").key(), third.fence());
    every_verb_is_lost(store, &stranger, LATER).await;
    let stranger = Reservation::new(third.key(), u64::MAX);
    every_verb_is_lost(store, &stranger, LATER).await;
}

pub(super) async fn a_lapsed_reservation_that_was_not_taken_over_still_holds(store: &dyn SingleUse) {
    let token = Token::fresh(NOON);
    let reservation = reserved(store, &token, "card", NOON).await;
    store.mark_started(&reservation, "charge", LATER).await.expect("no other round has taken it over");
    store.record(&reservation, "charge", b"4.20", LATER).await.expect("no other round has taken it over");
    store.renew(&reservation, LEASE, LATER).await.expect("no other round has taken it over");
    assert_eq!(
        in_progress(store, &token, "card", LATER).await.reservation(),
        &reservation,
        "renewing a lapsed reservation revives it"
    );
    store.commit(&reservation, b"paid", LATER + 2 * LEASE).await.expect("no other round has taken it over");
}

pub(super) async fn a_renewed_reservation_does_not_lapse(store: &dyn SingleUse) {
    let token = Token::fresh(NOON);
    let reservation = reserved(store, &token, "card", NOON).await;
    store.renew(&reservation, LEASE, JUST_BEFORE_IT_LAPSES).await.expect("the reservation is held");
    let again = in_progress(store, &token, "card", NOON + LEASE).await;
    assert_eq!(
        again,
        InProgress::new(reservation, JUST_BEFORE_IT_LAPSES + LEASE),
        "a renewed reservation lapses later"
    );
    reserved(store, &token, "card", JUST_BEFORE_IT_LAPSES + LEASE).await;
}

pub(super) async fn a_keeper_renews_many_while_the_runtime_is_blocked(store: &dyn SingleUse) {
    let (one, other, gone) = (Token::fresh(NOON), Token::fresh(NOON), Token::fresh(NOON));
    let held = [
        reserved(store, &one, "card", NOON).await,
        reserved(store, &gone, "card", NOON).await,
        reserved(store, &other, "card", NOON).await,
    ];
    store.release(&held[1], NOON).await.expect("the reservation is held");
    let renewed = renewed_by_keeper(store, &held, JUST_BEFORE_IT_LAPSES);
    let as_expected = matches!(renewed[..], [Ok(()), Err(SingleUseError::Lost), Ok(())]);
    assert!(as_expected, "what came of each is told in their order, not {renewed:?}");
    for token in [one, other] {
        let again = in_progress(store, &token, "card", NOON + LEASE).await;
        assert_eq!(again.lapses(), JUST_BEFORE_IT_LAPSES + LEASE, "a renewed reservation lapses later");
    }
}

pub(super) async fn what_was_done_elsewhere_is_known_here(here: &dyn SingleUse, there: &dyn SingleUse) {
    let token = Token::fresh(NOON);
    let first = reserved(there, &token, "card", NOON).await;
    started(there, &first, "charge", Some(b"4.20")).await;
    let (second, steps) = taken_over(here, &token, "card", LATER).await;
    assert_eq!(steps, [StepRecord::new("charge", Some(b"4.20".to_vec()))], "what was recorded there is known here");
    assert!(second.fence() > first.fence(), "a later reservation has a higher fence, wherever it is");
    every_verb_is_lost(there, &first, LATER).await;
    here.commit(&second, b"paid", LATER).await.expect("the reservation is held");
    assert_eq!(
        reserve(there, &token, "card", LATER).await,
        ReserveOutcome::Committed(b"paid".to_vec()),
        "a reply is for all"
    );
}

pub(super) async fn principals_and_audiences_are_apart(store: &dyn SingleUse) {
    let doubles = Token::doubles(NOON);
    for (at, token) in doubles.iter().enumerate() {
        let reservation = reserved(store, token, "card", NOON).await;
        store
            .commit(&reservation, &[u8::try_from(at).expect("they are three")], NOON)
            .await
            .expect("the reservation is held");
    }
    for (at, token) in doubles.iter().enumerate() {
        let reply = reserve(store, token, "card", NOON).await;
        let expected = ReserveOutcome::Committed(vec![u8::try_from(at).expect("they are three")]);
        assert_eq!(reply, expected, "a token id of another principal or audience is another token");
    }
}
