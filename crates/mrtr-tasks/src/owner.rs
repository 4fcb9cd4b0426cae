//! The owner of a task, and the account in which it counts.

use std::fmt;

use mrtr_server::Caller;
use mrtr_server::transport::CallerKey;

/// The owner of a task: the deployment that it belongs to, the caller that created it, and on whose behalf. A store
/// tells any other owner that there is no such task.
///
/// A store keeps and compares its text: each owner has one spelling, which an operator can read.
///
/// ```
/// use mrtr_server::Caller;
/// use mrtr_tasks::Owner;
///
/// let ann = Caller::new("https://id.example.com", "ann");
/// let owner = Owner::new("tracker", Some(&ann), Some("acme"));
/// assert_eq!(owner.as_str(), r#"["tracker","https://id.example.com","ann","acme"]"#);
/// assert_ne!(owner, Owner::new("tracker", Some(&ann), None));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner(String);

impl Owner {
    /// The owner of the tasks that this caller creates at this deployment. Without a caller, those of all callers that
    /// the transport does not know.
    pub fn new(audience: &str, caller: Option<&Caller>, tenant: Option<&str>) -> Self {
        let who = caller.map(|caller| (caller.issuer(), caller.subject())).unzip();
        let parts = [Some(audience), who.0, who.1, tenant];
        let actors = caller.map(Caller::actors).unwrap_or_default();
        let client = caller.and_then(Caller::bound_client);
        let text = if actors.is_empty() && client.is_none() {
            serde_json::to_string(&parts)
        } else {
            // Arrays, so that it is no account's text.
            let actors: Vec<_> = actors.iter().map(|actor| (actor.issuer(), actor.subject())).collect();
            serde_json::to_string(&(audience, who.0, who.1, tenant, actors, [client]))
        };
        Self(text.expect("texts are JSON"))
    }

    /// Restores an owner from the text that a store kept.
    pub fn from_kept(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text that a store keeps.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Owner({})", self.0)
    }
}

/// The account in which a task counts: open tasks, kept bytes and workers are divided between accounts.
///
/// It is the owner's, unless the owner is anonymous and the transport tells its callers apart, such as by their
/// address. Such callers may see the same tasks, since a task's id is all they need to find it, but each has limits of
/// its own.
///
/// ```
/// use mrtr_server::transport::CallerKey;
/// use mrtr_tasks::{Account, Owner};
///
/// let anonymous = Owner::new("tracker", None, None);
/// let here = Account::new(&anonymous, Some(&CallerKey::address("192.0.2.1".parse()?)));
/// assert_eq!(here.as_str(), r#"["tracker",null,null,null,"192.0.2.1"]"#);
/// assert_ne!(here, Account::from(&anonymous));
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Account(String);

impl Account {
    /// The account of the tasks that this owner creates, as a caller that the transport knows by this key.
    pub fn new(owner: &Owner, caller: Option<&CallerKey>) -> Self {
        let Some(name) = caller.and_then(CallerKey::anonymous_name) else { return Self::from(owner) };
        let name = serde_json::to_string(&name).expect("a text is JSON");
        // One more member of the owner's array: so it is no owner's own text.
        let owner = owner.as_str().strip_suffix(']').unwrap_or(owner.as_str());
        Self(format!("{owner},{name}]"))
    }

    /// Restores an account from the text that a store kept.
    pub fn from_kept(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text that a store keeps.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&Owner> for Account {
    fn from(owner: &Owner) -> Self {
        Self(owner.0.clone())
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Account({})", self.0)
    }
}
