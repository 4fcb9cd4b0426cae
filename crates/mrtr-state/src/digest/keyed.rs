//! The key under which parameters are digested.

use std::fmt;
use std::hash::Hasher as _;

use siphasher::sip128::{Hasher128, SipHasher24};

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
    use crate::codec::Subkey;

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
