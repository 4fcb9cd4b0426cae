//! The verbs of single use as SQL, inside a transaction that the worker begins and commits.

use std::time::Duration;

use mrtr_state::single_use::{InProgress, Purged, Release, Reservation, ReserveOutcome, SingleUseError, StepRecord};
use mrtr_state::{AnswersDigest, Timestamp, TokenUse};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::schema::{millis, moment};
use crate::writer;

type Failure = writer::Failure<SingleUseError>;

pub(crate) struct Tokens<'a> {
    pub(crate) connection: &'a Connection,
    /// The reservations that ended in this transaction, by their fences.
    pub(crate) ended: Vec<u64>,
}

impl From<SingleUseError> for Failure {
    fn from(error: SingleUseError) -> Self {
        Self::Verb(error)
    }
}

impl Tokens<'_> {
    pub(crate) fn reserve(
        &mut self,
        token_use: &TokenUse,
        lease: Duration,
        now: Timestamp,
    ) -> Result<ReserveOutcome, Failure> {
        self.purge(now)?;
        let Some(standing) = self.standing(token_use, now)? else {
            self.purged()?.refuse_forgotten(token_use, now)?;
            return Ok(ReserveOutcome::Reserved(self.take_first(token_use, now + lease)?, Vec::new()));
        };
        let same_answers = standing.answers == token_use.answers();
        match standing.phase {
            // Whatever the answers: which of them stand is known when that round has ended.
            Phase::Held { fence, lapses } if now < lapses => {
                Ok(ReserveOutcome::InProgress(InProgress::new(Reservation::new(token_use.key(), fence), lapses)))
            }
            Phase::Committed(reply) if same_answers => Ok(ReserveOutcome::Committed(reply)),
            Phase::Committed(_) => Ok(ReserveOutcome::OtherAnswers),
            // What has happened in the world was done for other answers: going on with these would mix two decisions.
            _ if standing.has_steps && !same_answers => Ok(ReserveOutcome::OtherAnswers),
            Phase::Held { fence, .. } => {
                self.ended.push(fence);
                self.take_over(standing.id, token_use, now + lease)
            }
            Phase::Released => self.take_over(standing.id, token_use, now + lease),
        }
    }

    pub(crate) fn renew(&mut self, reservation: &Reservation, lease: Duration, now: Timestamp) -> Result<(), Failure> {
        let id = self.held(reservation, now)?;
        self.connection.prepare_cached(RENEW)?.execute((id, millis(now + lease)))?;
        Ok(())
    }

    /// Renews these reservations, and returns a result for each. If one is lost, the others are renewed all the same.
    pub(crate) fn renew_all(
        &mut self,
        reservations: &[Reservation],
        lease: Duration,
        now: Timestamp,
    ) -> Result<Vec<Result<(), SingleUseError>>, Failure> {
        let mut renewed = Vec::new();
        for reservation in reservations {
            match self.renew(reservation, lease, now) {
                Ok(()) => renewed.push(Ok(())),
                Err(Failure::Verb(refused)) => renewed.push(Err(refused)),
                Err(failed @ Failure::Transaction(_)) => return Err(failed),
            }
        }
        Ok(renewed)
    }

    pub(crate) fn mark_started(
        &mut self,
        reservation: &Reservation,
        step: &str,
        now: Timestamp,
    ) -> Result<(), Failure> {
        let id = self.held(reservation, now)?;
        match self.connection.prepare_cached(MARK)?.execute((id, step))? {
            0 => Err(SingleUseError::OutOfTurn(step.to_owned()).into()),
            _ => Ok(()),
        }
    }

    pub(crate) fn record(
        &mut self,
        reservation: &Reservation,
        step: &str,
        outcome: &[u8],
        now: Timestamp,
    ) -> Result<(), Failure> {
        let id = self.held(reservation, now)?;
        self.connection.prepare_cached(RECORD)?.execute((id, step, outcome))?;
        Ok(())
    }

    pub(crate) fn commit(&mut self, reservation: &Reservation, reply: &[u8], now: Timestamp) -> Result<(), Failure> {
        let id = self.held(reservation, now)?;
        self.connection.prepare_cached(COMMIT)?.execute((id, reply))?;
        self.connection.prepare_cached(DROP_STEPS)?.execute([id])?;
        self.ended.push(reservation.fence());
        Ok(())
    }

    pub(crate) fn release(&mut self, reservation: &Reservation, now: Timestamp) -> Result<Release, Failure> {
        let id = self.held(reservation, now)?;
        self.ended.push(reservation.fence());
        if self.connection.prepare_cached(HAS_STEPS)?.exists([id])? {
            self.connection.prepare_cached(RELEASE)?.execute([id])?;
            return Ok(Release::Kept);
        }
        self.connection.prepare_cached(FORGET)?.execute([id])?;
        Ok(Release::Forgotten)
    }

    fn standing(&self, token_use: &TokenUse, now: Timestamp) -> rusqlite::Result<Option<Standing>> {
        let row = (millis(token_use.issued()), *token_use.key().as_bytes(), millis(now));
        self.connection.prepare_cached(STANDING)?.query_row(row, Standing::read).optional()
    }

    fn take_first(&self, token_use: &TokenUse, lapses: Timestamp) -> rusqlite::Result<Reservation> {
        let reservation = self.next_reservation(token_use)?;
        self.connection.prepare_cached(TAKE_FIRST)?.execute((
            millis(token_use.issued()),
            *token_use.key().as_bytes(),
            *token_use.answers().as_bytes(),
            millis(token_use.keep_until().max(lapses)),
            number(reservation.fence()),
            millis(lapses),
        ))?;
        Ok(reservation)
    }

    fn take_over(&self, id: i64, token_use: &TokenUse, lapses: Timestamp) -> Result<ReserveOutcome, Failure> {
        let reservation = self.next_reservation(token_use)?;
        let row = (id, *token_use.answers().as_bytes(), number(reservation.fence()), millis(lapses));
        self.connection.prepare_cached(TAKE_OVER)?.execute(row)?;
        let mut steps = self.connection.prepare_cached(STEPS)?;
        let steps = steps.query_map([id], |row| Ok(StepRecord::new(row.get::<_, String>(0)?, row.get(1)?)))?;
        Ok(ReserveOutcome::Reserved(reservation, steps.collect::<Result<_, _>>()?))
    }

    fn next_reservation(&self, token_use: &TokenUse) -> rusqlite::Result<Reservation> {
        let fence: i64 = self.connection.prepare_cached(NEXT_FENCE)?.query_row([], |row| row.get(0))?;
        Ok(Reservation::new(token_use.key(), fence.cast_unsigned()))
    }

    /// The row of a reservation that holds.
    ///
    /// It may hold longer than its lease: a round that is late and that no other has replaced may still say what it
    /// did. Losing that would leave an effect in doubt for nothing.
    fn held(&self, reservation: &Reservation, now: Timestamp) -> Result<i64, Failure> {
        let row = (number(reservation.fence()), *reservation.key().as_bytes(), millis(now));
        let id = self.connection.prepare_cached(HELD)?.query_row(row, |row| row.get(0)).optional()?;
        Ok(id.ok_or(SingleUseError::Lost)?)
    }

    /// Removes old entries and notes that in the same transaction, so that no crash comes between the two.
    fn purge(&mut self, now: Timestamp) -> rusqlite::Result<()> {
        let mut purged = Purged::default();
        let mut purge = self.connection.prepare_cached(PURGE)?;
        let mut rows = purge.query([millis(now)])?;
        while let Some(row) = rows.next()? {
            self.ended.extend(row.get::<_, Option<i64>>("fence")?.map(i64::cast_unsigned));
            purged = purged.and(Purged::new(moment(row.get("issued")?), moment(row.get("keep_until")?)));
        }
        if purged != Purged::default() {
            self.connection.prepare_cached(NOTE_PURGED)?.execute((millis(purged.issued()), millis(purged.end())))?;
        }
        Ok(())
    }

    /// Reads how far the file was purged. It reads each time, for other processes purge too.
    fn purged(&self) -> rusqlite::Result<Purged> {
        let read = |row: &Row<'_>| Ok(Purged::new(moment(row.get(0)?), moment(row.get(1)?)));
        self.connection.prepare_cached(PURGED)?.query_row([], read)
    }
}

