//! The request that a sealed state is tied to, the principal who sent it, and the keys that are ready to tie it.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use hmac::{Hmac, Mac};
use mrtr_schema::{RawMembers, ReadError, Revision};
use sha2::Sha256;

use crate::DigestError;
use crate::codec::{Codec, SealingKey, default_codec};
use crate::digest::{ParamsDigest, ParamsKey};
use crate::keys::{Key, KeyId, KeyRing};
use crate::token::{self, PrincipalDigest};

/// The request that a state is sealed for, or comes back with.
///
/// ```
/// use mrtr_schema::{RawMembers, Revision};
/// use mrtr_state::{Binding, Principal};
///
/// let params = RawMembers::parse(r#"{"name": "pay", "arguments": {"amount": 100}}"#)?;
/// let binding = Binding::new(Revision::V2026_07_28, "tools/call", &params)?
///     .principal(Principal { issuer: "https://id.example.com", subject: "ann" })
///     .tenant("acme");
/// assert_eq!(binding.name(), "pay");
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Binding<'a> {
    pub(crate) revision: Revision,
    pub(crate) method: &'a str,
    pub(crate) name: Cow<'a, str>,
    pub(crate) principal: Option<Principal<'a>>,
    actors: &'a [Party],
    client: Option<&'a str>,
    pub(crate) tenant: Option<&'a str>,
    params: &'a RawMembers<'a>,
    digest: OnceLock<(Arc<PreparedKey>, Result<ParamsDigest, DigestError>)>,
    principal_digest: OnceLock<(Arc<PreparedKey>, PrincipalDigest)>,
}

impl<'a> Binding<'a> {
    /// Describes a request of this method with these parameters, from no principal and for no tenant.
    ///
    /// Fails if the `name` or `uri` that says what is wanted is not a string.
    pub fn new(revision: Revision, method: &'a str, params: &'a RawMembers<'a>) -> Result<Self, ReadError> {
        let name = match params.text("name")? {
            Some(name) => Some(name),
            None => params.text("uri")?,
        };
        Ok(Self::named(revision, method, name.unwrap_or_default(), params))
    }

    /// Describes a request whose `name` or `uri` the caller has read; it is empty where there is neither.
    ///
    /// ```
    /// use mrtr_schema::{RawMembers, Revision};
    /// use mrtr_state::Binding;
    ///
    /// let params = RawMembers::parse(r#"{"name": "pay"}"#)?;
    /// assert_eq!(Binding::named(Revision::V2026_07_28, "tools/call", "pay", &params).name(), "pay");
    /// # Ok::<(), mrtr_schema::ReadError>(())
    /// ```
    pub fn named(
        revision: Revision,
        method: &'a str,
        name: impl Into<Cow<'a, str>>,
        params: &'a RawMembers<'a>,
    ) -> Self {
        Self {
            revision,
            method,
            name: name.into(),
            principal: None,
            actors: &[],
            client: None,
            tenant: None,
            params,
            digest: OnceLock::new(),
            principal_digest: OnceLock::new(),
        }
    }

    /// Sets the principal who sends the request. A state sealed for a principal does not open without it, and a state
    /// sealed for none does not open with one.
    #[must_use]
    pub fn principal(mut self, principal: impl Into<Option<Principal<'a>>>) -> Self {
        self.principal = principal.into();
        self.principal_digest = OnceLock::new();
        self
    }

