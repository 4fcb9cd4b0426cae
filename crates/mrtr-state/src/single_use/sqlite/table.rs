//! The verbs as SQL, inside a transaction that somebody else begins and commits.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row};

use super::super::purged::Purged;
use super::super::{Claim, GuardError, Holder, Redemption, Release, Running, StepRecord};
use crate::Timestamp;
use crate::digest::AnswersDigest;

pub(super) struct Table<'a> {
    pub(super) connection: &'a Connection,
    pub(super) since: Timestamp,
    /// The claims that ended in this transaction, by their fences.
    pub(super) ended: Vec<u64>,
}

/// Why a verb failed: by itself, having changed nothing, or with the whole transaction.
pub(super) enum Failure {
    Refused(GuardError),
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<GuardError> for Failure {
    fn from(error: GuardError) -> Self {
        Self::Refused(error)
    }
}

impl Table<'_> {
    pub(super) fn claim(&mut self, redemption: &Redemption, lease: Duration, now: Timestamp) -> Result<Claim, Failure> {
        if redemption.issued() < self.since {
            return Err(GuardError::BeforeMemory.into());
        }
        self.purge(now)?;
        let Some(standing) = self.standing(redemption, now)? else {
            self.purged()?.refuse_forgotten(redemption, now)?;
            return Ok(Claim::Taken(self.take_first(redemption, now + lease)?, Vec::new()));
        };
        let same_answers = standing.answers == redemption.answers();
        match standing.phase {
            Phase::Held { fence, lapses } if now < lapses => {
                Ok(Claim::Running(Running::new(Holder::new(redemption.key(), fence), lapses)))
            }
            Phase::Committed(reply) if same_answers => Ok(Claim::Committed(reply)),
            Phase::Committed(_) => Ok(Claim::OtherAnswers),
            _ if standing.has_steps && !same_answers => Ok(Claim::OtherAnswers),
            Phase::Held { fence, .. } => {
                self.ended.push(fence);
                self.take_over(standing.id, redemption, now + lease)
            }
            Phase::Released => self.take_over(standing.id, redemption, now + lease),
        }
    }

    pub(super) fn renew(&mut self, holder: &Holder, lease: Duration, now: Timestamp) -> Result<(), Failure> {
        let id = self.held(holder, now)?;
        self.connection.prepare_cached(RENEW)?.execute((id, millis(now + lease)))?;
        Ok(())
    }

    pub(super) fn mark_started(&mut self, holder: &Holder, step: &str, now: Timestamp) -> Result<(), Failure> {
        let id = self.held(holder, now)?;
        match self.connection.prepare_cached(MARK)?.execute((id, step))? {
            0 => Err(GuardError::OutOfTurn(step.to_owned()).into()),
            _ => Ok(()),
        }
    }

    pub(super) fn record(
        &mut self,
        holder: &Holder,
        step: &str,
        outcome: &[u8],
        now: Timestamp,
    ) -> Result<(), Failure> {
        let id = self.held(holder, now)?;
        self.connection.prepare_cached(RECORD)?.execute((id, step, outcome))?;
        Ok(())
    }

    pub(super) fn commit(&mut self, holder: &Holder, reply: &[u8], now: Timestamp) -> Result<(), Failure> {
        let id = self.held(holder, now)?;
        self.connection.prepare_cached(COMMIT)?.execute((id, reply))?;
        self.connection.prepare_cached(DROP_STEPS)?.execute([id])?;
        self.ended.push(holder.fence());
        Ok(())
    }

    pub(super) fn release(&mut self, holder: &Holder, now: Timestamp) -> Result<Release, Failure> {
        let id = self.held(holder, now)?;
        self.ended.push(holder.fence());
        if self.connection.prepare_cached(HAS_STEPS)?.exists([id])? {
            self.connection.prepare_cached(RELEASE)?.execute([id])?;
            return Ok(Release::Kept);
        }
        self.connection.prepare_cached(FORGET)?.execute([id])?;
        Ok(Release::Forgotten)
    }

    fn standing(&self, redemption: &Redemption, now: Timestamp) -> rusqlite::Result<Option<Standing>> {
        let row = (millis(redemption.issued()), *redemption.key().as_bytes(), millis(now));
        self.connection.prepare_cached(STANDING)?.query_row(row, Standing::read).optional()
    }

