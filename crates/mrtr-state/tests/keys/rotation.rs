//! The recipe for replacing a key, step by step.

use mrtr_schema::RequestState;
use mrtr_state::{KeyRing, Lifetimes, Refusal, Sealer, Timestamp};

use crate::common::{AUDIENCE, CALL, NOON, key, sealers, sealers_with};

/// The three deployments, as the keys of an instance before, after the first, after the second and after the third.
fn rotation() -> [KeyRing; 4] {
    let (old, new) = (key("2026-05", 1), key("2026-11", 2));
    [
        KeyRing::new(old.clone()),
        KeyRing::new(old.clone()).also_opens(new.clone()).unwrap(),
        KeyRing::new(new.clone()).also_opens(old).unwrap(),
        KeyRing::new(new),
    ]
}

/// While a deployment rolls out, some instances are a step behind; a client may come back to any of them.
#[test]
fn three_deployments_replace_a_key_and_no_state_is_refused() {
    let [before, first, second, third] = rotation();
    for codec in 0..sealers().len() {
        let fleet: Vec<_> = (0..3).map(|_| sealers_with(&before).remove(codec)).collect();
        let mut states = Vec::new();
        roll_out(&first, &fleet, &mut states, NOON);
        roll_out(&second, &fleet, &mut states, NOON);
        let (oldest, newest) = (states[0].clone(), states[states.len() - 1].clone());
        assert_eq!(CALL.open(&fleet[0], &oldest, NOON).unwrap().key().as_str(), "2026-05");
        assert_eq!(CALL.open(&fleet[0], &newest, NOON).unwrap().key().as_str(), "2026-11");

        let later = NOON + Lifetimes::default().round;
        for state in states.drain(..) {
            CALL.refuses(&fleet[0], state.untrusted_text(), later, Refusal::Expired);
        }
        roll_out(&third, &fleet, &mut states, later);
        CALL.refuses(&fleet[0], oldest.untrusted_text(), NOON, Refusal::UnknownKey);
    }
}

/// Gives one instance after the other its new keys. Meanwhile every instance seals, and every instance opens all that
/// any has sealed.
fn roll_out(keys: &KeyRing, fleet: &[Sealer], states: &mut Vec<RequestState>, now: Timestamp) {
    for updated in fleet {
        states.extend(fleet.iter().map(|instance| CALL.seal(instance, now)));
        updated.replace_keys(keys.clone());
        states.extend(fleet.iter().map(|instance| CALL.seal(instance, now)));
        for (instance, state) in fleet.iter().flat_map(|instance| states.iter().map(move |state| (instance, state))) {
            assert!(CALL.open(instance, state, now).is_ok());
        }
    }
}

/// The reason for the first deployment: an instance that does not know the new key yet refuses what it sealed.
#[test]
fn two_deployments_are_not_enough() {
    let [before, _, second, _] = rotation();
    let behind = Sealer::new(before, AUDIENCE).unwrap();
    let ahead = Sealer::new(second, AUDIENCE).unwrap();
    CALL.refuses(&behind, CALL.seal(&ahead, NOON).untrusted_text(), NOON, Refusal::UnknownKey);
}

#[test]
fn keys_are_replaced_in_all_clones_at_once() {
    for sealer in sealers() {
        let clone = sealer.clone();
        let before = CALL.seal(&clone, NOON);
        sealer.replace_keys(KeyRing::new(key("k2", 2)).also_opens(key("k1", 1)).unwrap());
        assert_eq!(CALL.open(&clone, &before, NOON).unwrap().key().as_str(), "k1");
        let after = CALL.seal(&clone, NOON);
        assert_eq!(CALL.open(&sealer, &after, NOON).unwrap().key().as_str(), "k2");
    }
}
