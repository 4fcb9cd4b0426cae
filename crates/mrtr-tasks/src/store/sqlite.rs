//! Tasks in an SQLite file, which the processes of one machine share.

mod due;
mod error;
mod file;
mod head;
mod readers;
mod schema;
mod statements;
mod tables;
mod worker;
mod write_command;

use std::error::Error;
use std::fmt;
use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use async_trait::async_trait;
use mrtr_server::extend::{Clock, SystemClock};
use mrtr_state::Timestamp;
use mrtr_state::database_file::DatabaseFile;
use tokio::sync::{oneshot, watch};

use super::{
    Acquired, Answer, Changes, Created, Cursor, KeptQuestion, KeptTask, LeaseKeeper, Limits, Listed, NewTask, Place,
    Recorded, Run, StoreError, Swept, TaskStore, Wanted,
};
use crate::record::Event;
use crate::{End, Owner, TaskId, TaskRecord};
use readers::{ReadTask, Readers};
use tables::{Failure, Tables};
use worker::{Job, Worker};
use write_command::VerbCommand;

pub use error::SqliteOpenError;

/// Tasks in a file, which is made on first use. Any number of processes of one machine may open it.
///
/// What a verb has done is on the disk when it returns. Verbs that arrive together are written together. A thread
/// writes, and another reads what is much; they end when the value is dropped. While a caller waits for
/// [`changed`](TaskStore::changed), the first also looks every few milliseconds whether another process has changed the
/// file. What only reads does not wait for it.
///
/// A verb whose future is dropped may still be carried out.
///
/// The file belongs on a local disk: network file systems do not lock well enough. Clocks of processes that share it
/// should agree, as those of one machine do.
///
/// ```
/// use mrtr_tasks::store::{SqliteTaskStore, TaskStore};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("tasks.sqlite");
/// let store = SqliteTaskStore::open(path)?;
/// assert!(store.list(None, None, 10).await?.is_empty());
/// # Ok(()) }
/// ```
pub struct SqliteTaskStore {
    clock: Arc<dyn Clock>,
    readers: Arc<Readers>,
    /// The number of the last change that is known of. Only clones of it wait.
    changes: watch::Receiver<u64>,
    // Dropped in this order: the threads end because no sender is left.
    jobs: Arc<Sender<Job>>,
    thread: JoinedOnDrop,
    reads: Sender<Read>,
    reader: JoinedOnDrop,
}

/// Something that the thread for reading does.
type Read = Box<dyn FnOnce() + Send>;

impl SqliteTaskStore {
    /// Opens a file, or makes one. Goes by the machine's clock.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SqliteOpenError> {
        Self::open_with_clock(path, Arc::new(SystemClock::default()))
    }

    /// Opens a file, or makes one. Goes by this clock.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use mrtr_server::extend::SystemClock;
    /// use mrtr_tasks::store::SqliteTaskStore;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("tasks.sqlite");
    /// let store = SqliteTaskStore::open_with_clock(path, Arc::new(SystemClock::default()))?;
    /// # drop(store);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_with_clock(path: impl AsRef<Path>, clock: Arc<dyn Clock>) -> Result<Self, SqliteOpenError> {
        let connection = file::open(path.as_ref())?;
        let readers = Arc::new(Readers::new(path.as_ref().to_owned())?);
        let (jobs, received) = mpsc::channel();
        let (sender, changes) = watch::channel(readers.last_change()?);
        let place = DatabaseFile::at(path.as_ref()).map_err(SqliteOpenError::File)?;
        let worker = Worker::new(connection, place, Arc::clone(&clock), received, sender);
        let thread = std::thread::Builder::new()
            .name("mrtr-tasks".to_owned())
            .spawn(move || worker.run())
            .map_err(SqliteOpenError::Thread)?;
        let (reads, to_read) = mpsc::channel::<Read>();
        let reader = std::thread::Builder::new()
            .name("mrtr-tasks-reads".to_owned())
            .spawn(move || to_read.into_iter().for_each(|read| read()))
            .map_err(SqliteOpenError::Thread)?;
        let (thread, reader) = (JoinedOnDrop(Some(thread)), JoinedOnDrop(Some(reader)));
        Ok(Self { clock, readers, changes, jobs: Arc::new(jobs), thread, reads, reader })
    }

    async fn ask<T: Send + 'static>(
        &self,
        verb: impl FnOnce(&mut Tables<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (caller, result) = oneshot::channel();
        // A worker that is gone has dropped the job and the other end of the result with it.
        drop(self.jobs.send(Job::Write(Box::new(VerbCommand::new(verb, caller)))));
        result.await.map_err(|_| store_error(DEAD))?
    }
}

#[async_trait]
impl TaskStore for SqliteTaskStore {
    async fn now(&self) -> Result<Timestamp, StoreError> {
        Ok(self.clock.now())
    }

    async fn create(&self, task: NewTask, limits: Limits) -> Result<Created, StoreError> {
        self.ask(move |tables| tables.create(task, limits)).await
    }

    async fn acquire(&self, wanted: &Wanted) -> Result<Acquired, StoreError> {
        let wanted = wanted.clone();
        self.ask(move |tables| tables.acquire(&wanted)).await
    }

    async fn renew(&self, run: Run, lease: Duration, message: Option<Vec<u8>>) -> Result<(), StoreError> {
        self.ask(move |tables| tables.renew(run, Event::Renew { fence: run.fence, lease }, message)).await
    }

    fn lease_keeper(&self) -> Box<dyn LeaseKeeper> {
        Box::new(SqliteKeeper { jobs: Arc::downgrade(&self.jobs) })
    }

    async fn accompany(&self, run: Run) -> Result<(), StoreError> {
        self.ask(move |tables| tables.accompany(run)).await
    }

