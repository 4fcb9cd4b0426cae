//! Fixtures that tests and tools of several crates share: the work item of the proposal, and a program that serves.
//!
//! Only the dev-dependencies of published crates name this one, by its path and without a version: it is not published.

mod program;
// It lies with the tests of a published package, whose archive has it.
#[path = "../../mrtr-server/tests/work_item/mod.rs"]
pub mod work_item;

pub use program::Program;
