//! The sender of a request: who an issuer says it is, on whose behalf it acts, and what it may do.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use mrtr_schema::Json;
use mrtr_state::{Binding, Party, Principal, Timestamp};
use serde::{Deserialize, Serialize};

/// The sender of a request, as far as states, tasks and sessions belong to it: a subject, the issuer that vouches for
/// it, and the actors through which it acts.
///
/// ```
/// use mrtr_flow::Caller;
///
/// let ann = Caller::new("https://id.example.com", "ann");
/// assert_eq!((ann.issuer(), ann.subject()), ("https://id.example.com", "ann"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    issuer: String,
    subject: String,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty", with = "parties")]
    actors: Box<[Party]>,
    /// Set only where everything of the caller is bound to its client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client: Option<Box<str>>,
}

impl Caller {
    /// Makes a caller of an issuer and a subject, which acts by itself.
    pub fn new(issuer: impl Into<String>, subject: impl Into<String>) -> Self {
        Self { issuer: issuer.into(), subject: subject.into(), actors: Box::default(), client: None }
    }

    /// Says through which actors the caller acts, the nearest first. The caller is another one then: what it leaves
    /// behind alone is out of reach for an agent that acts for it, and the other way round.
    ///
    /// ```
    /// use mrtr_flow::{Caller, Party};
    ///
    /// let ann = Caller::new("https://id.example.com", "ann");
    /// let by_agent = ann.clone().through([Party::new("https://id.example.com", "agent")]);
    /// assert_eq!(by_agent.actors()[0].subject(), "agent");
    /// assert_ne!(by_agent, ann);
    /// ```
    #[must_use]
    pub fn through(mut self, actors: impl IntoIterator<Item = Party>) -> Self {
        self.actors = actors.into_iter().collect();
        self
    }

    /// Ties all that belongs to the caller to this OAuth client, too.
    #[must_use]
    pub fn bound_to_client(mut self, id: impl Into<Box<str>>) -> Self {
        self.client = Some(id.into());
        self
    }

    /// Returns the issuer, which vouches for the subject.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Returns the subject that the issuer vouches for.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// Returns the actors through which the caller acts, the nearest first.
    pub fn actors(&self) -> &[Party] {
        &self.actors
    }

    /// Returns the OAuth client that all that belongs to the caller is tied to, if any.
    pub fn bound_client(&self) -> Option<&str> {
        self.client.as_deref()
    }

    /// Ties a state to the caller.
    ///
    /// ```
    /// use mrtr_flow::Caller;
    /// use mrtr_schema::{RawMembers, Revision};
    /// use mrtr_state::Binding;
    ///
    /// let params = RawMembers::parse(r#"{"name": "pay"}"#)?;
    /// let ann = Caller::new("https://id.example.com", "ann");
    /// let binding = ann.bind(Binding::new(Revision::V2026_07_28, "tools/call", &params)?);
    /// # Ok::<(), mrtr_schema::ReadError>(())
    /// ```
    pub fn bind<'a>(&'a self, binding: Binding<'a>) -> Binding<'a> {
        let principal = Principal { issuer: &self.issuer, subject: &self.subject };
        binding.principal(principal).through(&self.actors).client(self.bound_client())
    }
}

/// What a transport knows of the sender of a request. It never holds the credential itself.
///
/// A state, a task and a session belong to the [caller](Self::caller) and the [tenant](Self::tenant). The rest may
/// change from round to round: after a step-up the caller has more scopes, and its state still opens.
///
/// ```
/// use mrtr_flow::{Caller, Identity, IdentityKind};
///
/// let ann = Identity::of(Caller::new("https://id.example.com", "ann"))
///     .for_tenant("acme")
///     .of_kind(IdentityKind::Person)
///     .with_scopes(["files:read"]);
/// assert!(ann.has_scope("files:read") && !ann.has_scope("files:write"));
/// assert!(Identity::anonymous().caller().is_none());
/// ```
#[derive(Clone, Default, PartialEq)]
pub struct Identity(Option<Arc<Facts>>);

#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Facts {
    caller: Option<Caller>,
    tenant: Option<String>,
    kind: IdentityKind,
    display_name: Option<String>,
    groups: Vec<String>,
    scopes: Vec<String>,
    client_id: Option<String>,
    #[serde(with = "party")]
    on_behalf_of: Option<Party>,
    /// In milliseconds.
    signed_in_at: Option<u64>,
    expires_at: Option<u64>,
    claims: BTreeMap<String, Json>,
}

