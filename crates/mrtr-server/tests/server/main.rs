//! The whole server, clause by clause: conversations through its one entry, every reply held against the schema.
//!
//! Tests are named by the clause they keep where there is one; `docs/PROTOCOL.md` has the list.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod approval;
mod cancellation;
mod clauses_el;
mod clauses_ns;
mod clauses_sv;
mod completion;
mod discover;
mod echoes;
mod errors;
mod extremes;
mod foreign_panics;
mod lists;
mod logs;
mod metrics;
mod middleware;
mod notifications;
mod older_revisions;
mod one_opening;
mod owned_context;
mod prompts;
mod resources;
mod schema;
mod shedding;
mod state_size;
mod subscriptions;
mod support;
mod unambiguous;
#[path = "../work_item/mod.rs"]
mod work_item;
