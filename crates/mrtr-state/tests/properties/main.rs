//! Properties that hold for every payload, request, moment and JSON value, not only for those an author thought of.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/siphash.rs"]
mod siphash;
#[path = "../common/tree.rs"]
mod tree;

mod digest;
mod sealing;
mod spelling;
