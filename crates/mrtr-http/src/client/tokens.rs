//! Where bearer tokens come from.

use std::fmt;

use async_trait::async_trait;
use mrtr_client::TransportError;

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
