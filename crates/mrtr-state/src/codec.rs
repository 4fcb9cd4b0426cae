//! Codecs, which turn claims and payload into bytes that only a holder of the key can make.

use std::fmt;

#[cfg(feature = "ring")]
use chacha20::{R20, hchacha};
use chacha20poly1305::XChaCha20Poly1305;
use chacha20poly1305::aead::AeadInOut;
use hmac::{Hmac, KeyInit, Mac};
#[cfg(feature = "ring")]
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use sha2::Sha256;
use zeroize::Zeroizing;

/// A way to seal bytes. It is pure and synchronous: the sealer gives it its key, the nonce and the header to
/// authenticate.
///
/// Each codec gets a key derived for its letter alone, so that what one sealed never opens as another's.
///
/// ```
/// use mrtr_state::codec::{Codec, SealingKey, Subkey, XChaCha};
///
/// /// The default codec under another letter, and so under keys of its own.
/// #[derive(Debug)]
/// struct Apart;
///
/// impl Codec for Apart {
///     fn letter(&self) -> char {
///         'a'
///     }
///
///     fn with_key(&self, key: &Subkey) -> Box<dyn SealingKey> {
///         XChaCha::default().with_key(key)
///     }
/// }
///
#[doc = include_str!("../doc/sealing.txt")]
/// let state = sealer.codec(Apart).seal(&cart, &binding, noon)?;
/// assert!(state.untrusted_text().starts_with("mrtr1a.process."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Codec: fmt::Debug + Send + Sync + 'static {
    /// The lower-case letter that tells its tokens apart. `x` and `s` are taken.
    fn letter(&self) -> char;

    /// Gives the codec a key. A sealer calls this once for each key of a ring, not for each token.
    fn with_key(&self, key: &Subkey) -> Box<dyn SealingKey>;
}

/// A codec with its key.
///
/// ```
/// use mrtr_state::codec::{Codec, NONCE_LENGTH, SealingKey, Subkey, XChaCha};
///
/// /// Tries each key before it is used.
/// #[derive(Debug)]
/// struct Tried;
///
/// impl Codec for Tried {
///     fn letter(&self) -> char {
///         't'
///     }
///
///     fn with_key(&self, key: &Subkey) -> Box<dyn SealingKey> {
///         let key = XChaCha::default().with_key(key);
///         let mut message = b"hello".to_vec();
///         key.seal(&[0; NONCE_LENGTH], b"header", &mut message);
///         assert_eq!(key.open(&[0; NONCE_LENGTH], b"header", &mut message.clone()), Some(&b"hello"[..]));
///         assert_eq!(key.open(&[0; NONCE_LENGTH], b"another", &mut message), None);
///         key
///     }
/// }
///
/// let sealer = mrtr_state::Sealer::this_process_only().codec(Tried);
/// # drop(sealer);
/// ```
pub trait SealingKey: Send + Sync {
    /// Seals a message in its buffer, which it may lengthen. Nonce and `header` are authenticated too; both travel
    /// beside what is sealed.
    fn seal(&self, nonce: &[u8; NONCE_LENGTH], header: &[u8], message: &mut Vec<u8>);

    /// Opens what `seal` made, in its buffer; `None` unless all of it, the nonce and the header are as they were.
    fn open<'a>(&self, nonce: &[u8; NONCE_LENGTH], header: &[u8], sealed: &'a mut [u8]) -> Option<&'a [u8]>;
}

/// The length of the random number that is new for each token.
///
/// ```
/// use mrtr_state::codec::NONCE_LENGTH;
///
/// assert_eq!(NONCE_LENGTH * 8, 192, "bits: too many for two to be the same by chance");
/// ```
pub const NONCE_LENGTH: usize = 24;

