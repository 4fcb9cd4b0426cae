//! The door: a token from the head of a request, and who holds it.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use mrtr_http::{Authenticator, Challenge, Identity, RequestHead};
use mrtr_server::extend::{Clock, SystemClock};

use super::claims::Claims;
use super::dpop::Proofs;
use super::introspection::Introspection;
use super::issuer::Issuer;
use super::keys::Algorithm;
use super::refusal::{Refusal, ensure};
use super::token::{Unverified, check_times};

type Found = Pin<Box<dyn Future<Output = Option<Identity>> + Send>>;

/// Lets in the callers that hold a good token.
///
/// A token must be for this server: its audience is the endpoint's [public URL](mrtr_http::Endpoint::public_url), to the
/// letter. Every token that is refused gets the same answer, 401; the reason goes to the log, without the token.
///
/// ```
/// use mrtr_auth::TokenCheck;
/// use mrtr_http::Serve;
///
/// # let server = mrtr_server::Server::builder("empty", "1.0.0").build()?;
/// let serve = Serve::new(server)
///     .public_url("https://mcp.example.com/mcp")
///     .tokens(TokenCheck::issuer("https://id.example.com"));
/// # drop(serve);
/// # Ok::<(), mrtr_server::BuildError>(())
/// ```
///
/// A table of one's own takes one line:
///
/// ```
/// use mrtr_auth::TokenCheck;
/// use mrtr_server::{Caller, Identity};
///
/// let check = TokenCheck::lookup(async |token| {
///     (token == "secret").then(|| Identity::of(Caller::new("https://id.example.com", "ann")))
/// });
/// ```
#[must_use]
pub struct TokenCheck {
    issuers: Vec<Issuer>,
    opaque: Option<Opaque>,
    proofs: Option<Proofs>,
    clock: Arc<dyn Clock>,
}

/// The way in which tokens that are no JWTs are checked.
enum Opaque {
    Introspection(Introspection),
    Lookup(Box<dyn Fn(String) -> Found + Send + Sync>),
}

impl TokenCheck {
    fn new(issuers: Vec<Issuer>, opaque: Option<Opaque>) -> Self {
        Self { issuers, opaque, proofs: None, clock: Arc::new(SystemClock::default()) }
    }

    /// Takes the JWTs of this issuer: a URL, or an [`Issuer`] with settings.
    pub fn issuer(issuer: impl Into<Issuer>) -> Self {
        Self::new(vec![issuer.into()], None)
    }

    /// Takes opaque tokens, and asks this endpoint about each.
    pub fn introspection(endpoint: Introspection) -> Self {
        Self::new(Vec::new(), Some(Opaque::Introspection(endpoint)))
    }

    /// Takes the tokens that this function knows, and returns who holds them. It alone decides: audience and expiry are
    /// its business.
    pub fn lookup<F, L>(find: L) -> Self
    where
        L: Fn(String) -> F + Send + Sync + 'static,
        F: Future<Output = Option<Identity>> + Send + 'static,
    {
        Self::new(Vec::new(), Some(Opaque::Lookup(Box::new(move |token| Box::pin(find(token))))))
    }

    /// Takes the JWTs of this issuer as well. Callers of two issuers are two callers, whatever their subjects.
    pub fn and(mut self, issuer: impl Into<Issuer>) -> Self {
        self.issuers.push(issuer.into());
        self
    }

    /// Takes opaque tokens as well, and asks this endpoint about each.
    pub fn or_introspection(mut self, endpoint: Introspection) -> Self {
        self.opaque = Some(Opaque::Introspection(endpoint));
        self
    }

    /// Takes tokens that are bound to a key of the caller's, too, with a proof in each request (RFC 9449). Without this,
    /// such tokens are refused.
    pub fn dpop(mut self) -> Self {
        self.proofs = Some(Proofs::default());
        self
    }

