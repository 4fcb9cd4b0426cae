//! Who sends a request: decided from its head, before its body is read.

use std::fmt;

use async_trait::async_trait;
use http::request::Parts;
use mrtr_server::Caller;

/// Decides who sends a request. Asked for every request: a state grants nothing.
///
/// ```
/// use http::request::Parts;
/// use mrtr_http::{Authenticator, Challenge, Identity};
/// use mrtr_server::Caller;
///
/// #[derive(Debug)]
/// struct OneToken;
///
/// #[async_trait::async_trait]
/// impl Authenticator for OneToken {
///     async fn authenticate(&self, head: &Parts) -> Result<Identity, Challenge> {
///         match head.headers.get("authorization").map(http::HeaderValue::as_bytes) {
///             Some(b"Bearer secret") => Ok(Identity::of(Caller::new("https://id.example.com", "ann"))),
///             _ => Err(Challenge::new("Bearer")),
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait Authenticator: fmt::Debug + Send + Sync + 'static {
    /// Says who it is, or what would have to be shown.
    async fn authenticate(&self, head: &Parts) -> Result<Identity, Challenge>;
}

/// Who sends a request.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Identity {
    /// The caller; nobody in particular if there is none.
    pub caller: Option<Caller>,
    /// On whose behalf.
    pub tenant: Option<String>,
}

impl Identity {
    /// This caller.
    pub fn of(caller: Caller) -> Self {
        Self { caller: Some(caller), tenant: None }
    }

    /// Nobody in particular.
    pub fn anonymous() -> Self {
        Self::default()
    }

    /// On behalf of this tenant.
    #[must_use]
    pub fn for_tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }
}

/// What a caller must show: the value of `WWW-Authenticate`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge(pub(super) String);

impl Challenge {
    /// Such as `Bearer resource_metadata="https://…"`.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }
}

/// Lets everybody in.
#[derive(Debug)]
pub(super) struct Anonymous;

#[async_trait]
impl Authenticator for Anonymous {
    async fn authenticate(&self, _: &Parts) -> Result<Identity, Challenge> {
        Ok(Identity::anonymous())
    }
}
