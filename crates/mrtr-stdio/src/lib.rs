//! MCP messages on lines, over stdin and stdout or other streams, for servers and clients.
//!
// Its examples have both sides.
#![cfg_attr(all(feature = "client", feature = "server"), doc = include_str!("../README.md"))]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "client")]
mod client;
#[cfg(feature = "client")]
mod error;
#[cfg(any(feature = "server", feature = "client"))]
mod lines;
#[cfg(any(feature = "server", feature = "client"))]
mod output;
#[cfg(feature = "server")]
mod server;

#[cfg(feature = "client")]
pub use client::{ChildServer, StdioTransport};
#[cfg(feature = "client")]
pub use error::StdioTransportError;
#[cfg(feature = "server")]
pub use server::{Stdio, serve};
