//! Reading, on connections that do not wait behind what is written.
//!
//! A reader sees what was committed when its statement begins, so a caller that was told of a write sees it. It reads
//! on the caller's own thread: finding a row takes microseconds, less than it takes to wake another thread.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use mrtr_tasks::store::{Changed, Changes, Cursor, KeptQuestion, Listed, Place};
use mrtr_tasks::{Owner, TaskId, TaskRecord};
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};

use super::due::{limit, sort_as_opened};
use super::head::Head;
use super::statements as sql;
use crate::open::{Reading, open_reader};

/// A task as it was at one moment.
pub(super) struct ReadTask {
    pub(super) record: TaskRecord,
    pub(super) open: Vec<KeptQuestion>,
    pub(super) message: Option<Vec<u8>>,
    pub(super) result: Option<Vec<u8>>,
}

pub(super) struct Readers {
    path: PathBuf,
    reading: Reading,
    /// The connections that no caller uses now.
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(super) fn new(path: PathBuf, reading: Reading) -> rusqlite::Result<Self> {
        let first = open_reader(&path, reading)?;
        Ok(Self { path, reading, idle: Mutex::new(vec![first]) })
    }

    pub(super) fn task(&self, id: TaskId) -> rusqlite::Result<Option<ReadTask>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql::TASK)?;
            let mut rows = statement.query([id.as_bytes()])?;
            let Some(row) = rows.next()? else { return Ok(None) };
            let record = Head::read(row)?.record;
            let (message, result) = (row.get(RECORD_COLUMNS)?, row.get(RECORD_COLUMNS + 1)?);
            let mut open: Vec<_> = question(row)?.into_iter().collect();
            while let Some(row) = rows.next()? {
                open.extend(question(row)?);
            }
            sort_as_opened(&mut open, &record.open);
            Ok(Some(ReadTask { record, open, message, result }))
        })
    }

    /// Reads the records of these tasks, as far as they exist.
    pub(super) fn records(&self, ids: &[TaskId]) -> rusqlite::Result<Vec<TaskRecord>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql::RECORDS)?;
            let mut records = Vec::new();
            for some in ids.chunks(sql::RECORDS_AT_ONCE) {
                // What is left of the places names the first once more.
                let named = some.iter().chain(std::iter::repeat(&some[0])).take(sql::RECORDS_AT_ONCE);
                let rows = statement.query_map(params_from_iter(named.map(TaskId::as_bytes)), Head::read)?;
                for head in rows {
                    records.push(head?.record);
                }
            }
            Ok(records)
        })
    }

    pub(super) fn list(
        &self,
        owner: Option<&Owner>,
        after: Option<Place>,
        most: usize,
    ) -> rusqlite::Result<Vec<Listed>> {
        let after = after.map_or(0, |Place(place)| i64::try_from(place).unwrap_or(i64::MAX));
        let listed = |row: &Row<'_>| {
            let Head { place, record, .. } = Head::read(row)?;
            Ok(Listed { place: Place(place.cast_unsigned()), record })
        };
        self.read(|connection| match owner {
            Some(owner) => {
                let mut statement = connection.prepare_cached(sql::LIST_OF_OWNER)?;
                statement.query_map((after, limit(most), owner.as_str()), listed)?.collect()
            }
            None => connection.prepare_cached(sql::LIST)?.query_map((after, limit(most)), listed)?.collect(),
        })
    }

    pub(super) fn last_change(&self) -> rusqlite::Result<u64> {
        self.read(last_change)
    }

    /// Returns what has changed after this place, or `None` if nothing has.
    pub(super) fn changes(&self, since: Cursor) -> rusqlite::Result<Option<Changes>> {
        let after = i64::try_from(since.0).unwrap_or(i64::MAX);
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql::CHANGES)?;
            let change = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?.cast_unsigned(), TaskId::from_bytes(row.get(1)?)));
            let changes: Vec<_> =
                statement.query_map((after, limit(MOST_NAMED + 1)), change)?.collect::<Result<_, _>>()?;
            let Some(&(last, _)) = changes.last() else { return Ok(None) };
            // Numbers have no gaps but where they were forgotten.
            if changes.len() > MOST_NAMED || changes[0].0 != since.0 + 1 {
                return Ok(Some(Changes { changed: Changed::Many, until: Cursor(last_change(connection)?) }));
            }
            let mut ids: Vec<_> = changes.into_iter().map(|(_, id)| id).collect();
            ids.sort_unstable();
            ids.dedup();
            Ok(Some(Changes { changed: Changed::These(ids), until: Cursor(last) }))
        })
    }

    /// Opens a connection if all are in use, so that no caller waits for another.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = idle().pop().map_or_else(|| open_reader(&self.path, self.reading), Ok)?;
        let result = read(&connection)?;
        let mut idle = idle();
        if idle.len() < MOST_IDLE {
            idle.push(connection);
        }
        Ok(result)
    }
}

/// The number of the last change, by any process.
pub(crate) fn last_change(connection: &Connection) -> rusqlite::Result<u64> {
    let last: Option<i64> =
        connection.prepare_cached(sql::LAST_CHANGE)?.query_row([], |row| row.get(0)).optional()?.flatten();
    Ok(last.unwrap_or(0).cast_unsigned())
}

fn question(row: &Row<'_>) -> rusqlite::Result<Option<KeptQuestion>> {
    let key: Option<String> = row.get(RECORD_COLUMNS + 2)?;
    key.map(|key| Ok(KeptQuestion { key, body: row.get(RECORD_COLUMNS + 3)? })).transpose()
}

/// The number of columns of a record. A statement's other columns come after them.
const RECORD_COLUMNS: usize = 29;
/// The most tasks that a reader names as changed. If more have changed, it says so, and the caller looks at all that it
/// has.
const MOST_NAMED: usize = 256;
const MOST_IDLE: usize = 4;
