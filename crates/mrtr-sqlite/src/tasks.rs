//! Tasks in the file: the store, and its verbs on their way to the threads that carry them out.

mod due;
mod head;
#[cfg(test)]
mod plans;
mod readers;
mod statements;
mod tables;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use async_trait::async_trait;
use mrtr_flow::{Clock, SystemClock};
use mrtr_state::Timestamp;
use mrtr_tasks::record::Event;
use mrtr_tasks::store::{
    Acquired, Answer, Changes, Created, Cursor, KeptQuestion, KeptTask, LeaseKeeper, Limits, Listed, NewTask, Place,
    Recorded, Run, StoreError, Swept, TaskStore, Wanted,
};
use mrtr_tasks::{End, Owner, TaskId, TaskRecord};
use tokio::sync::{oneshot, watch};

use crate::open::{File, Reading, open, open_to_read};
use crate::schema::Needed;
use crate::worker::{Job, Worker};
use crate::writer::{Batch, DEAD, JoinedOnDrop, SqliteKeeper, VerbError, Writer};
use crate::{SqliteOpenError, SqliteOpenErrorKind};
use readers::{ReadTask, Readers};

pub(crate) use readers::last_change;
pub(crate) use tables::Tables;

/// Tasks in a file, which is made on first use. Any number of processes of one machine may open it.
///
/// When a verb returns, its work is on the disk. Verbs that arrive together are written together. One thread writes,
/// and another does the long reads; both end when the value is dropped. While a caller waits for
/// [`changed`](TaskStore::changed), the thread that writes also looks every few milliseconds whether another process
/// has changed the file. Reads do not wait for it.
///
/// A verb whose future is dropped may still be carried out.
///
/// A file that keeps single use only is refused. [`SqliteDatabase`](crate::SqliteDatabase) keeps both in one file; this
/// store opens such a file, too.
///
/// The file belongs on a local disk: network file systems do not lock well enough. Clocks of processes that share it
/// should agree, as those of one machine do.
///
/// ```
/// use mrtr_sqlite::SqliteTaskStore;
/// use mrtr_tasks::TaskStore;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("tasks.sqlite");
/// let store = SqliteTaskStore::open(path)?;
/// assert!(store.list(None, None, 10).await?.is_empty());
/// # Ok(()) }
/// ```
pub struct SqliteTaskStore {
    inner: Arc<Inner>,
}

struct Inner {
    clock: Arc<dyn Clock>,
    readers: Arc<Readers>,
    /// The number of the last change that is known of. Callers wait on clones of this receiver, and the store itself
    /// never does.
    changes: watch::Receiver<u64>,
    writer: Arc<Writer>,
    // Dropped in this order: the thread ends because no sender is left.
    reads: Sender<Read>,
    reader: JoinedOnDrop,
}

/// A read that the thread for reading carries out.
type Read = Box<dyn FnOnce() + Send>;