/// Whether a person or a program sends a request.
///
/// ```
/// assert_eq!(mrtr_flow::IdentityKind::default(), mrtr_flow::IdentityKind::Unknown);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum IdentityKind {
    /// The issuer does not say.
    #[default]
    Unknown,
    /// A person who signed in.
    Person,
    /// A program, with credentials of its own.
    Service,
}

/// The facts of an identity that nothing is known of.
static NOTHING: Facts = Facts {
    caller: None,
    tenant: None,
    kind: IdentityKind::Unknown,
    display_name: None,
    groups: Vec::new(),
    scopes: Vec::new(),
    client_id: None,
    on_behalf_of: None,
    signed_in_at: None,
    expires_at: None,
    claims: BTreeMap::new(),
};

impl Identity {
    /// Creates the identity of a sender that is not known.
    pub const fn anonymous() -> Self {
        Self(None)
    }

    /// Creates the identity of this caller, of which nothing else is known.
    pub fn of(caller: Caller) -> Self {
        Self(Some(Arc::new(Facts { caller: Some(caller), ..Facts::default() })))
    }

    fn facts(&self) -> &Facts {
        self.0.as_deref().unwrap_or(&NOTHING)
    }

    fn set(mut self, change: impl FnOnce(&mut Facts)) -> Self {
        change(Arc::make_mut(self.0.get_or_insert_default()));
        self
    }

    /// Sets the tenant on whose behalf the caller acts, where one server serves several.
    #[must_use]
    pub fn for_tenant(self, tenant: impl Into<String>) -> Self {
        self.set(|facts| facts.tenant = Some(tenant.into()))
    }

    /// Says whether the caller is a person or a program.
    #[must_use]
    pub fn of_kind(self, kind: IdentityKind) -> Self {
        self.set(|facts| facts.kind = kind)
    }

    /// Sets the name to show for the caller.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        self.set(|facts| facts.display_name = Some(name.into()))
    }

    /// Sets the groups and roles that the issuer says the caller has.
    #[must_use]
    pub fn in_groups<G: Into<String>>(self, groups: impl IntoIterator<Item = G>) -> Self {
        self.set(|facts| facts.groups = groups.into_iter().map(Into::into).collect())
    }

    /// Sets the scopes that the credential grants.
    #[must_use]
    pub fn with_scopes<S: Into<String>>(self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.set(|facts| facts.scopes = scopes.into_iter().map(Into::into).collect())
    }

    /// Sets the id of the OAuth client that the credential was issued to.
    #[must_use]
    pub fn by_client(self, id: impl Into<String>) -> Self {
        self.set(|facts| facts.client_id = Some(id.into()))
    }

    /// Sets the person on whose behalf the caller acts, where the caller is another party.
    #[must_use]
    pub fn on_behalf(self, of: Party) -> Self {
        self.set(|facts| facts.on_behalf_of = Some(of))
    }

    /// Sets the time at which the person signed in.
    #[must_use]
    pub fn signed_in(self, at: Timestamp) -> Self {
        self.set(|facts| facts.signed_in_at = Some(at.as_millis()))
    }

    /// Sets the time at which the credential ends.
    #[must_use]
    pub fn expiring(self, at: Timestamp) -> Self {
        self.set(|facts| facts.expires_at = Some(at.as_millis()))
    }

    /// Adds a claim of the credential, for handlers and policies.
    #[must_use]
    pub fn with_claim(self, name: impl Into<String>, value: Json) -> Self {
        self.set(|facts| {
            facts.claims.insert(name.into(), value);
        })
    }

    /// Returns true if nothing is known of the sender.
    pub fn is_anonymous(&self) -> bool {
        self.facts().caller.is_none()
    }

    /// Returns the caller: the part of the identity that states, tasks and sessions are bound to.
    pub fn caller(&self) -> Option<&Caller> {
        self.facts().caller.as_ref()
    }

    /// Returns the tenant on whose behalf the caller acts.
    pub fn tenant(&self) -> Option<&str> {
        self.facts().tenant.as_deref()
    }

    /// Returns whether the caller is a person or a program.
    pub fn kind(&self) -> IdentityKind {
        self.facts().kind
    }

    /// Returns the name to show for the caller.
    pub fn display_name(&self) -> Option<&str> {
        self.facts().display_name.as_deref()
    }

    /// Returns the groups and roles of the caller.
    pub fn groups(&self) -> &[String] {
        &self.facts().groups
    }

    /// Returns true if the caller is in this group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups().iter().any(|own| own == group)
    }

    /// Returns the scopes that the credential grants.
    pub fn scopes(&self) -> &[String] {
        &self.facts().scopes
    }

    /// Returns true if the credential grants this scope by its name.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes().iter().any(|own| own == scope)
    }

    /// Returns the id of the OAuth client that the credential was issued to.
    pub fn client_id(&self) -> Option<&str> {
        self.facts().client_id.as_deref()
    }

    /// Returns the actors through which the caller acts, the nearest first.
    pub fn actors(&self) -> &[Party] {
        self.caller().map(Caller::actors).unwrap_or_default()
    }

    /// Returns the person on whose behalf the caller acts, where the caller is another party.
    pub fn on_behalf_of(&self) -> Option<&Party> {
        self.facts().on_behalf_of.as_ref()
    }

    /// Returns the time at which the person signed in.
    pub fn signed_in_at(&self) -> Option<Timestamp> {
        self.facts().signed_in_at.map(Timestamp::from_millis)
    }

    /// Returns the time at which the credential ends.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.facts().expires_at.map(Timestamp::from_millis)
    }

    /// Returns a claim of the credential that the server was told to keep.
    pub fn claim(&self, name: &str) -> Option<&Json> {
        self.facts().claims.get(name)
    }

    /// Returns true if both stand for one owner: the same caller, through the same actors, in the same tenant.
    ///
    /// ```
    /// use mrtr_flow::{Caller, Identity};
    ///
    /// let ann = Identity::of(Caller::new("https://id.example.com", "ann"));
    /// assert!(ann.owns_as(&ann.clone().with_scopes(["files:write"])));
    /// assert!(!ann.owns_as(&ann.clone().for_tenant("acme")));
    /// ```
    pub fn owns_as(&self, other: &Self) -> bool {
        self.caller() == other.caller() && self.tenant() == other.tenant()
    }

    /// Ties a state to the caller and the tenant.
    pub fn bind<'a>(&'a self, binding: Binding<'a>) -> Binding<'a> {
        let binding = binding.tenant(self.tenant());
        match self.caller() {
            Some(caller) => caller.bind(binding),
            None => binding,
        }
    }
}

