//! What can go wrong in a store for single use.

use std::error::Error;

/// Why a store did not do what it was asked.
///
/// ```
/// use mrtr_state::SingleUse;
/// use mrtr_state::single_use::{ReserveOutcome, SingleUseError};
///
#[doc = include_str!("../../doc/single_use.txt")]
/// let ReserveOutcome::Reserved(slow, _) = store.reserve(&token_use, lease, now).await? else { panic!("it is new") };
/// let ReserveOutcome::Reserved(quick, _) = store.reserve(&token_use, lease, now + lease).await? else { panic!() };
/// store.commit(&quick, b"paid", now + lease).await?;
/// assert!(matches!(store.commit(&slow, b"paid", now + lease).await, Err(SingleUseError::Lost)));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SingleUseError {
    /// The reservation no longer holds: it has ended, or another round has taken it over.
    #[error("the reservation was lost")]
    Lost,
    /// The token is older than the store's memory, which cannot tell whether it was used: it was issued before the
    /// store began to remember, or its entry may have been purged, now or by a clock that was ahead.
    #[error("the token is older than what this store remembers")]
    BeforeMemory,
    /// The store holds as much as it may, and forgets no token that could be sent again: it takes no new one until
    /// older ones have expired.
    #[error(
        "the store for single use is full: it holds {held} of {limit} bytes; raise its limit, let states expire sooner, \
         or keep them in a store on a disk"
    )]
    Full {
        /// How many bytes it holds.
        held: usize,
        /// How many it may hold.
        limit: usize,
    },
    /// The caller mixed up the order: a step that was recorded does not start after that.
    #[error("step {0:?} was started after it had been recorded")]
    OutOfTurn(String),
    /// The store has more to do than it can, and has not begun with this: it is worth another try soon.
    #[error("the store for single use is busy")]
    Busy(#[source] Box<dyn Error + Send + Sync>),
    /// The store itself failed.
    #[error("the store for single use failed")]
    Store(#[source] Box<dyn Error + Send + Sync>),
}

/// Why a file could not be opened as a store for single use.
///
/// ```
/// use mrtr_state::single_use::{SqliteOpenError, SqliteSingleUse};
/// use mrtr_state::Timestamp;
///
/// let noon = Timestamp::from_millis(1_785_240_000_000);
/// let for_nobody_else = SqliteSingleUse::open(":memory:", noon);
/// assert!(matches!(for_nobody_else, Err(SqliteOpenError::NotShared)));
/// ```
#[cfg(feature = "sqlite")]
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SqliteOpenError {
    /// A later version of this crate made it.
    #[error("the file has version {found} of its schema; this program knows versions up to {known}")]
    Newer {
        /// The file's version.
        found: i64,
        /// The latest that we know.
        known: i64,
    },
    /// It is an SQLite file for something else.
    #[error("the file is a database, but not one for single use")]
    NotOurs,
    /// Its file system cannot share it between processes.
    #[error("the file cannot be shared between processes: SQLite offers no write-ahead log for it")]
    NotShared,
    /// It can be read and not written.
    #[error("the file cannot be written: a store needs the right to, to the file and to its folder")]
    ReadOnly,
    /// The file could not be made or found.
    #[error("the file cannot be made")]
    File(#[source] std::io::Error),
    /// The thread that is to own the file could not be started.
    #[error("no thread could be started for the file")]
    Thread(#[source] std::io::Error),
    /// SQLite failed.
    #[error("SQLite cannot open the file")]
    Sqlite(#[source] Box<dyn Error + Send + Sync>),
}

#[cfg(feature = "sqlite")]
impl From<rusqlite::Error> for SqliteOpenError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error.into())
    }
}
