//! Whose a task is.

use std::fmt;

use mrtr_server::Caller;

/// Whose a task is: the deployment it belongs to, the caller that created it, and on whose behalf. Any other owner is
/// told that there is no such task.
///
/// As a text it is what a store keeps and compares: one spelling for each owner, which an operator can read.
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
    /// The owner of what this caller, or one that no transport has told, creates at this deployment.
    pub fn new(audience: &str, caller: Option<&Caller>, tenant: Option<&str>) -> Self {
        let who = caller.map(|caller| (caller.issuer(), caller.subject())).unzip();
        let parts = [Some(audience), who.0, who.1, tenant];
        Self(serde_json::to_string(&parts).expect("texts are JSON"))
    }

    /// One that a store kept.
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
