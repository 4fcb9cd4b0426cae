//! Single use of tokens: each verb of a reservation is one statement, under its fence.

mod statements;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use mrtr_state::single_use::{
    InProgress, LeaseKeeper, Release, Reservation, ReserveOutcome, SingleUse, SingleUseError, StepRecord,
};
use mrtr_state::{ALLOWED_SKEW, Timestamp, TokenUse};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_postgres::Row;

use super::keeper::Keeper;
use super::tasks::value;
use super::{Inner, PostgresStore};
use crate::database::{Attempts, Connection, Params};
use crate::failure::Failure;
use crate::statement::Statement;
use crate::values::{duration, length, millis, moment};

pub(crate) use statements::TokenStatements;

#[async_trait]
impl SingleUse for PostgresStore {
    async fn reserve(
        &self,
        token_use: &TokenUse,
        lease: Duration,
        now: Timestamp,
    ) -> Result<ReserveOutcome, SingleUseError> {
        self.inner.purge_now_and_then(now).await?;
        let (mut attempts, holder) = (Attempts::new(), self.inner.stamp());
        loop {
            match self.inner.try_to_reserve(token_use, lease, holder, now).await {
                Ok(Some(outcome)) => return outcome,
                // Another round came in between.
                Ok(None) => {}
                Err(failure) => attempts.after(failure).await?,
            }
        }
    }

    async fn renew(&self, reservation: &Reservation, lease: Duration, now: Timestamp) -> Result<(), SingleUseError> {
        let (fence, key) = named(reservation);
        let params: &Params<'_> = &[&fence, &key, &length(lease), &self.inner.told(now)];
        let (renewed, _) = self.inner.rows(|sql| &sql.renew, params).await?;
        if renewed.is_empty() { Err(SingleUseError::Lost) } else { Ok(()) }
    }

    fn lease_keeper(&self) -> Box<dyn LeaseKeeper> {
        Box::new(Keeper::new(&self.inner))
    }

    async fn mark_started(&self, reservation: &Reservation, step: &str, now: Timestamp) -> Result<(), SingleUseError> {
        let (fence, key) = named(reservation);
        let params: &Params<'_> = &[&fence, &key, &step, &self.inner.next_number(), &self.inner.told(now)];
        let (rows, _) = self.inner.rows(|sql| &sql.mark, params).await?;
        match flags(&rows)? {
            (true, true) => Ok(()),
            (true, false) => Err(SingleUseError::OutOfTurn(step.to_owned())),
            _ => Err(SingleUseError::Lost),
        }
    }

    async fn record(
        &self,
        reservation: &Reservation,
        step: &str,
        outcome: &[u8],
        now: Timestamp,
    ) -> Result<(), SingleUseError> {
        let (fence, key) = named(reservation);
        let params: &Params<'_> = &[&fence, &key, &step, &outcome, &self.inner.next_number(), &self.inner.told(now)];
        let (recorded, _) = self.inner.rows(|sql| &sql.record, params).await?;
        if recorded.is_empty() { Err(SingleUseError::Lost) } else { Ok(()) }
    }

    async fn commit(&self, reservation: &Reservation, reply: &[u8], now: Timestamp) -> Result<(), SingleUseError> {
        let (fence, key) = named(reservation);
        let params: &Params<'_> = &[&fence, &key, &reply, &self.inner.next_number(), &self.inner.told(now)];
        let (committed, was_unsure) = self.inner.rows(|sql| &sql.commit, params).await?;
        // An attempt whose connection was lost may have come through before.
        let is_ours = !committed.is_empty()
            || was_unsure
                && matches!(self.inner.standing(fence, &key).await?, Some((false, Some(kept))) if kept == reply);
        if !is_ours {
            return Err(SingleUseError::Lost);
        }
        self.inner.have_ended([fence]);
        Ok(())
    }

