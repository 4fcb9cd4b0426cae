//! Opaque tokens, shown to their issuer (RFC 7662).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mrtr_server::Identity;
use reqwest::Client;
use ring::digest::{SHA256, digest};
use serde_json::Value;
use tokio::time::Instant;

use super::claims::Claims;
use super::fetch;
use super::issuer::Issuer;
use super::refusal::{Refusal, ensure};
use super::token::check_times;

/// An endpoint that says of an opaque token whether it is active, and what it grants.
///
/// An answer is kept for a minute at most, and not beyond the token's end, under a digest of the token: a revoked token
/// works for a minute longer. If the endpoint cannot be asked, the token is refused.
///
/// ```
/// use mrtr_auth::{Introspection, Issuer, TokenCheck};
///
/// let asked = Introspection::new("https://id.example.com/introspect", "mcp-server", "secret")
///     .of(Issuer::new("https://id.example.com"));
/// let check = TokenCheck::introspection(asked);
/// ```
#[derive(Clone)]
pub struct Introspection(Arc<Endpoint>);

struct Endpoint {
    url: String,
    client_id: String,
    secret: String,
    issuer: Issuer,
    client: Client,
    kept: Mutex<HashMap<[u8; 32], Kept>>,
}

/// An answer, until when it is kept.
struct Kept {
    identity: Option<Identity>,
    until: Instant,
}

impl Introspection {
    /// Asks this endpoint, as this client of the issuer's.
    pub fn new(url: impl Into<String>, client_id: impl Into<String>, secret: impl Into<String>) -> Self {
        let url = url.into();
        let issuer = Issuer::new(url.as_str());
        let (client_id, secret) = (client_id.into(), secret.into());
        Self(Arc::new(Endpoint { url, client_id, secret, issuer, client: fetch::client(), kept: Mutex::default() }))
    }

    /// Says whose tokens these are, and what that issuer may assert. By default the issuer is named by the endpoint's
    /// URL.
    #[must_use]
    pub fn of(self, issuer: Issuer) -> Self {
        let Endpoint { url, client_id, secret, client, .. } = &*self.0;
        let (url, client_id, secret, client) = (url.clone(), client_id.clone(), secret.clone(), client.clone());
        Self(Arc::new(Endpoint { url, client_id, secret, issuer, client, kept: Mutex::default() }))
    }

    pub(super) fn issuer(&self) -> &Issuer {
        &self.0.issuer
    }

    /// Returns who holds a token that is for one of these audiences.
    pub(super) async fn ask(&self, token: &str, audience: &str, now: u64) -> Result<Identity, Refusal> {
        let digest: [u8; 32] = digest(&SHA256, token.as_bytes()).as_ref().try_into().unwrap_or_default();
        if let Some(known) = self.known(&digest) {
            return known.ok_or(Refusal::because("its issuer said a moment ago that it is not good"));
        }
        let answer = self.answer(token).await.map_err(|reason| {
            tracing::error!(
                endpoint = self.0.url,
                reason,
                "an introspection endpoint cannot be asked: its tokens are refused"
            );
            Refusal::because("its issuer cannot be asked")
        })?;
        let judged = self.judge(&answer, audience, now);
        let lasts = judged.as_ref().ok().and_then(Identity::expires_at).map_or(KEPT, |expires| {
            Duration::from_millis(expires.as_millis()).saturating_sub(Duration::from_secs(now)).min(KEPT)
        });
        self.keep(digest, judged.as_ref().ok().cloned(), lasts);
        judged
    }

    async fn answer(&self, token: &str) -> Result<Claims, String> {
        let Endpoint { url, client_id, secret, client, .. } = &*self.0;
        let body: String = url_form([("token", token), ("token_type_hint", "access_token")]);
        let request = client
            .post(fetch::secure(url)?)
            .basic_auth(client_id, Some(secret))
            .header("accept", "application/json")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body);
        // The error of a request may show its URL, and never its body.
        let response = request.send().await.map_err(|error| error.without_url().to_string())?;
        let text = fetch::body(response).await?;
        let value: Value = serde_json::from_slice(&text).map_err(|_| "the answer is not JSON".to_owned())?;
        Claims::of(value).ok_or_else(|| "the answer is no object".to_owned())
    }

    fn judge(&self, claims: &Claims, audience: &str, now: u64) -> Result<Identity, Refusal> {
        let issuer = &self.0.issuer;
        ensure(claims.get("active") == Some(&Value::Bool(true)), "its issuer says that it is not active")?;
        ensure(claims.text("iss").is_none_or(|named| named == &*issuer.url), "it is of another issuer")?;
        let audiences = std::iter::once(audience).chain(issuer.audiences.iter().map(String::as_str));
        ensure(audiences.into_iter().any(|audience| claims.is_for(audience)), "it is for another audience")?;
        ensure(!claims.is_bound(), "it is bound to a key, and came as a plain bearer token")?;
        if claims.get("exp").is_some() {
            check_times(claims, now, issuer.leeway)?;
        }
        claims.identity(issuer)
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<[u8; 32], Kept>> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self, digest: &[u8; 32]) -> Option<Option<Identity>> {
        let kept = self.kept();
        let known = kept.get(digest).filter(|known| known.until > Instant::now())?;
        Some(known.identity.clone())
    }

    fn keep(&self, digest: [u8; 32], identity: Option<Identity>, lasts: Duration) {
        let now = Instant::now();
        let mut kept = self.kept();
        if kept.len() >= MOST_KEPT {
            kept.retain(|_, known| known.until > now);
        }
        // Strangers make up tokens as they like: what does not fit is asked again.
        if kept.len() < MOST_KEPT {
            kept.insert(digest, Kept { identity, until: now + lasts });
        }
    }
}

/// Writes a form.
fn url_form<'a>(members: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut url = reqwest::Url::parse("http://localhost").expect("it is a URL");
    url.query_pairs_mut().extend_pairs(members);
    url.query().unwrap_or_default().to_owned()
}

/// Shows neither the secret nor what is kept.
impl fmt::Debug for Introspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Introspection").field("url", &self.0.url).finish_non_exhaustive()
    }
}

const KEPT: Duration = Duration::from_mins(1);
const MOST_KEPT: usize = 10_000;
