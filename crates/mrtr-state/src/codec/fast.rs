//! XChaCha20-Poly1305 on ring: the same bytes as the reference, in a fraction of the time for small states.

use chacha20::{R20, hchacha};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use zeroize::Zeroizing;

use super::{Codec, NONCE_LENGTH, SealingKey, Subkey};

/// What a sealer uses by default with the feature `ring`. Its tokens are those of [`XChaCha`](super::XChaCha).
///
/// ring keeps a copy of each token's derived key on its stack and does not wipe it; the ring's own keys are wiped.
///
/// ```
/// use mrtr_state::codec::{FastXChaCha, XChaCha};
/// use mrtr_state::{Key, KeyRing, Sealer};
///
#[doc = include_str!("../../doc/sealing.txt")]
/// let sealer = Sealer::new(KeyRing::new(Key::new("2026-11", [7; 32])?), "shop-eu")?;
/// let state = sealer.clone().codec(FastXChaCha::default()).seal(&cart, &binding, noon)?;
/// assert!(sealer.codec(XChaCha::default()).open::<Cart>(&state, &binding, noon).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct FastXChaCha;

impl Codec for FastXChaCha {
    fn letter(&self) -> char {
        'x'
    }

    fn with_key(&self, key: &Subkey) -> Box<dyn SealingKey> {
        Box::new(Keyed(Subkey(key.0.clone())))
    }
}

struct Keyed(Subkey);

impl Keyed {
    /// XChaCha20 is ChaCha20 under a key made from the first 16 bytes of the nonce, with the last 8 as its nonce.
    fn for_nonce(&self, nonce: &[u8; NONCE_LENGTH]) -> (LessSafeKey, Nonce) {
        let (first, last) = nonce.split_at(16);
        let first: &[u8; 16] = first.try_into().expect("split there");
        let key: Zeroizing<[u8; 32]> = Zeroizing::new(hchacha::<R20>(self.0.as_bytes().into(), first.into()).into());
        let key = UnboundKey::new(&CHACHA20_POLY1305, &*key).expect("the key has the cipher's length");
        let mut short = [0; 12];
        short[4..].copy_from_slice(last);
        (LessSafeKey::new(key), Nonce::assume_unique_for_key(short))
    }
}

impl SealingKey for Keyed {
    fn seal(&self, nonce: &[u8; NONCE_LENGTH], header: &[u8], message: &mut Vec<u8>) {
        let (key, short) = self.for_nonce(nonce);
        let sealed = key.seal_in_place_append_tag(short, Aad::from(header), message);
        sealed.expect("no message is as long as the cipher's limit of 256 GiB");
    }

    fn open<'a>(&self, nonce: &[u8; NONCE_LENGTH], header: &[u8], sealed: &'a mut [u8]) -> Option<&'a [u8]> {
        let (key, short) = self.for_nonce(nonce);
        key.open_in_place(short, Aad::from(header), sealed).ok().map(|message| &*message)
    }
}
