//! A request to seal for, a sealer for each codec, and the one way a refusal is judged.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]
#![allow(dead_code, reason = "each test takes what it needs")]

use std::collections::BTreeSet;
use std::sync::Mutex;

use mrtr_schema::{RawMembers, RequestState, Revision, json_schema};
use mrtr_state::codec::{Signed, XChaCha};
use mrtr_state::{
    Binding, JsonPayload, Key, KeyRing, Opened, Payload, Principal, Random, Refusal, SealError, Sealer, Timestamp,
};
use serde::{Deserialize, Serialize};

pub(crate) const NOON: Timestamp = Timestamp::from_millis(1_785_240_000_000);
pub(crate) const AUDIENCE: &str = "tracker-eu";
pub(crate) const ANN: Principal<'_> = Principal { issuer: "https://id.example.com", subject: "ann" };

/// The error that the client gets, whatever the reason was.
pub(crate) const ON_THE_WIRE: &str = r#"{"code":-32602,"message":"The request state is not valid"}"#;

/// A payload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Note(pub(crate) String);

impl JsonPayload for Note {
    const KIND: &'static str = "com.example/note";
}

pub(crate) fn note() -> Note {
    Note("buy tea".into())
}

/// A request as plain data, to be changed in one thing at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) revision: Revision,
    pub(crate) method: &'a str,
    pub(crate) params: &'a str,
    pub(crate) principal: Option<Principal<'a>>,
    pub(crate) tenant: Option<&'a str>,
}

pub(crate) const CALL: Asked<'_> = Asked {
    revision: Revision::V2026_07_28,
    method: "tools/call",
    params: r#"{"name": "pay", "arguments": {"to": "Ann", "amount": 100}}"#,
    principal: Some(ANN),
    tenant: Some("acme"),
};

impl Asked<'_> {
    /// Hands over what the request binds a state to.
    pub(crate) fn bind<T>(&self, then: impl FnOnce(&Binding<'_>) -> T) -> T {
        let params = RawMembers::parse(self.params).unwrap();
        let binding = Binding::new(self.revision, self.method, &params).unwrap();
        then(&binding.principal(self.principal).tenant(self.tenant))
    }

    pub(crate) fn seal(&self, sealer: &Sealer, now: Timestamp) -> RequestState {
        self.try_seal(sealer, now).unwrap()
    }

    pub(crate) fn try_seal(&self, sealer: &Sealer, now: Timestamp) -> Result<RequestState, SealError> {
        self.bind(|binding| sealer.seal(&note(), binding, now))
    }

    pub(crate) fn open(&self, sealer: &Sealer, state: &RequestState, now: Timestamp) -> Result<Opened<Note>, Refusal> {
        self.open_as(sealer, state, now)
    }

    pub(crate) fn open_as<P: Payload>(
        &self,
        sealer: &Sealer,
        state: &RequestState,
        now: Timestamp,
    ) -> Result<Opened<P>, Refusal> {
        self.bind(|binding| sealer.open(state, binding, now))
    }

    /// Opens a text, which must be refused for this reason, and on the wire like every other.
    #[track_caller]
    pub(crate) fn refuses(&self, sealer: &Sealer, text: &str, now: Timestamp, reason: Refusal) {
        assert_eq!(self.refusal(sealer, text, now), reason, "{text}");
    }

    /// Opens a text, which must be refused, and on the wire like every other.
    #[track_caller]
    pub(crate) fn refusal(&self, sealer: &Sealer, text: &str, now: Timestamp) -> Refusal {
        refused(self.open(sealer, &RequestState::new(text), now))
    }
}

/// The reason of a refusal, of which the client learns nothing.
#[track_caller]
pub(crate) fn refused<P>(result: Result<Opened<P>, Refusal>) -> Refusal {
    let refusal = result.expect_err("it was opened");
    assert_eq!(serde_json::to_string(&refusal.to_error()).unwrap(), ON_THE_WIRE);
    refusal
}

/// Every name that any type of the protocol has for a member, in any revision.
pub(crate) fn member_names() -> Vec<String> {
    fn collect(value: &serde_json::Value, names: &mut BTreeSet<String>) {
        if let Some(properties) = value.get("properties").and_then(|properties| properties.as_object()) {
            names.extend(properties.keys().cloned());
        }
        let inner: Vec<_> = match value {
            serde_json::Value::Object(members) => members.values().collect(),
            serde_json::Value::Array(elements) => elements.iter().collect(),
            _ => Vec::new(),
        };
        for value in inner {
            collect(value, names);
        }
    }
    let mut names = BTreeSet::new();
    for revision in Revision::MODERN {
        collect(&json_schema::document(revision.strict()), &mut names);
    }
    names.into_iter().collect()
}

pub(crate) fn key(id: &str, fill: u8) -> Key {
    Key::new(id, [fill; 32]).unwrap()
}

/// A ring of the key `k1`.
pub(crate) fn ring() -> KeyRing {
    KeyRing::new(key("k1", 1))
}

/// A sealer with these keys for each codec there is.
pub(crate) fn sealers_with(keys: &KeyRing) -> Vec<Sealer> {
    let sealer = Sealer::new(keys.clone(), AUDIENCE).unwrap();
    vec![
        sealer.clone().codec(XChaCha::default()),
        #[cfg(feature = "ring")]
        sealer.clone().codec(mrtr_state::codec::FastXChaCha::default()),
        sealer.codec(Signed::default()),
    ]
}

/// A sealer with the key `k1` for each codec there is.
pub(crate) fn sealers() -> Vec<Sealer> {
    sealers_with(&ring())
}

/// Bytes that are known beforehand, each given once.
pub(crate) struct Fixed(Mutex<std::vec::IntoIter<u8>>);

impl Fixed {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self(Mutex::new(bytes.into_iter()))
    }
}

impl Random for Fixed {
    fn fill(&self, bytes: &mut [u8]) {
        let mut known = self.0.lock().unwrap();
        bytes.fill_with(|| known.next().unwrap());
    }
}