    /// Tells the time by another clock.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    fn now(&self) -> u64 {
        self.clock.now().as_millis() / 1000
    }

    /// Finds out who holds a token.
    async fn check(&self, token: &str, head: &RequestHead<'_>, is_bearer: bool) -> Result<Identity, Refusal> {
        let unverified = match Unverified::parse(token) {
            Ok(unverified) if !self.issuers.is_empty() => unverified,
            parsed => match &self.opaque {
                Some(opaque) if is_bearer => return self.check_opaque(opaque, token, head).await,
                _ => return parsed.and(Err(Refusal::because("no issuer of such tokens is known"))),
            },
        };
        let audience =
            head.public_url().ok_or(Refusal::because("the endpoint has no public URL: no token can be for it"))?;
        let named = unverified.issuer();
        let issuer = self.issuers.iter().find(|issuer| Some(&*issuer.url) == named);
        let issuer = issuer.ok_or(Refusal::because("its issuer is not known"))?;
        ensure(issuer.algorithms.contains(&unverified.algorithm), "its algorithm is not its issuer's")?;
        check_kind(unverified.kind.as_deref(), issuer.only_access_tokens)?;
        let keys = issuer.source.with(unverified.key_id.as_deref()).await;
        let keys = keys.ok_or(Refusal::because("its issuer has no such key"))?;
        let key_id = unverified.key_id.clone();
        let key = keys.find(key_id.as_deref()).ok_or(Refusal::because("its issuer has no such key"))?;
        let claims = unverified.verified(key)?;
        let mut audiences = issuer.audiences.iter().map(String::as_str).chain([audience.as_str()]);
        ensure(audiences.any(|audience| claims.is_for(audience)), "it is for another audience")?;
        check_times(&claims, self.now(), issuer.leeway)?;
        self.check_holder(&claims, token, head, audience.as_str(), is_bearer)?;
        claims.identity(issuer)
    }

    /// Checks that the caller holds the key that a token is bound to.
    fn check_holder(
        &self,
        claims: &Claims,
        token: &str,
        head: &RequestHead<'_>,
        url: &str,
        is_bearer: bool,
    ) -> Result<(), Refusal> {
        match &self.proofs {
            _ if is_bearer => ensure(!claims.is_bound(), "it is bound to a key, and came as a plain bearer token"),
            Some(proofs) => {
                let bound = claims.bound_key().ok_or(Refusal::because("it is bound to no key"))?;
                let shown = proofs.check(head, url, token, PROOFS, self.now())?;
                ensure(bound == shown, "it is bound to another key")
            }
            None => Err(Refusal::because("tokens that are bound to a key are not taken here")),
        }
    }

    async fn check_opaque(&self, opaque: &Opaque, token: &str, head: &RequestHead<'_>) -> Result<Identity, Refusal> {
        match opaque {
            Opaque::Introspection(endpoint) => {
                let none = Refusal::because("the endpoint has no public URL: no token can be for it");
                let audience = head.public_url().ok_or(none)?;
                endpoint.ask(token, audience.as_str(), self.now()).await
            }
            Opaque::Lookup(find) => find(token.to_owned()).await.ok_or(Refusal::because("it is not in the table")),
        }
    }

    fn refused(&self, refusal: &Refusal, is_bearer: bool) -> Challenge {
        tracing::info!(reason = &*refusal.0, "a token was refused");
        if is_bearer { self.challenge().error("invalid_token") } else { self.challenge().error("invalid_dpop_proof") }
    }

    fn challenge(&self) -> Challenge {
        if self.proofs.is_none() {
            return Challenge::bearer();
        }
        let names: Vec<_> = PROOFS.iter().map(|algorithm| algorithm.name()).collect();
        Challenge::dpop().parameter("algs", names.join(" "))
    }
}

#[async_trait]
impl Authenticator for TokenCheck {
    async fn authenticate(&self, head: &RequestHead<'_>) -> Result<Identity, Challenge> {
        let Some(value) = head.headers.get(http::header::AUTHORIZATION) else { return Err(self.challenge()) };
        let credentials = value.to_str().ok().and_then(|value| value.split_once(' '));
        let Some((scheme, token)) = credentials.map(|(scheme, token)| (scheme, token.trim())) else {
            return Err(self.challenge().malformed());
        };
        let is_bearer = scheme.eq_ignore_ascii_case("bearer");
        let is_ours = is_bearer || (scheme.eq_ignore_ascii_case("dpop") && self.proofs.is_some());
        if !is_ours || token.is_empty() || token.contains(char::is_whitespace) {
            return Err(self.challenge().malformed());
        }
        self.check(token, head, is_bearer).await.map_err(|refusal| self.refused(&refusal, is_bearer))
    }

    fn authorization_servers(&self) -> Vec<String> {
        let asked = self.opaque.iter().filter_map(|opaque| match opaque {
            Opaque::Introspection(endpoint) => Some(endpoint.issuer()),
            Opaque::Lookup(_) => None,
        });
        self.issuers.iter().chain(asked).map(|issuer| issuer.url.to_string()).collect()
    }

    fn proof_algorithms(&self) -> Vec<String> {
        let algorithms = self.proofs.iter().flat_map(|_| PROOFS);
        algorithms.map(|algorithm| algorithm.name().to_owned()).collect()
    }
}

/// Checks that a token calls itself an access token, or nothing that it is not. An id token is for a client, which its
/// audience says.
fn check_kind(kind: Option<&str>, only_access_tokens: bool) -> Result<(), Refusal> {
    let kind = kind.map(|kind| kind.strip_prefix("application/").unwrap_or(kind));
    let is_one = match kind {
        Some(kind) if kind.eq_ignore_ascii_case("at+jwt") => true,
        Some(kind) => !only_access_tokens && kind.eq_ignore_ascii_case("jwt"),
        None => !only_access_tokens,
    };
    ensure(is_one, "it is no access token")
}

/// The algorithms of proofs.
const PROOFS: &[Algorithm] = &[Algorithm::Es256, Algorithm::EdDsa];

impl fmt::Debug for TokenCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenCheck").field("issuers", &self.issuers).finish_non_exhaustive()
    }
}
