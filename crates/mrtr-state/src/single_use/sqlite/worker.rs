//! The thread that owns the file: it carries out what is queued, many verbs in one transaction.
//!
//! What a verb has done must be on the disk before its caller is told. Waiting for the disk is what takes long, and it
//! takes no longer for sixty verbs than for one. So what arrives while a transaction is written goes into the next one.

use std::iter;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rusqlite::TransactionBehavior;
use tokio::sync::oneshot;

use super::super::{Reservation, SingleUseError};
use super::file::File;
use super::table::Table;
use super::waiting::Waiting;
use super::write_command::WriteCommand;

pub(super) enum Job {
    Write(Box<dyn WriteCommand>),
    Wait(Reservation, oneshot::Sender<Result<(), SingleUseError>>),
}

pub(super) struct Worker {
    file: File,
    jobs: Receiver<Job>,
    waiting: Waiting,
}

impl Worker {
    pub(super) fn new(file: File, jobs: Receiver<Job>) -> Self {
        Self { file, jobs, waiting: Waiting::default() }
    }

    /// Works until the store is dropped, and with it the last sender.
    pub(super) fn run(mut self) {
        loop {
            match self.next() {
                Ok(first) => self.work(first),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.waiting.look_around(&self.file.connection);
        }
    }

    fn next(&self) -> Result<Job, RecvTimeoutError> {
        if self.waiting.is_empty() { Ok(self.jobs.recv()?) } else { self.jobs.recv_timeout(GLANCE) }
    }

    fn work(&mut self, first: Job) {
        let mut verbs = Vec::new();
        let mut waits = Vec::new();
        for job in iter::once(first).chain(self.jobs.try_iter()).take(LARGEST_BATCH) {
            match job {
                Job::Write(command) => verbs.push(command),
                Job::Wait(reservation, caller) => waits.push((reservation, caller)),
            }
        }
        if !verbs.is_empty() {
            self.carry_out(verbs);
        }
        for (reservation, caller) in waits {
            self.waiting.wait(reservation, caller, &self.file.connection);
        }
    }

    /// Writes all of them, and tells each caller afterwards: one that was told before the commit might act on what a
    /// crash takes back.
    fn carry_out(&mut self, mut commands: Vec<Box<dyn WriteCommand>>) {
        let failed = match self.write(&mut commands) {
            Ok(ended) => {
                self.waiting.wake(&ended);
                None
            }
            Err(error) => Some(Arc::new(error)),
        };
        for command in commands {
            command.report(failed.as_ref());
        }
    }

    /// Gives the reservations that ended, by their fences.
    fn write(&mut self, commands: &mut [Box<dyn WriteCommand>]) -> rusqlite::Result<Vec<u64>> {
        let transaction = self.file.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut table = Table { connection: &transaction, since: self.file.since, ended: Vec::new() };
        for command in commands {
            command.run(&mut table)?;
        }
        let ended = table.ended;
        transaction.commit()?;
        // What was written to a file that is not there any more is not kept, and must not be acknowledged.
        self.file.place.check().map_err(|lost| rusqlite::Error::ToSqlConversionFailure(lost.into()))?;
        Ok(ended)
    }
}

/// How long another process's work may go unnoticed by the callers that wait for it. SQLite tells no other process of a
/// change, so the file is asked; a glance reads one number, and there is none while no caller waits.
const GLANCE: Duration = Duration::from_millis(4);

/// How many verbs one transaction carries: beyond this, the first ones wait longer than the last ones save.
const LARGEST_BATCH: usize = 64;

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::super::super::ReserveOutcome;
    use super::super::file;
    use super::super::table::Failure;
    use super::super::write_command::VerbCommand;
    use super::*;
    use crate::{AnswersDigest, Timestamp, TokenUse, UseKey};

    #[test]
    fn old_entries_and_their_steps_are_purged_a_few_with_each_reservation() {
        let (_folder, mut worker) = worker();
        for number in 0..5 {
            let reservation = take(&mut worker, number, NOON);
            expect(&mut worker, move |table| table.mark_started(&reservation, "charge", NOON));
        }
        let later = NOON + LIFE;
        assert_eq!((rows(&worker, "redemption"), rows(&worker, "step")), (5, 5));
        take(&mut worker, 5, later);
        assert_eq!((rows(&worker, "redemption"), rows(&worker, "step")), (4, 3));
        take(&mut worker, 6, later);
        take(&mut worker, 7, later);
        assert_eq!((rows(&worker, "redemption"), rows(&worker, "step")), (3, 0));
    }

