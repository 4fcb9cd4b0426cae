//! The error of opening a file.

use std::error::Error;

/// The reason a file could not be opened as a store, or as several.
///
/// ```
/// use mrtr_sqlite::{SqliteOpenError, SqliteTaskStore};
///
/// let in_this_process_only = SqliteTaskStore::open(":memory:");
/// assert!(matches!(in_this_process_only, Err(SqliteOpenError::NotShared)));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SqliteOpenError {
    /// A later version of this crate made the file.
    #[error("the file has version {found} of its tables for {of}; this program knows versions up to {known}")]
    Newer {
        /// The purpose of the tables.
        of: &'static str,
        /// The file's version.
        found: i64,
        /// The latest that we know.
        known: i64,
    },
    /// The file is an SQLite file for something else: another program made it, or it keeps the other kind only.
    #[error("the file is a database, but not one of {needed}")]
    NotOurs {
        /// The kinds that it should have kept.
        needed: &'static str,
    },
    /// The file system cannot share the file between processes.
    #[error("the file cannot be shared between processes: SQLite offers no write-ahead log for it")]
    NotShared,
    /// The file can be read, but not written.
    #[error("the file cannot be written: give this process the right to write the file and its folder")]
    ReadOnly,
    /// The file could not be made or found.
    #[error("the file cannot be created")]
    File(#[source] std::io::Error),
    /// A thread that the file needs could not be started.
    #[error("no thread could be started for the file")]
    Thread(#[source] std::io::Error),
    /// SQLite failed.
    #[error("SQLite cannot open the file")]
    Sqlite(#[source] Box<dyn Error + Send + Sync>),
}

impl From<rusqlite::Error> for SqliteOpenError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error.into())
    }
}