/// The time since which the file remembers.
pub(crate) fn since(connection: &Connection) -> rusqlite::Result<Timestamp> {
    connection.query_row("SELECT since FROM memory WHERE only_row = 0", [], |row| row.get(0)).map(moment)
}

/// Returns true if a reservation is held, for callers that wait for its end.
pub(super) fn is_held(connection: &Connection, reservation: &Reservation) -> rusqlite::Result<bool> {
    let row = (number(reservation.fence()), *reservation.key().as_bytes());
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

/// Converts a fence to SQLite's numbers, which have a sign. A fence that a stranger made up may become negative, and
/// then finds nothing.
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
    // Reserving adds one entry at most: taking two away lets the file's rows become fewer again after a rush.
    PURGE = "DELETE FROM redemption
             WHERE id IN (SELECT id FROM redemption WHERE keep_until <= ?1 ORDER BY keep_until LIMIT 2)
             RETURNING fence, issued, keep_until";
    PURGED = "SELECT purged_issued, purged_end FROM memory WHERE only_row = 0";
    NOTE_PURGED = "UPDATE memory SET purged_issued = max(purged_issued, ?1), purged_end = max(purged_end, ?2)
                   WHERE only_row = 0";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open::open;
    use crate::schema::Needed;
    use crate::single_use::tests::NOON;

    #[test]
    fn every_statement_uses_an_index() {
        let folder = tempfile::tempdir().unwrap();
        let file = open(&folder.path().join("plans.sqlite"), Needed::SingleUse(NOON)).unwrap();
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