    async fn release(&self, reservation: &Reservation, now: Timestamp) -> Result<Release, SingleUseError> {
        let (fence, key) = named(reservation);
        let params: &Params<'_> = &[&fence, &key, &self.inner.next_number(), &self.inner.told(now)];
        let mut was_ever_unsure = false;
        // Once more if a step was marked while the statement looked.
        for _ in 0..3 {
            let (rows, was_unsure) = self.inner.rows(|sql| &sql.release, params).await?;
            was_ever_unsure |= was_unsure;
            let released = match flags(&rows)? {
                (true, _) => Release::Kept,
                (_, true) => Release::Forgotten,
                _ => match self.inner.standing(fence, &key).await? {
                    Some((true, _)) => continue,
                    Some((false, None)) if was_ever_unsure => Release::Kept,
                    None if was_ever_unsure => Release::Forgotten,
                    _ => return Err(SingleUseError::Lost),
                },
            };
            self.inner.have_ended([fence]);
            return Ok(released);
        }
        Err(SingleUseError::Lost)
    }

    async fn ended(&self, in_progress: &InProgress) -> Result<(), SingleUseError> {
        let (fence, _) = named(in_progress.reservation());
        let mut waiting = self.inner.waiting.wait(fence);
        // One looks for all who wait: many of them would otherwise keep the one from a connection that they wait for.
        self.inner.look.notify_one();
        drop(waiting.changed().await);
        Ok(())
    }
}

impl Inner {
    /// Returns `None` if another round came in between.
    async fn try_to_reserve(
        &self,
        token_use: &TokenUse,
        lease: Duration,
        holder: i64,
        now: Timestamp,
    ) -> Result<Option<Result<ReserveOutcome, SingleUseError>>, Failure> {
        let connection = self.database.connection().await?;
        let (key, answers) = (token_use.key(), token_use.answers());
        let [issued, keep_until] = [token_use.issued(), token_use.keep_until()].map(millis);
        // From then on another instance, whose clock may be ahead, may have purged it.
        let fresh_until = keep_until.saturating_sub(length(ALLOWED_SKEW));
        let (lease, told) = (length(lease), self.told(now));
        let (key_bytes, answer_bytes) = (key.as_bytes().as_slice(), answers.as_bytes().as_slice());
        let params: &Params<'_> =
            &[&issued, &key_bytes, &answer_bytes, &keep_until, &fresh_until, &lease, &told, &holder];
        let rows = connection.query(&self.tokens.reserve, params).await?;
        let row = rows.first().ok_or_else(|| Failure::Unreadable("the store does not remember since when".into()))?;
        let Found { time, memory, first, standing } = Found::read(row)?;
        if let Some(fence) = first {
            let reservation = Reservation::new(key, fence.cast_unsigned());
            return Ok(Some(Ok(ReserveOutcome::Reserved(reservation, Vec::new()))));
        }
        if issued < memory.since {
            return Ok(Some(Err(SingleUseError::BeforeMemory)));
        }
        let Some(standing) = standing.filter(|standing| standing.keep_until > time) else {
            return Ok(memory
                .refuses(issued, keep_until, fresh_until, time)
                .then_some(Err(SingleUseError::BeforeMemory)));
        };
        let same_answers = standing.answers == answer_bytes;
        let outcome = match (standing.lapses, standing.reply) {
            // It is ours: the connection of an earlier attempt was lost.
            (Some(_), _) if standing.holder == holder => {
                let steps = self.steps_of(&connection, standing.id).await?;
                ReserveOutcome::Reserved(Reservation::new(key, standing.fence.cast_unsigned()), steps)
            }
            // Whatever the answers: which of them stand is known when that round has ended.
            (Some(lapses), _) if time < lapses => {
                let reservation = Reservation::new(key, standing.fence.cast_unsigned());
                // By the clock of the caller, who waits for it.
                let lapses = if told.is_some() { moment(lapses) } else { now + duration(lapses - time) };
                ReserveOutcome::InProgress(InProgress::new(reservation, lapses))
            }
            (None, Some(reply)) if same_answers => ReserveOutcome::Committed(reply),
            (None, Some(_)) => ReserveOutcome::OtherAnswers,
            // What has happened in the world was done for other answers: going on with these would mix two decisions.
            _ if standing.steps > 0 && !same_answers => ReserveOutcome::OtherAnswers,
            (lapses, _) => {
                let (id, old) = (standing.id, standing.fence);
                let params: &Params<'_> = &[&id, &answer_bytes, &old, &standing.steps, &lapses, &lease, &told, &holder];
                let rows = connection.query(&self.tokens.take_over, params).await?;
                let Some(row) = rows.first() else { return Ok(None) };
                self.have_ended([old]);
                let reservation = Reservation::new(key, value::<i64>(row, 0)?.cast_unsigned());
                ReserveOutcome::Reserved(reservation, self.steps_of(&connection, id).await?)
            }
        };
        Ok(Some(Ok(outcome)))
    }

