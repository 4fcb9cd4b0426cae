//! Keys, the ring that holds them, and where they come from.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::str::FromStr;

use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::codec::Subkey;
use crate::{KeyError, Timestamp};

/// A secret with a name. It is shown only by its name, and wiped when dropped.
///
/// ```
/// use mrtr_state::Key;
///
/// let key = Key::new("2026-11", [7; 32])?;
/// assert_eq!(format!("{key:?}"), "Key(2026-11)");
/// assert!(Key::new("2026-11", [7; 31]).is_err(), "too short");
/// # Ok::<(), mrtr_state::KeyError>(())
/// ```
#[derive(Clone)]
pub struct Key {
    id: KeyId,
    secret: Zeroizing<Vec<u8>>,
}

impl Key {
    /// Makes a key of at least 32 random bytes.
    pub fn new(id: impl Into<String>, secret: impl Into<Vec<u8>>) -> Result<Self, KeyError> {
        let secret = Zeroizing::new(secret.into());
        Self::named(KeyId::new(id)?, secret)
    }

    fn named(id: KeyId, secret: Zeroizing<Vec<u8>>) -> Result<Self, KeyError> {
        if secret.len() < SHORTEST_KEY {
            return Err(KeyError::TooShort { id, length: secret.len() });
        }
        Ok(Self { id, secret })
    }

    /// Makes a key whose secret is written in base64, of either alphabet, padded or not.
    ///
    /// ```
    /// use mrtr_state::{Key, KeyError};
    ///
    /// assert!(Key::from_base64("2026-11", "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=").is_ok());
    /// assert!(matches!(Key::from_base64("2026-11", "not base64!"), Err(KeyError::NotBase64(_))));
    /// ```
    pub fn from_base64(id: impl Into<String>, secret: &str) -> Result<Self, KeyError> {
        let id = KeyId::new(id)?;
        let mut decoded = Zeroizing::new(Vec::with_capacity(secret.len()));
        for alphabet in [STANDARD_BASE64, URL_SAFE_BASE64] {
            decoded.clear();
            if alphabet.decode_vec(secret, &mut decoded).is_ok() {
                return Self::named(id, decoded);
            }
        }
        Err(KeyError::NotBase64(id))
    }

    /// The name that tokens give it.
    pub fn id(&self) -> &KeyId {
        &self.id
    }

    /// Derives a key for one purpose: knowing it tells nothing of the others.
    pub(crate) fn derive(&self, purpose: &str) -> Subkey {
        let mut derived = Zeroizing::new([0; 32]);
        let extracted = Hkdf::<Sha256>::new(Some(b"mrtr-state/1"), &self.secret);
        extracted.expand(purpose.as_bytes(), derived.as_mut()).expect("32 bytes are within the limit of HKDF");
        Subkey(derived)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.id)
    }
}

const SHORTEST_KEY: usize = 32;
const EITHER_PADDING: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD_BASE64: GeneralPurpose = GeneralPurpose::new(&STANDARD, EITHER_PADDING);
const URL_SAFE_BASE64: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, EITHER_PADDING);

/// The name of a key, as tokens give it: 1 to 32 of `A–Z a–z 0–9 _ -`. It is no secret.
///
/// ```
/// use mrtr_state::KeyId;
///
/// assert_eq!(KeyId::new("2026-11")?.as_str(), "2026-11");
/// assert!(KeyId::new("2026.11").is_err(), "in a token, a dot ends the name");
/// # Ok::<(), mrtr_state::KeyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyId(String);

impl KeyId {
    /// Checks a name.
    pub fn new(id: impl Into<String>) -> Result<Self, KeyError> {
        let id = id.into();
        if Self::allows(&id) { Ok(Self(id)) } else { Err(KeyError::BadId { length: id.len() }) }
    }

