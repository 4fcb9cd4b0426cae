//! Authentication: the sender of a request, decided from its head before its body is read.

use std::fmt;

use async_trait::async_trait;
use http::HeaderValue;
use http::request::Parts;
use mrtr_server::Identity;

/// Decides who sends a request. The endpoint asks for every request, since a state grants nothing.
///
/// An implementation that wrongly says yes lets a stranger act as another caller. One that wrongly says no turns a
/// caller away, who may come again.
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
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let (head, ()) = http::Request::post("/mcp").header("authorization", "Bearer secret").body(()).unwrap().into_parts();
/// assert_eq!(OneToken.authenticate(&head).await.unwrap().caller().unwrap().subject(), "ann");
/// # }
/// ```
#[async_trait]
pub trait Authenticator: fmt::Debug + Send + Sync + 'static {
    /// Returns the sender of a request with this head, or the credentials that the sender must show.
    async fn authenticate(&self, head: &Parts) -> Result<Identity, Challenge>;
}

/// The credentials that a caller must send: the value of `WWW-Authenticate`.
///
/// ```
/// use mrtr_http::Challenge;
///
/// let who_are_you = Challenge::new(r#"Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource""#);
/// let not_enough = Challenge::new(r#"Bearer error="insufficient_scope", scope="files:write""#).forbidden();
/// assert_ne!(who_are_you, not_enough);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    pub(super) value: HeaderValue,
    pub(super) is_forbidden: bool,
}

impl Challenge {
    /// Creates a challenge with a value such as `Bearer resource_metadata="https://…"`. The endpoint answers it
    /// with 401.
    ///
    /// A value that no header can hold becomes `Bearer`: a rejection always names a scheme that the caller can use.
    pub fn new(value: impl Into<String>) -> Self {
        let value = HeaderValue::try_from(value.into()).unwrap_or_else(|error| {
            tracing::error!(%error, "a challenge cannot be written in a header");
            HeaderValue::from_static("Bearer")
        });
        Self { value, is_forbidden: false }
    }

    /// Makes the status of the answer 403: the caller is known, and its credentials are not enough.
    #[must_use]
    pub fn forbidden(mut self) -> Self {
        self.is_forbidden = true;
        self
    }
}

/// Lets every caller in.
#[derive(Debug)]
pub(super) struct Anonymous;

#[async_trait]
impl Authenticator for Anonymous {
    async fn authenticate(&self, _: &Parts) -> Result<Identity, Challenge> {
        Ok(Identity::anonymous())
    }
}