    #[test]
    fn what_is_committed_or_forgotten_leaves_no_steps() {
        let (_folder, mut worker) = worker();
        let committed = take(&mut worker, 0, NOON);
        let marked = committed.clone();
        expect(&mut worker, move |table| table.mark_started(&marked, "charge", NOON));
        expect(&mut worker, move |table| table.commit(&committed, b"paid", NOON));
        let forgotten = take(&mut worker, 1, NOON);
        expect(&mut worker, move |table| table.release(&forgotten, NOON));
        assert_eq!((rows(&worker, "redemption"), rows(&worker, "step")), (1, 0));
    }

    #[test]
    fn a_transaction_that_fails_is_told_to_all_in_it_and_changes_nothing() {
        let (_folder, mut worker) = worker();
        let reservation = take(&mut worker, 0, NOON);
        let (fine, told) = command(move |table| table.mark_started(&reservation, "charge", NOON));
        let (broken, also_told) = command(|table| Ok(table.connection.execute("DELETE FROM nowhere", []).map(drop)?));
        let (unrun, told_too) = command(|_| Ok(()));
        worker.carry_out(vec![fine, broken, unrun]);
        for answer in [told, also_told, told_too] {
            assert!(matches!(answer.blocking_recv(), Ok(Err(SingleUseError::Store(_)))));
        }
        assert_eq!(rows(&worker, "step"), 0);
        take(&mut worker, 1, NOON);
    }

    #[test]
    fn a_transaction_that_fails_after_a_purge_takes_back_the_purge_and_its_note() {
        let (_folder, mut worker) = worker();
        take(&mut worker, 0, NOON);
        let purge = || reserve(1, NOON + LIFE);
        let (purging, _answer) = command(purge());
        let (broken, _told) = command(|table| Ok(table.connection.execute("DELETE FROM nowhere", []).map(drop)?));
        worker.carry_out(vec![purging, broken]);
        assert_eq!((rows(&worker, "redemption"), noted(&worker)), (1, (0, 0)));
        expect(&mut worker, purge());
        let expected = (NOON.as_millis().cast_signed(), (NOON + LIFE).as_millis().cast_signed());
        assert_eq!((rows(&worker, "redemption"), noted(&worker)), (1, expected));
    }

    #[test]
    fn a_refusal_does_not_spoil_what_is_in_the_same_transaction() {
        let (_folder, mut worker) = worker();
        let reservation = take(&mut worker, 0, NOON);
        let stranger = Reservation::new(reservation.key(), reservation.fence() + 1);
        let (refused, answer) = command(move |table| table.commit(&stranger, b"unpaid", NOON));
        let (fine, also) = command(move |table| table.commit(&reservation, b"paid", NOON));
        worker.carry_out(vec![refused, fine]);
        assert!(matches!(answer.blocking_recv(), Ok(Err(SingleUseError::Lost))));
        assert!(matches!(also.blocking_recv(), Ok(Ok(()))));
    }

    fn worker() -> (tempfile::TempDir, Worker) {
        let folder = tempfile::tempdir().unwrap();
        let file = file::open(&folder.path().join("single-use.sqlite"), NOON).unwrap();
        (folder, Worker::new(file, mpsc::channel().1))
    }

    fn take(worker: &mut Worker, number: u8, now: Timestamp) -> Reservation {
        match expect(worker, reserve(number, now)) {
            ReserveOutcome::Reserved(reservation, _) => reservation,
            other => panic!("{other:?}"),
        }
    }

    fn reserve(
        number: u8,
        now: Timestamp,
    ) -> impl FnOnce(&mut Table<'_>) -> Result<ReserveOutcome, Failure> + Send + 'static {
        let token_use = TokenUse {
            key: UseKey([number; 32]),
            answers: AnswersDigest::from_bytes([0; 32]),
            issued: now,
            keep_until: now + LIFE,
        };
        move |table| table.reserve(&token_use, Duration::from_secs(1), now)
    }

    fn noted(worker: &Worker) -> (i64, i64) {
        let noted = "SELECT purged_issued, purged_end FROM memory";
        worker.file.connection.query_row(noted, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
    }

    fn expect<T: Send + 'static>(
        worker: &mut Worker,
        verb: impl FnOnce(&mut Table<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> T {
        let (command, answer) = command(verb);
        worker.carry_out(vec![command]);
        answer.blocking_recv().unwrap().unwrap()
    }

    fn command<T: Send + 'static>(
        verb: impl FnOnce(&mut Table<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> (Box<dyn WriteCommand>, oneshot::Receiver<Result<T, SingleUseError>>) {
        let (reply, answer) = oneshot::channel();
        (Box::new(VerbCommand::new(verb, reply)), answer)
    }

    fn rows(worker: &Worker, table: &str) -> i64 {
        worker.file.connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    }

    const NOON: Timestamp = Timestamp::from_millis(1_785_240_000_000);
    const LIFE: Duration = Duration::from_hours(1);
}
