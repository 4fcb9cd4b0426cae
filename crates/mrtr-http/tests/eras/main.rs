//! The client in both eras, over sockets: with our own server, and with hostile ones of the legacy era.

#![allow(clippy::unwrap_used, reason = "a panic is the report")]

#[path = "../support/mod.rs"]
mod support;

mod azure_devops;
mod conversations;
mod finding_out;
mod front;
mod hostile;
mod resuming;
mod sessions;
mod tracker;
