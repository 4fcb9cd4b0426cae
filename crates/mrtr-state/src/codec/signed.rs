//! HMAC-SHA256: signed, and readable by all who hold the token.

use hmac::{Hmac, Mac};
use sha2::Sha256;

use super::{Codec, NONCE_LENGTH, SealingKey, Subkey};

/// Authenticated and **not** confidential: the message in clear, and its HMAC-SHA256.
///
/// Every client, proxy and log that sees such a state can read all of it. It is for states whose content is no secret
/// from the client and that people want to read while debugging; everything else belongs under
/// [`XChaCha`](super::XChaCha).
///
/// ```
/// use base64::Engine;
/// use base64::prelude::BASE64_URL_SAFE_NO_PAD;
/// use mrtr_state::codec::Signed;
///
#[doc = include_str!("../../doc/sealing.txt")]
/// let state = sealer.codec(Signed::default()).seal(&cart, &binding, noon)?;
/// let signed = state.untrusted_text().rsplit('.').next().unwrap();
/// let bytes = BASE64_URL_SAFE_NO_PAD.decode(signed)?;
/// assert!(String::from_utf8_lossy(&bytes).contains(r#"{"items":["tea"]}"#), "all can read it");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Signed;

impl Codec for Signed {
    fn letter(&self) -> char {
        's'
    }

    fn with_key(&self, key: &Subkey) -> Box<dyn SealingKey> {
        Box::new(Keyed(key.hmac()))
    }
}

struct Keyed(Hmac<Sha256>);

impl Keyed {
    fn over(&self, nonce: &[u8; NONCE_LENGTH], header: &[u8], message: &[u8]) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        mac.update(nonce);
        mac.update(&(header.len() as u64).to_be_bytes());
        mac.update(header);
        mac.update(message);
        mac
    }
}

impl SealingKey for Keyed {
    fn seal(&self, nonce: &[u8; NONCE_LENGTH], header: &[u8], message: &mut Vec<u8>) {
        let mac = self.over(nonce, header, message).finalize().into_bytes();
        message.extend_from_slice(&mac);
    }

    fn open<'a>(&self, nonce: &[u8; NONCE_LENGTH], header: &[u8], sealed: &'a mut [u8]) -> Option<&'a [u8]> {
        let (message, mac) = sealed.split_last_chunk_mut::<MAC_LENGTH>()?;
        self.over(nonce, header, message).verify_slice(mac).ok()?;
        Some(message)
    }
}

const MAC_LENGTH: usize = 32;
