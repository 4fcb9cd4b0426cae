//! The claims of a token, and the identity that is made of them.

use mrtr_server::{Caller, Identity, IdentityKind, Party};
use mrtr_state::Timestamp;
use serde_json::{Map, Value};

use super::issuer::Issuer;
use super::refusal::{Refusal, ensure};
use super::token::time;

/// The claims of a token whose signature was verified.
///
/// ```
/// use mrtr_auth::Issuer;
///
/// // An issuer that grants scopes by roles.
/// let issuer = Issuer::new("https://id.example.com").scopes_by(|claims| {
///     if claims.texts("roles").iter().any(|role| role == "writer") { vec!["files:write".to_owned()] } else { Vec::new() }
/// });
/// ```
#[derive(Clone)]
pub struct Claims(Map<String, Value>);

impl Claims {
    pub(super) fn of(value: Value) -> Option<Self> {
        match value {
            Value::Object(members) => Some(Self(members)),
            _ => None,
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Returns a claim that is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    /// Returns a claim that is a list of texts, or one text as a list of one.
    pub fn texts(&self, name: &str) -> Vec<String> {
        match self.get(name) {
            Some(Value::String(text)) => vec![text.clone()],
            Some(Value::Array(texts)) => texts.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the scopes, wherever the issuer writes them: `scope`, `scp` or `scopes`, as a list or as words.
    pub fn scopes(&self) -> Vec<String> {
        let named = ["scope", "scp", "scopes"].iter().flat_map(|name| self.texts(name));
        let words: Vec<String> =
            named.flat_map(|text| text.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect();
        let mut scopes: Vec<String> = Vec::with_capacity(words.len());
        for word in words {
            if !scopes.contains(&word) {
                scopes.push(word);
            }
        }
        scopes
    }

    /// Returns true if the token is for this audience.
    pub(super) fn is_for(&self, audience: &str) -> bool {
        match self.get("aud") {
            Some(Value::String(one)) => one == audience,
            Some(Value::Array(several)) => several.iter().any(|one| one == audience),
            _ => false,
        }
    }

    /// Returns the thumbprint of the key that the token is bound to, if it is bound to one.
    pub(super) fn bound_key(&self) -> Option<&str> {
        self.get("cnf")?.get("jkt")?.as_str()
    }

    /// Returns true if only the holder of something may use the token.
    pub(super) fn is_bound(&self) -> bool {
        self.get("cnf").is_some_and(|confirmation| !confirmation.is_null())
    }

    /// Makes an identity of what this issuer may assert.
    pub(super) fn identity(&self, issuer: &Issuer) -> Result<Identity, Refusal> {
        let subject = self.text("sub").filter(|subject| !subject.is_empty());
        let subject = subject.ok_or(Refusal::because("it names no subject"))?;
        let client = self.text("client_id").or_else(|| self.text("azp"));
        let mut caller = Caller::new(&*issuer.url, subject).through(actors(self, &issuer.url)?);
        if let Some(client) = client.filter(|_| issuer.binds_client) {
            caller = caller.bound_to_client(client);
        }
        let mut identity = Identity::of(caller).of_kind(self.kind(subject, client)).with_scopes((issuer.scopes)(self));
        if let Some(claim) = &issuer.tenant_claim {
            let tenant = self.text(claim).ok_or(Refusal::because("it names no tenant"))?;
            ensure(issuer.tenants.iter().any(|known| known == tenant), "its tenant is not one of its issuer's")?;
            identity = identity.for_tenant(tenant);
        }
        let groups = issuer.groups_claim.iter().flat_map(|claim| self.texts(claim));
        identity = identity.in_groups(groups.filter(|group| issuer.groups.iter().any(|known| known == group)));
        if let Some(name) = self.text("name").or_else(|| self.text("preferred_username")) {
            identity = identity.named(name);
        }
        if let Some(client) = client {
            identity = identity.by_client(client);
        }
        if let Some(at) = time(self, "auth_time")? {
            identity = identity.signed_in(Timestamp::from_millis(at.saturating_mul(1000)));
        }
        if let Some(at) = time(self, "exp")? {
            identity = identity.expiring(Timestamp::from_millis(at.saturating_mul(1000)));
        }
        for name in &issuer.kept {
            if let Some(value) = self.get(name) {
                identity = identity.with_claim(name, value.clone().into());
            }
        }
        Ok(identity)
    }

    /// Says whether a person or a program holds the token, as far as it tells: a program's subject is its client's id
    /// (RFC 9068), and only a person signs in.
    fn kind(&self, subject: &str, client: Option<&str>) -> IdentityKind {
        let says_program = self.text("idtyp") == Some("app") || self.text("gty") == Some("client-credentials");
        if says_program || client == Some(subject) {
            IdentityKind::Service
        } else if self.get("auth_time").is_some() || self.get("sid").is_some() || self.text("idtyp") == Some("user") {
            IdentityKind::Person
        } else {
            IdentityKind::Unknown
        }
    }
}

/// Reads the chain of actors (RFC 8693, 4.1), the nearest first.
fn actors(claims: &Claims, issuer: &str) -> Result<Vec<Party>, Refusal> {
    let mut actors = Vec::new();
    let mut next = claims.get("act");
    while let Some(actor) = next {
        ensure(actors.len() < MOST_ACTORS, "its chain of actors is too long")?;
        let subject = actor.get("sub").and_then(Value::as_str).ok_or(Refusal::because("an actor has no subject"))?;
        let vouched = actor.get("iss").and_then(Value::as_str).unwrap_or(issuer);
        actors.push(Party::new(vouched, subject));
        next = actor.get("act");
    }
    Ok(actors)
}

const MOST_ACTORS: usize = 10;

/// Shows only how many there are: they are about a person.
impl std::fmt::Debug for Claims {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Claims({})", self.0.len())
    }
}
