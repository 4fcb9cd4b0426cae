//! Single use for one process, in memory.

mod entries;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;

use super::{InProgress, LeaseKeeper, Release, Reservation, ReserveOutcome, SingleUse, SingleUseError, StepRecord};
use crate::{Timestamp, TokenUse};
use entries::Entries;

/// Single use for a server that is one process.
///
/// It forgets everything when the process ends, so it refuses tokens issued before it started. That cannot protect a
/// process that starts again with its clock set back. Two processes need a store that they share, such as
/// `SqliteSingleUse` of mrtr-sqlite.
///
/// [`limit`](Self::limit) bounds what it holds. A spent token stays for as long as it could be sent again, so a store
/// that is full refuses new ones, as [`SingleUseError::Full`], until older ones have expired. It serves the tokens that
/// it knows as ever: a run that has begun records and commits even beyond the limit, so the store may exceed it by what
/// all runs at one time keep.
///
/// ```
/// use std::time::Duration;
/// use mrtr_schema::{RawMembers, Revision};
/// use mrtr_state::single_use::ReserveOutcome;
/// use mrtr_state::{AnswersDigest, Binding, JsonPayload, MemorySingleUse, Sealer, SingleUse, Timestamp};
///
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # struct Order;
/// # impl JsonPayload for Order { const KIND: &'static str = "com.example/order"; }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let now = Timestamp::from_millis(1_785_240_000_000);
/// let store = MemorySingleUse::new(now);
///
/// let sealer = Sealer::this_process_only();
/// let params = RawMembers::parse(r#"{"name": "pay"}"#)?;
/// let binding = Binding::new(Revision::V2026_07_28, "tools/call", &params)?;
/// let state = sealer.seal(&Order, &binding, now)?;
///
/// let token_use = sealer.open::<Order>(&state, &binding, now)?.token_use(AnswersDigest::of(None)?);
/// let lease = Duration::from_secs(30);
/// let ReserveOutcome::Reserved(reservation, _) = store.reserve(&token_use, lease, now).await? else { panic!() };
/// store.commit(&reservation, b"paid", now).await?;
///
/// let again = store.reserve(&token_use, lease, now).await?;
/// assert_eq!(again, ReserveOutcome::Committed(b"paid".to_vec()));
/// # Ok(())
/// # }
/// ```
pub struct MemorySingleUse {
    since: Timestamp,
    limit: usize,
    entries: Arc<Mutex<Entries>>,
}

impl MemorySingleUse {
    /// The number of bytes a store holds unless [`limit`](Self::limit) says otherwise: 256 MiB.
    ///
    /// With replies of 100 bytes that is room for half a million tokens: with lifetimes of an hour, 140 a second.
    pub const DEFAULT_LIMIT: usize = 256 * 1024 * 1024;

    /// Makes an empty store, which remembers from now on.
    pub fn new(now: Timestamp) -> Self {
        Self { since: now, limit: Self::DEFAULT_LIMIT, entries: Arc::default() }
    }

    /// Refuses new tokens while the store holds this many bytes: used tokens, records and replies, and the indexes that
    /// find them.
    ///
    /// ```
    /// use mrtr_state::single_use::SingleUseError;
    /// use mrtr_state::{MemorySingleUse, SingleUse};
    ///
    #[doc = include_str!("../../doc/single_use.txt")]
    /// let too_small = MemorySingleUse::new(now).limit(100);
    /// let refused = too_small.reserve(&token_use, lease, now).await;
    /// assert!(matches!(refused, Err(SingleUseError::Full { limit: 100, .. })));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn limit(self, bytes: usize) -> Self {
        Self { limit: bytes, ..self }
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct MemoryKeeper(Arc<Mutex<Entries>>);

impl LeaseKeeper for MemoryKeeper {
    fn renew(
        &mut self,
        reservations: &[Reservation],
        lease: Duration,
        now: Timestamp,
    ) -> Vec<Result<(), SingleUseError>> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reservations.iter().map(|reservation| entries.renew(reservation, now + lease, now)).collect()
    }
}

#[async_trait]
impl SingleUse for MemorySingleUse {
    fn outlives_process(&self) -> bool {
        false
    }

    async fn reserve(
        &self,
        token_use: &TokenUse,
        lease: Duration,
        now: Timestamp,
    ) -> Result<ReserveOutcome, SingleUseError> {
        if token_use.issued() < self.since {
            return Err(SingleUseError::BeforeMemory);
        }
        let mut entries = self.entries();
        entries.purge(self.limit, now);
        entries.reserve(token_use, lease, self.limit, now)
    }

    async fn renew(&self, reservation: &Reservation, lease: Duration, now: Timestamp) -> Result<(), SingleUseError> {
        self.entries().renew(reservation, now + lease, now)
    }

    fn lease_keeper(&self) -> Box<dyn LeaseKeeper> {
        Box::new(MemoryKeeper(Arc::clone(&self.entries)))
    }

    async fn mark_started(&self, reservation: &Reservation, step: &str, now: Timestamp) -> Result<(), SingleUseError> {
        self.entries().change_steps(reservation, now, |steps| match steps.iter().find(|known| known.name == step) {
            Some(StepRecord { outcome: Some(_), .. }) => Err(SingleUseError::OutOfTurn(step.to_owned())),
            Some(StepRecord { outcome: None, .. }) => Ok(()),
            None => {
                steps.push(StepRecord::new(step, None));
                Ok(())
            }
        })
    }

    async fn record(
        &self,
        reservation: &Reservation,
        step: &str,
        outcome: &[u8],
        now: Timestamp,
    ) -> Result<(), SingleUseError> {
        self.entries().change_steps(reservation, now, |steps| {
            match steps.iter_mut().find(|known| known.name == step) {
                Some(known) => known.outcome = Some(outcome.to_vec()),
                None => steps.push(StepRecord::new(step, Some(outcome.to_vec()))),
            }
            Ok(())
        })
    }

    async fn commit(&self, reservation: &Reservation, reply: &[u8], now: Timestamp) -> Result<(), SingleUseError> {
        self.entries().commit(reservation, reply, now)
    }

    async fn release(&self, reservation: &Reservation, now: Timestamp) -> Result<Release, SingleUseError> {
        self.entries().release(reservation, now)
    }

    async fn ended(&self, in_progress: &InProgress) -> Result<(), SingleUseError> {
        let waiting = self.entries().wait_for(in_progress.reservation());
        if let Some(mut end) = waiting {
            // Nothing is ever sent: the error that the sender was dropped is what we wait for.
            drop(end.changed().await);
        }
        Ok(())
    }
}

impl fmt::Debug for MemorySingleUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { since, limit, .. } = self;
        f.debug_struct("MemorySingleUse").field("since", since).field("limit", limit).finish_non_exhaustive()
    }
}