    pub(crate) fn allows(id: &str) -> bool {
        (1..=32).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The keys of a deployment: one seals, all open.
///
/// To replace a key without refusing a client, deploy three times, each time everywhere: add the new key behind the old
/// one; put it first; and, after the longest lifetime of a state has passed, drop the old one.
///
/// Its text is `ID:BASE64[,ID:BASE64…]`, the sealing key first.
///
/// ```
/// use mrtr_state::{Key, KeyRing};
///
/// let ring = KeyRing::new(Key::new("new", [1; 32])?).also_opens(Key::new("old", [2; 32])?)?;
/// assert_eq!(ring.sealing_key().as_str(), "new");
/// let same: KeyRing = "new:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=,old:AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="
///     .parse()?;
/// assert_eq!(same.sealing_key(), ring.sealing_key());
/// # Ok::<(), mrtr_state::KeyError>(())
/// ```
#[derive(Debug, Clone)]
pub struct KeyRing {
    /// Never empty: the first seals.
    keys: Vec<Key>,
    cut_off: Option<Timestamp>,
}

impl KeyRing {
    /// Makes a ring of one key.
    pub fn new(sealing: Key) -> Self {
        Self { keys: vec![sealing], cut_off: None }
    }

    /// Adds a key that opens states but seals none: it sealed them in the past, or other instances are about to
    /// seal with it.
    pub fn also_opens(mut self, key: Key) -> Result<Self, KeyError> {
        if self.keys.iter().any(|known| known.id == key.id) {
            return Err(KeyError::DuplicateId(key.id));
        }
        self.keys.push(key);
        Ok(self)
    }

    /// Refuses every state issued before this moment, whatever its key. Use it after a leak, or a faulty release.
    ///
    /// An attacker with a leaked key can date a forgery at will: drop the key itself as well.
    ///
    /// ```
    /// use std::time::Duration;
    /// use mrtr_state::{Key, KeyRing, Refusal, Sealer};
    ///
    #[doc = include_str!("../doc/sealing.txt")]
    /// let keys = KeyRing::new(Key::new("2026-11", [7; 32])?);
    /// let sealer = Sealer::new(keys.clone(), "shop-eu")?;
    /// let state = sealer.seal(&cart, &binding, noon)?;
    /// sealer.replace_keys(keys.reject_issued_before(noon + Duration::from_secs(1)));
    /// assert_eq!(sealer.open::<Cart>(&state, &binding, noon).unwrap_err(), Refusal::BeforeCutOff);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn reject_issued_before(mut self, moment: Timestamp) -> Self {
        self.cut_off = Some(moment);
        self
    }

    /// The name of the key that seals.
    pub fn sealing_key(&self) -> &KeyId {
        &self.keys[0].id
    }

    pub(crate) fn keys(&self) -> &[Key] {
        &self.keys
    }

    pub(crate) fn cut_off(&self) -> Option<Timestamp> {
        self.cut_off
    }
}

impl FromStr for KeyRing {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut keys = text.split(',').map(|entry| {
            let (id, secret) = entry.trim().split_once(':').ok_or(KeyError::NotAKey)?;
            Key::from_base64(id.trim(), secret.trim())
        });
        let sealing = keys.next().unwrap_or(Err(KeyError::NotAKey))?;
        keys.try_fold(Self::new(sealing), |ring, key| ring.also_opens(key?))
    }
}

/// A source of rings, such as a KMS that unwraps keys, or a secret store. A sealer asks it at start and on rotation,
/// never per token.
///
/// An implementation writes `async fn keys`; its future must be `Send`.
///
/// ```
/// use mrtr_state::{Key, KeyRing, KeySource};
///
/// struct Vault;
///
/// impl KeySource for Vault {
///     async fn keys(&self) -> Result<KeyRing, Box<dyn std::error::Error + Send + Sync>> {
///         let unwrapped = [7; 32]; // ask the vault
///         Ok(KeyRing::new(Key::new("2026-11", unwrapped)?))
///     }
/// }
/// ```
pub trait KeySource: Send + Sync {
    /// The keys as they are now.
    fn keys(&self) -> impl Future<Output = Result<KeyRing, Box<dyn Error + Send + Sync>>> + Send;
}
