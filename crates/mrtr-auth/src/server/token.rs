//! A JWT: its form, its signature, its times. All of it comes from the network.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use super::claims::Claims;
use super::keys::Algorithm;
use super::refusal::{Refusal, ensure};

/// A JWT that was taken apart. Nothing of it is trusted yet.
pub(super) struct Unverified<'a> {
    pub(super) algorithm: Algorithm,
    pub(super) key_id: Option<String>,
    pub(super) kind: Option<String>,
    /// The public key in the header, which only a proof has.
    pub(super) own_key: Option<Value>,
    signed: &'a [u8],
    signature: Vec<u8>,
    claims: Claims,
}

/// The longest token that is looked at. Headers hold more, and no issuer makes longer ones.
pub(super) const LONGEST: usize = 16 << 10;

impl<'a> Unverified<'a> {
    /// Takes a token apart.
    pub(super) fn parse(token: &'a str) -> Result<Self, Refusal> {
        ensure(token.len() <= LONGEST, "it is too long")?;
        let no_jwt = || Refusal::because("it is no JWT");
        let (signed, signature) = token.rsplit_once('.').ok_or_else(no_jwt)?;
        let (head, claims) = signed.split_once('.').filter(|(_, rest)| !rest.contains('.')).ok_or_else(no_jwt)?;
        let bytes = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| no_jwt());
        let head: Value = serde_json::from_slice(&bytes(head)?).map_err(|_| no_jwt())?;
        let head = head.as_object().ok_or_else(no_jwt)?;
        let text = |name: &str| match head.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(Refusal::because("a member of its header is no text")),
        };
        // What must be understood is not, so the token must not be taken (RFC 7515, 4.1.11).
        ensure(!head.contains_key("crit"), "its header has critical extensions")?;
        let algorithm = text("alg")?.and_then(|name| Algorithm::named(&name));
        let algorithm = algorithm.ok_or(Refusal::because("its algorithm is none that is taken here"))?;
        let claims: Value = serde_json::from_slice(&bytes(claims)?).map_err(|_| no_jwt())?;
        Ok(Self {
            algorithm,
            key_id: text("kid")?,
            kind: text("typ")?,
            own_key: head.get("jwk").cloned(),
            signed: signed.as_bytes(),
            signature: bytes(signature)?,
            claims: Claims::of(claims).ok_or(Refusal::because("its claims are no object"))?,
        })
    }

    /// Returns the issuer that the token names, to find the keys that would prove it.
    pub(super) fn issuer(&self) -> Option<&str> {
        self.claims.text("iss")
    }

    /// Verifies the signature, and gives the claims out.
    pub(super) fn verified(self, key: &super::keys::PublicKey) -> Result<Claims, Refusal> {
        ensure(key.verifies(self.algorithm, self.signed, &self.signature), "its signature is not its issuer's")?;
        Ok(self.claims)
    }
}

/// Checks the times of a token, in seconds since 1970.
pub(super) fn check_times(claims: &Claims, now: u64, leeway: u64) -> Result<(), Refusal> {
    let expires = time(claims, "exp")?.ok_or(Refusal::because("it does not say when it expires"))?;
    ensure(now < expires.saturating_add(leeway), "it has expired")?;
    for (name, reason) in [("nbf", "it is not valid yet"), ("iat", "it was issued in the future")] {
        let begins = time(claims, name)?.unwrap_or_default();
        ensure(begins <= now.saturating_add(leeway), reason)?;
    }
    Ok(())
}

/// Reads a time, which is a number of seconds, perhaps with a fraction.
pub(super) fn time(claims: &Claims, name: &str) -> Result<Option<u64>, Refusal> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    let seconds = value.as_u64().or_else(|| value.as_f64().filter(|seconds| (0.0..LAST).contains(seconds)).map(whole));
    let seconds = seconds.filter(|seconds| *seconds < LAST as u64);
    seconds.map(Some).ok_or(Refusal::because("one of its times is none"))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is within bounds")]
fn whole(seconds: f64) -> u64 {
    seconds as u64
}

/// The year 9999: a time after it is a mistake, or an attempt.
const LAST: f64 = 253_402_300_800.0;
