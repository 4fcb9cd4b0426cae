//! Work across tasks: those whose runs are due, whose time is over, and which are not kept any longer.
//!
//! These verbs lock rows, so that an instance leaves out tasks that another one has locked, rather than waiting for
//! them. A transaction takes two trips; if the instance stops between them, the database ends the session, and the
//! locks with it.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::{join, join3, join5};
use mrtr_state::Timestamp;
use mrtr_tasks::record::Event;
use mrtr_tasks::store::{
    ACCOUNTS_AT_ONCE, Acquired, AcquiredTask, Choice, EXPIRED_PASSED_OVER, KeptQuestion, Run, Swept, TASK_BYTES,
    TRIALS_AT_ONCE, Turn, Turns, Wanted,
};
use mrtr_tasks::{TaskId, TaskRecord};
use tokio::time::Instant;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::super::Inner;
use super::head::{COLUMNS, Columns, Head, value};
use super::sort_as_opened;
use super::write::Write;
use crate::database::{Attempts, Connection, Params};
use crate::failure::{Failure, VerbFailure};
use crate::statement::Statement;
use crate::values::{Id, duration, limit, moment};

impl Inner {
    pub(crate) async fn acquire(&self, wanted: &Wanted) -> Result<Acquired, VerbFailure> {
        let mut attempts = Attempts::new();
        loop {
            let mut runs = Vec::new();
            match self.try_to_acquire(wanted, &mut runs).await {
                Ok(acquired) => return Ok(acquired),
                Err(VerbFailure::Statement(failure)) => {
                    if matches!(failure, Failure::Unsure(_)) {
                        self.give_back(&runs).await;
                    }
                    attempts.after(failure).await?;
                }
                Err(refused) => return Err(refused),
            }
        }
    }

    /// Gives tasks back whose commit may have come through though its connection was lost. No run of ours has them, and
    /// without this no instance would find that out before the lease ends. The fence tells whether the commit came
    /// through.
    async fn give_back(&self, runs: &[Run]) {
        for run in runs {
            let handed_over = self.change(run.id, None, |record, now| {
                record.apply(Event::HandOver { fence: run.fence, pause: Duration::ZERO }, now)?;
                Ok((Write::Record, ()))
            });
            match handed_over.await {
                Ok(()) => tracing::info!(id = %run.id, "a task that was acquired on a lost connection was released"),
                Err(VerbFailure::Verb(_)) => {}
                Err(VerbFailure::Statement(_)) => return,
            }
        }
    }

    async fn try_to_acquire(&self, wanted: &Wanted, runs: &mut Vec<Run>) -> Result<Acquired, VerbFailure> {
        let sql = &self.tasks;
        let connection = self.database.connection().await?;
        connection.prepare(&[&sql.due, &sql.trials, &sql.keep_many, &sql.entries, &sql.questions, &sql.next]).await?;
        let mut work = Work { connection: &connection, inner: self, stamp: self.stamp(), has_begun: false };
        let mut claim = Claim::new(wanted);
        let (mut due, trials) = work.lock_due(&claim).await?;
        let Trials { mut settled, mut first, is_reserved, others, now } = trials;
        let freed = settled.iter().filter_map(|head| head.record.attention()).filter(|due| *due <= now).min();
        let waits = others.into_iter().chain(freed).min();
        let choice = wanted.choose(first.as_ref().and_then(|trial| trial.head.record.due), waits, is_reserved, now);
        let mut taken = Taken::default();
        match (choice, &mut first) {
            (Choice::Trial, Some(trial)) => {
                trial.apply(wanted.trial_event(), now)?;
                taken.add(&trial.head, runs);
            }
            (Choice::Reserve, Some(trial)) => trial.apply(wanted.reserve_event(), now)?,
            _ => {}
        }
        settled.extend(first.filter(|trial| trial.is_changed).map(|trial| trial.head));
        let mut set_aside: Vec<_> = settled.iter().filter_map(aside).collect();
        let (mut is_beyond, mut is_behind_expired) = (false, false);
        if choice == Choice::Others {
            if freed.is_some() {
                work.keep(&settled).await?;
                settled.clear();
                due = work.lock_turns(&claim).await?;
            }
            if wanted.most > 0 {
                claim.turn = due.last.or(claim.turn);
            }
            is_beyond = due.owners >= ACCOUNTS_AT_ONCE;
            let behind_expired = std::mem::take(&mut due.behind_expired);
            is_behind_expired = !behind_expired.is_empty();
            // More than once only if some owners have fewer than their part, or lost runs of theirs are counted.
            while !due.tasks.is_empty() {
                // The tasks on trial are still in `settled`, and those set aside among them were reported above.
                let told = settled.len();
                claim.settle_lost(&mut due, now, &mut settled)?;
                claim.take(due, &mut taken, runs, now, &mut settled)?;
                set_aside.extend(settled[told..].iter().filter_map(aside));
                if claim.missing == 0 {
                    break;
                }
                work.keep(&settled).await?;
                settled.clear();
                due = work.lock_turns(&claim).await?;
            }
            settled.append(&mut work.lock_expired_of(&behind_expired, EXPIRED_PASSED_OVER).await?);
        }
        let trial_waits = matches!(choice, Choice::Reserve | Choice::Tell);
        let mut acquired = work.commit(&settled, &taken.places, taken.tasks, &claim).await?;
        if is_behind_expired {
            acquired.next = Some(Duration::ZERO);
        } else if choice == Choice::Others && !is_beyond && acquired.tasks.len() < wanted.most {
            // What is due and was not given is locked by another session, and may be for long.
            acquired.next = acquired.next.map(|next| if next.is_zero() { PAUSE_BEFORE_LOCKED } else { next });
        }
        Ok(Acquired { trial_waits, set_aside, turn: claim.turn.map(turn_of), ..acquired })
    }

