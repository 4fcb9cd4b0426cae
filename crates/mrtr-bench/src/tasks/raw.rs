//! The other side: a loop that executes the store's statements, and nothing else.

mod file;
// The statements themselves, so that both sides always have the same.
#[path = "../../../mrtr-sqlite/src/tasks/statements.rs"]
#[allow(dead_code, reason = "not every statement is part of what is measured")]
mod statements;

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use mrtr_schema::Revision;
use mrtr_state::{ProcessRandom, Random};
use rusqlite::{Connection, OptionalExtension, Params, Row, TransactionBehavior, params};

use super::store::owner;
use super::{CALL, ENTRY, KEY, Keeper, Phase, QUESTION, RESULT};
use statements as sql;

pub(super) struct Raw {
    connection: Connection,
    random: ProcessRandom,
    tool: String,
    tasks: usize,
    /// The number of tasks that are written in one transaction.
    at_once: usize,
    ids: Vec<[u8; 16]>,
}

impl Raw {
    pub(super) fn open(path: &Path, tasks: usize, at_once: usize) -> Result<Self> {
        let connection = file::open(path)?;
        let tool = format!("update_{}", std::process::id());
        Ok(Self { connection, random: ProcessRandom::new(), tool, tasks, at_once, ids: Vec::new() })
    }

    fn random(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        self.random.fill(&mut bytes);
        bytes
    }

    /// Runs the verb for each task, `at_once` of them in a transaction.
    fn each(&mut self, verb: impl Fn(&Verbs<'_>, &[u8; 16]) -> Result<()>) -> Result<()> {
        for batch in self.ids.chunks(self.at_once) {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let verbs = Verbs { connection: &transaction, tool: &self.tool };
            batch.iter().try_for_each(|id| verb(&verbs, id))?;
            transaction.commit()?;
        }
        Ok(())
    }

    fn claim(&mut self) -> Result<()> {
        let mut claimed = 0;
        while claimed < self.tasks {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let some = Verbs { connection: &transaction, tool: &self.tool }.claim(self.at_once)?;
            transaction.commit()?;
            ensure!(some > 0, "no task is due");
            claimed += some;
        }
        Ok(())
    }
}

impl Keeper for Raw {
    #[expect(clippy::redundant_closure_for_method_calls, reason = "the methods are those of one lifetime")]
    fn go(&mut self, phase: Phase) -> Result<()> {
        match phase {
            Phase::Create => {
                self.ids = (0..self.tasks).map(|_| self.random()).collect();
                self.each(|verbs, id| verbs.create(id))
            }
            Phase::Claim | Phase::ClaimAgain => self.claim(),
            Phase::Step => self.each(|verbs, id| verbs.step(id)),
            Phase::Ask => self.each(|verbs, id| verbs.ask(id)),
            Phase::Answer => self.each(|verbs, id| verbs.answer(id)),
            Phase::Complete => self.each(|verbs, id| verbs.complete(id)),
            Phase::Get => {
                let verbs = Verbs { connection: &self.connection, tool: &self.tool };
                self.ids.iter().try_for_each(|id| verbs.get(id))
            }
        }
    }
}

/// The statements of each verb, in the order in which the store executes them.
struct Verbs<'a> {
    connection: &'a Connection,
    tool: &'a str,
}