impl SqliteTaskStore {
    /// Opens a file, or makes one. It goes by the machine's clock.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SqliteOpenError> {
        Self::open_with_clock(path, Arc::new(SystemClock::default()))
    }

    /// Opens a file, or makes one. It goes by this clock.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use mrtr_flow::SystemClock;
    /// use mrtr_sqlite::SqliteTaskStore;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("tasks.sqlite");
    /// let store = SqliteTaskStore::open_with_clock(path, Arc::new(SystemClock::default()))?;
    /// # drop(store);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_with_clock(path: impl AsRef<Path>, clock: Arc<dyn Clock>) -> Result<Self, SqliteOpenError> {
        let path = path.as_ref();
        let opened = open(path, Needed::Tasks).and_then(|file| Self::over(file, Reading::Shared, path, clock));
        opened.map_err(SqliteOpenError::at(path))
    }

    /// Opens an existing file that this process may read and need not write, such as to list its tasks. Verbs that
    /// write fail. Tables of an earlier version are refused, since they cannot be migrated.
    ///
    /// ```
    /// use mrtr_sqlite::SqliteTaskStore;
    /// use mrtr_tasks::TaskStore;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("tasks.sqlite");
    /// # drop(SqliteTaskStore::open(&path)?);
    /// let store = SqliteTaskStore::open_to_read(path)?;
    /// assert!(store.list(None, None, 10).await?.is_empty());
    /// assert!(store.sweep(10).await.is_err());
    /// # Ok(()) }
    /// ```
    pub fn open_to_read(path: impl AsRef<Path>) -> Result<Self, SqliteOpenError> {
        let path = path.as_ref();
        let opened = open_to_read(path, Needed::Tasks)
            .and_then(|(file, reading)| Self::over(file, reading, path, Arc::new(SystemClock::default())));
        opened.map_err(SqliteOpenError::at(path))
    }

    /// Makes the store over an open file, with the threads that it needs.
    pub(crate) fn over(
        file: File,
        reading: Reading,
        path: &Path,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, SqliteOpenErrorKind> {
        let readers = Arc::new(Readers::new(path.to_owned(), reading)?);
        let (sender, changes) = watch::channel(readers.last_change()?);
        let writer = Arc::new(Writer::start(|jobs| Worker::new(file, Arc::clone(&clock), jobs, sender))?);
        let (reads, to_read) = mpsc::channel::<Read>();
        let reader = JoinedOnDrop::start("mrtr-sqlite-reads", move || to_read.into_iter().for_each(|read| read()))?;
        Ok(Self { inner: Arc::new(Inner { clock, readers, changes, writer, reads, reader }) })
    }

    /// Makes another handle to this store.
    pub(crate) fn again(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }

    pub(crate) fn writer(&self) -> &Arc<Writer> {
        &self.inner.writer
    }
}

#[async_trait]
impl TaskStore for SqliteTaskStore {
    async fn now(&self) -> Result<Timestamp, StoreError> {
        Ok(self.inner.clock.now())
    }

    async fn create(&self, task: NewTask, limits: Limits) -> Result<Created, StoreError> {
        self.inner.writer.ask(move |batch| batch.tasks.create(task, limits)).await
    }

    async fn acquire(&self, wanted: &Wanted) -> Result<Acquired, StoreError> {
        let wanted = wanted.clone();
        self.inner.writer.ask(move |batch| batch.tasks.acquire(&wanted)).await
    }

    async fn renew(&self, run: Run, lease: Duration, message: Option<Vec<u8>>) -> Result<(), StoreError> {
        self.inner
            .writer
            .ask(move |batch| batch.tasks.renew(run, Event::Renew { fence: run.fence, lease }, message))
            .await
    }

    fn lease_keeper(&self) -> Box<dyn LeaseKeeper> {
        Box::new(self.inner.writer.keeper())
    }

    async fn accompany(&self, run: Run) -> Result<(), StoreError> {
        self.inner.writer.ask(move |batch| batch.tasks.accompany(run)).await
    }

    async fn record(&self, run: Run, recorded: Recorded) -> Result<(), StoreError> {
        self.inner
            .writer
            .ask(move |batch| batch.tasks.record(run, recorded, |change| Event::Record { fence: run.fence, change }))
            .await
    }

    async fn compact(&self, run: Run, first: usize, entries: Vec<u8>) -> Result<(), StoreError> {
        self.inner.writer.ask(move |batch| batch.tasks.compact(run, first, entries)).await
    }