    pub(crate) async fn sweep(&self, most: usize) -> Result<Swept, VerbFailure> {
        let (expired, removed) = (self.expire(most).await?, self.remove(most).await?);
        self.forget_changes().await?;
        Ok(Swept { expired, removed })
    }

    async fn expire(&self, most: usize) -> Result<usize, VerbFailure> {
        let connection = self.database.connection().await?;
        connection.prepare(&[&self.tasks.expired]).await?;
        let mut work = Work { connection: &connection, inner: self, stamp: self.stamp(), has_begun: false };
        let mut heads = work.lock(&self.tasks.expired, &[&self.told_now(), &limit(most)]).await?;
        for head in &mut heads {
            head.record.apply(Event::Expire, self.now_or(head.now))?;
        }
        self.end(&work, &heads).await
    }

    /// Ends tasks of these owners whose time is over, at most `most` of each, and returns their number.
    pub(crate) async fn expire_of(&self, owners: &[Id], most: usize) -> Result<usize, VerbFailure> {
        let connection = self.database.connection().await?;
        connection.prepare(&[&self.tasks.expired_of]).await?;
        let mut work = Work { connection: &connection, inner: self, stamp: self.stamp(), has_begun: false };
        let heads = work.lock_expired_of(owners, most.min(EXPIRED_PASSED_OVER)).await?;
        self.end(&work, &heads).await
    }

    /// Writes tasks that have expired, and ends the transaction.
    async fn end(&self, work: &Work<'_>, heads: &[Head]) -> Result<usize, VerbFailure> {
        let connection = work.connection;
        work.keep(heads).await?;
        connection.batch("COMMIT").await?;
        connection.ends();
        if !heads.is_empty() {
            self.signal();
        }
        Ok(heads.len())
    }

    async fn remove(&self, most: usize) -> Result<usize, VerbFailure> {
        let connection = self.database.connection().await?;
        let rows = connection.query(&self.tasks.remove, &[&self.told_now(), &limit(most)]).await?;
        let removed: i64 = rows.first().map(|row| value(row, 0)).transpose()?.unwrap_or(0);
        Ok(usize::try_from(removed).unwrap_or(0))
    }

    /// Forgets changes that every instance has had the time to see.
    async fn forget_changes(&self) -> Result<(), VerbFailure> {
        let rows = self.database.read(&self.tasks.snapshot, &[]).await?;
        let Some(row) = rows.first() else { return Ok(()) };
        let Some(old) = self.tail.seen_by_all(Instant::now(), value(row, 0)?) else { return Ok(()) };
        let connection = self.database.connection().await?;
        for _ in 0..MOST_BATCHES {
            let forgotten = connection.execute(&self.tasks.forget_changes, &[&old, &FORGOTTEN_AT_ONCE]).await?;
            if forgotten < FORGOTTEN_AT_ONCE.cast_unsigned() {
                break;
            }
        }
        Ok(())
    }
}

