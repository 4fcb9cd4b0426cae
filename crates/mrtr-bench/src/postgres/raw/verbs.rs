//! The statements of each verb, in the order in which the store executes them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use futures_util::future::{join, join5};
use mrtr_postgres::Schema;
use mrtr_schema::Revision;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::connection::Connection;
use super::statements::TaskStatements;
use crate::tasks::side::{CALL, ENTRY, KEY, QUESTION, RESULT};
use crate::tasks::store::owner;
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
        }
    }
}

/// What a verb makes of the columns that differ.
#[derive(Default)]
struct Kept {
    leased_until: Option<i64>,
    due: Option<i64>,
    progressed: bool,
    open: Vec<&'static str>,
    ended: Option<i64>,
    added: i64,
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
                    &i32::from(Revision::Published.number()),
                    &1000_i64,
                    &0_i64,
                    &Some(DAY),
                    &CALL.as_slice(),
                    &None::<&[u8]>,
                    &i64::MAX,
                    &none,
                    &1_i64,
                ],
            )
            .await?;
        ensure!(rows.first().context("a row")?.get::<_, bool>(1), "it was not added");
        Ok(())
    }

    /// Writes a task as `kept` has it, with a statement whose parameters begin with the columns of a record.
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
        let record: [&(dyn ToSql + Sync); 18] = [
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
        ];
        let written = self.connection.execute(statement, &[&record, more].concat()).await?;
        ensure!(written > 0, "another write came first");
        Ok(())
    }

    pub(super) async fn step(&self, id: [u8; 16]) -> Result<()> {
        let head = self.head(id).await?;
        let kept = Kept { leased_until: Some(now() + LEASE), progressed: true, added: 1, ..Kept::default() };
        let none: [&str; 0] = [];
        let more: [&(dyn ToSql + Sync); 4] = [&Id(id), &ENTRIES, &head.last_entry, &none.as_slice()];
        self.write(&self.sql.journal, &head, &kept, &more).await
    }

    pub(super) async fn ask(&self, id: [u8; 16]) -> Result<()> {
        let head = self.head(id).await?;
        let kept = Kept { open: vec![KEY], added: 1, ..Kept::default() };
        let none: [&str; 0] = [];
        let more: [&(dyn ToSql + Sync); 7] =
            [&Id(id), &ENTRIES, &head.last_entry, &none.as_slice(), &[KEY].as_slice(), &QUESTIONS, &None::<&[u8]>];
        self.write(&self.sql.record, &head, &kept, &more).await
    }

    pub(super) async fn answer(&self, id: [u8; 16]) -> Result<()> {
        let head = self.head(id).await?;
        let kept = Kept { due: Some(now()), added: 1, ..Kept::default() };
        let more: [&(dyn ToSql + Sync); 4] = [&Id(id), &ENTRIES, &head.last_entry, &[KEY].as_slice()];
        self.write(&self.sql.journal, &head, &kept, &more).await
    }

    pub(super) async fn complete(&self, id: [u8; 16]) -> Result<()> {
        let head = self.head(id).await?;
        let kept = Kept { ended: Some(now()), ..Kept::default() };
        let more: [&(dyn ToSql + Sync); 4] = [&Id(id), &Id::of_owner(&owner()), &head.shard, &Some(RESULT.as_slice())];
        self.write(&self.sql.end, &head, &kept, &more).await
    }

    pub(super) async fn get(&self, id: [u8; 16]) -> Result<()> {
        ensure!(!self.connection.query(&self.sql.task, &[&Id(id)]).await?.is_empty(), "there is no such task");
        Ok(())
    }

    /// Claims at most so many tasks in one transaction of two trips, and says how many.
    pub(super) async fn claim(&self, most: usize) -> Result<usize> {
        let (connection, sql, none) = (&self.connection, &self.sql, None::<i64>);
        for statement in [&sql.due, &sql.keep_many, &sql.entries, &sql.questions, &sql.next] {
            connection.prepared(statement).await?;
        }
        let tools = [TOOL].as_slice();
        let most = i64::try_from(most)?;
        let due: [&(dyn ToSql + Sync); 3] = [&tools, &none, &most];
        let (begun, rows) = join(connection.batch(BEGIN), connection.query(&sql.due, &due)).await;
        begun?;
        let rows = rows?;
        let heads: Vec<Head> = rows.iter().map(Head::of).collect();
        let ids: Vec<Id> = rows.iter().map(|row| row.get(1)).collect();
        let (each, now) = (heads.len(), now());
        let places: Vec<i64> = heads.iter().map(|head| head.place).collect();
        let (lease, no, no_word) = (vec![Some(now + LEASE); each], vec![none; each], vec![None::<&str>; each]);
        let keep: [&(dyn ToSql + Sync); 15] = [
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
        ];
        let (kept, entries, questions, next, committed) = join5(
            connection.execute(&sql.keep_many, &keep),
            connection.query(&sql.entries, &[&places]),
            connection.query(&sql.questions, &[&places]),
            connection.query(&sql.next, &[&tools, &none]),
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
