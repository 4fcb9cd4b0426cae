//! The key under which parameters are digested.

use std::fmt;

use super::siphash::siphash128;
use crate::codec::Subkey;
use crate::keys::Key;

/// What parameters are digested under, derived from a key of the ring. Wiped when dropped; never shown.
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
    /// That of a key.
    pub fn of(key: &Key) -> Self {
        Self(key.derive("params"))
    }

    /// A client cannot look for two requests with one digest without the key, so that sixteen bytes are enough.
    pub(super) fn digest(&self, canonical: &[u8]) -> [u8; 16] {
        siphash128(self.0.as_bytes().first_chunk().expect("it is longer"), canonical)
    }
}

impl fmt::Debug for ParamsKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ParamsKey")
    }
}
