//! Keys: how they are given, how they are replaced without refusing a client, and that they are never shown.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

#[path = "../common/mod.rs"]
mod common;

mod given;
mod random;
mod rotation;
mod secrets;
mod source;
