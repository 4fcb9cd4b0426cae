//! The client side, against servers that answer what a script says.

#![allow(clippy::unwrap_used, reason = "a panic is the report")]

#[path = "../support/mod.rs"]
mod support;

mod failures;
mod headers;
mod hostile;
mod replies;
mod retries;
mod tokens;