    fn take_first(&self, redemption: &Redemption, lapses: Timestamp) -> rusqlite::Result<Holder> {
        let holder = self.next_holder(redemption)?;
        self.connection.prepare_cached(TAKE_FIRST)?.execute((
            millis(redemption.issued()),
            *redemption.key().as_bytes(),
            *redemption.answers().as_bytes(),
            millis(redemption.keep_until().max(lapses)),
            number(holder.fence()),
            millis(lapses),
        ))?;
        Ok(holder)
    }

    fn take_over(&self, id: i64, redemption: &Redemption, lapses: Timestamp) -> Result<Claim, Failure> {
        let holder = self.next_holder(redemption)?;
        let row = (id, *redemption.answers().as_bytes(), number(holder.fence()), millis(lapses));
        self.connection.prepare_cached(TAKE_OVER)?.execute(row)?;
        let mut steps = self.connection.prepare_cached(STEPS)?;
        let steps = steps.query_map([id], |row| Ok(StepRecord::new(row.get::<_, String>(0)?, row.get(1)?)))?;
        Ok(Claim::Taken(holder, steps.collect::<Result<_, _>>()?))
    }

    fn next_holder(&self, redemption: &Redemption) -> rusqlite::Result<Holder> {
        let fence: i64 = self.connection.prepare_cached(NEXT_FENCE)?.query_row([], |row| row.get(0))?;
        Ok(Holder::new(redemption.key(), fence.cast_unsigned()))
    }

    fn held(&self, holder: &Holder, now: Timestamp) -> Result<i64, Failure> {
        let row = (number(holder.fence()), *holder.key().as_bytes(), millis(now));
        let id = self.connection.prepare_cached(HELD)?.query_row(row, |row| row.get(0)).optional()?;
        Ok(id.ok_or(GuardError::Lost)?)
    }

    /// What was purged is gone and noted in one transaction, so that no crash comes between the two.
    fn purge(&mut self, now: Timestamp) -> rusqlite::Result<()> {
        let mut purged = Purged::default();
        let mut purge = self.connection.prepare_cached(PURGE)?;
        let mut rows = purge.query([millis(now)])?;
        while let Some(row) = rows.next()? {
            self.ended.extend(row.get::<_, Option<i64>>("fence")?.map(i64::cast_unsigned));
            purged = purged.and(Purged { issued: moment(row.get("issued")?), end: moment(row.get("keep_until")?) });
        }
        if purged != Purged::default() {
            self.connection.prepare_cached(NOTE_PURGED)?.execute((millis(purged.issued), millis(purged.end)))?;
        }
        Ok(())
    }

    /// Read each time, for other processes purge too.
    fn purged(&self) -> rusqlite::Result<Purged> {
        let read = |row: &Row<'_>| Ok(Purged { issued: moment(row.get(0)?), end: moment(row.get(1)?) });
        self.connection.prepare_cached(PURGED)?.query_row([], read)
    }
}

/// Whether a claim is held, for whoever waits for its end.
pub(super) fn is_held(connection: &Connection, holder: &Holder) -> rusqlite::Result<bool> {
    let row = (number(holder.fence()), *holder.key().as_bytes());
    connection.prepare_cached(IS_HELD)?.exists(row)
}

struct Standing {
    id: i64,
    answers: AnswersDigest,
    phase: Phase,
    has_steps: bool,
}

enum Phase {
    Held { fence: u64, lapses: Timestamp },
    Released,
    Committed(Vec<u8>),
}

impl Standing {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let held: (Option<i64>, Option<i64>) = (row.get("fence")?, row.get("lapses")?);
        let phase = match (held, row.get("reply")?) {
            ((Some(fence), Some(lapses)), _) => Phase::Held { fence: fence.cast_unsigned(), lapses: moment(lapses) },
            (_, Some(reply)) => Phase::Committed(reply),
            (_, None) => Phase::Released,
        };
        Ok(Self {
            id: row.get("id")?,
            answers: AnswersDigest::from_bytes(row.get("answers")?),
            phase,
            has_steps: row.get("has_steps")?,
        })
    }
}

