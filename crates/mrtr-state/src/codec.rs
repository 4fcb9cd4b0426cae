//! How claims and payload become bytes that only a holder of the key can make.

#[cfg(feature = "ring")]
mod fast;
mod signed;
mod xchacha;

use std::fmt;

use hmac::{Hmac, KeyInit};
use sha2::Sha256;
use zeroize::Zeroizing;

#[cfg(feature = "ring")]
pub use fast::FastXChaCha;
pub use signed::Signed;
pub use xchacha::XChaCha;

/// A way to seal bytes: pure, synchronous, and told its key, its nonce and what else is to be authenticated.
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

    /// The codec with a key. Called once for each key of a ring, not for each token.
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

/// A key derived from one of the ring's for one purpose. Wiped when dropped; never shown.
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
