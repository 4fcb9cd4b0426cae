//! The thread that writes: it carries out what is queued, many verbs in one transaction.
//!
//! A verb's work must be on the disk before its caller is told. Waiting for the disk takes long, but no longer for
//! sixty verbs than for one. So verbs that arrive while a transaction is written go into the next one.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use mrtr_flow::Clock;
use mrtr_state::single_use::{Reservation, SingleUseError};
use mrtr_tasks::store::ClockWatch;
use rusqlite::TransactionBehavior;
use tokio::sync::{oneshot, watch};

use crate::open::File;
use crate::single_use::{Tokens, Waiting};
use crate::tasks::{Tables, last_change};
use crate::writer::{Batch, WriteCommand};

pub(crate) enum Job {
    Write(Box<dyn WriteCommand>),
    /// A caller has begun to wait for changes of tasks.
    Look,
    /// A caller has begun to wait for the end of a reservation.
    Wait(Reservation, oneshot::Sender<Result<(), SingleUseError>>),
}

pub(crate) struct Worker {
    file: File,
    clock: Arc<dyn Clock>,
    jobs: Receiver<Job>,
    /// The number of the last change of tasks that is known of.
    changes: watch::Sender<u64>,
    /// The callers that wait for reservations to end.
    waiting: Waiting,
    /// SQLite's `data_version`, which differs when another connection has changed the file; `None` before the first
    /// look.
    version: Option<i64>,
    /// The number of verbs that the last transaction carried, and the time it took.
    last_batch: (usize, Duration),
    watch: ClockWatch,
}

impl Worker {
    pub(crate) fn new(file: File, clock: Arc<dyn Clock>, jobs: Receiver<Job>, changes: watch::Sender<u64>) -> Self {
        Self {
            file,
            clock,
            jobs,
            changes,
            waiting: Waiting::default(),
            version: None,
            last_batch: (0, Duration::ZERO),
            watch: ClockWatch::default(),
        }
    }

    /// Works until the last store is dropped, and with it the last sender.
    pub(crate) fn run(mut self) {
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
        let is_awaited = self.is_watched() || !self.waiting.is_empty();
        if is_awaited { self.jobs.recv_timeout(GLANCE) } else { Ok(self.jobs.recv()?) }
    }

    /// Returns true if a caller waits for changes of tasks. The store itself holds one receiver, from which it makes
    /// those of callers.
    fn is_watched(&self) -> bool {
        self.changes.receiver_count() > 1
    }

    fn work(&mut self, first: Job) {
        let Gathered { commands, waits } = self.gather(first);
        if !commands.is_empty() {
            let (size, start) = (commands.len(), Instant::now());
            self.carry_out(commands);
            self.last_batch = (size, start.elapsed());
        }
        // After what came with them, which may have ended what they wait for.
        for (reservation, caller) in waits {
            self.waiting.wait(reservation, caller, &self.file.connection);
        }
    }

    /// Takes what is queued, as far as one transaction carries it.
    ///
    /// Callers that got their results together mostly come back together, one after the other. Without a wait, the
    /// first would have a trip to the disk to itself, and the others the next one. So this waits until as many are
    /// there as last time, but no longer than half of such a trip takes.
    fn gather(&self, first: Job) -> Gathered {
        let (expected, last_trip) = self.last_batch;
        let deadline = Instant::now() + (last_trip / 2).min(LONGEST_GATHERING);
        let mut gathered = Gathered::default();
        let mut next = Ok(first);
        while let Ok(job) = next {
            match job {
                Job::Write(command) => gathered.commands.push(command),
                Job::Wait(reservation, caller) => gathered.waits.push((reservation, caller)),
                Job::Look => {}
            }
            next = match gathered.commands.len() {
                LARGEST_BATCH.. => break,
                waiting if (1..expected).contains(&waiting) => {
                    self.jobs.recv_timeout(deadline.saturating_duration_since(Instant::now()))
                }
                _ => self.jobs.try_recv().map_err(|_| RecvTimeoutError::Timeout),
            };
        }
        gathered
    }

