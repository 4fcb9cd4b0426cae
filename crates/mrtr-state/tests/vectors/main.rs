//! Known answers, as JSON files that another language can check itself against.
//!
//! `xchacha.json` and `signed.json` have tokens with all that goes into them and all that is derived on the way, and
//! texts that must be refused, each with its reason. `digests.json` has parameters with their canonical bytes. The
//! answers come from `reference.rs`, which follows `docs/STATE_FORMAT.md` and shares no code with the crate; the
//! crate must agree with the files.
//!
//! After a change to the inputs, write the files anew and look at what changed:
//!
//! ```text
//! MRTR_WRITE_VECTORS=1 cargo test -p mrtr-state --test vectors what_the_inputs_give
//! ```
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/siphash.rs"]
mod siphash;
#[path = "../common/tree.rs"]
mod tree;

mod digests;
mod file;
mod inputs;
mod reference;
mod refusals;
mod tokens;
