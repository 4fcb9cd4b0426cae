//! A throw-away PostgreSQL, and a pgbouncer: the crate's modules and exports.
//!
#![doc = include_str!("../README.md")]

mod bouncer;
mod cluster;
mod programs;

pub use bouncer::Bouncer;
pub use cluster::Cluster;
