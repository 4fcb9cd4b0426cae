//! Data that a server keeps itself is confidential, bound to its place, and rotated.
#![allow(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

use mrtr_state::codec::Signed;
use mrtr_state::{Key, KeyRing, Refusal, Sealer};
use proptest::prelude::*;

fn key(id: &str, byte: u8) -> Key {
    Key::new(id, [byte; 32]).unwrap()
}

fn sealer(ring: KeyRing) -> Sealer {
    Sealer::new(ring, "tests").unwrap()
}

#[test]
fn it_opens_as_its_kind_under_its_id_for_its_audience_only() {
    let ours = sealer(KeyRing::new(key("k1", 7)));
    let kept = ours.seal_at_rest("kind", b"id", b"secret");
    assert_eq!(ours.open_at_rest("kind", b"id", &kept).unwrap(), b"secret");
    assert_eq!(ours.open_at_rest("kin", b"did", &kept), Err(Refusal::Forged), "no other division of the same text");
    assert_eq!(ours.open_at_rest("other", b"id", &kept), Err(Refusal::Forged));
    assert_eq!(ours.open_at_rest("kind", b"other", &kept), Err(Refusal::Forged));
    let elsewhere = Sealer::new(KeyRing::new(key("k1", 7)), "elsewhere").unwrap();
    assert_eq!(elsewhere.open_at_rest("kind", b"id", &kept), Err(Refusal::Forged));
}

#[test]
fn a_new_key_seals_and_an_old_one_opens() {
    let old = sealer(KeyRing::new(key("k1", 7)));
    let kept = old.seal_at_rest("kind", b"id", b"secret");
    let new = sealer(KeyRing::new(key("k2", 8)).also_opens(key("k1", 7)).unwrap());
    assert_eq!(new.open_at_rest("kind", b"id", &kept).unwrap(), b"secret");
    let again = new.seal_at_rest("kind", b"id", b"secret");
    assert_eq!(old.open_at_rest("kind", b"id", &again), Err(Refusal::UnknownKey));
}

#[test]
fn it_is_confidential_though_states_are_only_signed() {
    let signed = sealer(KeyRing::new(key("k1", 7))).codec(Signed::default());
    let kept = signed.seal_at_rest("kind", b"id", b"a marker that is looked for");
    assert!(!kept.windows(6).any(|window| window == b"marker"));
    assert_eq!(signed.open_at_rest("kind", b"id", &kept).unwrap(), b"a marker that is looked for");
}

proptest! {
    #[test]
    fn anything_comes_back_and_any_change_is_noticed(bytes: Vec<u8>, place: prop::sample::Index, flip in 1_u8..) {
        let sealer = sealer(KeyRing::new(key("k1", 7)));
        let mut kept = sealer.seal_at_rest("kind", b"id", &bytes);
        prop_assert_eq!(sealer.open_at_rest("kind", b"id", &kept).unwrap(), bytes);
        let place = place.index(kept.len());
        kept[place] ^= flip;
        prop_assert!(sealer.open_at_rest("kind", b"id", &kept).is_err());
        kept.truncate(place);
        prop_assert!(sealer.open_at_rest("kind", b"id", &kept).is_err());
    }

    #[test]
    fn whatever_a_store_gives_back_is_refused_without_a_panic(bytes: Vec<u8>) {
        let sealer = sealer(KeyRing::new(key("k1", 7)));
        prop_assert!(sealer.open_at_rest("kind", b"id", &bytes).is_err());
    }
}
