//! The keys of an issuer: a JWK set, read strictly, and signatures verified with it.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, KeyOperations, PublicKeyUse};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384,
    RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512,
    RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};
use serde_json::Value;

/// An algorithm of signatures. All of them are asymmetric: a server that could verify with a shared secret could sign
/// with it, too.
///
/// ```
/// use mrtr_auth::Algorithm;
///
/// assert_eq!(Algorithm::Es256.name(), "ES256");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// ECDSA over P-256, with SHA-256.
    Es256,
    /// ECDSA over P-384, with SHA-384.
    Es384,
    /// Ed25519.
    EdDsa,
    /// RSA with PKCS #1 v1.5 and SHA-256.
    Rs256,
    /// RSA with PKCS #1 v1.5 and SHA-384.
    Rs384,
    /// RSA with PKCS #1 v1.5 and SHA-512.
    Rs512,
    /// RSA-PSS with SHA-256.
    Ps256,
    /// RSA-PSS with SHA-384.
    Ps384,
    /// RSA-PSS with SHA-512.
    Ps512,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Es256,
        Self::Es384,
        Self::EdDsa,
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
        Self::Ps256,
        Self::Ps384,
        Self::Ps512,
    ];

    /// Returns its name in the header of a token.
    pub fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::EdDsa => "EdDSA",
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Ps256 => "PS256",
            Self::Ps384 => "PS384",
            Self::Ps512 => "PS512",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    fn fits(self, named: KeyAlgorithm) -> bool {
        named.to_string() == self.name()
    }

    fn verifier(self) -> Verifier {
        match self {
            Self::Es256 => Verifier::Bytes(&ECDSA_P256_SHA256_FIXED),
            Self::Es384 => Verifier::Bytes(&ECDSA_P384_SHA384_FIXED),
            Self::EdDsa => Verifier::Bytes(&ED25519),
            Self::Rs256 => Verifier::Rsa(&RSA_PKCS1_2048_8192_SHA256),
            Self::Rs384 => Verifier::Rsa(&RSA_PKCS1_2048_8192_SHA384),
            Self::Rs512 => Verifier::Rsa(&RSA_PKCS1_2048_8192_SHA512),
            Self::Ps256 => Verifier::Rsa(&RSA_PSS_2048_8192_SHA256),
            Self::Ps384 => Verifier::Rsa(&RSA_PSS_2048_8192_SHA384),
            Self::Ps512 => Verifier::Rsa(&RSA_PSS_2048_8192_SHA512),
        }
    }
}

