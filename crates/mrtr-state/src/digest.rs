//! Digests of what a request carries: the same for every honest spelling of it.

mod canonical;
mod keyed;

use std::fmt;

use mrtr_schema::RawMembers;
use sha2::{Digest, Sha256};

use crate::DigestError;
pub use keyed::ParamsKey;

/// Members of `params` that a retry may bring, drop or change.
const FREE: [&str; 4] = ["_meta", "inputResponses", "requestState", "task"];

/// A digest of a request's parameters, the four aside that belong to the round and not to the request.
///
/// It does not change with the order of keys at any depth, nor with the spelling of strings and numbers. It is made
/// under a key: without that, nothing can be told of the digest of any parameters.
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
    /// Digests parameters.
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

    /// For stores: a digest that was kept.
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
