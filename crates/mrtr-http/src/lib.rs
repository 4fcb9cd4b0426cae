//! Streamable HTTP for MCP servers and clients.
//!
// Its examples have both sides.
#![cfg_attr(all(feature = "client", feature = "server"), doc = include_str!("../README.md"))]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "client")]
mod client;
#[cfg(any(feature = "server", feature = "client"))]
mod header_text;
#[cfg(feature = "server")]
mod server;

/// The `http` crate, whose types stand in signatures here: a header, the head of a request.
///
/// ```
/// use mrtr_http::http::HeaderValue;
///
/// assert_eq!(HeaderValue::from_static("acme").as_bytes(), b"acme");
/// ```
#[cfg(any(feature = "server", feature = "client"))]
pub use http;

#[cfg(feature = "client")]
pub use client::{HttpTransport, HttpTransportError, TokenProvider};
#[cfg(feature = "server")]
pub use server::{
    Authenticator, Bound, Challenge, Endpoint, ForwardedHeader, Identity, PATH, PublicUrl, PublicUrlError, RequestHead,
    ResponseBody, Serve, router, router_at, router_for, serve,
};
