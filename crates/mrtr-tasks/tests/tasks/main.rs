//! The promises of tasks, as whole conversations with a server that has them.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod answers;
mod blocking;
mod core;
mod creation;
mod ends;
mod faulty;
mod listening;
#[path = "../../../mrtr-server/tests/log/mod.rs"]
mod log;
mod misuse;
mod operator;
mod owners;
mod published;
mod running;
mod sessions;
mod shares;
mod shutdown;
mod support;
mod transcripts;
mod trials;
