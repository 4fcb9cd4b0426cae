//! Sealing and opening a state, against the bare calls to the cipher and to base64 for the same payload.

use std::collections::BTreeMap;
use std::hint::black_box;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20::{R20, hchacha};
use chacha20poly1305::aead::AeadInOut;
use chacha20poly1305::{KeyInit, XChaCha20Poly1305};
use mrtr_schema::{RawMembers, RequestState, Revision};
use mrtr_state::codec::{FastXChaCha, XChaCha};
use mrtr_state::{Binding, Key, KeyRing, ParamsDigest, ParamsKey, Payload, PayloadError, Principal, Sealer, Timestamp};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::Scale;
use crate::measure::Spread;
use crate::measure::{Comparison, compare};
use crate::report::{Figure, Group, Target};

pub(crate) fn measure(scale: Scale) -> Group {
    let mut figures = Vec::new();
    for cipher in Cipher::ALL {
        for size in SIZES {
            figures.extend(sizes(cipher, size, scale));
        }
    }
    figures.extend(Cipher::ALL.map(|cipher| with_digests(cipher, scale)));
    figures.extend(digest_figures(scale));
    Group {
        title: "State",
        about: "Sealing and opening a state, compared with bare calls to the cipher and to base64, as careful \
            hand-written code would make them for the same bytes, without any claims. A ratio says how many times \
            longer ours takes; the rows about digests of parameters name what they are compared with.",
        figures,
    }
}

/// One payload with one cipher.
fn sizes(cipher: Cipher, size: usize, scale: Scale) -> Vec<Figure> {
    let sealer = sealer(cipher);
    let params = params();
    let binding = binding(&params);
    let payload = Text(vec![b'x'; size]);
    let state = sealer.seal(&payload, &binding, NOW).expect("it fits");
    let bare = cipher.seal(&payload.0);

    let sealing = compare(scale, || cipher.seal(&payload.0), || sealer.seal(&payload, &binding, NOW));
    let opening = compare(scale, || cipher.open(&bare), || open(&sealer, &state, &binding));
    let both = compare(
        scale,
        || cipher.open(&cipher.seal(&payload.0)),
        || {
            let state = sealer.seal(&payload, &binding, NOW).expect("it fits");
            open(&sealer, &state, &binding)
        },
    );
    let is_small = size == SMALL;
    let shown = shown(size);
    let mut figures = vec![
        sealing.figure(format!("seal {shown}"), cipher.name(), None),
        opening.figure(format!("open {shown}"), cipher.name(), None),
        both.figure(format!("seal + open {shown}"), cipher.name(), is_small.then_some(Target::AtMost(1.5))),
    ];
    if is_small && cipher == Cipher::Ring {
        figures.push(within_allowance(&both));
    }
    figures
}

/// The one target that is a time: a state must cost next to nothing beside the request that carries it.
fn within_allowance(both: &Comparison) -> Figure {
    let part = |seconds: f64| seconds * 1e6 / ALLOWANCE;
    let Spread { median, low, high } = both.ours;
    Figure {
        what: format!("seal + open {}, in units of {ALLOWANCE} µs", shown(SMALL)),
        who: Cipher::Ring.name().to_owned(),
        ratio: Spread { median: part(median), low: part(low), high: part(high) }.into(),
        target: Some(Target::AtMost(1.0)),
        absolute: format!("{:.2} µs, of {ALLOWANCE} µs allowed", median * 1e6),
    }
}

/// Measures the work of two requests, each with parameters to digest.
fn with_digests(cipher: Cipher, scale: Scale) -> Figure {
    let sealer = sealer(cipher);
    let params = params();
    let payload = Text::small();
    let ours = || {
        let state = sealer.seal(&payload, &binding(&params), NOW).expect("it fits");
        open(&sealer, &state, &binding(&params))
    };
    compare(scale, || cipher.open(&cipher.seal(&payload.0)), ours).figure(
        format!("seal + open {}, two digests", shown(SMALL)),
        cipher.name(),
        None,
    )
}

pub(crate) struct Text(Vec<u8>);

impl Text {
    /// A payload of the size that most states have.
    pub(crate) fn small() -> Self {
        Self(vec![b'x'; SMALL])
    }
}

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

