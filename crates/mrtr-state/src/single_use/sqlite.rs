//! Single use for the processes of one machine, in an SQLite file that they share.

mod file;
mod table;
mod waiting;
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
use tokio::sync::oneshot;

use table::{Failure, Table};
use worker::{Job, Worker};
use write_command::VerbCommand;

use super::{
    InProgress, LeaseKeeper, Release, Reservation, ReserveOutcome, SingleUse, SingleUseError, SqliteOpenError,
};
use crate::{Timestamp, TokenUse};

/// Single use for all processes of one machine that open the same file.
///
/// What a verb has done is on the disk when it returns. Verbs that arrive together are written together. A thread owns
/// the file and ends when the value is dropped; while a caller waits for [`ended`](SingleUse::ended), it also looks
/// every few milliseconds whether another process ended the reservation.
///
/// A verb whose future is dropped may still be carried out. A reservation made so lapses like that of a
/// round that died.
///
/// The file also keeps how far it was purged, so that a clock set back revives no token, in this process or the next.
/// After a clock that was far ahead for long, tokens may be refused until that time comes. New keys and a new file end
/// this at once. A new file alone is not enough: it does not know what was used by the clock that was ahead, and
/// such tokens open once their time has come.
///
/// The file holds replies and outcomes of steps as they are: guard it as you guard them. It belongs on a local disk:
/// network file systems do not lock well enough.
///
/// ```
/// use std::time::SystemTime;
/// use mrtr_state::{SingleUse, SqliteSingleUse};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("single-use.sqlite");
/// let store: Box<dyn SingleUse> = Box::new(SqliteSingleUse::open(path, SystemTime::now().into())?);
/// # drop(store);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SqliteSingleUse {
    // Dropped in this order: the thread ends because no sender is left.
    jobs: Arc<Sender<Job>>,
    thread: JoinedOnDrop,
}

impl SqliteSingleUse {
    /// Opens a file, or makes one that remembers from now on.
    ///
    /// A new file knows nothing of what was used before, so tokens issued before it was made are refused, here and
    /// in every process that opens it later.
    pub fn open(path: impl AsRef<Path>, now: Timestamp) -> Result<Self, SqliteOpenError> {
        let file = file::open(path.as_ref(), now)?;
        let (jobs, received) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("mrtr-single-use".to_owned())
            .spawn(move || Worker::new(file, received).run())
            .map_err(SqliteOpenError::Thread)?;
        Ok(Self { jobs: Arc::new(jobs), thread: JoinedOnDrop(Some(thread)) })
    }

    async fn ask<T: Send + 'static>(
        &self,
        verb: impl FnOnce(&mut Table<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, SingleUseError> {
        let (caller, result) = oneshot::channel();
        self.send(Job::Write(Box::new(VerbCommand::new(verb, caller))), result).await
    }

    async fn send<T>(
        &self,
        job: Job,
        result: oneshot::Receiver<Result<T, SingleUseError>>,
    ) -> Result<T, SingleUseError> {
        // A worker that is gone has dropped the job and the other end of the result with it.
        drop(self.jobs.send(job));
        result.await.map_err(|_| store_error(DEAD))?
    }
}

#[async_trait]
impl SingleUse for SqliteSingleUse {
    async fn reserve(
        &self,
        token_use: &TokenUse,
        lease: Duration,
        now: Timestamp,
    ) -> Result<ReserveOutcome, SingleUseError> {
        let token_use = token_use.clone();
        self.ask(move |table| table.reserve(&token_use, lease, now)).await
    }

    async fn renew(&self, reservation: &Reservation, lease: Duration, now: Timestamp) -> Result<(), SingleUseError> {
        let reservation = reservation.clone();
        self.ask(move |table| table.renew(&reservation, lease, now)).await
    }

    fn lease_keeper(&self) -> Box<dyn LeaseKeeper> {
        Box::new(SqliteKeeper { jobs: Arc::downgrade(&self.jobs) })
    }

    async fn mark_started(&self, reservation: &Reservation, step: &str, now: Timestamp) -> Result<(), SingleUseError> {
        let (reservation, step) = (reservation.clone(), step.to_owned());
        self.ask(move |table| table.mark_started(&reservation, &step, now)).await
    }

    async fn record(
        &self,
        reservation: &Reservation,
        step: &str,
        outcome: &[u8],
        now: Timestamp,
    ) -> Result<(), SingleUseError> {
        let (reservation, step, outcome) = (reservation.clone(), step.to_owned(), outcome.to_vec());
        self.ask(move |table| table.record(&reservation, &step, &outcome, now)).await
    }

    async fn commit(&self, reservation: &Reservation, reply: &[u8], now: Timestamp) -> Result<(), SingleUseError> {
        let (reservation, reply) = (reservation.clone(), reply.to_vec());
        self.ask(move |table| table.commit(&reservation, &reply, now)).await
    }

    async fn release(&self, reservation: &Reservation, now: Timestamp) -> Result<Release, SingleUseError> {
        let reservation = reservation.clone();
        self.ask(move |table| table.release(&reservation, now)).await
    }

    async fn ended(&self, in_progress: &InProgress) -> Result<(), SingleUseError> {
        let (caller, result) = oneshot::channel();
        self.send(Job::Wait(in_progress.reservation().clone(), caller), result).await
    }
}

/// Asks the thread that owns the file, which needs no runtime.
struct SqliteKeeper {
    /// The thread ends when the store is dropped, whether or not there is a keeper.
    jobs: Weak<Sender<Job>>,
}

impl LeaseKeeper for SqliteKeeper {
    fn renew(
        &mut self,
        reservations: &[Reservation],
        lease: Duration,
        now: Timestamp,
    ) -> Vec<Result<(), SingleUseError>> {
        let (caller, result) = oneshot::channel();
        let wanted = reservations.to_vec();
        let verb = move |table: &mut Table<'_>| table.renew_all(&wanted, lease, now);
        if let Some(jobs) = self.jobs.upgrade() {
            drop(jobs.send(Job::Write(Box::new(VerbCommand::new(verb, caller)))));
        }
        match result.blocking_recv() {
            Ok(Ok(renewed)) => renewed,
            Ok(Err(error)) => {
                let error = Arc::new(error);
                reservations.iter().map(|_| Err(store_error(Arc::clone(&error)))).collect()
            }
            Err(_) => reservations.iter().map(|_| Err(store_error(DEAD))).collect(),
        }
    }
}

impl fmt::Debug for SqliteSingleUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteSingleUse").field("thread", &self.thread.0).finish_non_exhaustive()
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

const DEAD: &str = "the thread of the store has died";

fn store_error(error: impl Into<Box<dyn Error + Send + Sync>>) -> SingleUseError {
    SingleUseError::Store(error.into())
}
