//! A genuine deployment, a request, and states that were sealed for it.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU8, Ordering};

use mrtr_schema::{RawMembers, RequestState, Revision};
use mrtr_state::codec::{Codec, NONCE_LENGTH, SealingKey, Subkey};
use mrtr_state::{
    Binding, JsonPayload, Key, KeyRing, Opened, Principal, Random, Refusal, SealOptions, Sealer, Timestamp,
};
use serde::{Deserialize, Serialize};

pub(super) const NOW: Timestamp = Timestamp::from_millis(1_785_240_000_000);
pub(super) const METHOD: &str = "tools/call";
pub(super) const TENANT: &str = "acme";
pub(super) const PRINCIPAL: Principal<'static> = Principal { issuer: "https://id.example.com", subject: "ann" };
pub(super) const HANDLER_VERSION: &str = "7";

pub(super) const PARAMS: &str = r#"{"name":"pay","arguments":{"to":"Ann","amount":12.50}}"#;

pub(super) static REQUEST: LazyLock<RawMembers<'static>> = LazyLock::new(|| RawMembers::parse(PARAMS).expect("JSON"));

/// A deployment in the middle of a rotation.
pub(super) static SEALER: LazyLock<Sealer> = LazyLock::new(|| {
    let ring = KeyRing::new(key("new", 1)).also_opens(key("old", 2)).expect("two names");
    Sealer::new(ring, "fuzz").expect("an audience").random(Counted::default())
});

/// A sealer with a codec that seals nothing: what a token has inside is what a stranger wrote.
pub(super) static TRANSPARENT: LazyLock<Sealer> = LazyLock::new(|| SEALER.clone().codec(Transparent));

/// States of the new key and of the old one.
pub(super) static GENUINE: LazyLock<[RequestState; 2]> = LazyLock::new(|| {
    let before = Sealer::new(KeyRing::new(key("old", 2)), "fuzz").expect("an audience").random(Counted::default());
    [seal(&SEALER), seal(&before)]
});

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Journal {
    pub(super) entries: BTreeMap<String, serde_json::Value>,
    pub(super) pending: Vec<String>,
    pub(super) round: Option<u8>,
}

impl JsonPayload for Journal {
    const KIND: &'static str = "com.example/journal";
}

pub(super) fn journal() -> Journal {
    let entries = BTreeMap::from([("confirm".to_owned(), serde_json::json!({ "action": "accept" }))]);
    Journal { entries, pending: vec!["amount".to_owned()], round: Some(2) }
}

pub(super) fn binding<'a>(params: &'a RawMembers<'a>) -> Binding<'a> {
    Binding::new(Revision::V2026_07_28, METHOD, params).expect("a name").principal(PRINCIPAL).tenant(TENANT)
}

pub(super) fn seal(sealer: &Sealer) -> RequestState {
    let options = SealOptions::new(sealer.begin(NOW)).handler_version(HANDLER_VERSION);
    sealer.seal_as(&journal(), &binding(&REQUEST), options, NOW).expect("it fits")
}

/// Opens with the genuine request.
pub(super) fn open(sealer: &Sealer, text: impl Into<String>) -> Result<Opened<Journal>, Refusal> {
    sealer.open(&RequestState::new(text), &binding(&REQUEST), NOW)
}

fn key(id: &str, byte: u8) -> Key {
    Key::new(id, [byte; 32]).expect("long enough")
}

/// Different each time, and the same in each run, so that a finding can be repeated.
#[derive(Default)]
struct Counted(AtomicU8);

impl Random for Counted {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill_with(|| self.0.fetch_add(1, Ordering::Relaxed));
    }
}

#[derive(Debug)]
struct Transparent;

impl Codec for Transparent {
    fn letter(&self) -> char {
        't'
    }

    fn with_key(&self, _: &Subkey) -> Box<dyn SealingKey> {
        Box::new(Self)
    }
}

impl SealingKey for Transparent {
    fn seal(&self, _: &[u8; NONCE_LENGTH], _: &[u8], _: &mut Vec<u8>) {}

    fn open<'a>(&self, _: &[u8; NONCE_LENGTH], _: &[u8], sealed: &'a mut [u8]) -> Option<&'a [u8]> {
        Some(sealed)
    }
}
