//! Our client on a pair of streams in memory, to our server and to scripted ones.

#![allow(clippy::unwrap_used, reason = "a panic is the report")]

mod conversations;
mod eras;
mod failures;
mod identity;
mod notifications;
mod scripted;
