//! A verb on its way to the thread that writes, and its result on the way back.

use std::error::Error;
use std::fmt;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};

use mrtr_state::single_use::SingleUseError;
use mrtr_tasks::store::StoreError;
use tokio::sync::oneshot;

use crate::SqliteOpenErrorKind;
use crate::single_use::Tokens;
use crate::tasks::Tables;
use crate::worker::{Job, Worker};

/// The tables that the verbs of one transaction work on.
pub(crate) struct Batch<'a> {
    pub(crate) tasks: Tables<'a>,
    pub(crate) tokens: Tokens<'a>,
}

/// The failure of a verb: by itself, having changed nothing, or with the whole transaction.
pub(crate) enum Failure<E> {
    Verb(E),
    Transaction(rusqlite::Error),
}

impl<E> From<rusqlite::Error> for Failure<E> {
    fn from(error: rusqlite::Error) -> Self {
        Self::Transaction(error)
    }
}

/// The error of a verb, which can say that the store itself failed.
pub(crate) trait VerbError: Error + Send + Sync + 'static {
    fn store(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self;
}

impl VerbError for StoreError {
    fn store(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Store(error.into())
    }
}

impl VerbError for SingleUseError {
    fn store(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Store(error.into())
    }
}

/// A verb that the thread runs in a transaction, with the caller that gets its result after the commit.
pub(crate) trait WriteCommand: Send {
    /// Runs the verb. It fails only if the whole transaction has to; a refusal of the verb alone is a result like any
    /// other.
    fn run(&mut self, batch: &mut Batch<'_>) -> rusqlite::Result<()>;

    /// Sends the caller the result, or `failed`, if the transaction failed.
    fn report(self: Box<Self>, failed: Option<&Arc<rusqlite::Error>>);
}

pub(crate) struct VerbCommand<Verb, T, E> {
    /// The verb, until it has begun.
    verb: Option<Verb>,
    /// Its result, once it is done.
    result: Option<Result<T, E>>,
    caller: oneshot::Sender<Result<T, E>>,
}

impl<Verb, T, E> VerbCommand<Verb, T, E>
where
    Verb: FnOnce(&mut Batch<'_>) -> Result<T, Failure<E>>,
{
    pub(crate) fn new(verb: Verb, caller: oneshot::Sender<Result<T, E>>) -> Self {
        Self { verb: Some(verb), result: None, caller }
    }
}

impl<Verb, T, E> WriteCommand for VerbCommand<Verb, T, E>
where
    Verb: FnOnce(&mut Batch<'_>) -> Result<T, Failure<E>> + Send,
    T: Send,
    E: VerbError,
{
    fn run(&mut self, batch: &mut Batch<'_>) -> rusqlite::Result<()> {
        self.result = match self.verb.take().map(|verb| verb(batch)) {
            Some(Err(Failure::Transaction(error))) => return Err(error),
            Some(Err(Failure::Verb(refusal))) => Some(Err(refusal)),
            Some(Ok(value)) => Some(Ok(value)),
            None => None,
        };
        Ok(())
    }

    fn report(self: Box<Self>, failed: Option<&Arc<rusqlite::Error>>) {
        let result = match (failed, self.result) {
            (Some(error), _) => Err(E::store(Arc::clone(error))),
            (None, Some(result)) => result,
            (None, None) => Err(E::store("the operation was not carried out")),
        };
        // A caller that no longer wants to know has dropped the other end.
        drop(self.caller.send(result));
    }
}

/// The thread that writes to a file. It ends when the last store over it is dropped.
pub(crate) struct Writer {
    // Dropped in this order: the thread ends because no sender is left.
    jobs: Arc<Sender<Job>>,
    thread: JoinedOnDrop,
}

impl Writer {
    pub(crate) fn start(worker: impl FnOnce(mpsc::Receiver<Job>) -> Worker) -> Result<Self, SqliteOpenErrorKind> {
        let (jobs, received) = mpsc::channel();
        let worker = worker(received);
        let thread = JoinedOnDrop::start("mrtr-sqlite", move || worker.run())?;
        Ok(Self { jobs: Arc::new(jobs), thread })
    }

    pub(crate) async fn ask<T: Send + 'static, E: VerbError>(
        &self,
        verb: impl FnOnce(&mut Batch<'_>) -> Result<T, Failure<E>> + Send + 'static,
    ) -> Result<T, E> {
        let (caller, result) = oneshot::channel();
        self.send(Job::Write(Box::new(VerbCommand::new(verb, caller))));
        result.await.map_err(|_| E::store(DEAD))?
    }

    /// Sends a job. A worker that is gone drops it, and with it the other end of the channel on which its caller waits.
    pub(crate) fn send(&self, job: Job) {
        drop(self.jobs.send(job));
    }

    pub(crate) fn keeper(&self) -> SqliteKeeper {
        SqliteKeeper { jobs: Arc::downgrade(&self.jobs) }
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("thread", &self.thread).finish_non_exhaustive()
    }
}

/// Renews leases: asks the thread that writes, which needs no runtime.
pub(crate) struct SqliteKeeper {
    /// The thread ends when the stores are dropped, whether or not there is a keeper.
    jobs: Weak<Sender<Job>>,
}

impl SqliteKeeper {
    /// Blocks until `leases` leases are renewed, and returns a result for each.
    pub(crate) fn renew_all<E: VerbError>(
        &self,
        leases: usize,
        verb: impl FnOnce(&mut Batch<'_>) -> Result<Vec<Result<(), E>>, Failure<E>> + Send + 'static,
    ) -> Vec<Result<(), E>> {
        let (caller, result) = oneshot::channel();
        if let Some(jobs) = self.jobs.upgrade() {
            drop(jobs.send(Job::Write(Box::new(VerbCommand::new(verb, caller)))));
        } else {
            drop(caller);
        }
        match result.blocking_recv() {
            Ok(Ok(renewed)) => renewed,
            Ok(Err(error)) => {
                let error: Arc<dyn Error + Send + Sync> = Arc::new(error);
                (0..leases).map(|_| Err(E::store(Arc::clone(&error)))).collect()
            }
            Err(_) => (0..leases).map(|_| Err(E::store(DEAD))).collect(),
        }
    }
}

/// A thread that is joined, so that the file is closed once the stores are dropped.
pub(crate) struct JoinedOnDrop(Option<JoinHandle<()>>);

impl JoinedOnDrop {
    pub(crate) fn start(name: &str, run: impl FnOnce() + Send + 'static) -> Result<Self, SqliteOpenErrorKind> {
        let thread = thread::Builder::new().name(name.to_owned()).spawn(run).map_err(SqliteOpenErrorKind::Thread)?;
        Ok(Self(Some(thread)))
    }
}

impl Drop for JoinedOnDrop {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // If it panicked, the callers that waited for it have been told.
            drop(thread.join());
        }
    }
}

impl fmt::Debug for JoinedOnDrop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

pub(crate) const DEAD: &str = "the thread of the store has ended";