/// A transaction on rows that it has locked.
struct Work<'a> {
    connection: &'a Connection<'a>,
    inner: &'a Inner,
    stamp: i64,
    has_begun: bool,
}

impl Work<'_> {
    /// Locks rows and reads them: other sessions leave them alone until the transaction ends. The first call begins the
    /// transaction, in the same trip as its statement.
    async fn lock(&mut self, statement: &Statement, params: &Params<'_>) -> Result<Vec<Head>, Failure> {
        let rows = if self.has_begun {
            self.connection.query(statement, params).await?
        } else {
            self.connection.begins();
            self.has_begun = true;
            let (begun, rows) = join(self.connection.batch(BEGIN), self.connection.query(statement, params)).await;
            begun?;
            rows?
        };
        rows.iter().map(Head::read).collect()
    }

    /// Begins, and reads what is due and what is on trial, all in one trip.
    async fn lock_due(&mut self, claim: &Claim<'_>) -> Result<(Due, Trials), Failure> {
        let (connection, sql, now) = (self.connection, &self.inner.tasks, self.inner.told_now());
        connection.begins();
        self.has_begun = true;
        let (most, most_trials, refused) = (limit(claim.missing), limit(TRIALS_AT_ONCE), claim.refused());
        let (after, tools, running) = (claim.after(), &claim.tools, &claim.running);
        let due: [&(dyn ToSql + Sync); 6] = [tools, &now, &most, running, &after, &refused];
        let trials: [&(dyn ToSql + Sync); 4] = [tools, &now, &most_trials, running];
        let (begun, due, trials) =
            join3(connection.batch(BEGIN), connection.query(&sql.due, &due), connection.query(&sql.trials, &trials))
                .await;
        begun?;
        let due = due?;
        let read = due.first().map(|row| value(row, COLUMNS - 1)).transpose()?.map_or(0, |now: i64| now);
        let trials = Trials::read(&trials?, self.inner.now_or(moment(read)))?;
        Ok((Due::read(&due)?, trials))
    }

    /// Reads what is due, in the transaction that has begun.
    async fn lock_turns(&self, claim: &Claim<'_>) -> Result<Due, Failure> {
        let (most, refused, now) = (limit(claim.missing), claim.refused(), self.inner.told_now());
        let params: [&(dyn ToSql + Sync); 6] = [&claim.tools, &now, &most, &claim.running, &claim.after(), &refused];
        Due::read(&self.connection.query(&self.inner.tasks.due, &params).await?)
    }

    /// Reads tasks of these owners whose time is over, and ends them. The caller has yet to write them.
    async fn lock_expired_of(&mut self, owners: &[Id], most: usize) -> Result<Vec<Head>, VerbFailure> {
        if owners.is_empty() {
            return Ok(Vec::new());
        }
        let now = self.inner.told_now();
        let mut heads = self.lock(&self.inner.tasks.expired_of, &[&owners, &now, &limit(most)]).await?;
        for head in &mut heads {
            head.record.apply(Event::Expire, self.inner.now_or(head.now))?;
        }
        Ok(heads)
    }

    /// Writes records of rows that it has locked. If a task has ended, this erases what it holds.
    async fn keep(&self, heads: &[Head]) -> Result<(), Failure> {
        if heads.is_empty() {
            return Ok(());
        }
        self.keep_many(heads).await?;
        self.erase(heads).await
    }

    async fn keep_many(&self, heads: &[Head]) -> Result<(), Failure> {
        let columns: Vec<_> = heads.iter().map(|head| Columns::of(&head.record)).collect();
        let places: Vec<_> = heads.iter().map(|head| head.place).collect();
        let ids: Vec<_> = heads.iter().map(|head| Id(*head.record.id.as_bytes())).collect();
        let params: [&(dyn ToSql + Sync); 20] = [
            &places,
            &each(&columns, |row| row.updated),
            &each(&columns, |row| row.fence),
            &each(&columns, |row| row.leased_until),
            &each(&columns, |row| row.due),
            &each(&columns, |row| row.run_again),
            &each(&columns, |row| row.progressed),
            &each(&columns, |row| row.lost_runs),
            &each(&columns, |row| row.ended_as),
            &each(&columns, |row| row.ended),
            &each(&columns, |row| row.attention),
            &each(&columns, |row| row.expires),
            &each(&columns, |row| row.removable),
            &self.stamp,
            &ids,
            &each(&columns, |row| row.counted_losses),
            &each(&columns, |row| row.alone_fence),
            &each(&columns, |row| row.reserved_until),
            &each(&columns, |row| row.set_aside),
            &each(&columns, |row| row.trial),
        ];
        self.connection.execute(&self.inner.tasks.keep_many, &params).await?;
        Ok(())
    }

    async fn erase(&self, heads: &[Head]) -> Result<(), Failure> {
        let ended: Vec<_> = heads.iter().filter(|head| head.record.ended.is_some()).collect();
        if ended.is_empty() {
            return Ok(());
        }
        let places: Vec<_> = ended.iter().map(|head| head.place).collect();
        let accounts: Vec<_> = ended.iter().map(|head| Id::of_account(&head.record.account)).collect();
        let shards: Vec<_> = ended.iter().map(|head| head.shard).collect();
        let bytes: Vec<_> = ended.iter().map(|head| TASK_BYTES.cast_signed() - head.counted).collect();
        self.connection.execute(&self.inner.tasks.erase_many, &[&places, &accounts, &shards, &bytes]).await?;
        Ok(())
    }

    /// Makes the last trip: what is left to write, what runners need, and the end of the transaction, one behind the
    /// other.
    ///
    /// Entries and questions are read by statements of their own, after the lock: a statement that locks may lock a row
    /// that is newer than what it sees of other tables.
    async fn commit(
        &self,
        heads: &[Head],
        places: &[i64],
        mut tasks: Vec<AcquiredTask>,
        claim: &Claim<'_>,
    ) -> Result<Acquired, Failure> {
        let (connection, sql, now) = (self.connection, &self.inner.tasks, self.inner.told_now());
        self.erase(heads).await?;
        let keep = async { if heads.is_empty() { Ok(()) } else { self.keep_many(heads).await } };
        let of_taken = async |statement: &Statement| {
            if places.is_empty() { Ok(Vec::new()) } else { connection.query(statement, &[&places]).await }
        };
        let (tools, running, refused, after) = (&claim.tools, &claim.running, claim.refused(), claim.began());
        let next = async {
            if refused.is_empty() {
                return connection.query(&sql.next, &[tools, &now, running]).await;
            }
            let looked_at = limit(EXPIRED_PASSED_OVER / 2);
            connection.query(&sql.next_of_owners, &[tools, &now, &looked_at, running, &after, &refused]).await
        };
        let (kept, entries, questions, next, committed) =
            join5(keep, of_taken(&sql.entries), of_taken(&sql.questions), next, connection.batch("COMMIT")).await;
        kept?;
        let (entries, questions, next) = (entries?, questions?, next?);
        committed?;
        connection.ends();
        if !heads.is_empty() || !tasks.is_empty() {
            self.inner.signal();
        }
        let mut entries = by_task(&entries, |row| value::<Vec<u8>>(row, 1))?;
        let mut questions = by_task(&questions, |row| Ok((value(row, 1)?, value(row, 2)?)))?;
        for (task, place) in tasks.iter_mut().zip(places) {
            let mut entries = entries.remove(place).unwrap_or_default().into_iter();
            task.call = entries.next().unwrap_or_default();
            task.entries = entries.collect();
            fill(task, questions.remove(place).unwrap_or_default());
        }
        let next: Option<i64> = next.first().map(|row| value(row, 0)).transpose()?.flatten();
        Ok(Acquired { tasks, next: next.map(duration), ..Acquired::default() })
    }
}

