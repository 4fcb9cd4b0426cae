//! Authentication: the sender of a request, decided from its head before its body is read.

use std::fmt;
use std::ops::Deref;

use async_trait::async_trait;
use http::request::Parts;
use mrtr_server::Identity;

use super::challenge::Challenge;
use super::public_url::PublicUrl;

/// Decides who sends a request. The endpoint asks for every request, since a state grants nothing.
///
/// An implementation that wrongly says yes lets a stranger act as another caller. One that wrongly says no turns a
/// caller away, who may come again.
///
/// ```
/// use mrtr_http::{Authenticator, Challenge, Identity, RequestHead};
/// use mrtr_server::Caller;
///
/// #[derive(Debug)]
/// struct OneToken;
///
/// #[async_trait::async_trait]
/// impl Authenticator for OneToken {
///     async fn authenticate(&self, head: &RequestHead<'_>) -> Result<Identity, Challenge> {
///         match head.bearer() {
///             Some("secret") => Ok(Identity::of(Caller::new("https://id.example.com", "ann"))),
///             _ => Err(Challenge::bearer()),
///         }
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let (head, ()) = http::Request::post("/mcp").header("authorization", "Bearer secret").body(()).unwrap().into_parts();
/// assert_eq!(OneToken.authenticate(&RequestHead::from(&head)).await.unwrap().caller().unwrap().subject(), "ann");
/// # }
/// ```
#[async_trait]
pub trait Authenticator: fmt::Debug + Send + Sync + 'static {
    /// Returns the sender of a request with this head, or the credentials that the sender must show.
    async fn authenticate(&self, head: &RequestHead<'_>) -> Result<Identity, Challenge>;

    /// Returns the issuers whose tokens it takes, for the endpoint's metadata. An endpoint whose authenticator names
    /// some needs a [public URL](crate::Endpoint::public_url): without it no token could name its audience.
    fn authorization_servers(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the algorithms of proofs that it takes for tokens that are bound to a key (RFC 9449).
    fn proof_algorithms(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The head of a request, and the endpoint that it came to.
///
/// ```
/// use mrtr_http::RequestHead;
///
/// let (parts, ()) = http::Request::post("/mcp").header("authorization", "Bearer secret").body(()).unwrap().into_parts();
/// let head = RequestHead::from(&parts);
/// assert_eq!(head.bearer(), Some("secret"));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct RequestHead<'a> {
    parts: &'a Parts,
    public_url: Option<&'a PublicUrl>,
}

impl<'a> RequestHead<'a> {
    pub(super) fn new(parts: &'a Parts, public_url: Option<&'a PublicUrl>) -> Self {
        Self { parts, public_url }
    }

    /// Returns the URL under which clients know the endpoint: the audience of its tokens.
    pub fn public_url(&self) -> Option<&'a PublicUrl> {
        self.public_url
    }

    /// Returns the bearer token, if `Authorization` holds one.
    pub fn bearer(&self) -> Option<&'a str> {
        self.token("Bearer")
    }

    /// Returns the credentials of this scheme, if `Authorization` holds some.
    pub fn token(&self, scheme: &str) -> Option<&'a str> {
        let (named, token) = self.parts.headers.get(http::header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
        Some(token.trim()).filter(|token| named.eq_ignore_ascii_case(scheme) && !token.is_empty())
    }
}

impl<'a> From<&'a Parts> for RequestHead<'a> {
    fn from(parts: &'a Parts) -> Self {
        Self::new(parts, None)
    }
}

impl Deref for RequestHead<'_> {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        self.parts
    }
}

/// Lets every caller in.
#[derive(Debug)]
pub(super) struct Anonymous;

#[async_trait]
impl Authenticator for Anonymous {
    async fn authenticate(&self, _: &RequestHead<'_>) -> Result<Identity, Challenge> {
        Ok(Identity::anonymous())
    }
}
