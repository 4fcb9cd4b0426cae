//! The mistakes of the first five minutes: each message names the place and the remedy, wherever its author looks.
//!
//! Those that the compiler finds are in `tests/compile_fail`; the port that is taken is in mrtr-http's
//! `tests/serving.rs`.
#![allow(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod built;
mod compiled;
mod keys;
#[path = "../log/mod.rs"]
mod log;
mod run;
