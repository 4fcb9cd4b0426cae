//! The reason a database could not be used as a store.

use std::error::Error;

use crate::Schema;

/// The reason a database could not be used as a store.
///
/// ```
/// use mrtr_postgres::{ConnectError, PostgresOptions};
///
/// let refused = PostgresOptions::new("postgres://db:no-port").unwrap_err();
/// assert!(matches!(refused, ConnectError::Address(_)));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The address cannot be read, or asks for something that is not there.
    #[error("the address of the database cannot be used")]
    Address(#[source] Box<dyn Error + Send + Sync>),
    /// No connection could be made, or none in time.
    #[error("the database cannot be reached")]
    Unreachable(#[source] Box<dyn Error + Send + Sync>),
    /// The server is older than those that this crate is tested with.
    #[error("the database is PostgreSQL {found}; 15 or newer is needed")]
    OldServer {
        /// The server's version.
        found: String,
    },
    /// The database is a replica, or takes no writes for another reason.
    #[error("the database accepts no writes: it is a replica, or its settings make it read-only")]
    ReadOnly,
    /// The tables are older than this program, and [`migrate_at_start`](crate::PostgresOptions::migrate_at_start) does
    /// not let it change them.
    #[error(
        "the schema `{schema}` has version {found}, and this program needs {needed}: run `mrtr postgres migrate`, or \
         let the program migrate at its start"
    )]
    OlderSchema {
        /// The schema.
        schema: Schema,
        /// The schema's version; 0 if it is not there.
        found: i32,
        /// The version that we need.
        needed: i32,
    },
    /// A later version of this crate made the tables.
    #[error("the schema `{schema}` has version {found}; this program knows versions up to {known}")]
    NewerSchema {
        /// The schema.
        schema: Schema,
        /// The schema's version.
        found: i32,
        /// The latest that we know.
        known: i32,
    },
    /// The tables could not be made.
    #[error("the schema `{schema}` could not be migrated")]
    Migration {
        /// The schema.
        schema: Schema,
        /// The error of the database.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The database failed otherwise.
    #[error("the database failed")]
    Database(#[source] Box<dyn Error + Send + Sync>),
}
