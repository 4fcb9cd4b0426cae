//! The thread that writes: it carries out what is queued, many verbs in one transaction.
//!
//! What a verb has done must be on the disk before its caller is told. Waiting for the disk is what takes long, and it
//! takes no longer for sixty verbs than for one. So what arrives while a transaction is written goes into the next one.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use mrtr_server::extend::Clock;
use mrtr_state::database_file::DatabaseFile;
use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::watch;

use super::super::clock_watch::ClockWatch;
use super::readers;
use super::tables::Tables;
use super::write_command::WriteCommand;

pub(super) enum Job {
    Write(Box<dyn WriteCommand>),
    /// A caller has begun to wait for changes.
    Look,
}

pub(super) struct Worker {
    connection: Connection,
    /// What is at its path, if that is still so.
    place: DatabaseFile,
    clock: Arc<dyn Clock>,
    jobs: Receiver<Job>,
    /// The number of the last change that is known of.
    changes: watch::Sender<u64>,
    /// SQLite changes it when another connection changes the file.
    version: Option<i64>,
    /// How many verbs the last transaction carried, and how long it took.
    last_batch: (usize, Duration),
    watch: ClockWatch,
}

impl Worker {
    pub(super) fn new(
        connection: Connection,
        place: DatabaseFile,
        clock: Arc<dyn Clock>,
        jobs: Receiver<Job>,
        changes: watch::Sender<u64>,
    ) -> Self {
        Self {
            connection,
            place,
            clock,
            jobs,
            changes,
            version: None,
            last_batch: (0, Duration::ZERO),
            watch: ClockWatch::default(),
        }
    }

    /// Works until the store is dropped, and with it the last sender.
    pub(super) fn run(mut self) {
        loop {
            match self.next() {
                Ok(first) => self.work(first),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.look_around();
        }
    }

    fn next(&self) -> Result<Job, RecvTimeoutError> {
        if self.is_watched() { self.jobs.recv_timeout(GLANCE) } else { Ok(self.jobs.recv()?) }
    }

    /// Whether a caller waits for changes. The store itself holds one receiver, from which it makes those of callers.
    fn is_watched(&self) -> bool {
        self.changes.receiver_count() > 1
    }

    fn work(&mut self, first: Job) {
        let commands = self.gather(first);
        if commands.is_empty() {
            return;
        }
        let (size, start) = (commands.len(), Instant::now());
        self.carry_out(commands);
        self.last_batch = (size, start.elapsed());
    }

    /// What is queued, as far as one transaction carries it.
    ///
    /// Callers that were told together mostly come back together, one after the other. The first would have a trip to
    /// the disk to itself, and the rest the next: so it waits until as many are there as last time, for no longer than
    /// half of such a trip.
    fn gather(&self, first: Job) -> Vec<Box<dyn WriteCommand>> {
        let (expected, last_trip) = self.last_batch;
        let deadline = Instant::now() + (last_trip / 2).min(LONGEST_GATHERING);
        let mut commands = Vec::new();
        let mut next = Ok(first);
        while let Ok(job) = next {
            match job {
                Job::Write(command) => commands.push(command),
                Job::Look => {}
            }
            next = match commands.len() {
                LARGEST_BATCH.. => break,
                waiting if (1..expected).contains(&waiting) => {
                    self.jobs.recv_timeout(deadline.saturating_duration_since(Instant::now()))
                }
                _ => self.jobs.try_recv().map_err(|_| RecvTimeoutError::Timeout),
            };
        }
        commands
    }

    /// Writes all of them, and tells each caller afterwards: one that was told before the commit might act on what a
    /// crash takes back.
    fn carry_out(&mut self, mut commands: Vec<Box<dyn WriteCommand>>) {
        let failed = match self.write(&mut commands) {
            Ok(change) => {
                self.announce(change);
                None
            }
            Err(error) => {
                self.watch.forget();
                Some(Arc::new(error))
            }
        };
        for command in commands {
            command.report(failed.as_ref());
        }
    }

    /// Gives the number of the last change.
    fn write(&mut self, commands: &mut [Box<dyn WriteCommand>]) -> rusqlite::Result<Option<u64>> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        self.watch.see(self.clock.now());
        let (clock, watch) = (&*self.clock, &mut self.watch);
        let mut tables = Tables { connection: &transaction, clock, watch, last_change: None };
        for command in commands {
            command.run(&mut tables)?;
        }
        let last_change = tables.last_change;
        transaction.commit()?;
        // What was written to a file that is not there any more is not kept, and must not be acknowledged.
        self.place.check().map_err(|lost| rusqlite::Error::ToSqlConversionFailure(lost.into()))?;
        Ok(last_change)
    }

    /// Looks whether another process has changed the file, if a caller waits for that.
    fn look_around(&mut self) {
        if !self.is_watched() {
            return;
        }
        match self.changed_elsewhere() {
            Ok(change) => self.announce(change),
            // The next glance tries again; a file that stays unreadable is told to those who write.
            Err(error) => tracing::warn!(error = %error, "the file of tasks cannot be read"),
        }
    }

