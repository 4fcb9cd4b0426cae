//! How a claim ends, and what is left of it.

use super::super::{Claim, Release, SingleUse, StepRecord};
use super::together;
use super::tokens::Token;
use super::verbs::{LATER, NOON, claim, every_verb_is_lost, running, started, taken, taken_over};

pub(super) async fn a_commit_stands_for_its_answers_and_no_others(store: &dyn SingleUse) {
    let token = Token::fresh(NOON);
    let holder = taken(store, &token, "card", NOON).await;
    store.mark_started(&holder, "charge", NOON).await.expect("the claim is held");
    store.commit(&holder, b"paid", NOON).await.expect("the claim is held");
    for now in [NOON, LATER] {
        assert_eq!(claim(store, &token, "card", now).await, Claim::Committed(b"paid".to_vec()), "the reply stands");
        assert_eq!(claim(store, &token, "cash", now).await, Claim::OtherAnswers, "a reply is for its answers");
    }
}

pub(super) async fn a_large_reply_and_an_empty_one_come_back_as_they_were(store: &dyn SingleUse) {
    let large: Vec<u8> = (0..=u8::MAX).cycle().take(1024 * 1024).collect();
    for bytes in [large, Vec::new()] {
        let token = Token::fresh(NOON);
        let holder = taken(store, &token, "card", NOON).await;
        started(store, &holder, "charge", Some(&bytes)).await;
        let (holder, steps) = taken_over(store, &token, "card", LATER).await;
        assert_eq!(steps, [StepRecord::new("charge", Some(bytes.clone()))], "an outcome comes back as it was");
        store.commit(&holder, &bytes, LATER).await.expect("the claim is held");
        let again = claim(store, &token, "card", LATER).await;
        assert!(again == Claim::Committed(bytes), "a reply comes back as it was");
    }
}

pub(super) async fn a_claim_ends_once(store: &dyn SingleUse) {
    let committed = Token::fresh(NOON);
    let holder = taken(store, &committed, "card", NOON).await;
    store.commit(&holder, b"paid", NOON).await.expect("the claim is held");
    every_verb_is_lost(store, &holder, NOON).await;
    assert_eq!(claim(store, &committed, "card", NOON).await, Claim::Committed(b"paid".to_vec()), "the reply stands");

    let released = Token::fresh(NOON);
    let holder = taken(store, &released, "card", NOON).await;
    started(store, &holder, "charge", None).await;
    assert_eq!(store.release(&holder, NOON).await.expect("the claim is held"), Release::Kept);
    every_verb_is_lost(store, &holder, NOON).await;

    let forgotten = Token::fresh(NOON);
    let holder = taken(store, &forgotten, "card", NOON).await;
    store.release(&holder, NOON).await.expect("the claim is held");
    every_verb_is_lost(store, &holder, NOON).await;
}

pub(super) async fn a_release_without_a_step_leaves_nothing(store: &dyn SingleUse) {
    let token = Token::fresh(NOON);
    let first = taken(store, &token, "card", NOON).await;
    assert_eq!(store.release(&first, NOON).await.expect("the claim is held"), Release::Forgotten);
    let second = taken(store, &token, "cash", NOON).await;
    assert!(second.fence() > first.fence(), "a later holder has a higher fence, also after a release");
    every_verb_is_lost(store, &first, NOON).await;
}

pub(super) async fn a_release_after_a_step_leaves_its_record(store: &dyn SingleUse) {
    let token = Token::fresh(NOON);
    let first = taken(store, &token, "card", NOON).await;
    started(store, &first, "charge", Some(b"4.20")).await;
    started(store, &first, "post", None).await;
    assert_eq!(store.release(&first, NOON).await.expect("the claim is held"), Release::Kept, "a step had started");
    assert_eq!(claim(store, &token, "cash", NOON).await, Claim::OtherAnswers, "a step ran for other answers");

    let (second, steps) = taken_over(store, &token, "card", NOON).await;
    let record = [StepRecord::new("charge", Some(b"4.20".to_vec())), StepRecord::new("post", None)];
    assert_eq!(steps, record, "a claim after a release goes on from its record");
    assert!(second.fence() > first.fence(), "a later holder has a higher fence");

    let kept = store.release(&second, NOON).await.expect("the claim is held");
    assert_eq!(kept, Release::Kept, "a step of an earlier holder counts, though this one started none");
    assert_eq!(taken_over(store, &token, "card", NOON).await.1, record, "the record stands");
}

pub(super) async fn waiting_ends_with_the_claim(store: &dyn SingleUse) {
    waiting_ends_with_a_claim_elsewhere(store, store).await;
}

pub(super) async fn waiting_ends_with_a_claim_elsewhere(here: &dyn SingleUse, there: &dyn SingleUse) {
    let token = &Token::fresh(NOON);
    let holder = &taken(there, token, "card", NOON).await;
    let running_now = &running(here, token, "card", NOON).await;
    let (waited, forgotten) = together::meanwhile(here.ended(running_now), there.release(holder, NOON)).await;
    waited.expect("waiting ends with a release");
    assert_eq!(forgotten.expect("the claim is held"), Release::Forgotten);
    here.ended(running_now).await.expect("waiting for a released claim ends at once");

    let holder = &taken(there, token, "card", NOON).await;
    here.ended(running_now).await.expect("waiting for an earlier holder ends at once");
    started(there, holder, "charge", None).await;
    let running_now = &running(here, token, "card", NOON).await;
    let (waited, kept) = together::meanwhile(here.ended(running_now), there.release(holder, NOON)).await;
    waited.expect("waiting ends with a release that leaves a record");
    assert_eq!(kept.expect("the claim is held"), Release::Kept);

    taken_over(there, token, "card", NOON).await;
    let running_now = &running(here, token, "card", NOON).await;
    let (waited, (holder, _)) =
        together::meanwhile(here.ended(running_now), taken_over(there, token, "card", LATER)).await;
    waited.expect("waiting ends when somebody else takes the claim over");

    let running_now = &running(here, token, "card", LATER).await;
    let all_wait = together::all((0..20).map(|_| here.ended(running_now)));
    let (waited, committed) = together::meanwhile(all_wait, there.commit(&holder, b"paid", LATER)).await;
    committed.expect("the claim is held");
    assert!(waited.iter().all(Result::is_ok), "waiting ends with a commit, for everybody");
    here.ended(running_now).await.expect("waiting for a committed claim ends at once");
    assert_eq!(claim(here, token, "card", LATER).await, Claim::Committed(b"paid".to_vec()), "its reply is there");
}
