//! Tasks and single use in PostgreSQL: the crate's front page, its modules, and the names it exports.
//!
#![doc = include_str!("../README.md")]

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
