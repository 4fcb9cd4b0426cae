//! The error of opening a file.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};

/// A file that could not be opened as a store, or as several, with the reason.
///
/// ```
/// use mrtr_sqlite::{SqliteOpenErrorKind, SqliteTaskStore};
///
/// let in_this_process_only = SqliteTaskStore::open(":memory:").unwrap_err();
/// assert!(matches!(in_this_process_only.kind(), SqliteOpenErrorKind::NotShared));
/// assert!(in_this_process_only.to_string().starts_with(":memory:: the file cannot be shared"));
/// ```
#[derive(Debug)]
pub struct SqliteOpenError {
    path: PathBuf,
    kind: SqliteOpenErrorKind,
}

impl SqliteOpenError {
    /// Makes the errors for a file.
    pub(crate) fn at(path: &Path) -> impl Fn(SqliteOpenErrorKind) -> Self {
        move |kind| Self { path: path.to_owned(), kind }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the reason.
    pub fn kind(&self) -> &SqliteOpenErrorKind {
        &self.kind
    }
}

impl fmt::Display for SqliteOpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.kind)
    }
}

impl Error for SqliteOpenError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.kind.source()
    }
}

/// The reason why a file could not be opened.
///
/// ```
/// use mrtr_sqlite::{SqliteOpenErrorKind, SqliteSingleUse};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("no_such_folder/used.sqlite");
/// let refused = SqliteSingleUse::open(&path, std::time::SystemTime::now().into()).unwrap_err();
/// assert!(matches!(refused.kind(), SqliteOpenErrorKind::File(_)));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SqliteOpenErrorKind {
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

impl From<rusqlite::Error> for SqliteOpenErrorKind {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error.into())
    }
}
