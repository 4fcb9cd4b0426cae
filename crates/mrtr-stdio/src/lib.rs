//! Messages on lines: the crate's front page, its modules, and the names it exports.
//!
// Its examples have both sides.
#![cfg_attr(all(feature = "client", feature = "server"), doc = include_str!("../README.md"))]

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
