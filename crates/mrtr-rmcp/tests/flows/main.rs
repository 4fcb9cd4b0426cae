//! rmcp's own client and flows that an rmcp server serves: in both lifecycles, over HTTP and over streams.
#![allow(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod beside;
mod callers;
mod cancelling;
mod converted;
mod ending;
mod hostile;
#[path = "../../../mrtr-server/tests/log/mod.rs"]
mod log;
mod notifications;
mod owners;
mod person;
mod refused;
mod rounds;
mod sessionless;
mod single_use;
mod sites;
mod subscriptions;
mod tasks;