    /// Sets the actors through which the principal acts, the nearest first. A state does not open for another chain,
    /// or for the principal alone. Without a principal, the actors count for nothing.
    ///
    /// ```
    /// use mrtr_state::{Party, Principal, Refusal};
    ///
    #[doc = include_str!("../doc/sealing.txt")]
    /// let ann = binding.principal(Principal { issuer: "https://id.example.com", subject: "ann" });
    /// let agent = [Party::new("https://id.example.com", "agent")];
    /// let state = sealer.seal(&cart, &ann.clone().through(&agent), noon)?;
    /// assert_eq!(sealer.open::<Cart>(&state, &ann, noon).unwrap_err(), Refusal::OtherPrincipal);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn through(mut self, actors: &'a [Party]) -> Self {
        self.actors = actors;
        self.principal_digest = OnceLock::new();
        self
    }

    /// Sets the OAuth client by which the principal sends the request, for states that only this client may use.
    #[must_use]
    pub fn client(mut self, client: impl Into<Option<&'a str>>) -> Self {
        self.client = client.into();
        self.principal_digest = OnceLock::new();
        self
    }

    /// Sets the tenant on whose behalf the request is sent.
    #[must_use]
    pub fn tenant(mut self, tenant: impl Into<Option<&'a str>>) -> Self {
        self.tenant = tenant.into();
        self
    }

    /// The tool or prompt by name, or the resource by uri; empty where the method has neither.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Digests the parameters under a key, and keeps the digest: a round that opens a state and seals the next one
    /// needs it twice.
    pub(crate) fn params_under(&self, key: &Arc<PreparedKey>) -> Result<ParamsDigest, DigestError> {
        let digest = || ParamsDigest::of(self.params, &key.params);
        let (known, digested) = self.digest.get_or_init(|| (Arc::clone(key), digest()));
        if Arc::ptr_eq(known, key) { digested.clone() } else { digest() }
    }

    /// Digests the principal under a key. A round likewise needs the digest twice.
    pub(crate) fn principal_under(&self, key: &Arc<PreparedKey>) -> Option<PrincipalDigest> {
        let principal = self.principal.as_ref()?;
        let digested = || key.digest(principal, self.actors, self.client);
        let (known, digest) = self.principal_digest.get_or_init(|| (Arc::clone(key), digested()));
        Some(if Arc::ptr_eq(known, key) { *digest } else { digested() })
    }
}

/// The sender of a request: a subject, and the issuer that vouches for it.
///
/// ```
/// use mrtr_state::{Principal, Refusal};
///
#[doc = include_str!("../doc/sealing.txt")]
/// let from = |subject| binding.clone().principal(Principal { issuer: "https://id.example.com", subject });
/// let state = sealer.seal(&cart, &from("ann"), noon)?;
/// assert_eq!(sealer.open::<Cart>(&state, &from("bob"), noon).unwrap_err(), Refusal::OtherPrincipal);
/// assert_eq!(sealer.open::<Cart>(&state, &binding, noon).unwrap_err(), Refusal::OtherPrincipal, "of none");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a subject of an issuer, and nothing else, is a principal")]
pub struct Principal<'a> {
    /// The party that vouches for the subject: an identity provider's issuer URL.
    pub issuer: &'a str,
    /// The subject that the issuer vouches for.
    pub subject: &'a str,
}

/// A subject and its issuer, kept: an actor through which a principal acts, or a person on whose behalf a service does.
///
/// ```
/// use mrtr_state::Party;
///
/// let agent = Party::new("https://id.example.com", "agent");
/// assert_eq!((agent.issuer(), agent.subject()), ("https://id.example.com", "agent"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Party {
    issuer: String,
    subject: String,
}

impl Party {
    /// Makes a party of an issuer and a subject.
    pub fn new(issuer: impl Into<String>, subject: impl Into<String>) -> Self {
        Self { issuer: issuer.into(), subject: subject.into() }
    }

    /// Returns the issuer, which vouches for the subject.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Returns the subject that the issuer vouches for.
    pub fn subject(&self) -> &str {
        &self.subject
    }
}

/// A ring with what is derived from each of its keys, ready to seal and open.
pub(crate) struct PreparedRing {
    /// The keys in the order of the ring: the first seals.
    pub(crate) keys: Vec<Arc<PreparedKey>>,
    pub(crate) ring: KeyRing,
}

pub(crate) struct PreparedKey {
    pub(crate) id: KeyId,
    pub(crate) header: String,
    pub(crate) sealing: Box<dyn SealingKey>,
    /// The key for data that a server keeps itself: always confidential, whichever codec seals states.
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

    pub(crate) fn digest(&self, principal: &Principal<'_>, actors: &[Party], client: Option<&str>) -> PrincipalDigest {
        let mut mac = self.principals.clone();
        if !actors.is_empty() || client.is_some() {
            // No issuer is this long, so no principal alone has the same digest.
            mac.update(&u64::MAX.to_be_bytes());
            mac.update(&(actors.len() as u64).to_be_bytes());
            mac.update(&[u8::from(client.is_some())]);
            let actors = actors.iter().flat_map(|actor| [actor.issuer.as_str(), actor.subject.as_str()]);
            for part in actors.chain(client) {
                mac.update(&(part.len() as u64).to_be_bytes());
                mac.update(part.as_bytes());
            }
        }
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
