//! The statements of each verb, in the order in which the store executes them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use futures_util::future::{join3, join5};
use mrtr_postgres::Schema;
use mrtr_schema::Revision;
use mrtr_tasks::store::TASK_BYTES;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::Connection;
use super::statements::TaskStatements;
use crate::tasks::store::owner;
use crate::tasks::{CALL, ENTRY, KEY, QUESTION, RESULT};
use crate::values::Id;

pub(super) struct Verbs {
    connection: Connection,
    sql: TaskStatements,
}

/// The row of a task, as far as the next statement needs it.
struct Head {
    place: i64,
    created: i64,
    version: i64,
    shard: i16,
    fence: i64,
    last_entry: i64,
    /// The bytes that it keeps, and those of them that are in the sums.
    bytes: i64,
    counted: i64,
}

impl Head {
    fn of(row: &Row) -> Self {
        Self {
            place: row.get(0),
            created: row.get(6),
            version: row.get(9),
            shard: row.get(11),
            fence: row.get(14),
            last_entry: row.get(23),
            bytes: row.get(28),
            counted: row.get(29),
        }
    }
}

/// The values of the columns in which verbs differ.
#[derive(Default)]
struct Kept {
    leased_until: Option<i64>,
    due: Option<i64>,
    progressed: bool,
    open: Vec<&'static str>,
    ended: Option<i64>,
    added: i64,
    added_bytes: usize,
}

impl Kept {
    /// One entry, and this many bytes beside it.
    fn entry(beside: usize) -> Self {
        Self { added: 1, added_bytes: ENTRY.len() + beside, ..Self::default() }
    }
}

impl Verbs {
    pub(super) fn new(connection: Connection) -> Self {
        Self { connection, sql: TaskStatements::new(&Schema::default()) }
    }

    async fn head(&self, id: [u8; 16]) -> Result<Head> {
        let rows = self.connection.query(&self.sql.head, &[&Id(id)]).await?;
        rows.first().map(Head::of).context("there is no such task")
    }

    pub(super) async fn create(&self, id: [u8; 16]) -> Result<()> {
        let (owner, none) = (owner(), None::<i64>);
        let rows = self
            .connection
            .query(
                &self.sql.create,
                &[
                    &Id(id),
                    &Id::of_owner(&owner),
                    &owner.as_str(),
                    &Id(id),
                    &TOOL,
                    &i32::from(Revision::V2026_07_28.number()),
                    &1000_i64,
                    &0_i64,
                    &Some(DAY),
                    &CALL.as_slice(),
                    &None::<&[u8]>,
                    &i64::MAX,
                    &none,
                    &1_i64,
                    &bytes(CALL.len()),
                    &i64::MAX,
                    &i64::MAX,
                    &Id::of_owner(&owner),
                    &None::<&str>,
                ],
            )
            .await?;
        ensure!(rows.first().context("a row")?.get::<_, bool>(1), "it was not added");
        Ok(())
    }

    /// Writes a task with the values of `kept`, by a statement whose parameters begin with the columns of a record.
    async fn write(
        &self,
        statement: &crate::statement::Statement,
        head: &Head,
        kept: &Kept,
        more: &[&(dyn ToSql + Sync)],
    ) -> Result<()> {
        let (none, now, expires) = (None::<i64>, now(), head.created + DAY);
        let attention = kept.leased_until.or(kept.due);
        let (expires, removable) = if kept.ended.is_some() { (none, Some(expires)) } else { (Some(expires), none) };
        let last_entry = head.last_entry + kept.added;
        let ended_as = kept.ended.map(|_| "completed");
        // A task that has ended keeps its result alone. The store counts small amounts once more has come, or at the
        // end.
        let added_bytes = match kept.ended {
            Some(_) => bytes(kept.added_bytes) - head.bytes,
            None => i64::try_from(kept.added_bytes)?,
        };
        let counted_bytes = if kept.ended.is_some() { head.bytes + added_bytes - head.counted } else { 0 };
        let record: [&(dyn ToSql + Sync); 25] = [
            &head.place,
            &head.version,
            &1_i64,
            &now,
            &Some(DAY),
            &head.fence,
            &kept.leased_until,
            &kept.due,
            &false,
            &kept.progressed,
            &0_i32,
            &kept.open,
            &ended_as,
            &kept.ended,
            &last_entry,
            &attention,
            &expires,
            &removable,
            &0_i32,
            &none,
            &none,
            &none,
            &none,
            &added_bytes,
            &counted_bytes,
        ];
        let written = self.connection.execute(statement, &[&record, more].concat()).await?;
        ensure!(written > 0, "another write came first");
        Ok(())
    }

    pub(super) async fn step(&self, id: [u8; 16]) -> Result<()> {
        let head = self.head(id).await?;
        let kept = Kept { leased_until: Some(now() + LEASE), progressed: true, ..Kept::entry(0) };
        let none: [&str; 0] = [];
        let account = Id::of_owner(&owner());
        let more: [&(dyn ToSql + Sync); 6] =
            [&Id(id), &account, &head.shard, &ENTRIES, &head.last_entry, &none.as_slice()];
        self.write(&self.sql.journal, &head, &kept, &more).await
    }

