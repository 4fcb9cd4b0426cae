//! Flows, rule by rule: whole conversations between a handler and a scripted client.
#![allow(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

#[path = "flow/answers.rs"]
mod answers;
#[path = "flow/arguments.rs"]
mod arguments;
#[path = "flow/asking.rs"]
mod asking;
#[path = "flow/branches.rs"]
mod branches;
#[path = "flow/capabilities.rs"]
mod capabilities;
#[path = "flow/deadlines.rs"]
mod deadlines;
#[path = "flow/failures.rs"]
mod failures;
#[path = "flow/giving_up.rs"]
mod giving_up;
#[path = "flow/holding.rs"]
mod holding;
#[path = "flow/limits.rs"]
mod limits;
mod log;
#[path = "flow/manual_mode.rs"]
mod manual_mode;
#[path = "flow/mistakes.rs"]
mod mistakes;
#[path = "flow/panics.rs"]
mod panics;
#[path = "flow/parking.rs"]
mod parking;
#[path = "flow/protocol.rs"]
mod protocol;
#[path = "flow/races.rs"]
mod races;
#[path = "flow/room.rs"]
mod room;
#[path = "flow/sampling.rs"]
mod sampling;
#[path = "flow/spinning.rs"]
mod spinning;
#[path = "flow/state_policy.rs"]
mod state_policy;
#[path = "flow/stateless.rs"]
mod stateless;
#[path = "flow/steps.rs"]
mod steps;
#[path = "flow/strangers.rs"]
mod strangers;
#[path = "flow/support.rs"]
mod support;
#[path = "flow/unpolled.rs"]
mod unpolled;
#[path = "flow/unstable.rs"]
mod unstable;
#[path = "flow/urls.rs"]
mod urls;