    async fn record(&self, run: Run, recorded: Recorded) -> Result<(), StoreError> {
        self.ask(move |tables| tables.record(run, recorded, |change| Event::Record { fence: run.fence, change })).await
    }

    async fn compact(&self, run: Run, first: usize, entries: Vec<u8>) -> Result<(), StoreError> {
        self.ask(move |tables| tables.compact(run, first, entries)).await
    }

    async fn park(&self, run: Run, recorded: Recorded, look_again: Option<Duration>) -> Result<(), StoreError> {
        let park = move |tables: &mut Tables<'_>| {
            tables.record(run, recorded, |change| Event::Park { fence: run.fence, change, look_again })
        };
        self.ask(park).await
    }

    async fn hand_over(&self, run: Run, pause: Duration) -> Result<(), StoreError> {
        self.ask(move |tables| tables.apply(run.id, None, Event::HandOver { fence: run.fence, pause })).await
    }

    async fn finish(&self, run: Run, end: End, result: Vec<u8>) -> Result<(), StoreError> {
        self.ask(move |tables| tables.finish(run, end, result)).await
    }

    async fn answer(&self, id: TaskId, owner: &Owner, answers: Vec<Answer>) -> Result<Vec<String>, StoreError> {
        let owner = owner.clone();
        self.ask(move |tables| tables.answer(id, &owner, answers)).await
    }

    async fn ask_anew(&self, id: TaskId, owner: &Owner, key: &str, again: KeptQuestion) -> Result<bool, StoreError> {
        let (owner, key) = (owner.clone(), key.to_owned());
        self.ask(move |tables| tables.ask_anew(id, &owner, &key, again)).await
    }

    async fn wake(&self, id: TaskId) -> Result<(), StoreError> {
        self.ask(move |tables| tables.apply(id, None, Event::Wake)).await
    }

    async fn cancel(&self, id: TaskId, owner: Option<&Owner>) -> Result<(), StoreError> {
        let owner = owner.cloned();
        self.ask(move |tables| tables.apply(id, owner.as_ref(), Event::Cancel)).await
    }

    async fn retry(&self, id: TaskId) -> Result<(), StoreError> {
        self.ask(move |tables| tables.apply(id, None, Event::Retry)).await
    }

    async fn get(&self, id: TaskId, owner: Option<&Owner>) -> Result<KeptTask, StoreError> {
        let read = self.readers.task(id).map_err(store_error)?;
        let read = read.filter(|task| owner.is_none_or(|owner| *owner == task.record.owner));
        let ReadTask { record, open, message, result } = read.ok_or(StoreError::NotFound)?;
        Ok(KeptTask { record, now: self.clock.now(), open, message, result })
    }

    async fn records(&self, ids: &[TaskId]) -> Result<Vec<TaskRecord>, StoreError> {
        let (readers, ids) = (Arc::clone(&self.readers), ids.to_vec());
        let (caller, result) = oneshot::channel();
        // A thread that is gone has dropped the other end of the result.
        drop(self.reads.send(Box::new(move || drop(caller.send(readers.records(&ids))))));
        result.await.map_err(|_| store_error(DEAD))?.map_err(store_error)
    }

    async fn list(&self, owner: Option<&Owner>, after: Option<Place>, most: usize) -> Result<Vec<Listed>, StoreError> {
        self.readers.list(owner, after, most).map_err(store_error)
    }

    async fn sweep(&self, most: usize) -> Result<Swept, StoreError> {
        self.ask(move |tables| tables.sweep(most)).await
    }

    async fn cursor(&self) -> Result<Cursor, StoreError> {
        Ok(Cursor(self.readers.last_change().map_err(store_error)?))
    }

    async fn changed(&self, since: Cursor) -> Result<Changes, StoreError> {
        let mut changes = self.changes.clone();
        drop(self.jobs.send(Job::Look));
        loop {
            changes.wait_for(|&last| last > since.0).await.map_err(|_| store_error(DEAD))?;
            if let Some(changes) = self.readers.changes(since).map_err(store_error)? {
                return Ok(changes);
            }
        }
    }
}

/// Asks the thread that writes, which needs no runtime.
struct SqliteKeeper {
    /// The thread ends when the store is dropped, whether or not there is a keeper.
    jobs: Weak<Sender<Job>>,
}

impl LeaseKeeper for SqliteKeeper {
    fn renew(&mut self, runs: &[Run], lease: Duration) -> Vec<Result<(), StoreError>> {
        let (caller, result) = oneshot::channel();
        let wanted = runs.to_vec();
        let verb = move |tables: &mut Tables<'_>| tables.renew_all(&wanted, lease);
        if let Some(jobs) = self.jobs.upgrade() {
            drop(jobs.send(Job::Write(Box::new(VerbCommand::new(verb, caller)))));
        }
        match result.blocking_recv() {
            Ok(Ok(renewed)) => renewed,
            Ok(Err(error)) => {
                let error = Arc::new(error);
                runs.iter().map(|_| Err(store_error(Arc::clone(&error)))).collect()
            }
            Err(_) => runs.iter().map(|_| Err(store_error(DEAD))).collect(),
        }
    }
}

impl fmt::Debug for SqliteTaskStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteTaskStore")
            .field("thread", &self.thread.0)
            .field("reader", &self.reader.0)
            .finish_non_exhaustive()
    }
}

/// Joined, so that the file is closed once the store is dropped.
struct JoinedOnDrop(Option<JoinHandle<()>>);

impl Drop for JoinedOnDrop {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // If it panicked, the callers that waited for it have been told.
            drop(thread.join());
        }
    }
}

fn store_error(error: impl Into<Box<dyn Error + Send + Sync>>) -> StoreError {
    StoreError::Store(error.into())
}

const DEAD: &str = "the thread of the store has died";
