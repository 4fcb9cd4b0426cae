//! What tasks promise, as whole conversations with a server that has them.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod answers;
mod core;
mod faulty;
#[path = "../../../mrtr-server/tests/log/mod.rs"]
mod log;
mod published;
mod support;
