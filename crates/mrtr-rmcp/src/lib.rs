//! Flows, sealed states and tasks inside of rmcp, and a client that retries over it.
//!
#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "client")]
mod client;
#[cfg(feature = "server")]
mod identity;
#[cfg(feature = "server")]
mod server;
#[cfg(feature = "server")]
pub mod state;

#[cfg(feature = "client")]
pub use client::RmcpTransport;
#[cfg(feature = "server")]
pub use server::{Alone, Flows, IntoMrtr, OwnedSessions, SessionOwners};