/// Shows who it is, and neither groups nor claims, which may be private.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Identity");
        shown.field("caller", &self.caller()).field("tenant", &self.tenant());
        shown.field("kind", &self.kind()).field("scopes", &self.scopes()).finish_non_exhaustive()
    }
}

impl From<Caller> for Identity {
    fn from(caller: Caller) -> Self {
        Self::of(caller)
    }
}

/// A record of an identity, as a store of tasks keeps it, sealed.
impl Serialize for Identity {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.as_deref().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Identity {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Option::<Facts>::deserialize(deserializer)?.map(Arc::new)))
    }
}

/// Parties as pairs of issuer and subject.
mod parties {
    use mrtr_state::Party;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(parties: &[Party], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(parties.iter().map(|party| (party.issuer(), party.subject())))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<[Party]>, D::Error> {
        let pairs = Vec::<(String, String)>::deserialize(deserializer)?;
        Ok(pairs.into_iter().map(|(issuer, subject)| Party::new(issuer, subject)).collect())
    }
}

/// A party, or none, as a pair.
mod party {
    use mrtr_state::Party;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(party: &Option<Party>, serializer: S) -> Result<S::Ok, S::Error> {
        party.as_ref().map(|party| (party.issuer(), party.subject())).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Party>, D::Error> {
        let pair = Option::<(String, String)>::deserialize(deserializer)?;
        Ok(pair.map(|(issuer, subject)| Party::new(issuer, subject)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_kept_and_read_again() {
        let caller =
            Caller::new("https://id.example.com", "ann").through([Party::new("https://id.example.com", "bot")]);
        let ann = Identity::of(caller.bound_to_client("app"))
            .for_tenant("acme")
            .of_kind(IdentityKind::Person)
            .named("Ann")
            .in_groups(["treasury"])
            .with_scopes(["files:read"])
            .by_client("app")
            .on_behalf(Party::new("https://id.example.com", "bob"))
            .signed_in(Timestamp::from_millis(1))
            .expiring(Timestamp::from_millis(2))
            .with_claim("mail", Json::from(serde_json::json!("ann@example.com")));
        for identity in [ann, Identity::anonymous(), Identity::anonymous().for_tenant("acme")] {
            let kept = serde_json::to_string(&identity).expect("it is JSON");
            assert_eq!(serde_json::from_str::<Identity>(&kept).expect("it reads"), identity, "{kept}");
        }
    }

    #[test]
    fn its_debug_shows_no_claim() {
        let ann = Identity::of(Caller::new("i", "ann")).with_claim("mail", Json::from(serde_json::json!("secret")));
        assert!(!format!("{ann:?}").contains("secret"));
    }
}