    /// Reads the steps of earlier rounds. Those who held the token before write no more steps.
    async fn steps_of(&self, connection: &Connection<'_>, id: i64) -> Result<Vec<StepRecord>, Failure> {
        let rows = connection.query(&self.tokens.steps, &[&id]).await?;
        rows.iter().map(|row| Ok(StepRecord::new(value::<String>(row, 0)?, value(row, 1)?))).collect()
    }

    /// Removes entries that are too old, in bounded batches.
    async fn purge_now_and_then(&self, now: Timestamp) -> Result<(), SingleUseError> {
        {
            let mut last = self.last_purge.lock().unwrap_or_else(PoisonError::into_inner);
            let is_due = last.is_none_or(|last| last.elapsed() > BETWEEN_PURGES);
            if !is_due && self.clock.is_none() {
                return Ok(());
            }
            *last = Some(Instant::now());
        }
        let (rows, _) = self.rows(|sql| &sql.purge, &[&self.told(now), &PURGED_AT_ONCE]).await?;
        let ended = rows.iter().map(|row| value(row, 0)).collect::<Result<Vec<i64>, _>>()?;
        if !ended.is_empty() {
            self.have_ended(ended);
        }
        Ok(())
    }

    /// Reads whether a reservation is held, and its reply; `None` if there is none with this fence.
    async fn standing(&self, fence: i64, key: &[u8]) -> Result<Option<(bool, Option<Vec<u8>>)>, Failure> {
        let rows = self.database.read(&self.tokens.standing, &[&fence, &key]).await?;
        rows.first().map(|row| Ok((value(row, 0)?, value(row, 1)?))).transpose()
    }

    /// Looks whether reservations have ended that callers wait for.
    pub(super) async fn look_for_ends(&self) {
        let fences = self.waiting.fences();
        if fences.is_empty() {
            return;
        }
        let held = async {
            let rows = self.database.read(&self.tokens.held, &[&fences]).await?;
            rows.iter().map(|row| value(row, 0)).collect::<Result<Vec<i64>, Failure>>()
        };
        match held.await {
            Ok(held) => self.waiting.ended(fences.into_iter().filter(|fence| !held.contains(fence))),
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "ends of reservations cannot be queried");
            }
        }
    }

    /// Tells the callers that wait, in this process and in others, that reservations have ended.
    fn have_ended(&self, fences: impl IntoIterator<Item = i64>) {
        self.waiting.ended(fences);
        self.signal();
    }

    /// Carries out a verb that can be repeated. It also says whether an earlier attempt at it may have come through.
    async fn rows(
        &self,
        statement: impl Fn(&TokenStatements) -> &Statement,
        params: &Params<'_>,
    ) -> Result<(Vec<Row>, bool), Failure> {
        let (mut attempts, mut was_unsure) = (Attempts::new(), false);
        loop {
            let run = async { self.database.connection().await?.query(statement(&self.tokens), params).await };
            match run.await {
                Ok(rows) => return Ok((rows, was_unsure)),
                Err(failure) => {
                    was_unsure |= matches!(failure, Failure::Unsure(_));
                    attempts.after(failure).await?;
                }
            }
        }
    }
}

