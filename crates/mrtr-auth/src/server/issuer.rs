//! An issuer of tokens: what is asked of its tokens, and what it may assert.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::cache::KeySource;
use super::claims::Claims;
use super::keys::{Algorithm, KeySet, KeysError};

/// An issuer whose JWTs are taken.
///
/// Its tokens must name it, be for this server, and say when they expire. It is found at its URL: the keys are where its
/// metadata says, unless [`keys_at`](Self::keys_at), [`keys_in`](Self::keys_in) or [`keys`](Self::keys) says otherwise.
///
/// ```
/// use mrtr_auth::{Algorithm, Issuer, TokenCheck};
///
/// let check = TokenCheck::issuer(
///     Issuer::new("https://id.example.com")
///         .algorithms([Algorithm::Es256])
///         .tenants("tid", ["acme", "globex"])
///         .groups("groups", ["treasury"]),
/// );
/// ```
#[derive(Clone)]
pub struct Issuer {
    pub(super) url: Arc<str>,
    pub(super) source: KeySource,
    pub(super) algorithms: Vec<Algorithm>,
    pub(super) audiences: Vec<String>,
    pub(super) leeway: u64,
    pub(super) only_access_tokens: bool,
    pub(super) scopes: Arc<dyn Fn(&Claims) -> Vec<String> + Send + Sync>,
    pub(super) tenant_claim: Option<String>,
    pub(super) tenants: Vec<String>,
    pub(super) groups_claim: Option<String>,
    pub(super) groups: Vec<String>,
    pub(super) kept: Vec<String>,
    pub(super) binds_client: bool,
}

impl Issuer {
    /// The seconds by which its clock and ours may differ, unless [`leeway`](Self::leeway) says otherwise.
    pub const DEFAULT_LEEWAY: u64 = 30;

    /// Creates an issuer with this URL, to the letter as it stands in its tokens.
    pub fn new(url: impl Into<Arc<str>>) -> Self {
        let url = url.into();
        Self {
            source: KeySource::discovered(&url),
            url,
            algorithms: vec![Algorithm::Es256, Algorithm::EdDsa, Algorithm::Rs256, Algorithm::Ps256],
            audiences: Vec::new(),
            leeway: Self::DEFAULT_LEEWAY,
            only_access_tokens: false,
            scopes: Arc::new(Claims::scopes),
            tenant_claim: None,
            tenants: Vec::new(),
            groups_claim: None,
            groups: Vec::new(),
            kept: Vec::new(),
            binds_client: false,
        }
    }

    /// Fetches its keys from this URL.
    #[must_use]
    pub fn keys_at(mut self, url: impl Into<String>) -> Self {
        self.source = KeySource::at(url.into());
        self
    }

    /// Reads its keys from this file, and again when a token has a key that is not in it.
    #[must_use]
    pub fn keys_in(mut self, file: impl Into<PathBuf>) -> Self {
        self.source = KeySource::file(file.into());
        self
    }

    /// Uses these keys: a JWK set, as JSON.
    ///
    /// # Errors
    /// Fails if the text is no JWK set, or has no key that verifies signatures.
    pub fn keys(mut self, set: &str) -> Result<Self, KeysError> {
        self.source = KeySource::given(KeySet::read(set.as_bytes())?);
        Ok(self)
    }

    /// Takes signatures by these algorithms only. ES256, EdDSA, RS256 and PS256 by default.
    #[must_use]
    pub fn algorithms(mut self, algorithms: impl IntoIterator<Item = Algorithm>) -> Self {
        self.algorithms = algorithms.into_iter().collect();
        self
    }

    /// Takes tokens for this audience, too, for an issuer that cannot write the server's URL into tokens. No other
    /// server may have the same.
    #[must_use]
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audiences.push(audience.into());
        self
    }

    /// Lets its clock differ from ours by this many seconds. 30 by default.
    #[must_use]
    pub fn leeway(mut self, seconds: u64) -> Self {
        self.leeway = seconds;
        self
    }

    /// Takes only tokens that call themselves access tokens, by the type `at+jwt` (RFC 9068).
    #[must_use]
    pub fn only_access_tokens(mut self) -> Self {
        self.only_access_tokens = true;
        self
    }

    /// Finds the scopes of a token by this function, for issuers that grant by roles or groups. By default they are in
    /// `scope`, `scp` or `scopes`.
    #[must_use]
    pub fn scopes_by(mut self, scopes: impl Fn(&Claims) -> Vec<String> + Send + Sync + 'static) -> Self {
        self.scopes = Arc::new(scopes);
        self
    }

    /// Reads the tenant from this claim. The issuer may assert these tenants, and a token with another one, or none, is
    /// refused. Without this, a token has no tenant.
    #[must_use]
    pub fn tenants<T: Into<String>>(mut self, claim: impl Into<String>, known: impl IntoIterator<Item = T>) -> Self {
        self.tenant_claim = Some(claim.into());
        self.tenants = known.into_iter().map(Into::into).collect();
        self
    }

    /// Reads groups from this claim. The issuer may assert these groups, and others are left out. Without this, a caller
    /// is in no group.
    #[must_use]
    pub fn groups<G: Into<String>>(mut self, claim: impl Into<String>, known: impl IntoIterator<Item = G>) -> Self {
        self.groups_claim = Some(claim.into());
        self.groups = known.into_iter().map(Into::into).collect();
        self
    }

    /// Keeps these claims for handlers and policies, as [`Identity::claim`](mrtr_server::Identity::claim).
    #[must_use]
    pub fn keep_claims<C: Into<String>>(mut self, names: impl IntoIterator<Item = C>) -> Self {
        self.kept = names.into_iter().map(Into::into).collect();
        self
    }

    /// Binds states, tasks and sessions to the OAuth client of the token as well: another client of the same person
    /// cannot go on with them.
    #[must_use]
    pub fn bind_client(mut self) -> Self {
        self.binds_client = true;
        self
    }
}

impl From<&str> for Issuer {
    fn from(url: &str) -> Self {
        Self::new(url)
    }
}

impl fmt::Debug for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issuer").field("url", &self.url).field("keys", &self.source).finish_non_exhaustive()
    }
}
