//! A record as a row: how it is read, and what is written of it.

use std::time::Duration;

use mrtr_schema::Revision;
use mrtr_state::{FlowId, Timestamp};
use mrtr_tasks::{Account, End, Owner, TaskId, TaskRecord};
use rusqlite::types::Type;
use rusqlite::{Connection, Row, params};

use super::statements::{ADD, KEEP, KEEP_AND_INDEX};
use crate::schema::{millis, moment};

/// A task's row: its record, and the numbers by which the tables know it.
pub(super) struct Head {
    pub(super) place: i64,
    /// The number of its owner.
    pub(super) owner: i64,
    pub(super) record: TaskRecord,
    /// The searched columns as they stand in the file.
    searched: Searched,
}

/// The columns that follow from the record and have indexes of their own.
#[derive(PartialEq, Eq)]
struct Searched {
    attention: Option<i64>,
    trial: Option<i64>,
    reserved_until: Option<i64>,
    expires: Option<i64>,
    removable: Option<i64>,
}

impl Head {
    /// Reads a task from the columns that `record!` names, in their order.
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let moment_at = |column| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(column)?.map(moment));
        let (fence, leased_until, due) = (row.get::<_, i64>(12)?, moment_at(13)?, moment_at(14)?);
        let lost_runs = row.get(17)?;
        // A process of the previous version takes or wakes a task without changing the columns that it does not know.
        let alone = leased_until.is_some() && row.get::<_, Option<i64>>(22)? == Some(fence);
        let set_aside = if leased_until.is_some() || due.is_some() { None } else { moment_at(24)? };
        let record = TaskRecord {
            owner: Owner::from_kept(row.get::<_, String>(2)?),
            account: Account::from_kept(row.get::<_, String>(28)?),
            id: TaskId::from_bytes(row.get(3)?),
            flow: FlowId::from_bytes(row.get(4)?),
            tool: row.get(5)?,
            revision: Revision::from_number(row.get(6)?).ok_or_else(|| unreadable(6, Type::Integer))?,
            created: moment(row.get(7)?),
            updated: moment(row.get(8)?),
            ttl: row.get::<_, Option<i64>>(9)?.map(duration),
            poll_interval: duration(row.get(10)?),
            retention: duration(row.get(11)?),
            fence: fence.cast_unsigned(),
            leased_until,
            due,
            run_again: row.get(15)?,
            progressed: row.get(16)?,
            lost_runs,
            open: keys(row.get_ref(18)?.as_str()?).ok_or_else(|| unreadable(18, Type::Text))?,
            ended: ended(row)?,
            counted_losses: row.get::<_, u32>(21)?.min(lost_runs),
            alone,
            reserved_until: moment_at(23)?,
            set_aside,
        };
        // What a process of the previous version wrote may not follow from the record as it is read here.
        let (attention, trial, expires) = (row.get(25)?, row.get(26)?, row.get(27)?);
        let searched = Searched { attention, trial, expires, ..Searched::of(&record) };
        Ok(Self { place: row.get(0)?, owner: row.get(1)?, record, searched })
    }

    /// Adds a task that is new, with the numbers of its owner and its account.
    pub(super) fn add(
        place: i64,
        (owner, account): (i64, i64),
        record: &TaskRecord,
        connection: &Connection,
    ) -> rusqlite::Result<()> {
        let Searched { attention, trial, reserved_until, expires, removable } = Searched::of(record);
        let (ended_as, ended) = record.ended.map(|(end, at)| (end.as_str(), millis(at))).unzip();
        connection.prepare_cached(ADD)?.execute(params![
            place,
            owner,
            record.id.as_bytes(),
            record.flow.as_bytes(),
            record.tool,
            record.revision.number(),
            millis(record.created),
            length(record.poll_interval),
            length(record.retention),
            millis(record.updated),
            record.ttl.map(length),
            record.fence.cast_signed(),
            record.leased_until.map(millis),
            record.due.map(millis),
            record.run_again,
            record.progressed,
            record.lost_runs,
            as_json(&record.open),
            ended_as,
            ended,
            record.counted_losses,
            alone_fence(record),
            reserved_until,
            record.set_aside.map(millis),
            attention,
            trial,
            expires,
            removable,
            account,
        ])?;
        Ok(())
    }

    /// Writes what events can change of a record.
    pub(super) fn keep(&self, connection: &Connection) -> rusqlite::Result<()> {
        let record = &self.record;
        let searched = Searched::of(record);
        let is_indexed = searched == self.searched;
        let mut statement = connection.prepare_cached(if is_indexed { KEEP } else { KEEP_AND_INDEX })?;
        let (ended_as, ended) = record.ended.map(|(end, at)| (end.as_str(), millis(at))).unzip();
        statement.raw_bind_parameter(1, self.place)?;
        statement.raw_bind_parameter(2, millis(record.updated))?;
        statement.raw_bind_parameter(3, record.ttl.map(length))?;
        statement.raw_bind_parameter(4, record.fence.cast_signed())?;
        statement.raw_bind_parameter(5, record.leased_until.map(millis))?;
        statement.raw_bind_parameter(6, record.due.map(millis))?;
        statement.raw_bind_parameter(7, record.run_again)?;
        statement.raw_bind_parameter(8, record.progressed)?;
        statement.raw_bind_parameter(9, record.lost_runs)?;
        statement.raw_bind_parameter(10, as_json(&record.open))?;
        statement.raw_bind_parameter(11, ended_as)?;
        statement.raw_bind_parameter(12, ended)?;
        statement.raw_bind_parameter(13, record.counted_losses)?;
        statement.raw_bind_parameter(14, alone_fence(record))?;
        statement.raw_bind_parameter(15, record.set_aside.map(millis))?;
        if !is_indexed {
            statement.raw_bind_parameter(16, searched.attention)?;
            statement.raw_bind_parameter(17, searched.trial)?;
            statement.raw_bind_parameter(18, searched.expires)?;
            statement.raw_bind_parameter(19, searched.removable)?;
            statement.raw_bind_parameter(20, searched.reserved_until)?;
        }
        statement.raw_execute()?;
        Ok(())
    }
}

impl Searched {
    fn of(record: &TaskRecord) -> Self {
        let expires = if record.ended.is_some() { None } else { record.expires() };
        Self {
            attention: record.attention().map(millis),
            trial: record.trial().map(millis),
            reserved_until: record.reserved_until.map(millis),
            expires: expires.map(millis),
            removable: record.removable().map(millis),
        }
    }
}

fn alone_fence(record: &TaskRecord) -> Option<i64> {
    record.alone.then(|| record.fence.cast_signed())
}

fn ended(row: &Row<'_>) -> rusqlite::Result<Option<(End, Timestamp)>> {
    let Some(word) = row.get_ref(19)?.as_str_or_null()? else { return Ok(None) };
    let end = End::ALL.into_iter().find(|end| end.as_str() == word).ok_or_else(|| unreadable(19, Type::Text))?;
    Ok(Some((end, moment(row.get(20)?))))
}

fn length(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

fn duration(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

fn as_json(keys: &[String]) -> String {
    serde_json::to_string(keys).expect("texts are JSON")
}

fn keys(json: &str) -> Option<Vec<String>> {
    if json == "[]" { Some(Vec::new()) } else { serde_json::from_str(json).ok() }
}

/// A value that no version of this store has written.
fn unreadable(column: usize, found: Type) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, found, "not as this store writes it".into())
}
