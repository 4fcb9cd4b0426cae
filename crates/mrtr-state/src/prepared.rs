//! A ring with what is derived from each of its keys, ready to seal and open.

use std::fmt;
use std::sync::Arc;

use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::binding::Principal;
use crate::claims::PrincipalDigest;
use crate::codec::{Codec, SealingKey, default_codec};
use crate::digest::ParamsKey;
use crate::keys::{Key, KeyId, KeyRing};
use crate::token;

pub(crate) struct PreparedRing {
    /// In the order of the ring: the first seals.
    pub(crate) keys: Vec<Arc<PreparedKey>>,
    pub(crate) ring: KeyRing,
}

pub(crate) struct PreparedKey {
    pub(crate) id: KeyId,
    pub(crate) header: String,
    pub(crate) sealing: Box<dyn SealingKey>,
    /// For what a server keeps itself: always confidential, whichever codec seals states.
    pub(crate) at_rest: Box<dyn SealingKey>,
    pub(crate) params: ParamsKey,
    principals: Hmac<Sha256>,
}

impl PreparedRing {
    pub(crate) fn new(ring: KeyRing, codec: &dyn Codec) -> Self {
        let keys = ring.keys().iter().map(|key| Arc::new(PreparedKey::new(key, codec))).collect();
        Self { keys, ring }
    }
}

impl PreparedKey {
    fn new(key: &Key, codec: &dyn Codec) -> Self {
        Self {
            id: key.id().clone(),
            header: token::header(codec.letter(), key.id()),
            sealing: codec.with_key(&key.derive(&format!("seal/{}", codec.letter()))),
            at_rest: default_codec().with_key(&key.derive("at-rest")),
            params: ParamsKey::of(key),
            principals: key.derive("principal").hmac(),
        }
    }

    pub(crate) fn digest(&self, principal: &Principal<'_>) -> PrincipalDigest {
        let mut mac = self.principals.clone();
        mac.update(&(principal.issuer.len() as u64).to_be_bytes());
        mac.update(principal.issuer.as_bytes());
        mac.update(principal.subject.as_bytes());
        let digest: [u8; 32] = mac.finalize().into_bytes().into();
        PrincipalDigest(*digest.first_chunk().expect("it is longer"))
    }
}

impl fmt::Debug for PreparedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PreparedKey({})", self.id)
    }
}
