//! A throw-away PostgreSQL for tests and demos, and a pgbouncer in front of it.
//!
#![doc = include_str!("../README.md")]

mod bouncer;
mod cluster;
mod programs;

pub use bouncer::Bouncer;
pub use cluster::Cluster;
