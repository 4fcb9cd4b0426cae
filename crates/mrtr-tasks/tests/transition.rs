//! The transitions of a task: one rule a test, and any events at any times.
#![allow(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

#[path = "transition/answers.rs"]
mod answers;
#[path = "transition/ends.rs"]
mod ends;
#[path = "support/invariants.rs"]
mod invariants;
#[path = "transition/leases.rs"]
mod leases;
#[path = "transition/lost_runs.rs"]
mod lost_runs;
#[path = "transition/properties.rs"]
mod properties;
#[path = "support/task.rs"]
mod task;
#[path = "transition/ttl.rs"]
mod ttl;
