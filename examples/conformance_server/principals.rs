//! Callers by name: for tests, the text of a bearer token is who sends a request.

use async_trait::async_trait;
use http::header::AUTHORIZATION;
use http::request::Parts;
use mrtr_http::{Authenticator, Challenge, Identity};
use mrtr_server::Caller;

/// Believes every bearer token, and takes a request without one as anonymous.
#[derive(Debug)]
pub(crate) struct BearerPrincipals;

#[async_trait]
impl Authenticator for BearerPrincipals {
    async fn authenticate(&self, head: &Parts) -> Result<Identity, Challenge> {
        let Some(value) = head.headers.get(AUTHORIZATION) else { return Ok(Identity::anonymous()) };
        let token = value.to_str().ok().and_then(|value| value.strip_prefix("Bearer "));
        let name = token.ok_or(Challenge::new("Bearer"))?;
        Ok(Identity::of(Caller::new("conformance", name)))
    }
}
