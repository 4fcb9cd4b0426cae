//! Flows, rule by rule: whole conversations between a handler and a scripted client.
#![allow(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

#[path = "flow/answers.rs"]
mod answers;
#[path = "flow/arguments.rs"]
mod arguments;
#[path = "flow/asking.rs"]
mod asking;
#[path = "flow/capabilities.rs"]
mod capabilities;
#[path = "flow/failures.rs"]
mod failures;
#[path = "flow/limits.rs"]
mod limits;
#[path = "flow/low_road.rs"]
mod low_road;
#[path = "flow/mistakes.rs"]
mod mistakes;
#[path = "flow/parking.rs"]
mod parking;
#[path = "flow/protocol.rs"]
mod protocol;
#[path = "flow/sampling.rs"]
mod sampling;
#[path = "flow/state_policy.rs"]
mod state_policy;
#[path = "flow/stateless.rs"]
mod stateless;
#[path = "flow/steps.rs"]
mod steps;
#[path = "flow/support.rs"]
mod support;
#[path = "flow/urls.rs"]
mod urls;
