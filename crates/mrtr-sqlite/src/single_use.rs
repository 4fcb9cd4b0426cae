//! Single use in the file: the store, and its verbs on their way to the thread that carries them out.

mod tokens;
mod waiting;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mrtr_flow::SystemClock;
use mrtr_state::single_use::{
    InProgress, LeaseKeeper, Release, Reservation, ReserveOutcome, SingleUse, SingleUseError,
};
use mrtr_state::{Timestamp, TokenUse};
use tokio::sync::{oneshot, watch};

use crate::open::open;
use crate::schema::Needed;
use crate::worker::{Job, Worker};
use crate::writer::{DEAD, SqliteKeeper, VerbError, Writer};
use crate::{SqliteOpenError, SqliteOpenErrorKind};

pub(crate) use tokens::{Tokens, since};
pub(crate) use waiting::Waiting;

/// Single use for all processes of one machine that open the same file.
///
/// When a verb returns, its work is on the disk. Verbs that arrive together are written together. A thread owns the
/// file and ends when the value is dropped; while a caller waits for [`ended`](SingleUse::ended), it also looks every
/// few milliseconds whether another process ended the reservation.
///
/// A verb whose future is dropped may still be carried out. A reservation that was made by such a verb lapses like that
/// of a round that died.
///
/// The file also keeps how far it was purged, so that a clock set back revives no token, in this process or the next.
/// If a clock was far ahead for long, the file may refuse tokens until that time comes. New keys and a new file end
/// this at once. A new file alone is not enough: it does not know what was used by the clock that was ahead, and such
/// tokens open once their time has come.
///
/// A file that keeps tasks only is refused. [`SqliteDatabase`](crate::SqliteDatabase) keeps both in one file; this
/// store opens such a file, too.
///
/// The file holds replies and outcomes of steps as they are: guard it as you guard them. It belongs on a local disk:
/// network file systems do not lock well enough.
///
/// ```
/// use std::time::SystemTime;
/// use mrtr_sqlite::SqliteSingleUse;
/// use mrtr_state::SingleUse;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("single-use.sqlite");
/// let store: Box<dyn SingleUse> = Box::new(SqliteSingleUse::open(path, SystemTime::now().into())?);
/// # drop(store);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SqliteSingleUse {
    since: Timestamp,
    writer: Arc<Writer>,
}

impl SqliteSingleUse {
    /// Opens a file, or makes one that remembers from now on.
    ///
    /// A new file knows no earlier uses, so the store refuses tokens issued before the file was made, here and in every
    /// process that opens it later.
    pub fn open(path: impl AsRef<Path>, now: Timestamp) -> Result<Self, SqliteOpenError> {
        let path = path.as_ref();
        Self::open_alone(path, now).map_err(SqliteOpenError::at(path))
    }

    fn open_alone(path: &Path, now: Timestamp) -> Result<Self, SqliteOpenErrorKind> {
        let file = open(path, Needed::SingleUse(now))?;
        let since = since(&file.connection)?;
        // Every verb on tokens gets the time as an argument and changes no tasks, so the clock and the watch are not
        // used.
        let (clock, changes) = (Arc::new(SystemClock::default()), watch::channel(0).0);
        Ok(Self::over(since, Arc::new(Writer::start(|jobs| Worker::new(file, clock, jobs, changes))?)))
    }

    /// Makes the store over an open file, which remembers the uses of tokens that were issued since this moment.
    pub(crate) fn over(since: Timestamp, writer: Arc<Writer>) -> Self {
        Self { since, writer }
    }

    /// Makes another handle to this store.
    pub(crate) fn again(&self) -> Self {
        Self::over(self.since, Arc::clone(&self.writer))
    }
}

#[async_trait]
impl SingleUse for SqliteSingleUse {
    async fn reserve(
        &self,
        token_use: &TokenUse,
        lease: Duration,
        now: Timestamp,
    ) -> Result<ReserveOutcome, SingleUseError> {
        if token_use.issued() < self.since {
            return Err(SingleUseError::BeforeMemory);
        }
        let token_use = token_use.clone();
        self.writer.ask(move |batch| batch.tokens.reserve(&token_use, lease, now)).await
    }

    async fn renew(&self, reservation: &Reservation, lease: Duration, now: Timestamp) -> Result<(), SingleUseError> {
        let reservation = reservation.clone();
        self.writer.ask(move |batch| batch.tokens.renew(&reservation, lease, now)).await
    }

    fn lease_keeper(&self) -> Box<dyn LeaseKeeper> {
        Box::new(self.writer.keeper())
    }

    async fn mark_started(&self, reservation: &Reservation, step: &str, now: Timestamp) -> Result<(), SingleUseError> {
        let (reservation, step) = (reservation.clone(), step.to_owned());
        self.writer.ask(move |batch| batch.tokens.mark_started(&reservation, &step, now)).await
    }

    async fn record(
        &self,
        reservation: &Reservation,
        step: &str,
        outcome: &[u8],
        now: Timestamp,
    ) -> Result<(), SingleUseError> {
        let (reservation, step, outcome) = (reservation.clone(), step.to_owned(), outcome.to_vec());
        self.writer.ask(move |batch| batch.tokens.record(&reservation, &step, &outcome, now)).await
    }

    async fn commit(&self, reservation: &Reservation, reply: &[u8], now: Timestamp) -> Result<(), SingleUseError> {
        let (reservation, reply) = (reservation.clone(), reply.to_vec());
        self.writer.ask(move |batch| batch.tokens.commit(&reservation, &reply, now)).await
    }

    async fn release(&self, reservation: &Reservation, now: Timestamp) -> Result<Release, SingleUseError> {
        let reservation = reservation.clone();
        self.writer.ask(move |batch| batch.tokens.release(&reservation, now)).await
    }

    async fn ended(&self, in_progress: &InProgress) -> Result<(), SingleUseError> {
        let (caller, result) = oneshot::channel();
        self.writer.send(Job::Wait(in_progress.reservation().clone(), caller));
        result.await.map_err(|_| SingleUseError::store(DEAD))?
    }
}

impl LeaseKeeper for SqliteKeeper {
    fn renew(
        &mut self,
        reservations: &[Reservation],
        lease: Duration,
        now: Timestamp,
    ) -> Vec<Result<(), SingleUseError>> {
        let wanted = reservations.to_vec();
        self.renew_all(reservations.len(), move |batch| batch.tokens.renew_all(&wanted, lease, now))
    }
}

impl fmt::Debug for SqliteSingleUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteSingleUse").field("writer", &self.writer).finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use mrtr_schema::{RawMembers, Revision};
    use mrtr_state::{AnswersDigest, Binding, JsonPayload, Sealer};
    use serde::{Deserialize, Serialize};

    use super::*;

    pub(crate) const NOON: Timestamp = Timestamp::from_millis(1_785_240_000_000);

    #[derive(Serialize, Deserialize)]
    struct Order;

    impl JsonPayload for Order {
        const KIND: &'static str = "com.example/order";
    }

    /// A token that was issued at this moment, about to be used.
    pub(crate) fn token(issued: Timestamp) -> TokenUse {
        let (sealer, params) = (Sealer::this_process_only(), RawMembers::parse(r#"{"name": "pay"}"#).unwrap());
        let binding = Binding::new(Revision::V2026_07_28, "tools/call", &params).unwrap();
        let state = sealer.seal(&Order, &binding, issued).unwrap();
        let opened = sealer.open::<Order>(&state, &binding, issued).unwrap();
        opened.token_use(AnswersDigest::of(None).unwrap())
    }
}
