//! A server on a pair of streams in memory: what comes in is answered, whatever it is, within bounds.

#![allow(clippy::unwrap_used, reason = "a panic is the report")]

mod cancelling;
mod ending;
mod hostile;
mod many;
mod peer;
#[cfg(unix)]
mod process;
mod sessions;
mod subscriptions;
