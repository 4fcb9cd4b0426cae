//! The client, against servers in memory and scripted ones: one file a theme.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod budgets;
mod caching;
mod cancellation;
mod clauses;
mod common;
mod events;
mod faults;
mod handlers;
mod hostile;
mod limits;
mod negotiation;
mod other_servers;
mod parallel;
mod pending;
mod properties;
mod revisions;
mod session_limits;
mod sessions;
mod shown;
mod steps;
mod tasks;
mod visits;