/// The search for tasks that are not on trial and that a runner may acquire.
struct Claim<'a> {
    wanted: &'a Wanted,
    tools: Vec<&'a str>,
    running: Vec<Id>,
    /// The turns, which count what the runner has got so far.
    turns: Turns,
    /// The number of tasks that the runner still wants.
    missing: usize,
    /// The owner of the task that the runner got last.
    last: Option<Id>,
    /// The owner after whom the runner's next search begins.
    turn: Option<Id>,
}

impl<'a> Claim<'a> {
    fn new(wanted: &'a Wanted) -> Self {
        let mut tools: Vec<&str> = wanted.tools.iter().map(String::as_str).collect();
        tools.sort_unstable();
        tools.dedup();
        let running = wanted.running.iter().map(|id| Id(*id.as_bytes())).collect();
        let turn = wanted.turns.after().map(|Turn(turn)| Id(turn.to_be_bytes()));
        Self { wanted, tools, running, turns: wanted.turns.clone(), missing: wanted.most, last: None, turn }
    }

    /// The owner after whom this search began.
    fn began(&self) -> Id {
        self.wanted.turns.after().map_or(Id::ZEROS, |Turn(turn)| Id(turn.to_be_bytes()))
    }

    /// The owner after whom this search continues.
    fn after(&self) -> Id {
        self.last.unwrap_or_else(|| self.began())
    }

