//! Sealing and opening a state, against the bare calls to the cipher and to base64 for the same payload; and the
//! digest of a request, against a hash of its text and against a generic canonicaliser.

use std::collections::BTreeMap;
use std::hint::black_box;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20::{R20, hchacha};
use chacha20poly1305::aead::AeadInOut;
use chacha20poly1305::{KeyInit, XChaCha20Poly1305};
use mrtr_schema::{RawMembers, Revision};
use mrtr_state::codec::{FastXChaCha, XChaCha};
use mrtr_state::{Binding, Key, KeyRing, ParamsDigest, Payload, PayloadError, Principal, Sealer, Timestamp};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::measure::{Comparison, compare};

pub(crate) fn comparisons() -> [Comparison; 6] {
    let sealer = sealer();
    let portable = sealer.clone().codec(XChaCha::default());
    let fast = sealer.codec(FastXChaCha::default());
    let params = RawMembers::parse(PARAMS).expect("JSON");
    let (with_portable, with_fast) = (binding(&params), binding(&params));
    let payload = Text(vec![b'x'; 256]);
    [
        compare("seal + open 256 B, portable: AEAD + base64, Sealer", 1.5, bare_portable, || {
            round_trip(&portable, &payload, &with_portable)
        }),
        compare("seal + open 256 B, ring: AEAD + base64, Sealer", 1.5, bare_ring, || {
            round_trip(&fast, &payload, &with_fast)
        }),
        compare("the same, each with a request to digest, portable", f64::INFINITY, bare_portable, || {
            two_requests(&portable, &payload, &params)
        }),
        compare("the same, each with a request to digest, ring", f64::INFINITY, bare_ring, || {
            two_requests(&fast, &payload, &params)
        }),
        compare("digest of 96 B of params: SHA-256 of the text, ours", 4.0, hash_of_text, || ParamsDigest::of(&params)),
        compare("digest of 96 B of params: Value and BTreeMap, ours", 1.0, generic_digest, || {
            ParamsDigest::of(&RawMembers::parse(black_box(PARAMS)).expect("JSON"))
        }),
    ]
}

struct Text(Vec<u8>);

impl Payload for Text {
    const KIND: &'static str = "bench";

    fn write(&self, out: &mut Vec<u8>) -> Result<(), PayloadError> {
        out.extend_from_slice(&self.0);
        Ok(())
    }

    fn read(bytes: &[u8]) -> Result<Self, PayloadError> {
        Ok(Self(bytes.to_vec()))
    }
}

fn sealer() -> Sealer {
    let key = Key::new("2026-11", [7; 32]).expect("long enough");
    Sealer::new(KeyRing::new(key), "bench").expect("an audience")
}

fn binding<'a>(params: &'a RawMembers<'a>) -> Binding<'a> {
    let principal = Principal { issuer: "https://id.example.com", subject: "ann" };
    Binding::new(Revision::Published, "tools/call", params).expect("a name").principal(principal)
}

fn round_trip(sealer: &Sealer, payload: &Text, binding: &Binding<'_>) -> usize {
    let state = sealer.seal(payload, binding, NOW).expect("it fits");
    sealer.open::<Text>(&state, binding, NOW).expect("it is ours").payload().0.len()
}

fn two_requests<'a>(sealer: &Sealer, payload: &Text, params: &'a RawMembers<'a>) -> usize {
    let state = sealer.seal(payload, &binding(params), NOW).expect("it fits");
    sealer.open::<Text>(&state, &binding(params), NOW).expect("it is ours").payload().0.len()
}

/// What a careful hand would write with the `chacha20poly1305` crate, without a single claim.
fn bare_portable() -> usize {
    let cipher = XChaCha20Poly1305::new(black_box(&KEY).into());
    let mut buffer = Vec::with_capacity(512);
    buffer.extend_from_slice(&[b'x'; 256]);
    let tag =
        cipher.encrypt_inout_detached(black_box(&NONCE).into(), b"", buffer.as_mut_slice().into()).expect("short");
    buffer.extend_from_slice(&tag);
    let text = URL_SAFE_NO_PAD.encode(&buffer);
    let mut buffer = URL_SAFE_NO_PAD.decode(text).expect("base64");
    let (message, tag) = buffer.split_last_chunk_mut::<16>().expect("a tag");
    let tag = &*tag;
    cipher.decrypt_inout_detached(black_box(&NONCE).into(), b"", (&mut *message).into(), tag.into()).expect("ours");
    message.len()
}

/// The same with `ring`, which needs the nonce extended first.
fn bare_ring() -> usize {
    let mut buffer = Vec::with_capacity(512);
    buffer.extend_from_slice(&[b'x'; 256]);
    extended().seal_in_place_append_tag(short_nonce(), Aad::from(b""), &mut buffer).expect("short");
    let text = URL_SAFE_NO_PAD.encode(&buffer);
    let mut buffer = URL_SAFE_NO_PAD.decode(text).expect("base64");
    extended().open_in_place(short_nonce(), Aad::from(b""), &mut buffer).expect("ours").len()
}

fn extended() -> LessSafeKey {
    let first: &[u8; 16] = NONCE.first_chunk().expect("it is longer");
    let key: [u8; 32] = hchacha::<R20>(black_box(&KEY).into(), black_box(first).into()).into();
    LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, &key).expect("the right length"))
}

fn short_nonce() -> Nonce {
    let mut short = [0; 12];
    short[4..].copy_from_slice(&NONCE[16..]);
    Nonce::assume_unique_for_key(short)
}

fn hash_of_text() -> [u8; 32] {
    Sha256::digest(black_box(PARAMS)).into()
}

/// What is left once all is parsed into a tree: sort, write, hash. Both sides begin with text.
fn generic_digest() -> [u8; 32] {
    let value: Value = serde_json::from_str(black_box(PARAMS)).expect("JSON");
    let text = serde_json::to_string(&Sorted::from(value)).expect("a tree can be written");
    Sha256::digest(text).into()
}

#[derive(Serialize)]
#[serde(untagged)]
enum Sorted {
    Object(BTreeMap<String, Sorted>),
    Array(Vec<Sorted>),
    Scalar(Value),
}

impl From<Value> for Sorted {
    fn from(value: Value) -> Self {
        match value {
            Value::Object(members) => {
                Self::Object(members.into_iter().map(|(key, value)| (key, value.into())).collect())
            }
            Value::Array(elements) => Self::Array(elements.into_iter().map(Self::from).collect()),
            scalar => Self::Scalar(scalar),
        }
    }
}

const KEY: [u8; 32] = [7; 32];
const NONCE: [u8; 24] = [9; 24];
const NOW: Timestamp = Timestamp::from_millis(1_785_240_000_000);
const PARAMS: &str =
    r#"{"name":"update_work_item","arguments":{"workItemId":4522,"fields":{"System.State":"Resolved"}}}"#;
