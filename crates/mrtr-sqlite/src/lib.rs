//! An SQLite file for tasks and single use, which the processes of one machine share.
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
pub use error::{SqliteOpenError, SqliteOpenErrorKind};
pub use single_use::SqliteSingleUse;
pub use tasks::SqliteTaskStore;
