//! The verbs of one task as SQL, inside a transaction that the worker begins and commits.
//!
//! A verb that is refused has written nothing: it is applied to the record and checked first.

use std::time::Duration;

use mrtr_flow::Clock;
use mrtr_tasks::record::{Change, Event, TransitionError};
use mrtr_tasks::store::{
    Answer, ClockWatch, Created, KeptQuestion, Limits, NewTask, Recorded, Run, StoreError, TASK_BYTES,
};
use mrtr_tasks::{End, Owner, TaskId};
use rusqlite::{Connection, ErrorCode, OptionalExtension, Params};

use super::head::Head;
use super::statements as sql;
use crate::schema::millis;
use crate::writer::{self, VerbError};

pub(super) type Failure = writer::Failure<StoreError>;

pub(crate) struct Tables<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) watch: &'a mut ClockWatch,
    /// The number of the last change in this transaction, if there is one.
    pub(crate) last_change: Option<u64>,
}

/// An owner or an account that has tasks.
struct KnownOwner {
    number: i64,
    /// The number of its tasks that have not ended.
    open: usize,
    /// The bytes that its tasks keep.
    bytes: u64,
}

impl Tables<'_> {
    pub(super) fn create(&mut self, task: NewTask, limits: Limits) -> Result<Created, Failure> {
        let NewTask { mut record, call, entries } = task;
        let known = self.owner(record.owner.as_str())?;
        if let Some(owner) = &known {
            let flow = (owner.number, record.flow.as_bytes());
            let same_flow =
                self.connection.prepare_cached(sql::HEAD_OF_FLOW)?.query_row(flow, Head::read).optional()?;
            if let Some(Head { record, .. }) = same_flow {
                return Ok(Created { record, is_new: false });
            }
        }
        let is_owners = record.account.as_str() == record.owner.as_str();
        let account = if is_owners { None } else { self.owner(record.account.as_str())? };
        let counted = if is_owners { known.as_ref() } else { account.as_ref() };
        let open = counted.map_or(Ok(0), |account| self.open_below(account, limits.open))?;
        if open >= limits.open {
            return Err(StoreError::Full.into());
        }
        let bytes = TASK_BYTES + length(&call) + entries.as_deref().map_or(0, length);
        let total: i64 = self.connection.prepare_cached(sql::TOTAL)?.query_row([], |row| row.get(0))?;
        let of_account = counted.map_or(0, |account| account.bytes);
        limits.check_bytes(bytes, (of_account, u64::try_from(total).unwrap_or(0)))?;
        let now = self.clock.now();
        (record.created, record.updated, record.due) = (now, now, Some(now));
        let owner = self.number_of(known, record.owner.as_str())?;
        let account = if is_owners { owner } else { self.number_of(account, record.account.as_str())? };
        let place = self.note(record.id)?;
        match Head::add(place, (owner, account), &record, self.connection) {
            // The statement has taken itself back, and an owner without tasks harms nothing.
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
                return Err(StoreError::store("another task has this id").into());
            }
            added => added?,
        }
        self.run(sql::COUNT_OPEN, (owner, 1))?;
        self.add_bytes(place, signed(bytes))?;
        self.run(sql::ADD_CALL, (place, call))?;
        self.add_entry(place, entries)?;
        Ok(Created { record, is_new: true })
    }

    fn number_of(&self, known: Option<KnownOwner>, name: &str) -> rusqlite::Result<i64> {
        known.map_or_else(|| self.insert(sql::ADD_OWNER, [name]), |owner| Ok(owner.number))
    }

    fn owner(&self, name: &str) -> rusqlite::Result<Option<KnownOwner>> {
        let known = |row: &rusqlite::Row<'_>| {
            let (open, bytes): (i64, i64) = (row.get(1)?, row.get(2)?);
            let (open, bytes) = (usize::try_from(open).unwrap_or(0), u64::try_from(bytes).unwrap_or(0));
            Ok(KnownOwner { number: row.get(0)?, open, bytes })
        };
        self.connection.prepare_cached(sql::OWNER)?.query_row([name], known).optional()
    }

    /// Returns how many tasks of an account are open. Tasks whose time is over are ended if they are in the way of
    /// another.
    fn open_below(&mut self, account: &KnownOwner, most: usize) -> Result<usize, Failure> {
        let too_many = (account.open + 1).saturating_sub(most);
        if most == 0 || too_many == 0 {
            return Ok(account.open);
        }
        let left = account.open.saturating_sub(self.expire_of_account(account.number, too_many)?);
        if left < most {
            return Ok(left);
        }
        let over = (account.number, millis(self.clock.now()));
        let over: i64 = self.connection.prepare_cached(sql::COUNT_EXPIRED)?.query_row(over, |row| row.get(0))?;
        Ok(left.saturating_sub(usize::try_from(over).unwrap_or(0)))
    }

    pub(super) fn renew(&mut self, run: Run, event: Event<'_>, message: Option<Vec<u8>>) -> Result<(), Failure> {
        let mut head = self.head(run.id)?;
        let now = self.clock.now();
        head.record.apply(event, now)?;
        // A heartbeat is no change that any caller waits for; what the flow says of its progress is one.
        if message.is_some() {
            head.record.apply(Event::Record { fence: run.fence, change: Change::default() }, now)?;
            self.note(run.id)?;
        }
        head.keep(self.connection)?;
        Ok(self.add_message(head.place, message)?)
    }

    /// Renews the leases of these runs, and returns a result for each. If one is refused, the others are renewed all
    /// the same.
    pub(super) fn renew_all(&mut self, runs: &[Run], lease: Duration) -> Result<Vec<Result<(), StoreError>>, Failure> {
        let mut renewed = Vec::new();
        for &run in runs {
            match self.renew(run, Event::Renew { fence: run.fence, lease }, None) {
                Ok(()) => renewed.push(Ok(())),
                Err(Failure::Verb(refused)) => renewed.push(Err(refused)),
                Err(failed @ Failure::Transaction(_)) => return Err(failed),
            }
        }
        Ok(renewed)
    }

    /// Notes that a run is accompanied, which no caller waits for.
    pub(super) fn accompany(&mut self, run: Run) -> Result<(), Failure> {
        let mut head = self.head(run.id)?;
        head.record.apply(Event::Accompany { fence: run.fence }, self.clock.now())?;
        Ok(head.keep(self.connection)?)
    }

    pub(super) fn record(
        &mut self,
        run: Run,
        recorded: Recorded,
        event: impl FnOnce(Change<'_>) -> Event<'_>,
    ) -> Result<(), Failure> {
        let Recorded { entries, opened, retired, progressed, lasts, message } = recorded;
        let mut head = self.head(run.id)?;
        let keys: Vec<_> = opened.iter().map(|question| question.key.clone()).collect();
        let change = Change { opened: &keys, retired: &retired, progressed, lasts };
        head.record.apply(event(change), self.clock.now())?;
        self.refuse_used_keys(head.place, &keys)?;
        let opened_bytes: u64 = opened.iter().map(|question| length(&question.body)).sum();
        self.add_bytes(head.place, signed(opened_bytes + entries.as_deref().map_or(0, length)))?;
        self.close(head.place, &retired)?;
        for question in opened {
            self.run(sql::ADD_QUESTION, (head.place, question.key, question.body))?;
        }
        self.add_entry(head.place, entries)?;
        self.add_message(head.place, message)?;
        Ok(self.keep(&head)?)
    }

    pub(super) fn compact(&mut self, run: Run, first: usize, entries: Vec<u8>) -> Result<(), Failure> {
        let mut head = self.head(run.id)?;
        // The record is not kept: nothing of it can be seen from outside, and no time is won by it.
        head.record.apply(Event::Renew { fence: run.fence, lease: Duration::ZERO }, self.clock.now())?;
        let last: Option<i64> = self
            .connection
            .prepare_cached(sql::LAST_OF_FIRST)?
            .query_row((head.place, i64::try_from(first).unwrap_or(i64::MAX)), |row| row.get(0))?;
        let Some(last) = last else { return Ok(()) };
        let before: i64 = self
            .connection
            .prepare_cached(sql::LENGTH_OF_FIRST)?
            .query_row((head.place, last), |row| row.get::<_, Option<i64>>(0))?
            .unwrap_or(0);
        self.add_bytes(head.place, signed(length(&entries)) - before)?;
        self.run(sql::ERASE_FIRST_ENTRIES, (head.place, last))?;
        Ok(self.run(sql::PUT_ENTRY, (head.place, last, entries))?)
    }

    pub(super) fn finish(&mut self, run: Run, end: End, result: Vec<u8>) -> Result<(), Failure> {
        let mut head = self.head(run.id)?;
        head.record.apply(Event::Finish { fence: run.fence, end }, self.clock.now())?;
        let bytes = length(&result);
        self.run(sql::ADD_RESULT, (head.place, result))?;
        self.keep(&head)?;
        Ok(self.add_bytes(head.place, signed(bytes))?)
    }

    pub(super) fn answer(&mut self, id: TaskId, owner: &Owner, answers: Vec<Answer>) -> Result<Vec<String>, Failure> {
        let mut head = self.head_of(id, Some(owner))?;
        let mut accepted: Vec<Answer> = Vec::new();
        for answer in answers {
            let is_open = head.record.open.contains(&answer.key);
            if is_open && !accepted.iter().any(|earlier| earlier.key == answer.key) {
                accepted.push(answer);
            }
        }
        let (keys, entries): (Vec<_>, Vec<_>) = accepted.into_iter().map(|answer| (answer.key, answer.entry)).unzip();
        head.record.apply(Event::Answer { keys: &keys }, self.clock.now())?;
        if !keys.is_empty() {
            self.add_bytes(head.place, signed(entries.iter().map(|entry| length(entry)).sum()))?;
            self.add_entry(head.place, entries)?;
            self.close(head.place, &keys)?;
            self.keep(&head)?;
        }
        Ok(keys)
    }

    /// Asks a question anew, and returns true if the key was still open.
    pub(super) fn ask_anew(
        &mut self,
        id: TaskId,
        owner: &Owner,
        key: &str,
        again: KeptQuestion,
    ) -> Result<bool, Failure> {
        let mut head = self.head_of(id, Some(owner))?;
        let is_open = head.record.open.iter().any(|open| open == key);
        head.record.apply(Event::AskAnew { retired: key, opened: &again.key }, self.clock.now())?;
        self.refuse_used_keys(head.place, std::slice::from_ref(&again.key))?;
        if is_open {
            self.run(sql::CLOSE_QUESTION, (head.place, key))?;
            self.add_bytes(head.place, signed(length(&again.body)))?;
            self.run(sql::ADD_QUESTION, (head.place, again.key, again.body))?;
            self.keep(&head)?;
        }
        Ok(is_open)
    }

    /// Carries out a verb that changes nothing but the record.
    pub(super) fn apply(&mut self, id: TaskId, owner: Option<&Owner>, event: Event<'_>) -> Result<(), Failure> {
        let mut head = self.head_of(id, owner)?;
        head.record.apply(event, self.clock.now())?;
        Ok(self.keep(&head)?)
    }

    /// Writes a record that has changed. If the task has ended, this erases what it holds.
    pub(super) fn keep(&mut self, head: &Head) -> rusqlite::Result<()> {
        head.keep(self.connection)?;
        if head.record.ended.is_some() {
            self.run(sql::ERASE_ENTRIES, [head.place])?;
            self.run(sql::ERASE_QUESTIONS, [head.place])?;
            self.run(sql::COUNT_OPEN, (head.owner, -1))?;
            self.run(sql::PUT_BYTES, (head.place, signed(TASK_BYTES)))?;
        }
        self.note(head.record.id)?;
        Ok(())
    }

    pub(crate) fn run(&self, sql: &str, params: impl Params) -> rusqlite::Result<()> {
        self.connection.prepare_cached(sql)?.execute(params)?;
        Ok(())
    }

    fn insert(&self, sql: &str, params: impl Params) -> rusqlite::Result<i64> {
        self.run(sql, params)?;
        Ok(self.connection.last_insert_rowid())
    }

    fn head(&self, id: TaskId) -> Result<Head, Failure> {
        self.head_of(id, None)
    }

    fn head_of(&self, id: TaskId, owner: Option<&Owner>) -> Result<Head, Failure> {
        let head = self.connection.prepare_cached(sql::HEAD)?.query_row([id.as_bytes()], Head::read).optional()?;
        let head = head.filter(|head| owner.is_none_or(|owner| *owner == head.record.owner));
        Ok(head.ok_or(StoreError::NotFound)?)
    }

    /// Notes that a task changes, and returns the number of the change.
    fn note(&mut self, id: TaskId) -> rusqlite::Result<i64> {
        let number = self.insert(sql::ADD_CHANGE, [id.as_bytes()])?;
        self.last_change = Some(number.cast_unsigned());
        if number % FORGOTTEN_AT_ONCE == 0 {
            self.run(sql::FORGET_CHANGES, [number - MOST_CHANGES])?;
        }
        Ok(number)
    }

    /// Adds to the bytes that a task keeps, or takes from them. Triggers keep the sums.
    fn add_bytes(&self, place: i64, bytes: i64) -> rusqlite::Result<()> {
        if bytes == 0 { Ok(()) } else { self.run(sql::ADD_BYTES, (place, bytes)) }
    }

    fn refuse_used_keys(&self, place: i64, keys: &[String]) -> Result<(), Failure> {
        let mut is_used = self.connection.prepare_cached(sql::IS_USED)?;
        for (at, key) in keys.iter().enumerate() {
            if keys[..at].contains(key) || is_used.exists((place, key))? {
                return Err(StoreError::KeyUsed(key.clone()).into());
            }
        }
        Ok(())
    }

    fn close(&self, place: i64, keys: &[String]) -> rusqlite::Result<()> {
        keys.iter().try_for_each(|key| self.run(sql::CLOSE_QUESTION, (place, key)))
    }

    fn add_entry(&self, place: i64, entries: impl IntoIterator<Item = Vec<u8>>) -> rusqlite::Result<()> {
        entries.into_iter().try_for_each(|entry| self.run(sql::ADD_ENTRY, (place, entry)))
    }

    fn add_message(&self, place: i64, message: Option<Vec<u8>>) -> rusqlite::Result<()> {
        message.map_or(Ok(()), |message| self.run(sql::ADD_MESSAGE, (place, message)))
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Verb(error)
    }
}

impl From<TransitionError> for Failure {
    fn from(refusal: TransitionError) -> Self {
        Self::Verb(refusal.into())
    }
}

fn length(bytes: &[u8]) -> u64 {
    bytes.len() as u64
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// The least number of changes that are kept, so that a caller that fell behind is told which they were.
const MOST_CHANGES: i64 = 8192;
const FORGOTTEN_AT_ONCE: i64 = 256;
