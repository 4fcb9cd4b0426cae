//! Where bearer tokens come from.

use std::fmt;

use async_trait::async_trait;
use mrtr_client::{TransportError, TransportFailure};

/// Where bearer tokens come from.
///
/// ```
/// use mrtr_client::TransportError;
/// use mrtr_http::TokenProvider;
///
/// #[derive(Debug)]
/// struct Fixed;
///
/// #[async_trait::async_trait]
/// impl TokenProvider for Fixed {
///     async fn token(&self, _refused: Option<&str>) -> Result<Option<String>, TransportError> {
///         Ok(Some("secret".into()))
///     }
/// }
/// ```
#[async_trait]
pub trait TokenProvider: fmt::Debug + Send + Sync + 'static {
    /// A token, if there is one. `refused` is one that the server has just refused.
    ///
    /// It is asked for before each request, and before a private result that was kept is shown again: that belongs to
    /// the token that it came for.
    async fn token(&self, refused: Option<&str>) -> Result<Option<String>, TransportError>;
}

/// One token, for as long as the server takes it.
pub(super) struct FixedToken(pub(super) String);

#[async_trait]
impl TokenProvider for FixedToken {
    async fn token(&self, refused: Option<&str>) -> Result<Option<String>, TransportError> {
        match refused {
            None => Ok(Some(self.0.clone())),
            // Without a token the request would be an anonymous caller's, which is not what was asked for.
            Some(_) => Err(TransportError::of(TransportFailure::Unauthorized, "the token was refused (status 401)")),
        }
    }
}

/// Shows no token.
impl fmt::Debug for FixedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FixedToken")
    }
}
