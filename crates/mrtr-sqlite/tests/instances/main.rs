//! Instances of a server on one file, as whole conversations.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

#[path = "../../../mrtr-tasks/tests/tasks/faulty.rs"]
#[allow(dead_code, reason = "other tests of tasks need more of it")]
mod faulty;
mod file;
#[path = "../../../mrtr-server/tests/log/mod.rs"]
#[allow(dead_code, reason = "other tests need more of it")]
mod log;
mod sealed;
#[path = "../../../mrtr-tasks/tests/tasks/support.rs"]
#[allow(dead_code, reason = "other tests of tasks need more of it")]
mod support;
mod two_instances;
