//! A hostile client gets one error, always the same, whatever it sends back.
//!
//! The reason is for the log. Each test is named for what it promises, and holds for every codec.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

#[path = "../common/mod.rs"]
mod common;

mod keys;
mod params;
mod request;
mod size;
mod spelling;
mod times;
mod who;
