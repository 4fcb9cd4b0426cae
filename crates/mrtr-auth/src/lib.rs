//! Tokens at the door of an MCP server: JWTs of issuers, opaque tokens, and tokens that are bound to a key.
//!
#![cfg_attr(feature = "server", doc = include_str!("../README.md"))]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "server")]
mod server;

#[cfg(feature = "server")]
pub use server::{Algorithm, Claims, Introspection, Issuer, KeysError, TokenCheck};
