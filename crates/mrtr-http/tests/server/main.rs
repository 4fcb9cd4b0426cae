//! The server side over real sockets, clause by clause.

#![allow(clippy::unwrap_used, reason = "a panic is the report")]

#[path = "../support/mod.rs"]
mod support;

mod authentication;
mod axum_router;
mod budget;
mod connections;
mod detached;
mod fair;
mod headers;
mod hostile;
mod http2;
mod limits;
mod origin;
mod probes;
mod queueing;
mod revisions;
mod runtimes;
mod sessions;
mod shutdown;
mod statuses;
mod streams;
mod subscriptions;
mod tools;
mod unread;
