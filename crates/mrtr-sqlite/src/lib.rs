//! Tasks and single use in SQLite: the crate's front page, its modules, and the names it exports.
//!
#![doc = include_str!("../README.md")]

mod database;
mod database_file;
mod error;
mod open;
mod schema;
mod single_use;
mod tasks;
mod worker;
mod writer;

pub use database::SqliteDatabase;
pub use error::SqliteOpenError;
pub use single_use::SqliteSingleUse;
pub use tasks::SqliteTaskStore;
