//! Who sent a request.

use mrtr_state::Principal;

/// Who sent a request: a subject, and who vouches for it.
///
/// ```
/// use mrtr_server::Caller;
///
/// let ann = Caller::new("https://id.example.com", "ann");
/// assert_eq!((ann.issuer(), ann.subject()), ("https://id.example.com", "ann"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    issuer: String,
    subject: String,
}

impl Caller {
    /// A subject of an issuer.
    pub fn new(issuer: impl Into<String>, subject: impl Into<String>) -> Self {
        Self { issuer: issuer.into(), subject: subject.into() }
    }

    /// Who vouches for the subject.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Whom it vouches for.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    pub(crate) fn principal(&self) -> Principal<'_> {
        Principal { issuer: &self.issuer, subject: &self.subject }
    }
}
