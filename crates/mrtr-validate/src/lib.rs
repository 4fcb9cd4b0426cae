//! Checks of a specification's example JSON, for `mrtr validate`.
//!
#![doc = include_str!("../README.md")]

pub mod folder;
mod judge;
mod markdown;
pub mod report;
mod schema;

pub use folder::{Example, Kind};
pub use judge::{Judge, Status, Verdict, as_text, compile};
pub use markdown::{Document, DocumentVerdict};
pub use schema::closed;