    async fn park(&self, run: Run, recorded: Recorded, look_again: Option<Duration>) -> Result<(), StoreError> {
        let park = move |batch: &mut Batch<'_>| {
            batch.tasks.record(run, recorded, |change| Event::Park { fence: run.fence, change, look_again })
        };
        self.inner.writer.ask(park).await
    }

    async fn hand_over(&self, run: Run, pause: Duration) -> Result<(), StoreError> {
        self.inner
            .writer
            .ask(move |batch| batch.tasks.apply(run.id, None, Event::HandOver { fence: run.fence, pause }))
            .await
    }

    async fn finish(&self, run: Run, end: End, result: Vec<u8>) -> Result<(), StoreError> {
        self.inner.writer.ask(move |batch| batch.tasks.finish(run, end, result)).await
    }

    async fn answer(&self, id: TaskId, owner: &Owner, answers: Vec<Answer>) -> Result<Vec<String>, StoreError> {
        let owner = owner.clone();
        self.inner.writer.ask(move |batch| batch.tasks.answer(id, &owner, answers)).await
    }

    async fn ask_anew(&self, id: TaskId, owner: &Owner, key: &str, again: KeptQuestion) -> Result<bool, StoreError> {
        let (owner, key) = (owner.clone(), key.to_owned());
        self.inner.writer.ask(move |batch| batch.tasks.ask_anew(id, &owner, &key, again)).await
    }

    async fn wake(&self, id: TaskId) -> Result<(), StoreError> {
        self.inner.writer.ask(move |batch| batch.tasks.apply(id, None, Event::Wake)).await
    }

    async fn cancel(&self, id: TaskId, owner: Option<&Owner>) -> Result<(), StoreError> {
        let owner = owner.cloned();
        self.inner.writer.ask(move |batch| batch.tasks.apply(id, owner.as_ref(), Event::Cancel)).await
    }

    async fn retry(&self, id: TaskId) -> Result<(), StoreError> {
        self.inner.writer.ask(move |batch| batch.tasks.apply(id, None, Event::Retry)).await
    }

    async fn get(&self, id: TaskId, owner: Option<&Owner>) -> Result<KeptTask, StoreError> {
        let read = self.inner.readers.task(id).map_err(StoreError::store)?;
        let read = read.filter(|task| owner.is_none_or(|owner| *owner == task.record.owner));
        let ReadTask { record, open, message, result } = read.ok_or(StoreError::NotFound)?;
        Ok(KeptTask { record, now: self.inner.clock.now(), open, message, result })
    }

    async fn records(&self, ids: &[TaskId]) -> Result<Vec<TaskRecord>, StoreError> {
        let (readers, ids) = (Arc::clone(&self.inner.readers), ids.to_vec());
        let (caller, result) = oneshot::channel();
        // A thread that is gone has dropped the other end of the result.
        drop(self.inner.reads.send(Box::new(move || drop(caller.send(readers.records(&ids))))));
        result.await.map_err(|_| StoreError::store(DEAD))?.map_err(StoreError::store)
    }

    async fn list(&self, owner: Option<&Owner>, after: Option<Place>, most: usize) -> Result<Vec<Listed>, StoreError> {
        self.inner.readers.list(owner, after, most).map_err(StoreError::store)
    }

    async fn sweep(&self, most: usize) -> Result<Swept, StoreError> {
        self.inner.writer.ask(move |batch| batch.tasks.sweep(most)).await
    }

    async fn cursor(&self) -> Result<Cursor, StoreError> {
        Ok(Cursor(self.inner.readers.last_change().map_err(StoreError::store)?))
    }

    async fn changed(&self, since: Cursor) -> Result<Changes, StoreError> {
        let mut changes = self.inner.changes.clone();
        self.inner.writer.send(Job::Look);
        loop {
            changes.wait_for(|&last| last > since.0).await.map_err(|_| StoreError::store(DEAD))?;
            if let Some(changes) = self.inner.readers.changes(since).map_err(StoreError::store)? {
                return Ok(changes);
            }
        }
    }
}

impl LeaseKeeper for SqliteKeeper {
    fn renew(&mut self, runs: &[Run], lease: Duration) -> Vec<Result<(), StoreError>> {
        let wanted = runs.to_vec();
        self.renew_all(runs.len(), move |batch| batch.tasks.renew_all(&wanted, lease))
    }
}

impl fmt::Debug for SqliteTaskStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteTaskStore")
            .field("writer", &self.inner.writer)
            .field("reader", &self.inner.reader)
            .finish_non_exhaustive()
    }
}
