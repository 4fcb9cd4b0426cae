//! Flows inside rmcp: the crate's front page, its modules, and the names it exports.
//!
#![doc = include_str!("../README.md")]

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
pub use server::{Alone, Flows, OwnedSessions, SessionOwners};