impl Verbs<'_> {
    fn run(&self, sql: &str, params: impl Params) -> Result<()> {
        self.connection.prepare_cached(sql)?.execute(params)?;
        Ok(())
    }

    fn change(&self, id: &[u8; 16]) -> Result<i64> {
        self.run(sql::ADD_CHANGE, [id])?;
        Ok(self.connection.last_insert_rowid())
    }

    /// The place of a task, and the end of its time.
    fn head(&self, id: &[u8; 16]) -> Result<(i64, i64)> {
        let place = self
            .connection
            .prepare_cached(sql::HEAD)?
            .query_row([id], |row| Ok((row.get(0)?, row.get::<_, i64>(7)? + DAY)));
        place.context("there is no such task")
    }

    fn create(&self, id: &[u8; 16]) -> Result<()> {
        let owner = owner();
        let known =
            self.connection.prepare_cached(sql::OWNER)?.query_row([owner.as_str()], |row| row.get(0)).optional()?;
        let number: i64 = if let Some(number) = known {
            number
        } else {
            self.run(sql::ADD_OWNER, [owner.as_str()])?;
            self.connection.last_insert_rowid()
        };
        let mut flow = self.connection.prepare_cached(sql::HEAD_OF_FLOW)?;
        ensure!(!flow.exists((number, id))?, "the flow is known");
        let (place, now) = (self.change(id)?, now());
        let none = None::<i64>;
        self.run(
            sql::ADD,
            params![
                place,
                number,
                id,
                id,
                self.tool,
                Revision::V2026_07_28.number(),
                now,
                1000,
                0,
                now,
                DAY,
                0,
                none,
                now,
                false,
                false,
                0,
                "[]",
                none,
                none,
                0,
                none,
                none,
                none,
                now,
                none,
                now + DAY,
                none,
                number,
            ],
        )?;
        self.run(sql::COUNT_OPEN, (number, 1))?;
        self.run(sql::ADD_CALL, (place, &CALL))
    }

    fn claim(&self, most: usize) -> Result<usize> {
        let now = now();
        // All tasks have one owner here, so that the turns over owners end with the first.
        let mut owner = self.connection.prepare_cached(sql::NEXT_ACCOUNT)?;
        let owner: i64 = owner.query_row((self.tool, 0), |row| row.get(0)).optional()?.unwrap_or_default();
        let mut due = self.connection.prepare_cached(sql::FIRST_OF_ACCOUNT)?;
        let due = due.query_map((self.tool, owner, i64::try_from(most)?), |row| row.get(1))?;
        let due: Vec<i64> = due.collect::<rusqlite::Result<_>>()?;
        for place in &due {
            let mut head = self.connection.prepare_cached(sql::HEAD_AT)?;
            let read = |row: &Row<'_>| Ok((row.get(3)?, row.get(12)?, row.get::<_, i64>(7)? + DAY));
            let (id, fence, expires): ([u8; 16], i64, i64) = head.query_row([place], read)?;
            self.keep((*place, expires), fence + 1, "[]", Some(now + LEASE), None)?;
            self.change(&id)?;
            self.all(sql::ENTRIES, *place)?;
            self.all(sql::QUESTIONS, *place)?;
        }
        self.connection.prepare_cached(sql::FIRST)?.exists((self.tool, 1))?;
        Ok(due.len())
    }

    fn all(&self, sql: &str, place: i64) -> Result<()> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([place])?;
        while rows.next()?.is_some() {}
        Ok(())
    }

    /// Writes a record with a lease until then, or due since then.
    fn keep(
        &self,
        (place, expires): (i64, i64),
        fence: i64,
        open: &str,
        leased_until: Option<i64>,
        due: Option<i64>,
    ) -> Result<()> {
        let (now, none) = (now(), None::<i64>);
        let attention = leased_until.or(due);
        self.run(
            sql::KEEP_AND_INDEX,
            params![
                place,
                now,
                DAY,
                fence,
                leased_until,
                due,
                false,
                false,
                0,
                open,
                none,
                none,
                0,
                none,
                none,
                attention,
                none,
                expires,
                none,
                none,
            ],
        )
    }

    fn step(&self, id: &[u8; 16]) -> Result<()> {
        let ((place, _), now, none) = (self.head(id)?, now(), None::<i64>);
        self.run(sql::ADD_ENTRY, (place, &ENTRY))?;
        self.run(
            sql::KEEP,
            params![place, now, DAY, 1, now + LEASE, none, false, true, 0, "[]", none, none, 0, none, none],
        )?;
        self.change(id).map(drop)
    }

    fn ask(&self, id: &[u8; 16]) -> Result<()> {
        let head @ (place, _) = self.head(id)?;
        self.connection.prepare_cached(sql::IS_USED)?.exists((place, KEY))?;
        self.run(sql::ADD_QUESTION, (place, KEY, &QUESTION))?;
        self.run(sql::ADD_ENTRY, (place, &ENTRY))?;
        self.keep(head, 1, r#"["resolution"]"#, None, None)?;
        self.change(id).map(drop)
    }

    fn answer(&self, id: &[u8; 16]) -> Result<()> {
        let head @ (place, _) = self.head(id)?;
        self.run(sql::ADD_ENTRY, (place, &ENTRY))?;
        self.run(sql::CLOSE_QUESTION, (place, KEY))?;
        self.keep(head, 1, "[]", None, Some(now()))?;
        self.change(id).map(drop)
    }

    fn complete(&self, id: &[u8; 16]) -> Result<()> {
        let ((place, expires), now, none) = (self.head(id)?, now(), None::<i64>);
        self.run(sql::ADD_RESULT, (place, &RESULT))?;
        self.run(
            sql::KEEP_AND_INDEX,
            params![
                place,
                now,
                DAY,
                2,
                none,
                none,
                false,
                false,
                0,
                "[]",
                "completed",
                now,
                0,
                none,
                none,
                none,
                none,
                none,
                expires,
                none,
            ],
        )?;
        self.run(sql::ERASE_ENTRIES, [place])?;
        self.run(sql::ERASE_QUESTIONS, [place])?;
        self.run(sql::COUNT_OPEN, (1, -1))?;
        self.change(id).map(drop)
    }

    fn get(&self, id: &[u8; 16]) -> Result<()> {
        let mut statement = self.connection.prepare_cached(sql::TASK)?;
        let mut rows = statement.query([id])?;
        while rows.next()?.is_some() {}
        Ok(())
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

const DAY: i64 = 86_400_000;
const LEASE: i64 = 30_000;
