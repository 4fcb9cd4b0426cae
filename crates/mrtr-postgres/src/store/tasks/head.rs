//! A record as a row: how it is read, and what is written of it.

use mrtr_schema::Revision;
use mrtr_state::{FlowId, Timestamp};
use mrtr_tasks::{Account, End, Owner, TaskId, TaskRecord};
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, ToSql};

use crate::failure::Failure;
use crate::values::{Id, duration, length, millis, moment};

/// A task as it stands: its record, and where the tables have it.
pub(crate) struct Head {
    pub(crate) place: i64,
    pub(crate) version: i64,
    pub(crate) stamp: i64,
    pub(crate) shard: i16,
    pub(crate) last_entry: i64,
    /// The bytes that the task keeps.
    pub(crate) bytes: i64,
    /// The part of those bytes that is in the sums.
    pub(crate) counted: i64,
    pub(crate) record: TaskRecord,
    /// The database's time at which it was read.
    pub(crate) now: Timestamp,
}

impl Head {
    /// Reads a task from the columns that `record!` names, in their order.
    pub(crate) fn read(row: &Row) -> Result<Self, Failure> {
        let moment_at = |column| Ok::<_, Failure>(value::<Option<i64>>(row, column)?.map(moment));
        let (fence, lost_runs) = (value::<i64>(row, 14)?, value::<i32>(row, 19)?.cast_unsigned());
        let (leased_until, due) = (moment_at(15)?, moment_at(16)?);
        // An instance of the previous version takes or wakes a task without changing the columns that it does not know.
        let alone = leased_until.is_some() && value::<Option<i64>>(row, 25)? == Some(fence);
        let set_aside = if leased_until.is_some() || due.is_some() { None } else { moment_at(27)? };
        let revision = u8::try_from(value::<i32>(row, 5)?).ok().and_then(Revision::from_number);
        let record = TaskRecord {
            id: TaskId::from_bytes(value::<Id>(row, 1)?.0),
            owner: Owner::from_kept(value::<String>(row, 2)?),
            account: Account::from_kept(value::<String>(row, 30)?),
            flow: FlowId::from_bytes(value::<Id>(row, 3)?.0),
            tool: value(row, 4)?,
            revision: revision.ok_or_else(unreadable)?,
            created: moment(value(row, 6)?),
            poll_interval: duration(value(row, 7)?),
            retention: duration(value(row, 8)?),
            updated: moment(value(row, 12)?),
            ttl: value::<Option<i64>>(row, 13)?.map(duration),
            fence: fence.cast_unsigned(),
            leased_until,
            due,
            run_again: value(row, 17)?,
            progressed: value(row, 18)?,
            lost_runs,
            open: value(row, 20)?,
            ended: ended(row)?,
            counted_losses: value::<i32>(row, 24)?.cast_unsigned().min(lost_runs),
            alone,
            reserved_until: moment_at(26)?,
            set_aside,
        };
        Ok(Self {
            place: value(row, 0)?,
            version: value(row, 9)?,
            stamp: value(row, 10)?,
            shard: value(row, 11)?,
            last_entry: value(row, 23)?,
            record,
            bytes: value(row, 28)?,
            counted: value(row, 29)?,
            now: moment(value(row, 31)?),
        })
    }
}

fn ended(row: &Row) -> Result<Option<(End, Timestamp)>, Failure> {
    let Some(word) = value::<Option<&str>>(row, 21)? else { return Ok(None) };
    let end = End::ALL.into_iter().find(|end| end.as_str() == word).ok_or_else(unreadable)?;
    Ok(Some((end, moment(value(row, 22)?))))
}

/// The number of columns that hold a record and the time. A statement's other columns come after them.
pub(crate) const COLUMNS: usize = 32;

/// Reads a column of a row.
pub(crate) fn value<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T, Failure> {
    row.try_get(column).map_err(|error| Failure::Unreadable(error.into()))
}

fn unreadable() -> Failure {
    Failure::Unreadable("a value that no version of this store has written".into())
}

/// The parts of a record that events can change, as the columns have them.
pub(crate) struct Columns<'a> {
    pub(crate) updated: i64,
    pub(crate) ttl: Option<i64>,
    pub(crate) fence: i64,
    pub(crate) leased_until: Option<i64>,
    pub(crate) due: Option<i64>,
    pub(crate) run_again: bool,
    pub(crate) progressed: bool,
    pub(crate) lost_runs: i32,
    pub(crate) open: &'a [String],
    pub(crate) ended_as: Option<&'static str>,
    pub(crate) ended: Option<i64>,
    pub(crate) attention: Option<i64>,
    pub(crate) expires: Option<i64>,
    pub(crate) removable: Option<i64>,
    pub(crate) counted_losses: i32,
    pub(crate) alone_fence: Option<i64>,
    pub(crate) reserved_until: Option<i64>,
    pub(crate) set_aside: Option<i64>,
    pub(crate) trial: Option<i64>,
}

impl<'a> Columns<'a> {
    pub(crate) fn of(record: &'a TaskRecord) -> Self {
        let (ended_as, ended) = record.ended.map(|(end, at)| (end.as_str(), millis(at))).unzip();
        let expires = if record.ended.is_some() { None } else { record.expires() };
        Self {
            updated: millis(record.updated),
            ttl: record.ttl.map(length),
            fence: record.fence.cast_signed(),
            leased_until: record.leased_until.map(millis),
            due: record.due.map(millis),
            run_again: record.run_again,
            progressed: record.progressed,
            lost_runs: record.lost_runs.cast_signed(),
            open: &record.open,
            ended_as,
            ended,
            attention: record.attention().map(millis),
            expires: expires.map(millis),
            removable: record.removable().map(millis),
            counted_losses: record.counted_losses.cast_signed(),
            alone_fence: record.alone.then(|| record.fence.cast_signed()),
            reserved_until: record.reserved_until.map(millis),
            set_aside: record.set_aside.map(millis),
            trial: record.trial().map(millis),
        }
    }

    /// The parameters with which every statement begins that writes one record.
    pub(crate) fn params<'p>(&'p self, target: &'p Target) -> Vec<&'p (dyn ToSql + Sync)> {
        vec![
            &target.place,
            &target.version,
            &target.stamp,
            &self.updated,
            &self.ttl,
            &self.fence,
            &self.leased_until,
            &self.due,
            &self.run_again,
            &self.progressed,
            &self.lost_runs,
            &self.open,
            &self.ended_as,
            &self.ended,
            &target.last_entry,
            &self.attention,
            &self.expires,
            &self.removable,
            &self.counted_losses,
            &self.alone_fence,
            &self.reserved_until,
            &self.set_aside,
            &self.trial,
            &target.added_bytes,
            &target.counted_bytes,
        ]
    }
}

/// The row that is written: where it stands, and the attempt that writes it.
pub(crate) struct Target {
    pub(crate) place: i64,
    pub(crate) version: i64,
    pub(crate) stamp: i64,
    /// The number of the last entry after the write.
    pub(crate) last_entry: i64,
    /// The bytes that the task keeps more after the write, or less.
    pub(crate) added_bytes: i64,
    /// The bytes that are added to the sums.
    pub(crate) counted_bytes: i64,
}
