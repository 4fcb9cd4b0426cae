//! Who may redeem a token, and who may not.

use super::super::{Claim, Holder, Release, Running, SingleUse, StepRecord};
use super::together;
use super::tokens::Token;
use super::verbs::{
    JUST_BEFORE_IT_LAPSES, LATER, LEASE, NOON, claim, every_verb_is_lost, running, started, taken, taken_over,
};

pub(super) async fn one_of_twenty_parallel_claims_is_taken(store: &dyn SingleUse) {
    one_of_twenty_parallel_claims_is_taken_in_one_place(store, store).await;
}

pub(super) async fn one_of_twenty_parallel_claims_is_taken_in_one_place(here: &dyn SingleUse, there: &dyn SingleUse) {
    let redemption = &Token::fresh(NOON).answered("card");
    let stores = [here, there].into_iter().cycle().take(20);
    let claims = together::all(stores.map(|store| store.claim(redemption, LEASE, NOON))).await;
    let mut holders = Vec::new();
    let mut runners = Vec::new();
    for claim in claims {
        match claim {
            Ok(Claim::Taken(holder, steps)) if steps.is_empty() => holders.push(holder),
            Ok(Claim::Running(running)) => runners.push(running),
            other => panic!("a first claim is taken or running, not {other:?}"),
        }
    }
    let [holder] = &*holders else { panic!("one of twenty parallel claims is taken, not {}", holders.len()) };
    let expected = Running::new(holder.clone(), NOON + LEASE);
    assert!(runners.iter().all(|running| *running == expected), "a running claim names its holder and its lease");
}

pub(super) async fn a_running_claim_is_seen_whatever_the_answers(store: &dyn SingleUse) {
    let token = Token::fresh(NOON);
    let holder = taken(store, &token, "card", NOON).await;
    for answer in ["card", "cash"] {
        assert_eq!(running(store, &token, answer, JUST_BEFORE_IT_LAPSES).await.holder(), &holder);
    }
}

pub(super) async fn a_lapsed_claim_is_taken_over_with_its_record(store: &dyn SingleUse) {
    let token = Token::fresh(NOON);
    let first = taken(store, &token, "card", NOON).await;
    started(store, &first, "charge", Some(b"4.20")).await;
    started(store, &first, "post", None).await;
    assert_eq!(claim(store, &token, "cash", LATER).await, Claim::OtherAnswers, "a step ran for other answers");
    let (second, steps) = taken_over(store, &token, "card", NOON + LEASE).await;
    let record = [StepRecord::new("charge", Some(b"4.20".to_vec())), StepRecord::new("post", None)];
    assert_eq!(steps, record, "a claim goes on from the record of the one that lapsed");
    assert!(second.fence() > first.fence(), "a later holder has a higher fence");
}

pub(super) async fn a_lapsed_claim_without_a_step_is_taken_over_with_any_answers(store: &dyn SingleUse) {
    let token = Token::fresh(NOON);
    taken(store, &token, "card", NOON).await;
    let second = taken(store, &token, "cash", NOON + LEASE).await;
    started(store, &second, "charge", None).await;
    store.release(&second, LATER).await.expect("the claim is held");
    assert_eq!(claim(store, &token, "card", LATER).await, Claim::OtherAnswers, "the newer answers stand");
    taken_over(store, &token, "cash", LATER).await;
}

pub(super) async fn whoever_lost_a_claim_changes_nothing(store: &dyn SingleUse) {
    let token = Token::fresh(NOON);
    let first = taken(store, &token, "card", NOON).await;
    started(store, &first, "charge", None).await;
    let (second, _) = taken_over(store, &token, "card", LATER).await;
    every_verb_is_lost(store, &first, LATER).await;
    // Nor does a clock that is behind give it back.
    every_verb_is_lost(store, &first, NOON).await;

    assert_eq!(store.release(&second, LATER).await.expect("the claim is held"), Release::Kept);
    let (third, steps) = taken_over(store, &token, "card", LATER).await;
    assert_eq!(steps, [StepRecord::new("charge", None)], "a verb that is lost leaves no trace");

    let stranger = Holder::new(Token::fresh(NOON).answered("card").key(), third.fence());
    every_verb_is_lost(store, &stranger, LATER).await;
    let stranger = Holder::new(third.key(), u64::MAX);
    every_verb_is_lost(store, &stranger, LATER).await;
}

pub(super) async fn a_lapsed_claim_that_nobody_took_is_still_its_holders(store: &dyn SingleUse) {
    let token = Token::fresh(NOON);
    let holder = taken(store, &token, "card", NOON).await;
    store.mark_started(&holder, "charge", LATER).await.expect("nobody else has the claim");
    store.record(&holder, "charge", b"4.20", LATER).await.expect("nobody else has the claim");
    store.renew(&holder, LEASE, LATER).await.expect("nobody else has the claim");
    assert_eq!(running(store, &token, "card", LATER).await.holder(), &holder, "renewing a lapsed claim revives it");
    store.commit(&holder, b"paid", LATER + 2 * LEASE).await.expect("nobody else has the claim");
}

pub(super) async fn a_renewed_claim_does_not_lapse(store: &dyn SingleUse) {
    let token = Token::fresh(NOON);
    let holder = taken(store, &token, "card", NOON).await;
    store.renew(&holder, LEASE, JUST_BEFORE_IT_LAPSES).await.expect("the claim is held");
    let again = running(store, &token, "card", NOON + LEASE).await;
    assert_eq!(again, Running::new(holder, JUST_BEFORE_IT_LAPSES + LEASE), "a renewed claim lapses later");
    taken(store, &token, "card", JUST_BEFORE_IT_LAPSES + LEASE).await;
}

pub(super) async fn what_was_done_elsewhere_is_known_here(here: &dyn SingleUse, there: &dyn SingleUse) {
    let token = Token::fresh(NOON);
    let first = taken(there, &token, "card", NOON).await;
    started(there, &first, "charge", Some(b"4.20")).await;
    let (second, steps) = taken_over(here, &token, "card", LATER).await;
    assert_eq!(steps, [StepRecord::new("charge", Some(b"4.20".to_vec()))], "what was recorded there is known here");
    assert!(second.fence() > first.fence(), "a later holder has a higher fence, wherever it is");
    every_verb_is_lost(there, &first, LATER).await;
    here.commit(&second, b"paid", LATER).await.expect("the claim is held");
    assert_eq!(claim(there, &token, "card", LATER).await, Claim::Committed(b"paid".to_vec()), "a reply is for all");
}

pub(super) async fn principals_and_audiences_are_apart(store: &dyn SingleUse) {
    let doubles = Token::doubles(NOON);
    for (at, token) in doubles.iter().enumerate() {
        let holder = taken(store, token, "card", NOON).await;
        store.commit(&holder, &[u8::try_from(at).expect("they are three")], NOON).await.expect("the claim is held");
    }
    for (at, token) in doubles.iter().enumerate() {
        let reply = claim(store, token, "card", NOON).await;
        let expected = Claim::Committed(vec![u8::try_from(at).expect("they are three")]);
        assert_eq!(reply, expected, "a token id of another principal or audience is another token");
    }
}
