//! XChaCha20-Poly1305 in portable Rust: the reference.

use chacha20poly1305::aead::AeadInOut;
use chacha20poly1305::{KeyInit, XChaCha20Poly1305};

use super::{Codec, NONCE_LENGTH, SealingKey, Subkey};

/// Confidential and authenticated: ciphertext and tag. What a sealer uses by default.
///
/// The nonce has 192 random bits: no counter is shared, and none can repeat by chance.
///
/// ```
/// use mrtr_state::codec::XChaCha;
///
#[doc = include_str!("../../doc/sealing.txt")]
/// let state = sealer.codec(XChaCha::default()).seal(&cart, &binding, noon)?;
/// assert!(state.untrusted_text().starts_with("mrtr1x.process."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct XChaCha;

impl Codec for XChaCha {
    fn letter(&self) -> char {
        'x'
    }

    fn with_key(&self, key: &Subkey) -> Box<dyn SealingKey> {
        Box::new(Keyed(XChaCha20Poly1305::new(key.as_bytes().into())))
    }
}

struct Keyed(XChaCha20Poly1305);

impl SealingKey for Keyed {
    fn seal(&self, nonce: &[u8; NONCE_LENGTH], header: &[u8], message: &mut Vec<u8>) {
        let tag = self.0.encrypt_inout_detached(nonce.into(), header, message.as_mut_slice().into());
        message.extend_from_slice(&tag.expect("no message is as long as the cipher's limit of 256 GiB"));
    }

    fn open<'a>(&self, nonce: &[u8; NONCE_LENGTH], header: &[u8], sealed: &'a mut [u8]) -> Option<&'a [u8]> {
        let (message, tag) = sealed.split_last_chunk_mut::<TAG_LENGTH>()?;
        let tag = &*tag;
        self.0.decrypt_inout_detached(nonce.into(), header, (&mut *message).into(), tag.into()).ok()?;
        Some(message)
    }
}

const TAG_LENGTH: usize = 16;