    fn refused(&self) -> Vec<Id> {
        self.turns.refused().map(Id::of_account).collect()
    }

    /// Counts runs that were lost: their tasks are put off, put on trial or set aside, and other tasks of their owners
    /// come in their place. If there are any, this empties `due`, and the caller reads it again.
    fn settle_lost(&self, due: &mut Due, now: Timestamp, settled: &mut Vec<Head>) -> Result<(), VerbFailure> {
        let mut turns = self.turns.clone();
        let mut lost = Vec::new();
        for (at, task) in due.tasks.iter_mut().enumerate() {
            if !turns.admits(&task.head.record.account) {
                continue;
            }
            let mut record = task.head.record.clone();
            record.apply(self.wanted.event(), now)?;
            if record.leased_until.is_some() {
                turns.take(&record.account);
            } else {
                task.head.record = record;
                lost.push(at);
            }
        }
        if !lost.is_empty() {
            let tasks = std::mem::take(&mut due.tasks).into_iter().enumerate();
            settled.extend(tasks.filter(|(at, _)| lost.contains(at)).map(|(_, task)| task.head));
        }
        Ok(())
    }

    /// Takes what its owners may have, in their turns.
    fn take(
        &mut self,
        due: Due,
        taken: &mut Taken,
        runs: &mut Vec<Run>,
        now: Timestamp,
        settled: &mut Vec<Head>,
    ) -> Result<(), VerbFailure> {
        for DueTask { mut head, key } in due.tasks {
            if self.turns.admits(&head.record.account) {
                head.record.apply(self.wanted.event(), now)?;
                taken.add(&head, runs);
                self.turns.take(&head.record.account);
                (self.missing, self.last) = (self.missing - 1, Some(key));
                if self.missing == 0 {
                    self.turn = Some(key);
                }
            } else if key != Id::ZEROS {
                continue;
            }
            // What an earlier version has written gets its owner's key, by which it is left out from then on.
            settled.push(head);
        }
        Ok(())
    }
}

/// Tasks that are due and locked, in the order in which they are given.
struct Due {
    tasks: Vec<DueTask>,
    /// The last owner that was looked at.
    last: Option<Id>,
    /// The number of owners that were looked at.
    owners: usize,
    /// The owners whose live tasks are behind too many that have expired.
    behind_expired: Vec<Id>,
}

struct DueTask {
    head: Head,
    /// The id by which the index knows its owner.
    key: Id,
}

impl Due {
    fn read(rows: &[Row]) -> Result<Self, Failure> {
        let mut tasks = Vec::new();
        let (mut last_turn, mut rank) = (0, 0);
        for row in rows {
            let Some(turn) = value::<Option<i64>>(row, COLUMNS)? else { continue };
            rank = if turn == last_turn { rank + 1 } else { 0 };
            last_turn = turn;
            tasks.push((rank, turn, DueTask { head: Head::read(row)?, key: value(row, COLUMNS + 1)? }));
        }
        tasks.sort_by_key(|(rank, turn, _)| (*rank, *turn));
        let tasks = tasks.into_iter().map(|(_, _, task)| task).collect();
        let Some(row) = rows.first() else { return Err(Failure::Unreadable("no owners".into())) };
        let owners = usize::try_from(value::<i64>(row, COLUMNS + 4)?).unwrap_or(0);
        Ok(Self { tasks, last: value(row, COLUMNS + 2)?, owners, behind_expired: value(row, COLUMNS + 3)? })
    }
}

fn aside(head: &Head) -> Option<TaskId> {
    head.record.set_aside.map(|_| head.record.id)
}

fn turn_of(Id(key): Id) -> Turn {
    Turn(u128::from_be_bytes(key))
}

