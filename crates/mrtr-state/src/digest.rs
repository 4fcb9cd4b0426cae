//! Digests of what a request carries: the same for every honest spelling of it.

mod canonical;

use std::fmt;
use std::hash::Hasher as _;

use mrtr_schema::RawMembers;
use sha2::{Digest, Sha256};
use siphasher::sip128::{Hasher128, SipHasher24};

use crate::DigestError;
use crate::codec::Subkey;
use crate::keys::Key;

/// Members of `params` that a retry may bring, drop or change.
const FREE: [&str; 4] = ["_meta", "inputResponses", "requestState", "task"];

/// A digest of a request's parameters, except the four that belong to the round and not to the request.
///
/// It does not change with the order of keys at any depth, nor with the spelling of strings and numbers. It is made
/// under a key: without the key, an attacker cannot compute the digest of any parameters.
///
/// ```
/// use mrtr_schema::RawMembers;
/// use mrtr_state::{Key, ParamsDigest, ParamsKey};
///
/// let key = ParamsKey::of(&Key::new("2026-11", [7; 32])?);
/// let digest = |text| ParamsDigest::of(&RawMembers::parse(text).unwrap(), &key);
/// let first = digest(r#"{"name": "pay", "arguments": {"to": "Ann", "amount": 100}}"#)?;
/// let again = digest(r#"{"arguments":{"amount":1e2,"to":"\u0041nn"},"name":"pay","requestState":"…"}"#)?;
/// assert_eq!(first, again);
/// assert!(digest(r#"{"arguments": {"to": "Ann", "to": "Bob"}}"#).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ParamsDigest([u8; 16]);

impl ParamsDigest {
    /// Digests the parameters, except `_meta`, `inputResponses`, `requestState` and `task`.
    pub fn of(params: &RawMembers<'_>, key: &ParamsKey) -> Result<Self, DigestError> {
        let bound = params.iter().filter(|(name, _)| !FREE.contains(name));
        canonical::digest(bound, |bytes| key.digest(bytes)).map(Self)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    pub(crate) fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

/// A digest of the answers that came with a retry, whatever their order and spelling.
///
/// ```
/// use mrtr_schema::RawMembers;
/// use mrtr_state::AnswersDigest;
///
/// let answers = RawMembers::parse(r#"{"a": {"action": "accept"}}"#)?;
/// assert_ne!(AnswersDigest::of(Some(&answers)), AnswersDigest::of(None));
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AnswersDigest([u8; 32]);

impl AnswersDigest {
    /// Digests `inputResponses`; none at all is not the same as an empty map.
    pub fn of(answers: Option<&RawMembers<'_>>) -> Result<Self, DigestError> {
        let sha256 = |bytes: &[u8]| Sha256::digest(bytes).into();
        answers.map_or(Ok([0; 32]), |answers| canonical::digest(answers.iter(), sha256)).map(Self)
    }

    /// The bytes, as a store keeps them.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Restores a digest that a store has kept.
    ///
    /// ```
    /// use mrtr_state::AnswersDigest;
    ///
    /// let digest = AnswersDigest::of(None)?;
    /// assert_eq!(AnswersDigest::from_bytes(*digest.as_bytes()), digest);
    /// # Ok::<(), mrtr_state::DigestError>(())
    /// ```
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

macro_rules! debug_by_first_bytes {
    ($($name:ident)*) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let [a, b, c, d, ..] = self.0;
                write!(f, concat!(stringify!($name), "({:02x}{:02x}{:02x}{:02x}…)"), a, b, c, d)
            }
        }
    )*};
}
debug_by_first_bytes!(ParamsDigest AnswersDigest);

/// The key under which parameters are digested, derived from a key of the ring. It is wiped when dropped, and never
/// shown.
///
/// ```
/// use mrtr_schema::RawMembers;
/// use mrtr_state::{Key, ParamsDigest, ParamsKey};
///
/// let params = RawMembers::parse(r#"{"name": "pay"}"#)?;
/// let under = |secret| Key::new("2026-11", [secret; 32]).map(|key| ParamsDigest::of(&params, &ParamsKey::of(&key)));
/// assert_eq!(under(7)?, under(7)?);
/// assert_ne!(under(7)?, under(8)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ParamsKey(Subkey);

impl ParamsKey {
    /// Derives it from a key of the ring.
    pub fn of(key: &Key) -> Self {
        Self(key.derive("params"))
    }

    /// Sixteen bytes are enough: without the key, a client cannot look for two requests with one digest.
    fn digest(&self, canonical: &[u8]) -> [u8; 16] {
        let key = self.0.as_bytes().first_chunk().expect("it is longer");
        let mut hasher = SipHasher24::new_with_key(key);
        hasher.write(canonical);
        hasher.finish128().as_bytes()
    }
}

impl fmt::Debug for ParamsKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ParamsKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the authors' own table, `vectors_sip128`: what another language computes must be this.
    #[test]
    fn parameters_are_digested_as_the_authors_of_siphash_do() {
        let mut secret = [0; 32];
        (0..16_u8).zip(&mut secret).for_each(|(number, byte)| *byte = number);
        let key = ParamsKey(Subkey(secret.into()));
        for (message, expected) in [
            (&[] as &[u8], 0x9302_55c7_1472_f66d_e6a8_25ba_047f_81a3_u128),
            (&[0], 0x45fc_229b_1159_7634_44af_996b_d8c1_87da),
        ] {
            assert_eq!(key.digest(message), expected.to_le_bytes());
        }
    }
}
