//! What tasks promise, as whole conversations with a server that has them.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod answers;
mod core;
mod ends;
mod faulty;
#[path = "../../../mrtr-server/tests/log/mod.rs"]
mod log;
mod owners;
mod published;
mod running;
mod support;
mod transcripts;
