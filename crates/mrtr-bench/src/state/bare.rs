//! What a careful hand would write with a cipher and base64, without a single claim.

use std::hint::black_box;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20::{R20, hchacha};
use chacha20poly1305::aead::AeadInOut;
use chacha20poly1305::{KeyInit, XChaCha20Poly1305};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};

/// Who does the work.
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