/// A key derived from one of the ring's for one purpose. It is wiped when dropped, and never shown.
///
/// ```
/// use mrtr_state::codec::{Codec, SealingKey, Subkey, XChaCha};
///
/// #[derive(Debug)]
/// struct Logged;
///
/// impl Codec for Logged {
///     fn letter(&self) -> char {
///         'l'
///     }
///
///     fn with_key(&self, key: &Subkey) -> Box<dyn SealingKey> {
///         assert_eq!(key.as_bytes().len(), 32);
///         assert_eq!(format!("{key:?}"), "Subkey", "a log learns nothing");
///         XChaCha::default().with_key(key)
///     }
/// }
///
/// let sealer = mrtr_state::Sealer::this_process_only().codec(Logged);
/// # drop(sealer);
/// ```
pub struct Subkey(pub(crate) Zeroizing<[u8; 32]>);

impl Subkey {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// An HMAC-SHA256 that has taken the key in.
    pub(crate) fn hmac(&self) -> Hmac<Sha256> {
        Hmac::new_from_slice(self.as_bytes()).expect("HMAC takes keys of any length")
    }
}

impl fmt::Debug for Subkey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Subkey")
    }
}

/// The codec that a sealer uses unless told otherwise.
pub(crate) fn default_codec() -> impl Codec {
    #[cfg(feature = "ring")]
    return FastXChaCha;
    #[cfg(not(feature = "ring"))]
    return XChaCha;
}

/// A codec whose states are confidential and authenticated: ciphertext and tag. A sealer uses it by default, unless the
/// feature `ring` is on.
///
/// The nonce has 192 random bits: no counter is shared, and none can repeat by chance.
///
/// ```
/// use mrtr_state::codec::XChaCha;
///
#[doc = include_str!("../doc/sealing.txt")]
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
        Box::new(XChaChaKey(XChaCha20Poly1305::new(key.as_bytes().into())))
    }
}

struct XChaChaKey(XChaCha20Poly1305);

impl SealingKey for XChaChaKey {
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

/// XChaCha20-Poly1305 on ring: the same bytes as the reference, in a fraction of the time for small states.
///
/// A sealer uses it by default with the feature `ring`. Its tokens are those of [`XChaCha`].
///
/// ring keeps a copy of each token's derived key on its stack and does not wipe it; the ring's own keys are wiped.
///
/// ```
/// use mrtr_state::codec::{FastXChaCha, XChaCha};
/// use mrtr_state::{Key, KeyRing, Sealer};
///
#[doc = include_str!("../doc/sealing.txt")]
/// let sealer = Sealer::new(KeyRing::new(Key::new("2026-11", [7; 32])?), "shop-eu")?;
/// let state = sealer.clone().codec(FastXChaCha::default()).seal(&cart, &binding, noon)?;
/// assert!(sealer.codec(XChaCha::default()).open::<Cart>(&state, &binding, noon).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "ring")]
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct FastXChaCha;

#[cfg(feature = "ring")]
impl Codec for FastXChaCha {
    fn letter(&self) -> char {
        'x'
    }

    fn with_key(&self, key: &Subkey) -> Box<dyn SealingKey> {
        Box::new(FastKey(Subkey(key.0.clone())))
    }
}

#[cfg(feature = "ring")]
struct FastKey(Subkey);

#[cfg(feature = "ring")]
impl FastKey {
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

#[cfg(feature = "ring")]
impl SealingKey for FastKey {
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

/// A codec whose states are authenticated and **not** confidential: the message in clear, and its HMAC-SHA256.
///
/// Every client, proxy and log that sees such a state can read all of it. It is for states whose content is no secret
/// from the client and that people want to read while debugging; everything else belongs under
/// [`XChaCha`].
///
/// ```
/// use base64::Engine;
/// use base64::prelude::BASE64_URL_SAFE_NO_PAD;
/// use mrtr_state::codec::Signed;
///
#[doc = include_str!("../doc/sealing.txt")]
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
        Box::new(SignedKey(key.hmac()))
    }
}

struct SignedKey(Hmac<Sha256>);

impl SignedKey {
    fn over(&self, nonce: &[u8; NONCE_LENGTH], header: &[u8], message: &[u8]) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        mac.update(nonce);
        mac.update(&(header.len() as u64).to_be_bytes());
        mac.update(header);
        mac.update(message);
        mac
    }
}

impl SealingKey for SignedKey {
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

const TAG_LENGTH: usize = 16;
const MAC_LENGTH: usize = 32;