/// The state that a request to reserve found.
struct Found {
    time: i64,
    memory: Memory,
    /// The fence of a reservation that is the first of its token.
    first: Option<i64>,
    standing: Option<Standing>,
}

/// The time since which the store remembers, and how far it has purged: the latest issue and the latest end.
struct Memory {
    since: i64,
    purged_issued: i64,
    purged_end: i64,
}

struct Standing {
    id: i64,
    answers: Vec<u8>,
    fence: i64,
    holder: i64,
    lapses: Option<i64>,
    reply: Option<Vec<u8>>,
    steps: i64,
    keep_until: i64,
}

impl Found {
    fn read(row: &Row) -> Result<Self, Failure> {
        let memory = Memory { since: value(row, 1)?, purged_issued: value(row, 2)?, purged_end: value(row, 3)? };
        let standing = match value::<Option<i64>>(row, 5)? {
            None => None,
            Some(id) => Some(Standing {
                id,
                answers: value(row, 6)?,
                fence: value(row, 7)?,
                holder: value(row, 8)?,
                lapses: value(row, 9)?,
                reply: value(row, 10)?,
                steps: value(row, 11)?,
                keep_until: value(row, 12)?,
            }),
        };
        Ok(Self { time: value(row, 0)?, memory, first: value(row, 4)?, standing })
    }
}

impl Memory {
    /// Returns true if an unknown token may be one that was forgotten.
    fn refuses(&self, issued: i64, keep_until: i64, fresh_until: i64, time: i64) -> bool {
        if time >= fresh_until {
            return true;
        }
        let may_be_purged = issued <= self.purged_issued && keep_until <= self.purged_end;
        if may_be_purged {
            tracing::warn!(
                now = time,
                purged_until = self.purged_end,
                issued_until = self.purged_issued,
                "the clock was set back: tokens that may have been redeemed and purged are refused; if the clock is \
                 right now, new keys and a new schema end this sooner"
            );
        }
        may_be_purged
    }
}

/// The fence and the key, as columns. A fence that a stranger made up may become negative, and then finds nothing.
fn named(reservation: &Reservation) -> (i64, Vec<u8>) {
    (reservation.fence().cast_signed(), reservation.key().as_bytes().to_vec())
}

fn flags(rows: &[Row]) -> Result<(bool, bool), Failure> {
    let row = rows.first().ok_or_else(|| Failure::Unreadable("no row".into()))?;
    Ok((value(row, 0)?, value(row, 1)?))
}

const BETWEEN_PURGES: Duration = Duration::from_secs(1);
const PURGED_AT_ONCE: i64 = 1_000;

/// The callers that wait for the end of a reservation, which may be held in this process or another: by the fence of
/// it.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Mutex<HashMap<i64, watch::Sender<()>>>);

impl Waiting {
    /// Returns a receiver that is told when the reservation with this fence may have ended.
    pub(crate) fn wait(&self, fence: i64) -> watch::Receiver<()> {
        self.crowds().entry(fence).or_insert_with(|| watch::Sender::new(())).subscribe()
    }

    /// Returns the fences that callers wait for, and forgets callers that went away.
    pub(crate) fn fences(&self) -> Vec<i64> {
        let mut crowds = self.crowds();
        crowds.retain(|_, crowd| !crowd.is_closed());
        crowds.keys().copied().collect()
    }

    /// Tells the callers that wait for these reservations that they have ended.
    pub(crate) fn ended(&self, fences: impl IntoIterator<Item = i64>) {
        let mut crowds = self.crowds();
        for fence in fences {
            // This drops the sender, which wakes the callers.
            crowds.remove(&fence);
        }
    }

    fn crowds(&self) -> MutexGuard<'_, HashMap<i64, watch::Sender<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
