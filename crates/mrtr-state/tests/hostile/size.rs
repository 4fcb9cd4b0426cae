//! Length is bounded, on the way in and on the way out.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mrtr_schema::RequestState;
use mrtr_state::codec::{Codec, NONCE_LENGTH, SealingKey, Signed, Subkey};
use mrtr_state::{DEFAULT_LIMIT, ProcessRandom, Random, Refusal, SealError};

use crate::common::{Asked, CALL, NOON, Note, sealers};

const MIB: usize = 1024 * 1024;

#[test]
fn a_mebibyte_of_anything_is_too_long() {
    for sealer in sealers() {
        let token = CALL.seal(&sealer, NOON).untrusted_text().to_owned();
        let mut random = vec![0; MIB];
        ProcessRandom::new().fill(&mut random);
        for text in [
            "A".repeat(MIB),
            String::from_utf8_lossy(&random).into_owned(),
            token.repeat(MIB.div_ceil(token.len())),
            format!("{token}{}", "A".repeat(MIB)),
            "[".repeat(MIB),
            "\0".repeat(MIB),
            "\u{1f36a}".repeat(MIB / 4),
        ] {
            CALL.refuses(&sealer, &text, NOON, Refusal::TooLong);
        }
    }
}

#[test]
fn a_text_at_the_limit_is_looked_at_and_one_past_it_is_not() {
    for sealer in sealers() {
        CALL.refuses(&sealer, &"!".repeat(DEFAULT_LIMIT), NOON, Refusal::Malformed);
        CALL.refuses(&sealer, &"!".repeat(DEFAULT_LIMIT + 1), NOON, Refusal::TooLong);
        let state = CALL.seal(&sealer, NOON);
        assert!(CALL.open(&sealer.clone().limit(state.len()), &state, NOON).is_ok());
        CALL.refuses(&sealer.limit(state.len() - 1), state.untrusted_text(), NOON, Refusal::TooLong);
    }
}

/// Counts how often something is opened.
#[derive(Debug, Clone, Default)]
struct Counting(Arc<AtomicUsize>);

struct Keyed(Arc<AtomicUsize>, Box<dyn SealingKey>);

impl Codec for Counting {
    fn letter(&self) -> char {
        'c'
    }

    fn with_key(&self, key: &Subkey) -> Box<dyn SealingKey> {
        Box::new(Keyed(Arc::clone(&self.0), Signed::default().with_key(key)))
    }
}

impl SealingKey for Keyed {
    fn seal(&self, nonce: &[u8; NONCE_LENGTH], header: &[u8], message: &mut Vec<u8>) {
        self.1.seal(nonce, header, message);
    }

    fn open<'a>(&self, nonce: &[u8; NONCE_LENGTH], header: &[u8], sealed: &'a mut [u8]) -> Option<&'a [u8]> {
        self.0.fetch_add(1, Ordering::Relaxed);
        self.1.open(nonce, header, sealed)
    }
}

#[test]
fn what_is_too_long_never_reaches_the_codec() {
    let counting = Counting::default();
    let sealer = sealers().remove(0).codec(counting.clone()).limit(2 * MIB);
    let long = CALL.bind(|binding| sealer.seal(&Note("x".repeat(MIB)), binding, NOON)).unwrap();
    CALL.refuses(&sealer.clone().limit(DEFAULT_LIMIT), long.untrusted_text(), NOON, Refusal::TooLong);
    assert_eq!(counting.0.load(Ordering::Relaxed), 0);
    assert!(CALL.open(&sealer, &long, NOON).is_ok());
    assert_eq!(counting.0.load(Ordering::Relaxed), 1);
}

#[test]
fn sealing_too_much_names_the_length_and_the_limit() {
    for sealer in sealers() {
        let state = CALL.seal(&sealer, NOON);
        let error = CALL.try_seal(&sealer.clone().limit(state.len() - 1), NOON).unwrap_err();
        let SealError::TooLong { length, limit } = error else { panic!("{error}") };
        assert_eq!((length, limit), (state.len(), state.len() - 1));
        assert_eq!(error.to_string(), format!("the state would be {length} bytes long; the limit is {limit}"));

        let error = CALL.bind(|binding| sealer.seal(&Note("x".repeat(DEFAULT_LIMIT)), binding, NOON)).unwrap_err();
        assert!(matches!(error, SealError::TooLong { limit: DEFAULT_LIMIT, .. }), "{error}");
    }
}

#[test]
fn sealing_names_the_claim_that_is_too_long() {
    let long = "x".repeat(usize::from(u16::MAX) + 1);
    let params = format!(r#"{{"name": "{long}"}}"#);
    for sealer in sealers() {
        for (asked, claim) in [
            (Asked { params: &params, ..CALL }, "name or uri"),
            (Asked { tenant: Some(&long), ..CALL }, "tenant"),
            (Asked { method: &long, ..CALL }, "method"),
        ] {
            let error = asked.try_seal(&sealer, NOON).unwrap_err();
            assert_eq!(error.to_string(), format!("the {claim} is longer than a state can hold"));
        }
    }
}

#[test]
fn what_fits_exactly_is_sealed_and_opened() {
    for sealer in sealers() {
        let least = CALL.bind(|binding| sealer.seal(&Note(String::new()), binding, NOON)).unwrap().len();
        let longest = Note("x".repeat((DEFAULT_LIMIT - least) * 3 / 4));
        let state = CALL.bind(|binding| sealer.seal(&longest, binding, NOON)).unwrap();
        assert!(DEFAULT_LIMIT - state.len() < 4);
        assert_eq!(CALL.open(&sealer, &RequestState::new(state.untrusted_text()), NOON).unwrap().payload(), &longest);
    }
}