/// SQLite's numbers have a sign; a moment past the largest one counts as that one.
pub(super) fn millis(moment: Timestamp) -> i64 {
    i64::try_from(moment.as_millis()).unwrap_or(i64::MAX)
}

pub(super) fn moment(millis: i64) -> Timestamp {
    Timestamp::from_millis(u64::try_from(millis).unwrap_or(0))
}

/// A number that we never gave out, as a stranger may make one up, may become negative: it finds nothing either.
fn number(fence: u64) -> i64 {
    fence.cast_signed()
}

macro_rules! statements {
    ($($name:ident = $sql:literal;)*) => {
        $(const $name: &str = $sql;)*
        #[cfg(test)]
        const STATEMENTS: &[&str] = &[$($name),*];
    };
}

statements! {
    STANDING = "SELECT id, answers, fence, lapses, reply,
                       EXISTS (SELECT 1 FROM step WHERE redemption = redemption.id) AS has_steps
                FROM redemption WHERE issued = ?1 AND key = ?2 AND keep_until > ?3";
    NEXT_FENCE = "UPDATE memory SET last_fence = last_fence + 1 WHERE only_row = 0 RETURNING last_fence";
    TAKE_FIRST = "INSERT INTO redemption (issued, key, answers, keep_until, fence, lapses)
                  VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    TAKE_OVER = "UPDATE redemption SET answers = ?2, fence = ?3, lapses = ?4, keep_until = max(keep_until, ?4)
                 WHERE id = ?1";
    STEPS = "SELECT name, outcome FROM step WHERE redemption = ?1 ORDER BY id";
    HELD = "SELECT id FROM redemption WHERE fence = ?1 AND key = ?2 AND keep_until > ?3";
    IS_HELD = "SELECT 1 FROM redemption WHERE fence = ?1 AND key = ?2";
    RENEW = "UPDATE redemption SET lapses = ?2, keep_until = max(keep_until, ?2) WHERE id = ?1";
    // Changes a row, if only to what it was, unless the step has been recorded.
    MARK = "INSERT INTO step (redemption, name) VALUES (?1, ?2)
            ON CONFLICT (redemption, name) DO UPDATE SET outcome = NULL WHERE outcome IS NULL";
    RECORD = "INSERT INTO step (redemption, name, outcome) VALUES (?1, ?2, ?3)
              ON CONFLICT (redemption, name) DO UPDATE SET outcome = excluded.outcome";
    COMMIT = "UPDATE redemption SET fence = NULL, lapses = NULL, reply = ?2 WHERE id = ?1";
    DROP_STEPS = "DELETE FROM step WHERE redemption = ?1";
    HAS_STEPS = "SELECT 1 FROM step WHERE redemption = ?1";
    RELEASE = "UPDATE redemption SET fence = NULL, lapses = NULL WHERE id = ?1";
    FORGET = "DELETE FROM redemption WHERE id = ?1";
    // A claim adds one entry at most: taking two away lets the file's rows become fewer again after a rush.
    PURGE = "DELETE FROM redemption
             WHERE id IN (SELECT id FROM redemption WHERE keep_until <= ?1 ORDER BY keep_until LIMIT 2)
             RETURNING fence, issued, keep_until";
    PURGED = "SELECT purged_issued, purged_end FROM memory WHERE only_row = 0";
    NOTE_PURGED = "UPDATE memory SET purged_issued = max(purged_issued, ?1), purged_end = max(purged_end, ?2)
                   WHERE only_row = 0";
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    #[test]
    fn every_statement_uses_an_index() {
        let folder = tempfile::tempdir().unwrap();
        let now = Timestamp::from_millis(1_785_240_000_000);
        let file = file::open(&folder.path().join("plans.sqlite"), now).unwrap();
        for sql in STATEMENTS {
            let mut explain = file.connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            for at in 1..=explain.parameter_count() {
                explain.raw_bind_parameter(at, 0).unwrap();
            }
            let mut rows = explain.raw_query();
            while let Some(row) = rows.next().unwrap() {
                let plan: String = row.get("detail").unwrap();
                assert!(!plan.starts_with("SCAN"), "{sql}: {plan}");
            }
        }
    }
}
