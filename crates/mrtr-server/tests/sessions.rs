//! Sessions of the legacy era, without a transport: the machine, rule by rule.

#![allow(clippy::unwrap_used, reason = "a panic is the report")]

#[path = "sessions/asking.rs"]
mod asking;
#[path = "sessions/bounds.rs"]
mod bounds;
#[path = "sessions/cancelling.rs"]
mod cancelling;
#[path = "sessions/client.rs"]
mod client;
#[path = "sessions/eras.rs"]
mod eras;
#[path = "sessions/fairness.rs"]
mod fairness;
#[path = "work_item/mod.rs"]
mod fixture;
#[path = "sessions/listening.rs"]
mod listening;
#[path = "log/mod.rs"]
mod log;
#[path = "sessions/properties.rs"]
mod properties;
#[path = "sessions/resuming.rs"]
mod resuming;
#[path = "sessions/spinning.rs"]
mod spinning;
#[path = "sessions/tools.rs"]
mod tools;
#[path = "sessions/urls.rs"]
mod urls;
#[path = "sessions/work_item.rs"]
mod work_item;
