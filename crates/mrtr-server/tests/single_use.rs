//! Single use: effects are counted outside the flow, and no replay, lost connection, crash or crowd repeats one.
#![allow(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

#[path = "single_use/crashes.rs"]
mod crashes;
#[path = "single_use/crowds.rs"]
mod crowds;
#[path = "single_use/errors.rs"]
mod errors;
#[path = "single_use/giving_up.rs"]
mod giving_up;
mod log;
#[path = "single_use/replays.rs"]
mod replays;
#[path = "single_use/shop.rs"]
mod shop;
#[path = "single_use/store.rs"]
mod store;
