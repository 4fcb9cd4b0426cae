//! The public error type of this crate. What goes wrong later is mrtr-client's `TransportError`, or a response with its
//! status.

/// Why an [`HttpTransport`](crate::HttpTransport) cannot be made.
///
/// ```
/// use mrtr_http::{HttpTransport, HttpTransportError};
///
/// let error = HttpTransport::new("ftp://example.com").unwrap_err();
/// assert!(matches!(error, HttpTransportError::Url(url) if url == "ftp://example.com"));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpTransportError {
    /// The URL is none of HTTP.
    #[error("`{0}` is not an HTTP URL")]
    Url(String),
    /// The HTTP client could not be set up.
    #[error("the HTTP client could not be set up")]
    Http(#[from] reqwest::Error),
}
