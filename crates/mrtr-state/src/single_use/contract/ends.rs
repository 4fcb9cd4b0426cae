//! How a reservation ends, and what is left of it.

use super::super::{Release, ReserveOutcome, SingleUse, StepRecord};
use super::together;
use super::tokens::Token;
use super::verbs::{LATER, NOON, every_verb_is_lost, in_progress, reserve, reserved, started, taken_over};

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
    let (waited, forgotten) = together::meanwhile(here.ended(awaited), there.release(reservation, NOON)).await;
    waited.expect("waiting ends with a release");
    assert_eq!(forgotten.expect("the reservation is held"), Release::Forgotten);
    here.ended(awaited).await.expect("waiting for a released reservation ends at once");

    let reservation = &reserved(there, token, "card", NOON).await;
    here.ended(awaited).await.expect("waiting for an earlier reservation ends at once");
    started(there, reservation, "charge", None).await;
    let awaited = &in_progress(here, token, "card", NOON).await;
    let (waited, kept) = together::meanwhile(here.ended(awaited), there.release(reservation, NOON)).await;
    waited.expect("waiting ends with a release that leaves a record");
    assert_eq!(kept.expect("the reservation is held"), Release::Kept);

    taken_over(there, token, "card", NOON).await;
    let awaited = &in_progress(here, token, "card", NOON).await;
    let (waited, (reservation, _)) =
        together::meanwhile(here.ended(awaited), taken_over(there, token, "card", LATER)).await;
    waited.expect("waiting ends when another round takes the reservation over");

    let awaited = &in_progress(here, token, "card", LATER).await;
    let all_wait = together::all((0..20).map(|_| here.ended(awaited)));
    let (waited, committed) = together::meanwhile(all_wait, there.commit(&reservation, b"paid", LATER)).await;
    committed.expect("the reservation is held");
    assert!(waited.iter().all(Result::is_ok), "waiting ends with a commit, for every caller");
    here.ended(awaited).await.expect("waiting for a committed reservation ends at once");
    assert_eq!(
        reserve(here, token, "card", LATER).await,
        ReserveOutcome::Committed(b"paid".to_vec()),
        "its reply is there"
    );
}