    fn changed_elsewhere(&mut self) -> rusqlite::Result<Option<u64>> {
        let version = self.connection.pragma_query_value(None, "data_version", |row| row.get(0))?;
        if self.version == Some(version) {
            return Ok(None);
        }
        let last_change = readers::last_change(&self.connection)?;
        self.version = Some(version);
        Ok(Some(last_change))
    }

    fn announce(&self, change: Option<u64>) {
        let Some(change) = change else { return };
        self.changes.send_if_modified(|last| {
            let is_new = *last < change;
            *last = change.max(*last);
            is_new
        });
    }
}

/// How long another process's work may go unnoticed by the callers that wait for it. SQLite tells no other process of a
/// change, so the file is asked; a glance reads one number, and there is none while no caller waits.
const GLANCE: Duration = Duration::from_millis(4);

/// How many verbs one transaction carries: beyond this, the first ones wait longer than the last ones save.
const LARGEST_BATCH: usize = 64;

/// How long the first verb of a transaction waits for others at most.
const LONGEST_GATHERING: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use mrtr_server::extend::SystemClock;
    use tokio::sync::oneshot;

    use super::super::super::StoreError;
    use super::super::file;
    use super::super::tables::Failure;
    use super::super::write_command::VerbCommand;
    use super::*;

    #[test]
    fn a_transaction_that_fails_is_told_to_all_in_it_and_changes_nothing() {
        let (_folder, mut worker, changes) = worker();
        let (fine, told) = command(|tables| Ok(tables.run("INSERT INTO owner (name, open) VALUES ('ann', 0)", [])?));
        let (broken, also_told) = command(|tables| Ok(tables.run("DELETE FROM nowhere", [])?));
        let (not_run, told_too) = command(|_| Ok(()));
        worker.carry_out(vec![fine, broken, not_run]);
        for answer in [told, also_told, told_too] {
            assert!(matches!(answer.blocking_recv(), Ok(Err(StoreError::Store(_)))));
        }
        assert_eq!(owners(&worker), 0);
        assert!(!changes.has_changed().unwrap(), "nothing has changed");
    }

    #[test]
    fn a_refusal_does_not_spoil_what_is_in_the_same_transaction() {
        let (_folder, mut worker, _changes) = worker();
        let (refused, answer) = command::<()>(|_| Err(StoreError::NotFound.into()));
        let (fine, also) = command(|tables| Ok(tables.run("INSERT INTO owner (name, open) VALUES ('ann', 0)", [])?));
        worker.carry_out(vec![refused, fine]);
        assert!(matches!(answer.blocking_recv(), Ok(Err(StoreError::NotFound))));
        assert!(matches!(also.blocking_recv(), Ok(Ok(()))));
        assert_eq!(owners(&worker), 1);
    }

    #[test]
    fn a_transaction_carries_what_is_queued_up_to_its_size() {
        let (_folder, mut worker, _changes) = worker();
        let (jobs, received) = mpsc::channel();
        worker.jobs = received;
        let job = || Job::Write(command(|_| Ok(())).0);
        let queue = |number| (0..number).for_each(|_| jobs.send(job()).unwrap());
        queue(LARGEST_BATCH);
        jobs.send(Job::Look).unwrap();
        assert_eq!(worker.gather(job()).len(), LARGEST_BATCH);
        assert_eq!(worker.gather(Job::Look).len(), 1, "the one that was left");
        assert_eq!(worker.gather(Job::Look).len(), 0);
        worker.last_batch = (3, Duration::MAX);
        queue(4);
        assert_eq!(worker.gather(job()).len(), 5, "as many as are there, though fewer were expected");
        assert_eq!(worker.gather(job()).len(), 1, "those that do not come back are not waited for long");
    }

    #[test]
    fn the_file_is_watched_while_a_caller_waits_and_no_longer() {
        let (_folder, worker, changes) = worker();
        assert!(!worker.is_watched(), "the store alone does not wait");
        let waiting = changes.clone();
        assert!(worker.is_watched());
        drop(waiting);
        assert!(!worker.is_watched());
    }

    fn worker() -> (tempfile::TempDir, Worker, watch::Receiver<u64>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tasks.sqlite");
        let connection = file::open(&path).unwrap();
        let place = DatabaseFile::at(&path).unwrap();
        let (sender, changes) = watch::channel(0);
        let worker = Worker::new(connection, place, Arc::new(SystemClock::default()), mpsc::channel().1, sender);
        (folder, worker, changes)
    }

    fn command<T: Send + 'static>(
        verb: impl FnOnce(&mut Tables<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> (Box<dyn WriteCommand>, oneshot::Receiver<Result<T, StoreError>>) {
        let (caller, answer) = oneshot::channel();
        (Box::new(VerbCommand::new(verb, caller)), answer)
    }

    fn owners(worker: &Worker) -> i64 {
        worker.connection.query_row("SELECT count(*) FROM owner", [], |row| row.get(0)).unwrap()
    }
}