/// Tasks on trial that are locked.
struct Trials {
    /// The tasks whose runs were lost, and those that are no longer on trial.
    settled: Vec<Head>,
    /// The task that has waited longest.
    first: Option<Trial>,
    /// True if an instance is making room for a task on trial.
    is_reserved: bool,
    /// The time since which the first task that is not on trial is due, if any is.
    others: Option<Timestamp>,
    now: Timestamp,
}

struct Trial {
    head: Head,
    /// True if the record has changed and has to be written.
    is_changed: bool,
}

impl Trials {
    /// Reads the locked tasks, and counts runs that were lost: their tasks are put off or set aside whether or not a
    /// runner can have them.
    fn read(rows: &[Row], now: Timestamp) -> Result<Self, Failure> {
        let heads: Vec<_> = rows.iter().map(Head::read).collect::<Result<_, _>>()?;
        let is_reserved = rows.first().map(|row| value(row, COLUMNS)).transpose()?.unwrap_or(false);
        let others: Option<i64> = rows.first().map(|row| value(row, COLUMNS + 1)).transpose()?.flatten();
        let mut all: Vec<_> = heads.into_iter().map(|head| Trial::settled(head, now)).collect();
        let waits = |trial: &Trial| trial.head.record.trial().is_some_and(|due| due <= now);
        let by_due = |&at: &usize| (all[at].head.record.due, all[at].head.place);
        let first = (0..all.len()).filter(|&at| waits(&all[at])).min_by_key(by_due);
        let first = first.map(|at| all.remove(at));
        let settled = all.into_iter().filter(|trial| trial.is_changed).map(|trial| trial.head).collect();
        Ok(Self { settled, first, is_reserved, others: others.map(moment), now })
    }
}

impl Trial {
    fn settled(mut head: Head, now: Timestamp) -> Self {
        let is_lapsed = head.record.apply(Event::Lapse, now).is_ok();
        // A task that is not on trial was parked by an instance of the previous version, which left it among these.
        let is_changed = is_lapsed || !head.record.is_on_trial();
        Self { head, is_changed }
    }

    fn apply(&mut self, event: Event<'_>, now: Timestamp) -> Result<(), VerbFailure> {
        self.head.record.apply(event, now)?;
        self.is_changed = true;
        Ok(())
    }
}

/// Tasks that were taken.
#[derive(Default)]
struct Taken {
    places: Vec<i64>,
    tasks: Vec<AcquiredTask>,
}

impl Taken {
    fn add(&mut self, head: &Head, runs: &mut Vec<Run>) {
        runs.push(Run { id: head.record.id, fence: head.record.fence });
        self.places.push(head.place);
        self.tasks.push(bare(head.record.clone()));
    }
}

/// A task of which only the record is known yet.
fn bare(record: TaskRecord) -> AcquiredTask {
    AcquiredTask { record, call: Vec::new(), entries: Vec::new(), open: Vec::new(), used: Vec::new() }
}

fn fill(task: &mut AcquiredTask, questions: Vec<(String, Option<Vec<u8>>)>) {
    for (key, body) in questions {
        match body {
            Some(body) => task.open.push(KeptQuestion { key, body }),
            None => task.used.push(key),
        }
    }
    sort_as_opened(&mut task.open, &task.record.open);
}

/// Groups rows by the place of their task, which is their first column.
fn by_task<T>(rows: &[Row], read: impl Fn(&Row) -> Result<T, Failure>) -> Result<HashMap<i64, Vec<T>>, Failure> {
    let mut by_task: HashMap<i64, Vec<T>> = HashMap::new();
    for row in rows {
        by_task.entry(value(row, 0)?).or_default().push(read(row)?);
    }
    Ok(by_task)
}

fn each<T>(columns: &[Columns<'_>], column: impl Fn(&Columns<'_>) -> T) -> Vec<T> {
    columns.iter().map(column).collect()
}

/// Begins a transaction. If the instance stops halfway, the database ends it after five seconds, so that others do not
/// wait for its locks.
const BEGIN: &str = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '5s'";
/// The pause before a runner looks again for a row that another session has locked. If that session changes it, it says
/// so.
const PAUSE_BEFORE_LOCKED: Duration = Duration::from_millis(500);
const FORGOTTEN_AT_ONCE: i64 = 10_000;
const MOST_BATCHES: usize = 50;