/// Makes a sealer that takes the longest payload too, which is longer than a server would send.
pub(crate) fn sealer(cipher: Cipher) -> Sealer {
    let key = Key::new("2026-11", [7; 32]).expect("long enough");
    let sealer = Sealer::new(KeyRing::new(key), "bench").expect("an audience").limit(128 << 10);
    match cipher {
        Cipher::Portable => sealer.codec(XChaCha::default()),
        Cipher::Ring => sealer.codec(FastXChaCha::default()),
    }
}

pub(crate) fn params() -> RawMembers<'static> {
    RawMembers::parse(PARAMS).expect("JSON")
}

pub(crate) fn binding<'a>(params: &'a RawMembers<'a>) -> Binding<'a> {
    let principal = Principal { issuer: "https://id.example.com", subject: "ann" };
    Binding::new(Revision::V2026_07_28, "tools/call", params).expect("a name").principal(principal)
}

pub(crate) fn open(sealer: &Sealer, state: &RequestState, binding: &Binding<'_>) -> usize {
    sealer.open::<Text>(state, binding, NOW).expect("it is ours").payload().0.len()
}

fn shown(size: usize) -> String {
    if size < 1024 { format!("{size} B") } else { format!("{} KiB", size / 1024) }
}

const SIZES: [usize; 6] = [128, SMALL, 1 << 10, 4 << 10, 16 << 10, 64 << 10];
const SMALL: usize = 256;
/// The microseconds that a small state may take.
const ALLOWANCE: f64 = 1.2;
pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_785_240_000_000);
pub(crate) const PARAMS: &str =
    r#"{"name":"update_work_item","arguments":{"workItemId":4522,"fields":{"System.State":"Resolved"}}}"#;

fn digest_figures(scale: Scale) -> [Figure; 2] {
    let (params, key) = (params(), ParamsKey::of(&Key::new("2026-11", [7; 32]).expect("long enough")));
    let what = format!("digest of {} B of params", PARAMS.len());
    [
        compare(scale, hash_of_text, || ParamsDigest::of(&params, &key)).figure(
            &*what,
            "against SHA-256 of the text",
            Some(Target::AtMost(4.0)),
        ),
        compare(scale, generic_digest, || ParamsDigest::of(&RawMembers::parse(black_box(PARAMS)).expect("JSON"), &key))
            .figure(what, "against Value and BTreeMap", Some(Target::AtMost(1.0))),
    ]
}

fn hash_of_text() -> [u8; 32] {
    Sha256::digest(black_box(PARAMS)).into()
}

/// Digests a tree: sorts, writes and hashes it. Both sides begin with text.
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

/// A library that does the work.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cipher {
    /// The `chacha20poly1305` crate, which runs everywhere.
    Portable,
    /// The `ring` crate, which needs the nonce extended first.
    Ring,
}

impl Cipher {
    pub(super) const ALL: [Self; 2] = [Self::Portable, Self::Ring];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Ring => "ring",
        }
    }

    pub(super) fn seal(self, payload: &[u8]) -> String {
        let mut buffer = Vec::with_capacity(payload.len() + 16);
        buffer.extend_from_slice(payload);
        match self {
            Self::Portable => {
                let message = buffer.as_mut_slice().into();
                let tag = portable().encrypt_inout_detached(black_box(&NONCE).into(), b"", message).expect("short");
                buffer.extend_from_slice(&tag);
            }
            Self::Ring => {
                extended().seal_in_place_append_tag(short_nonce(), Aad::empty(), &mut buffer).expect("short");
            }
        }
        URL_SAFE_NO_PAD.encode(&buffer)
    }

    pub(super) fn open(self, text: &str) -> usize {
        let mut buffer = URL_SAFE_NO_PAD.decode(text).expect("base64");
        match self {
            Self::Portable => {
                let (message, tag) = buffer.split_last_chunk_mut::<16>().expect("a tag");
                let (length, tag) = (message.len(), &*tag);
                let nonce = black_box(&NONCE);
                portable().decrypt_inout_detached(nonce.into(), b"", message.into(), tag.into()).expect("ours");
                length
            }
            Self::Ring => extended().open_in_place(short_nonce(), Aad::empty(), &mut buffer).expect("ours").len(),
        }
    }
}

fn portable() -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(black_box(&KEY).into())
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

const KEY: [u8; 32] = [7; 32];
const NONCE: [u8; 24] = [9; 24];
