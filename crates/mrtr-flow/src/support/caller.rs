//! Who sent a request.

use mrtr_state::Principal;

/// Who sent a request: a subject, and who vouches for it.
///
/// ```
/// use mrtr_flow::Caller;
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

    /// The caller as a binding of a state takes it.
    ///
    /// ```
    /// let ann = mrtr_flow::Caller::new("https://id.example.com", "ann");
    /// assert_eq!(ann.principal().subject, "ann");
    /// ```
    pub fn principal(&self) -> Principal<'_> {
        Principal { issuer: &self.issuer, subject: &self.subject }
    }
}
