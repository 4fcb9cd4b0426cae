//! Proofs that a caller holds the key that its token is bound to (RFC 9449).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::request::Parts;
use jsonwebtoken::jwk::Jwk;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::keys::{Algorithm, PublicKey};
use super::refusal::{Refusal, ensure};
use super::token::{Unverified, time};

/// The proofs that were seen, so that none counts twice. A process knows its own: several instances bound a replay by
/// the age of a proof alone.
#[derive(Default)]
pub(super) struct Proofs(Mutex<HashMap<[u8; 32], Instant>>);

impl Proofs {
    /// Checks the proof that a request brings, and returns the thumbprint of its key.
    pub(super) fn check(
        &self,
        head: &Parts,
        url: &str,
        token: &str,
        algorithms: &[Algorithm],
        now: u64,
    ) -> Result<String, Refusal> {
        let mut proofs = head.headers.get_all("dpop").iter();
        let (Some(proof), None) = (proofs.next(), proofs.next()) else {
            return Err(Refusal::because("the request must bring one proof"));
        };
        let proof = proof.to_str().map_err(|_| Refusal::because("the proof is no text"))?;
        let unverified = Unverified::parse(proof)?;
        ensure(unverified.kind.as_deref() == Some("dpop+jwt"), "the proof is of another type")?;
        ensure(algorithms.contains(&unverified.algorithm), "the proof's algorithm is not taken")?;
        let own = unverified.own_key.clone().ok_or(Refusal::because("the proof has no key"))?;
        ensure(PRIVATE.iter().all(|member| own.get(member).is_none()), "the proof shows a private key")?;
        let thumbprint = thumbprint(&own).ok_or(Refusal::because("the proof's key is of a kind that is not known"))?;
        let jwk: Jwk = serde_json::from_value(own).map_err(|_| Refusal::because("the proof's key cannot be read"))?;
        let key = PublicKey::of(&jwk).ok_or(Refusal::because("the proof's key does not verify signatures"))?;
        let claims = unverified.verified(&key)?;
        ensure(claims.text("htm") == Some(head.method.as_str()), "the proof is for another method")?;
        let target = claims.text("htu").map(|target| target.split(['?', '#']).next().unwrap_or_default());
        ensure(target == Some(url), "the proof is for another URL")?;
        let hash = URL_SAFE_NO_PAD.encode(digest(&SHA256, token.as_bytes()));
        ensure(claims.text("ath") == Some(&hash), "the proof is for another token")?;
        let issued = time(&claims, "iat")?.ok_or(Refusal::because("the proof does not say when it was made"))?;
        ensure(issued.abs_diff(now) <= AROUND_NOW.as_secs(), "the proof is too old, or from the future")?;
        let id = claims.text("jti").filter(|id| !id.is_empty()).ok_or(Refusal::because("the proof has no id"))?;
        self.note(&thumbprint, id)?;
        Ok(thumbprint)
    }

    /// Notes a proof, which may come once.
    fn note(&self, key: &str, id: &str) -> Result<(), Refusal> {
        let now = Instant::now();
        let id: [u8; 32] = digest(&SHA256, format!("{key} {id}").as_bytes()).as_ref().try_into().unwrap_or_default();
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= MOST_SEEN {
            seen.retain(|_, until| *until > now);
        }
        ensure(seen.len() < MOST_SEEN, "there are more proofs than can be told apart")?;
        let before = seen.insert(id, now + 2 * AROUND_NOW);
        ensure(before.is_none_or(|until| until <= now), "the proof was used before")
    }
}

/// Returns the thumbprint of a key (RFC 7638): a digest of its required members, in the order of their names.
fn thumbprint(key: &Value) -> Option<String> {
    let member = |name: &str| key.get(name)?.as_str().map(ToOwned::to_owned);
    let required = match member("kty")?.as_str() {
        "EC" => json!({ "crv": member("crv")?, "kty": "EC", "x": member("x")?, "y": member("y")? }),
        "RSA" => json!({ "e": member("e")?, "kty": "RSA", "n": member("n")? }),
        "OKP" => json!({ "crv": member("crv")?, "kty": "OKP", "x": member("x")? }),
        _ => return None,
    };
    Some(URL_SAFE_NO_PAD.encode(digest(&SHA256, required.to_string().as_bytes())))
}

/// Members that only private keys have, or shared ones.
const PRIVATE: [&str; 3] = ["d", "k", "p"];
/// The time around now within which a proof must have been made.
const AROUND_NOW: Duration = Duration::from_mins(5);
const MOST_SEEN: usize = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thumbprint_is_that_of_the_standard() {
        // RFC 7638, 3.1.
        let key = json!({
            "kty": "RSA",
            "n": "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw",
            "e": "AQAB", "alg": "RS256", "kid": "2011-04-29"
        });
        assert_eq!(thumbprint(&key).as_deref(), Some("NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"));
    }
}