    /// Writes all of them, and answers each caller afterwards: a caller that was answered before the commit might act
    /// on what a crash takes back.
    fn carry_out(&mut self, mut commands: Vec<Box<dyn WriteCommand>>) {
        let failed = match self.write(&mut commands) {
            Ok(Written { last_change, ended }) => {
                self.announce(last_change);
                self.waiting.wake(&ended);
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

    fn write(&mut self, commands: &mut [Box<dyn WriteCommand>]) -> rusqlite::Result<Written> {
        let File { place, connection } = &mut self.file;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        self.watch.see(self.clock.now());
        let (clock, watch) = (&*self.clock, &mut self.watch);
        let mut batch = Batch {
            tasks: Tables { connection: &transaction, clock, watch, last_change: None },
            tokens: Tokens { connection: &transaction, ended: Vec::new() },
        };
        for command in commands {
            command.run(&mut batch)?;
        }
        let written = Written { last_change: batch.tasks.last_change, ended: batch.tokens.ended };
        transaction.commit()?;
        // What was written to a file that is not there any more is not kept, and must not be acknowledged.
        place.check().map_err(|lost| rusqlite::Error::ToSqlConversionFailure(lost.into()))?;
        Ok(written)
    }

    /// Looks whether another process has changed the file, if a caller waits for that.
    fn look_around(&mut self) {
        self.waiting.look_around(&self.file.connection);
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
        let connection = &self.file.connection;
        let version = connection.pragma_query_value(None, "data_version", |row| row.get(0))?;
        if self.version == Some(version) {
            return Ok(None);
        }
        let last_change = last_change(connection)?;
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

/// The commands that one transaction carries, and the callers that wait for the end of a reservation.
#[derive(Default)]
struct Gathered {
    commands: Vec<Box<dyn WriteCommand>>,
    waits: Vec<(Reservation, oneshot::Sender<Result<(), SingleUseError>>)>,
}

/// The effects of a transaction that others wait for.
struct Written {
    /// The number of the last change of tasks, if there is one.
    last_change: Option<u64>,
    /// The reservations that ended, by their fences.
    ended: Vec<u64>,
}

/// The time for which another process's work may go unnoticed by the callers that wait for it. SQLite tells no other
/// process of a change, so the thread asks the file. A glance reads one number, and there is none while no caller
/// waits.
const GLANCE: Duration = Duration::from_millis(4);

/// The most verbs that one transaction carries: beyond this, the first ones wait longer than the last ones save.
const LARGEST_BATCH: usize = 64;

/// The longest time that the first verb of a transaction waits for others.
const LONGEST_GATHERING: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use mrtr_flow::SystemClock;
    use mrtr_state::single_use::ReserveOutcome;
    use mrtr_state::{Timestamp, TokenUse};
    use mrtr_tasks::store::StoreError;

    use super::*;
    use crate::open::open;
    use crate::schema::{Needed, millis};
    use crate::single_use::tests::{NOON, token};
    use crate::writer::{Failure, VerbCommand};

    #[test]
    fn a_transaction_that_fails_is_told_to_all_in_it_and_changes_nothing() {
        let (_folder, mut worker, changes) = worker();
        let (fine, told) = command::<(), StoreError>(|batch| {
            Ok(batch.tasks.run("INSERT INTO owner (name, open) VALUES ('ann', 0)", [])?)
        });
        let (broken, also_told) = command::<(), StoreError>(|batch| Ok(batch.tasks.run("DELETE FROM nowhere", [])?));
        let (not_run, told_too) = command::<_, StoreError>(|_| Ok(()));
        worker.carry_out(vec![fine, broken, not_run]);
        for answer in [told, also_told, told_too] {
            assert!(matches!(answer.blocking_recv(), Ok(Err(StoreError::Store(_)))));
        }
        assert_eq!(rows(&worker, "owner"), 0);
        assert!(!changes.has_changed().unwrap(), "nothing has changed");
    }

    #[test]
    fn a_refusal_does_not_spoil_what_is_in_the_same_transaction() {
        let (_folder, mut worker, _changes) = worker();
        let (refused, answer) = command::<(), _>(|_| Err(StoreError::NotFound.into()));
        let (fine, also) = command::<(), StoreError>(|batch| {
            Ok(batch.tasks.run("INSERT INTO owner (name, open) VALUES ('ann', 0)", [])?)
        });
        worker.carry_out(vec![refused, fine]);
        assert!(matches!(answer.blocking_recv(), Ok(Err(StoreError::NotFound))));
        assert!(matches!(also.blocking_recv(), Ok(Ok(()))));
        assert_eq!(rows(&worker, "owner"), 1);
    }

    #[test]
    fn a_transaction_carries_what_is_queued_up_to_its_size() {
        let (_folder, mut worker, _changes) = worker();
        let (jobs, received) = mpsc::channel();
        worker.jobs = received;
        let job = || Job::Write(command::<_, StoreError>(|_| Ok(())).0);
        let queue = |number| (0..number).for_each(|_| jobs.send(job()).unwrap());
        queue(LARGEST_BATCH);
        jobs.send(Job::Look).unwrap();
        assert_eq!(worker.gather(job()).commands.len(), LARGEST_BATCH);
        assert_eq!(worker.gather(Job::Look).commands.len(), 1, "the one that was left");
        assert_eq!(worker.gather(Job::Look).commands.len(), 0);
        worker.last_batch = (3, Duration::MAX);
        queue(4);
        assert_eq!(worker.gather(job()).commands.len(), 5, "as many as are there, though fewer were expected");
        assert_eq!(worker.gather(job()).commands.len(), 1, "those that do not come back are not waited for long");
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

    #[test]
    fn old_entries_and_their_steps_are_purged_a_few_with_each_reservation() {
        let (_folder, mut worker, _changes) = worker();
        let tokens: Vec<_> = (0..5).map(|_| token(NOON)).collect();
        for token_use in &tokens {
            let reservation = take(&mut worker, token_use, NOON);
            expect(&mut worker, move |batch| batch.tokens.mark_started(&reservation, "charge", NOON));
        }
        let later = tokens[0].keep_until();
        assert_eq!((rows(&worker, "redemption"), rows(&worker, "step")), (5, 5));
        take(&mut worker, &token(later), later);
        assert_eq!((rows(&worker, "redemption"), rows(&worker, "step")), (4, 3));
        take(&mut worker, &token(later), later);
        take(&mut worker, &token(later), later);
        assert_eq!((rows(&worker, "redemption"), rows(&worker, "step")), (3, 0));
    }

    #[test]
    fn what_is_committed_or_forgotten_leaves_no_steps() {
        let (_folder, mut worker, _changes) = worker();
        let committed = take(&mut worker, &token(NOON), NOON);
        let marked = committed.clone();
        expect(&mut worker, move |batch| batch.tokens.mark_started(&marked, "charge", NOON));
        expect(&mut worker, move |batch| batch.tokens.commit(&committed, b"paid", NOON));
        let forgotten = take(&mut worker, &token(NOON), NOON);
        expect(&mut worker, move |batch| batch.tokens.release(&forgotten, NOON));
        assert_eq!((rows(&worker, "redemption"), rows(&worker, "step")), (1, 0));
    }

    #[test]
    fn a_transaction_that_fails_is_told_to_all_verbs_on_tokens_in_it_and_changes_nothing() {
        let (_folder, mut worker, _changes) = worker();
        let reservation = take(&mut worker, &token(NOON), NOON);
        let (fine, told) = command(move |batch| batch.tokens.mark_started(&reservation, "charge", NOON));
        let (broken, also_told) = command::<(), SingleUseError>(|batch| {
            Ok(batch.tokens.connection.execute("DELETE FROM nowhere", []).map(drop)?)
        });
        let (unrun, told_too) = command(|_| Ok(()));
        worker.carry_out(vec![fine, broken, unrun]);
        for answer in [told, also_told, told_too] {
            assert!(matches!(answer.blocking_recv(), Ok(Err(SingleUseError::Store(_)))));
        }
        assert_eq!(rows(&worker, "step"), 0);
        take(&mut worker, &token(NOON), NOON);
    }

    #[test]
    fn a_transaction_that_fails_after_a_purge_takes_back_the_purge_and_its_note() {
        let (_folder, mut worker, _changes) = worker();
        let first = token(NOON);
        take(&mut worker, &first, NOON);
        let (later, second) = (first.keep_until(), token(first.keep_until()));
        let purge = || reserve(&second, later);
        let (purging, _answer) = command(purge());
        let (broken, _told) = command::<(), SingleUseError>(|batch| {
            Ok(batch.tokens.connection.execute("DELETE FROM nowhere", []).map(drop)?)
        });
        worker.carry_out(vec![purging, broken]);
        assert_eq!((rows(&worker, "redemption"), noted(&worker)), (1, (0, 0)));
        expect(&mut worker, purge());
        let expected = (millis(NOON), millis(first.keep_until()));
        assert_eq!((rows(&worker, "redemption"), noted(&worker)), (1, expected));
    }

    #[test]
    fn a_refused_token_does_not_spoil_what_is_in_the_same_transaction() {
        let (_folder, mut worker, _changes) = worker();
        let reservation = take(&mut worker, &token(NOON), NOON);
        let stranger = Reservation::new(reservation.key(), reservation.fence() + 1);
        let (refused, answer) = command(move |batch| batch.tokens.commit(&stranger, b"unpaid", NOON));
        let (fine, also) = command(move |batch| batch.tokens.commit(&reservation, b"paid", NOON));
        worker.carry_out(vec![refused, fine]);
        assert!(matches!(answer.blocking_recv(), Ok(Err(SingleUseError::Lost))));
        assert!(matches!(also.blocking_recv(), Ok(Ok(()))));
    }

    #[test]
    fn verbs_of_both_kinds_go_into_one_transaction_and_fail_together() {
        let (_folder, mut worker, _changes) = worker();
        let add =
            |batch: &mut Batch<'_>| Ok(batch.tasks.run("INSERT INTO owner (name, open) VALUES ('ann', 0)", [])?);
        let first = token(NOON);
        let (task, told) = command::<(), StoreError>(add);
        let (reserved, also_told) = command(reserve(&first, NOON));
        let (broken, _) = command::<(), StoreError>(|batch| Ok(batch.tasks.run("DELETE FROM nowhere", [])?));
        worker.carry_out(vec![task, reserved, broken]);
        assert!(matches!(told.blocking_recv(), Ok(Err(StoreError::Store(_)))));
        assert!(matches!(also_told.blocking_recv(), Ok(Err(SingleUseError::Store(_)))));
        assert_eq!((rows(&worker, "owner"), rows(&worker, "redemption")), (0, 0));
        let (task, told) = command::<(), StoreError>(add);
        let (reserved, also_told) = command(reserve(&first, NOON));
        worker.carry_out(vec![task, reserved]);
        assert!(matches!(told.blocking_recv(), Ok(Ok(()))));
        assert!(matches!(also_told.blocking_recv(), Ok(Ok(ReserveOutcome::Reserved(..)))));
        assert_eq!((rows(&worker, "owner"), rows(&worker, "redemption")), (1, 1));
    }

    fn worker() -> (tempfile::TempDir, Worker, watch::Receiver<u64>) {
        let folder = tempfile::tempdir().unwrap();
        let file = open(&folder.path().join("both.sqlite"), Needed::Both(NOON)).unwrap();
        let (sender, changes) = watch::channel(0);
        (folder, Worker::new(file, Arc::new(SystemClock::default()), mpsc::channel().1, sender), changes)
    }

    fn take(worker: &mut Worker, token_use: &TokenUse, now: Timestamp) -> Reservation {
        match expect(worker, reserve(token_use, now)) {
            ReserveOutcome::Reserved(reservation, _) => reservation,
            other => panic!("{other:?}"),
        }
    }

    fn reserve(
        token_use: &TokenUse,
        now: Timestamp,
    ) -> impl FnOnce(&mut Batch<'_>) -> Result<ReserveOutcome, Failure<SingleUseError>> + Send + 'static {
        let token_use = token_use.clone();
        move |batch| batch.tokens.reserve(&token_use, Duration::from_secs(1), now)
    }

    fn noted(worker: &Worker) -> (i64, i64) {
        let noted = "SELECT purged_issued, purged_end FROM memory";
        worker.file.connection.query_row(noted, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
    }

    fn expect<T: Send + 'static>(
        worker: &mut Worker,
        verb: impl FnOnce(&mut Batch<'_>) -> Result<T, Failure<SingleUseError>> + Send + 'static,
    ) -> T {
        let (command, answer) = command(verb);
        worker.carry_out(vec![command]);
        answer.blocking_recv().unwrap().unwrap()
    }

    fn command<T: Send + 'static, E: crate::writer::VerbError>(
        verb: impl FnOnce(&mut Batch<'_>) -> Result<T, Failure<E>> + Send + 'static,
    ) -> (Box<dyn WriteCommand>, oneshot::Receiver<Result<T, E>>) {
        let (caller, answer) = oneshot::channel();
        (Box::new(VerbCommand::new(verb, caller)), answer)
    }

    fn rows(worker: &Worker, table: &str) -> i64 {
        worker.file.connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    }
}
