//! One file for tasks and single use.

use std::path::Path;
use std::sync::Arc;

use mrtr_flow::{Clock, SystemClock};

use crate::open::{Reading, open};
use crate::schema::Needed;
use crate::single_use::since;
use crate::{SqliteOpenError, SqliteOpenErrorKind, SqliteSingleUse, SqliteTaskStore};

/// One file that keeps tasks and the tokens that were used. Any number of processes of one machine may open it.
///
/// One thread writes for both, and writes verbs that arrive together in one transaction. The file is closed when the
/// database and all stores that it gave are dropped.
///
/// ```
/// use mrtr_server::{Failure, Flow, Server, TaskPolicy, Tool};
/// use mrtr_sqlite::SqliteDatabase;
/// use mrtr_tasks::Tasks;
///
/// async fn pay(_: Flow) -> Result<String, Failure> {
///     Ok("paid".to_owned())
/// }
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("shop.sqlite");
/// let database = SqliteDatabase::open(path)?;
/// let server = Server::builder("shop", "1.0.0")
///     .tool(Tool::new("pay", pay).tasks(TaskPolicy::IfPossible).single_use(database.single_use()))
///     .extension(Tasks::new(database.tasks()))
///     .build()?;
/// # drop(server);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # A file that kept only one kind
///
/// A file that [`SqliteTaskStore`] or [`SqliteSingleUse`] made gains the tables that it lacks, and processes that know
/// only one kind keep working with it, even those of an earlier version. A file knows only the uses that were noted in
/// it. A file of tasks that begins to keep single use knows no earlier uses: like a new file, it refuses tokens that
/// were issued earlier, so that no token that was used in another file is used again. To keep those tokens usable, open
/// the file of single use in which their uses are noted. Either way, end the processes that note uses in one file
/// before others note them in another.
#[derive(Debug)]
pub struct SqliteDatabase {
    tasks: SqliteTaskStore,
    single_use: SqliteSingleUse,
}

impl SqliteDatabase {
    /// Opens a file, or makes one. It goes by the machine's clock.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SqliteOpenError> {
        Self::open_with_clock(path, Arc::new(SystemClock::default()))
    }

    /// Opens a file, or makes one, with this clock. Tasks always go by it; single use takes from it only the moment
    /// since which a new file remembers.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use mrtr_flow::SystemClock;
    /// use mrtr_sqlite::SqliteDatabase;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("shop.sqlite");
    /// let database = SqliteDatabase::open_with_clock(path, Arc::new(SystemClock::default()))?;
    /// # drop(database);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_with_clock(path: impl AsRef<Path>, clock: Arc<dyn Clock>) -> Result<Self, SqliteOpenError> {
        let path = path.as_ref();
        Self::open_both(path, clock).map_err(SqliteOpenError::at(path))
    }

    fn open_both(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, SqliteOpenErrorKind> {
        let file = open(path, Needed::Both(clock.now()))?;
        let since = since(&file.connection)?;
        let tasks = SqliteTaskStore::over(file, Reading::Shared, path, clock)?;
        let single_use = SqliteSingleUse::over(since, Arc::clone(tasks.writer()));
        Ok(Self { tasks, single_use })
    }

    /// Returns the store of the file's tasks.
    ///
    /// ```
    /// use mrtr_sqlite::SqliteDatabase;
    /// use mrtr_tasks::TaskStore;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("shop.sqlite");
    /// let tasks = SqliteDatabase::open(path)?.tasks();
    /// assert!(tasks.list(None, None, 10).await?.is_empty());
    /// # Ok(()) }
    /// ```
    pub fn tasks(&self) -> SqliteTaskStore {
        self.tasks.again()
    }

    /// Returns the store for single use in the file.
    ///
    /// ```
    /// use mrtr_server::Guard;
    /// use mrtr_sqlite::SqliteDatabase;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("shop.sqlite");
    /// let guard = Guard::from(SqliteDatabase::open(path)?.single_use()).refuse_replays();
    /// # drop(guard);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn single_use(&self) -> SqliteSingleUse {
        self.single_use.again()
    }
}
