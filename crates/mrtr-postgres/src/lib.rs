//! A PostgreSQL database for tasks and single use, which the instances of a fleet share.
//!
#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod database;
mod error;
mod failure;
pub mod migrations;
mod options;
#[cfg(all(test, feature = "testing"))]
mod plans;
mod schema;
mod statement;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod tls;
mod values;

pub use error::ConnectError;
pub use options::PostgresOptions;
pub use schema::{NoSchemaName, Schema};
pub use store::PostgresStore;