    pub(super) async fn ask(&self, id: [u8; 16]) -> Result<()> {
        let head = self.head(id).await?;
        let kept = Kept { open: vec![KEY], ..Kept::entry(QUESTION.len()) };
        let none: [&str; 0] = [];
        let account = Id::of_owner(&owner());
        let more: [&(dyn ToSql + Sync); 9] = [
            &Id(id),
            &account,
            &head.shard,
            &ENTRIES,
            &head.last_entry,
            &none.as_slice(),
            &[KEY].as_slice(),
            &QUESTIONS,
            &None::<&[u8]>,
        ];
        self.write(&self.sql.record, &head, &kept, &more).await
    }

    pub(super) async fn answer(&self, id: [u8; 16]) -> Result<()> {
        let head = self.head(id).await?;
        let kept = Kept { due: Some(now()), ..Kept::entry(0) };
        let account = Id::of_owner(&owner());
        let more: [&(dyn ToSql + Sync); 6] =
            [&Id(id), &account, &head.shard, &ENTRIES, &head.last_entry, &[KEY].as_slice()];
        self.write(&self.sql.journal, &head, &kept, &more).await
    }

    pub(super) async fn complete(&self, id: [u8; 16]) -> Result<()> {
        let head = self.head(id).await?;
        let kept = Kept { ended: Some(now()), added_bytes: RESULT.len(), ..Kept::default() };
        let more: [&(dyn ToSql + Sync); 4] = [&Id(id), &Id::of_owner(&owner()), &head.shard, &Some(RESULT.as_slice())];
        self.write(&self.sql.end, &head, &kept, &more).await
    }

    pub(super) async fn get(&self, id: [u8; 16]) -> Result<()> {
        ensure!(!self.connection.query(&self.sql.task, &[&Id(id)]).await?.is_empty(), "there is no such task");
        Ok(())
    }

    /// Acquires at most `most` tasks in one transaction of two trips, and returns their number.
    pub(super) async fn claim(&self, most: usize) -> Result<usize> {
        let (connection, sql, none) = (&self.connection, &self.sql, None::<i64>);
        for statement in [&sql.due, &sql.trials, &sql.keep_many, &sql.entries, &sql.questions, &sql.next] {
            connection.prepared(statement).await?;
        }
        let tools = [TOOL].as_slice();
        let most = i64::try_from(most)?;
        let no_ids: Vec<Id> = Vec::new();
        let due: [&(dyn ToSql + Sync); 6] = [&tools, &none, &most, &no_ids, &Id([0; 16]), &no_ids];
        let trials: [&(dyn ToSql + Sync); 4] = [&tools, &none, &1_i64, &no_ids];
        let (begun, rows, tried) =
            join3(connection.batch(BEGIN), connection.query(&sql.due, &due), connection.query(&sql.trials, &trials))
                .await;
        begun?;
        tried?;
        // A row without a task says where the search ended.
        let rows: Vec<Row> = rows?.into_iter().filter(|row| row.get::<_, Option<i64>>(0).is_some()).collect();
        let heads: Vec<Head> = rows.iter().map(Head::of).collect();
        let ids: Vec<Id> = rows.iter().map(|row| row.get(1)).collect();
        let (each, now) = (heads.len(), now());
        let places: Vec<i64> = heads.iter().map(|head| head.place).collect();
        let (lease, no, no_word) = (vec![Some(now + LEASE); each], vec![none; each], vec![None::<&str>; each]);
        let keep: [&(dyn ToSql + Sync); 20] = [
            &places,
            &vec![now; each],
            &heads.iter().map(|head| head.fence + 1).collect::<Vec<_>>(),
            &lease,
            &no,
            &vec![false; each],
            &vec![false; each],
            &vec![0_i32; each],
            &no_word,
            &no,
            &lease,
            &heads.iter().map(|head| Some(head.created + DAY)).collect::<Vec<_>>(),
            &no,
            &1_i64,
            &ids,
            &vec![0_i32; each],
            &no,
            &no,
            &no,
            &no,
        ];
        let (kept, entries, questions, next, committed) = join5(
            connection.execute(&sql.keep_many, &keep),
            connection.query(&sql.entries, &[&places]),
            connection.query(&sql.questions, &[&places]),
            connection.query(&sql.next, &[&tools, &none, &no_ids]),
            connection.batch("COMMIT"),
        )
        .await;
        kept?;
        entries?;
        questions?;
        next?;
        committed?;
        Ok(each)
    }
}

/// The bytes that count for a task that holds this many.
fn bytes(of: usize) -> i64 {
    i64::try_from(TASK_BYTES).unwrap_or(0) + i64::try_from(of).unwrap_or(0)
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

const ENTRIES: &[&[u8]] = &[ENTRY.as_slice()];
const QUESTIONS: &[&[u8]] = &[QUESTION.as_slice()];
const TOOL: &str = "update";
const BEGIN: &str = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '5s'";
const DAY: i64 = 86_400_000;
const LEASE: i64 = 30_000;
