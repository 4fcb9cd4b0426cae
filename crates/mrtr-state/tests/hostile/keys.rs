//! A token opens under the key it names, if the ring still has it, and with the codec that sealed it.

use mrtr_state::{JsonPayload, KeyRing, Refusal, Sealer};
use serde::{Deserialize, Serialize};

use crate::common::{AUDIENCE, CALL, NOON, Note, key, refused, ring, sealers, sealers_with};

#[test]
fn a_key_id_cannot_be_transplanted() {
    let both = ring().also_opens(key("k2", 2)).unwrap();
    for sealer in sealers_with(&both) {
        let token = CALL.seal(&sealer, NOON).untrusted_text().to_owned();
        CALL.refuses(&sealer, &token.replacen(".k1.", ".k2.", 1), NOON, Refusal::Forged);
    }
}

/// The id is authenticated itself, not only by the key that it picks.
#[test]
fn nor_between_two_names_of_one_secret() {
    let twins = ring().also_opens(key("k2", 1)).unwrap();
    for sealer in sealers_with(&twins) {
        let token = CALL.seal(&sealer, NOON).untrusted_text().to_owned();
        CALL.refuses(&sealer, &token.replacen(".k1.", ".k2.", 1), NOON, Refusal::Forged);
    }
}

#[test]
fn swapped_secrets_open_nothing() {
    let given = ring().also_opens(key("k2", 2)).unwrap();
    let swapped = KeyRing::new(key("k1", 2)).also_opens(key("k2", 1)).unwrap();
    for (sealer, other) in sealers_with(&given).into_iter().zip(sealers_with(&swapped)) {
        let state = CALL.seal(&sealer, NOON);
        CALL.refuses(&other, state.untrusted_text(), NOON, Refusal::Forged);
    }
}

#[test]
fn a_retired_key_opens_nothing_any_more() {
    for sealer in sealers() {
        let state = CALL.seal(&sealer, NOON);
        assert!(CALL.open(&sealer, &state, NOON).is_ok());
        sealer.replace_keys(KeyRing::new(key("k2", 2)));
        CALL.refuses(&sealer, state.untrusted_text(), NOON, Refusal::UnknownKey);
    }
}

#[test]
fn one_codec_does_not_open_what_another_sealed() {
    for sealer in sealers() {
        let token = CALL.seal(&sealer, NOON).untrusted_text().to_owned();
        for other in sealers().into_iter().filter(|other| letter(other) != letter(&sealer)) {
            CALL.refuses(&other, &token, NOON, Refusal::Malformed);
            let relabelled = token.replacen(&letter(&sealer), &letter(&other), 1);
            CALL.refuses(&other, &relabelled, NOON, Refusal::Forged);
        }
    }
}

/// The start of its tokens, up to the letter.
fn letter(sealer: &Sealer) -> String {
    CALL.seal(sealer, NOON).untrusted_text()[.."mrtr1x".len()].to_owned()
}

#[test]
fn one_kind_of_payload_does_not_open_as_another() {
    /// Reads what a note reads, under a name of its own.
    #[derive(Serialize, Deserialize)]
    struct Order(String);
    impl JsonPayload for Order {
        const KIND: &'static str = "com.example/order";
    }
    for sealer in sealers() {
        let state = CALL.seal(&sealer, NOON);
        assert_eq!(refused(CALL.open_as::<Order>(&sealer, &state, NOON)), Refusal::OtherKind);
    }
}

#[test]
fn a_payload_that_its_own_kind_cannot_read_is_refused() {
    /// A note as another version of the program writes it.
    #[derive(Serialize, Deserialize)]
    struct Numbered(u32);
    impl JsonPayload for Numbered {
        const KIND: &'static str = <Note as JsonPayload>::KIND;
    }
    for sealer in sealers() {
        let state = CALL.seal(&sealer, NOON);
        assert_eq!(refused(CALL.open_as::<Numbered>(&sealer, &state, NOON)), Refusal::UnreadablePayload);
    }
}

#[test]
fn another_audience_with_the_same_keys_is_another_deployment() {
    for audience in ["tracker-us", "tracker-e", "tracker-eu2", "Tracker-eu", "t"] {
        let other = Sealer::new(ring(), audience).unwrap();
        let ours = Sealer::new(ring(), AUDIENCE).unwrap();
        CALL.refuses(&other, CALL.seal(&ours, NOON).untrusted_text(), NOON, Refusal::OtherAudience);
        CALL.refuses(&ours, CALL.seal(&other, NOON).untrusted_text(), NOON, Refusal::OtherAudience);
    }
}