enum Verifier {
    Bytes(&'static dyn VerificationAlgorithm),
    Rsa(&'static RsaParameters),
}

/// A public key, ready to verify.
pub(super) struct PublicKey {
    id: Option<String>,
    /// The only algorithm that it is for, if it says so.
    algorithm: Option<KeyAlgorithm>,
    material: Material,
}

enum Material {
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
    Rsa(RsaPublicKeyComponents<Vec<u8>>),
}

impl PublicKey {
    /// Reads a key; `None` if it is not for signatures, or of a kind that is not known here.
    pub(super) fn of(jwk: &Jwk) -> Option<Self> {
        let common = &jwk.common;
        let is_for_signatures = common.public_key_use.as_ref().is_none_or(|used| *used == PublicKeyUse::Signature);
        let operations = common.key_operations.as_deref();
        let may_verify = operations.is_none_or(|operations| operations.contains(&KeyOperations::Verify));
        if !is_for_signatures || !may_verify {
            return None;
        }
        let material = Material::of(&jwk.algorithm)?;
        Some(Self { id: common.key_id.clone(), algorithm: common.key_algorithm, material })
    }

    /// Returns true if the signature is this key's, by this algorithm.
    pub(super) fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        if self.algorithm.is_some_and(|named| !algorithm.fits(named)) {
            return false;
        }
        match (algorithm.verifier(), &self.material) {
            (Verifier::Rsa(parameters), Material::Rsa(key)) => key.verify(parameters, message, signature).is_ok(),
            (Verifier::Bytes(verifier), Material::P256(key)) if algorithm == Algorithm::Es256 => {
                UnparsedPublicKey::new(verifier, key).verify(message, signature).is_ok()
            }
            (Verifier::Bytes(verifier), Material::P384(key)) if algorithm == Algorithm::Es384 => {
                UnparsedPublicKey::new(verifier, key).verify(message, signature).is_ok()
            }
            (Verifier::Bytes(verifier), Material::Ed25519(key)) if algorithm == Algorithm::EdDsa => {
                UnparsedPublicKey::new(verifier, key).verify(message, signature).is_ok()
            }
            _ => false,
        }
    }
}

impl Material {
    fn of(parameters: &AlgorithmParameters) -> Option<Self> {
        let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text).ok();
        match parameters {
            AlgorithmParameters::EllipticCurve(key) => {
                let (x, y) = (bytes(&key.x)?, bytes(&key.y)?);
                let size = match key.curve {
                    EllipticCurve::P256 => 32,
                    EllipticCurve::P384 => 48,
                    _ => return None,
                };
                let point = (x.len() == size && y.len() == size).then(|| [&[4], &x[..], &y[..]].concat())?;
                Some(if size == 32 { Self::P256(point) } else { Self::P384(point) })
            }
            AlgorithmParameters::RSA(key) => {
                Some(Self::Rsa(RsaPublicKeyComponents { n: bytes(&key.n)?, e: bytes(&key.e)? }))
            }
            AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
                Some(Self::Ed25519(bytes(&key.x).filter(|key| key.len() == 32)?))
            }
            _ => None,
        }
    }
}

/// The keys of an issuer.
pub(super) struct KeySet(Vec<PublicKey>);

/// The reason why a text is no set of keys.
///
/// ```
/// use mrtr_auth::Issuer;
///
/// let error = Issuer::new("https://id.example.com").keys("{}").unwrap_err();
/// assert_eq!(error.to_string(), "this is no set of keys: it has no array `keys`");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is no set of keys: {0}")]
pub struct KeysError(pub(super) String);

impl KeySet {
    /// Reads a JWK set. Keys that are not known here are left out; two keys of one id are a mistake of the issuer's, and
    /// make the set unusable: which of them it means cannot be told.
    pub(super) fn read(text: &[u8]) -> Result<Self, KeysError> {
        let refuse = |reason: &str| KeysError(reason.to_owned());
        let document: Value = serde_json::from_slice(text).map_err(|error| KeysError(error.to_string()))?;
        let listed = document.get("keys").and_then(Value::as_array).ok_or_else(|| refuse("it has no array `keys`"))?;
        if listed.len() > MOST_KEYS {
            return Err(refuse("it has more keys than any issuer needs"));
        }
        let mut keys: Vec<PublicKey> = Vec::new();
        for key in listed {
            // A key of a kind that this crate does not know is not this server's business.
            let Ok(jwk) = serde_json::from_value::<Jwk>(key.clone()) else { continue };
            let Some(key) = PublicKey::of(&jwk) else { continue };
            if keys.iter().any(|known| known.id == key.id) {
                return Err(refuse("two of its keys have one `kid`"));
            }
            keys.push(key);
        }
        if keys.is_empty() { Err(refuse("it has no key that verifies signatures")) } else { Ok(Self(keys)) }
    }

    /// Returns the key of this id. A token without an id fits only a key without one, of which there is one at most.
    pub(super) fn find(&self, id: Option<&str>) -> Option<&PublicKey> {
        self.0.iter().find(|key| key.id.as_deref() == id)
    }
}

/// Shows how many there are.
impl fmt::Debug for KeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeySet({})", self.0.len())
    }
}

const MOST_KEYS: usize = 100;
