//! Single use of a token: which round reserved it, what its steps did, and what its reply was.

#[cfg(feature = "contract")]
pub mod contract;
mod memory;

use std::error::Error;
use std::time::Duration;

use async_trait::async_trait;

pub use memory::MemorySingleUse;

use crate::{Timestamp, TokenUse, UseKey};

/// A store that lets each token be used once.
///
/// A round reserves its token, marks each step before it starts, records its outcome, and commits its reply. If the
/// round dies, its reservation lapses, and the next round to reserve the token continues from the record. The caller
/// tells every verb the time.
///
/// `renew`, `mark_started`, `record`, `commit` and `release` are compare-and-set: they fail with
/// [`SingleUseError::Lost`], and change nothing, once another round has taken the reservation over or the reservation
/// has ended. A reservation that has lapsed and that no round has taken over still holds.
///
/// An `Ok` that is wrong runs a token twice: a customer pays twice. A refusal that is wrong costs one round: the caller
/// starts anew. So a store that is not sure refuses. An entry is kept until [`TokenUse::keep_until`], and for as long
/// as it is leased; then it is gone, and its reservation with it.
///
/// If the future of a verb is dropped, the store carries the verb out before the next one of its reservation, or not at
/// all.
///
/// Clocks go back, or differ. A store that has purged an entry keeps refusing its token, whatever time it is told
/// afterwards. It cannot keep the token for that, so it remembers how far it has purged.
///
/// ```
/// use std::time::Duration;
/// use mrtr_state::single_use::{ReserveOutcome, SingleUse, SingleUseError};
/// use mrtr_state::{Timestamp, TokenUse};
///
/// /// Sends an e-mail once, however often the client retries.
/// async fn send_once(
///     store: &dyn SingleUse,
///     token_use: &TokenUse,
///     now: Timestamp,
/// ) -> Result<Option<Vec<u8>>, SingleUseError> {
///     loop {
///         match store.reserve(token_use, Duration::from_secs(30), now).await? {
///             ReserveOutcome::Reserved(reservation, records) if records.is_empty() => {
///                 store.mark_started(&reservation, "send", now).await?;
///                 // Here the e-mail leaves.
///                 store.record(&reservation, "send", b"queued", now).await?;
///                 store.commit(&reservation, b"sent", now).await?;
///                 return Ok(Some(b"sent".to_vec()));
///             }
///             ReserveOutcome::Reserved(reservation, _an_earlier_round_died_here) => {
///                 store.release(&reservation, now).await?;
///                 return Ok(None);
///             }
///             ReserveOutcome::InProgress(other_round) => store.ended(&other_round).await?,
///             ReserveOutcome::Committed(reply) => return Ok(Some(reply)),
///             ReserveOutcome::OtherAnswers => return Ok(None),
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait SingleUse: Send + Sync + 'static {
    /// Asks for the right to run a token. The reservation lapses after `lease` unless it is renewed.
    ///
    /// A token can be reserved again after a release, and once the lease of an earlier reservation is over: when `now`
    /// is the end of it or later. If a step had started by then, only the same answers can reserve the token, and the
    /// round continues from its record.
    async fn reserve(
        &self,
        token_use: &TokenUse,
        lease: Duration,
        now: Timestamp,
    ) -> Result<ReserveOutcome, SingleUseError>;

    /// Keeps a reservation for another `lease` from now.
    async fn renew(&self, reservation: &Reservation, lease: Duration, now: Timestamp) -> Result<(), SingleUseError>;

    /// Returns a keeper, which renews reservations from a thread outside of any async runtime, so that it continues
    /// while every runtime of the process is blocked.
    fn lease_keeper(&self) -> Box<dyn LeaseKeeper>;

    /// Says that a step is about to start: from here on the reservation cannot be released without a trace.
    ///
    /// Marking a step again changes nothing, so that a step in doubt may run again if it can. Marking one that has been
    /// recorded fails with [`SingleUseError::OutOfTurn`].
    async fn mark_started(&self, reservation: &Reservation, step: &str, now: Timestamp) -> Result<(), SingleUseError>;

    /// Keeps the outcome of a step, in place of its mark or of an earlier record: the last one stands.
    ///
    /// A step that was not marked is recorded like any other, since its mark may have been lost on the way.
    async fn record(
        &self,
        reservation: &Reservation,
        step: &str,
        outcome: &[u8],
        now: Timestamp,
    ) -> Result<(), SingleUseError>;

    /// Ends the reservation with a reply, which the same token with the same answers gets from now on.
    async fn commit(&self, reservation: &Reservation, reply: &[u8], now: Timestamp) -> Result<(), SingleUseError>;

    /// Gives the reservation up. If no step had started, under this reservation or an earlier one, the token is as if
    /// it had never been used; otherwise its record stands.
    async fn release(&self, reservation: &Reservation, now: Timestamp) -> Result<Release, SingleUseError>;

    /// Waits until another round's reservation has ended, or may have: committed, released, or taken over.
    ///
    /// The wait does not end when a reservation merely lapses, for the store has no clock: the caller reserves again
    /// when the lease is over.
    async fn ended(&self, in_progress: &InProgress) -> Result<(), SingleUseError>;

    /// Returns true if the store still knows after a restart what it knew before. A yes that is wrong costs a warning;
    /// it decides nothing.
    fn outlives_process(&self) -> bool {
        true
    }
}

/// Renews many reservations at once, and blocks its thread meanwhile. It must not be used on a thread of a runtime, and
/// it needs no runtime: where the verbs of its store need one, it brings its own.
///
/// ```
/// use mrtr_state::SingleUse;
/// use mrtr_state::single_use::ReserveOutcome;
///
#[doc = include_str!("../doc/single_use.txt")]
/// let ReserveOutcome::Reserved(reservation, _) = store.reserve(&token_use, lease, now).await? else { panic!() };
/// let mut keeper = store.lease_keeper();
/// let renewed = std::thread::spawn(move || keeper.renew(&[reservation], lease, now + lease / 2)).join();
/// assert!(renewed.is_ok_and(|renewed| matches!(renewed[..], [Ok(())])));
/// # Ok(())
/// # }
/// ```
pub trait LeaseKeeper: Send {
    /// Keeps reservations for another `lease` from now. Returns a result for each, in their order, as
    /// [`SingleUse::renew`] does. It returns in bounded time, even if the store does not answer.
    fn renew(
        &mut self,
        reservations: &[Reservation],
        lease: Duration,
        now: Timestamp,
    ) -> Vec<Result<(), SingleUseError>>;
}

/// The outcome of a request to reserve a token.
///
/// ```
/// use mrtr_state::SingleUse;
/// use mrtr_state::single_use::ReserveOutcome;
///
#[doc = include_str!("../doc/single_use.txt")]
/// let ReserveOutcome::Reserved(reservation, _) = store.reserve(&token_use, lease, now).await? else { panic!() };
/// assert!(matches!(store.reserve(&token_use, lease, now).await?, ReserveOutcome::InProgress(_)));
/// store.commit(&reservation, b"paid", now).await?;
/// assert_eq!(store.reserve(&token_use, lease, now).await?, ReserveOutcome::Committed(b"paid".to_vec()));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a caller that misses one of them runs a token twice")]
pub enum ReserveOutcome {
    /// The caller has the token, and continues from what earlier rounds did: their steps in the order in which they
    /// started.
    Reserved(Reservation, Vec<StepRecord>),
    /// Another round has the token: wait for [`SingleUse::ended`] or the end of the lease, and reserve again.
    InProgress(InProgress),
    /// The token was used with the same answers, and this was the reply.
    Committed(Vec<u8>),
    /// The token was used with other answers, or steps ran for other answers.
    OtherAnswers,
}

/// The right to run a token, with a number that is higher than those of all earlier reservations of the token.
///
/// ```
/// use mrtr_state::SingleUse;
/// use mrtr_state::single_use::ReserveOutcome;
///
#[doc = include_str!("../doc/single_use.txt")]
/// let ReserveOutcome::Reserved(first, _) = store.reserve(&token_use, lease, now).await? else { panic!("it is new") };
/// let ReserveOutcome::Reserved(second, _) = store.reserve(&token_use, lease, now + lease).await? else { panic!() };
/// assert_eq!(first.key(), second.key());
/// assert!(first.fence() < second.fence());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    key: UseKey,
    fence: u64,
}

impl Reservation {
    /// For stores: makes the reservation of a token with this number.
    pub fn new(key: UseKey, fence: u64) -> Self {
        Self { key, fence }
    }

    /// The key of the token that it reserves.
    pub fn key(&self) -> UseKey {
        self.key
    }

    /// Its number, which is higher than those of all earlier reservations of the token.
    pub fn fence(&self) -> u64 {
        self.fence
    }
}

/// A reservation that another round holds.
///
/// ```
/// use mrtr_state::SingleUse;
/// use mrtr_state::single_use::ReserveOutcome;
///
#[doc = include_str!("../doc/single_use.txt")]
/// let ReserveOutcome::Reserved(reservation, _) = store.reserve(&token_use, lease, now).await? else { panic!() };
/// let ReserveOutcome::InProgress(other) = store.reserve(&token_use, lease, now).await? else { panic!() };
/// assert_eq!(other.lapses(), now + lease);
/// assert_eq!(other.reservation(), &reservation);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InProgress {
    reservation: Reservation,
    lapses: Timestamp,
}

impl InProgress {
    /// For stores: this reservation, with the end of its lease.
    pub fn new(reservation: Reservation, lapses: Timestamp) -> Self {
        Self { reservation, lapses }
    }

    /// The reservation.
    pub fn reservation(&self) -> &Reservation {
        &self.reservation
    }

    /// The time at which it lapses unless it is renewed.
    pub fn lapses(&self) -> Timestamp {
        self.lapses
    }
}

/// A step that ran under an earlier reservation, as far as the store knows it.
///
/// ```
/// use mrtr_state::SingleUse;
/// use mrtr_state::single_use::{ReserveOutcome, StepRecord};
///
#[doc = include_str!("../doc/single_use.txt")]
/// let ReserveOutcome::Reserved(reservation, _) = store.reserve(&token_use, lease, now).await? else { panic!() };
/// store.mark_started(&reservation, "charge", now).await?;
/// store.record(&reservation, "charge", b"charge-1", now).await?;
/// // The round dies here.
/// let ReserveOutcome::Reserved(_, records) = store.reserve(&token_use, lease, now + lease).await? else { panic!() };
/// assert_eq!(records, [StepRecord::new("charge", Some(b"charge-1".to_vec()))]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepRecord {
    /// The step's name.
    pub name: String,
    /// The outcome; `None` if the step started and its round did not say how it went.
    pub outcome: Option<Vec<u8>>,
}

impl StepRecord {
    /// For stores: a step, and its outcome if that is known.
    pub fn new(name: impl Into<String>, outcome: Option<Vec<u8>>) -> Self {
        Self { name: name.into(), outcome }
    }
}

/// The outcome of giving a reservation up.
///
/// ```
/// use mrtr_state::SingleUse;
/// use mrtr_state::single_use::{ReserveOutcome, Release};
///
#[doc = include_str!("../doc/single_use.txt")]
/// let ReserveOutcome::Reserved(reservation, _) = store.reserve(&token_use, lease, now).await? else { panic!() };
/// assert_eq!(store.release(&reservation, now).await?, Release::Forgotten);
/// let ReserveOutcome::Reserved(reservation, _) = store.reserve(&token_use, lease, now).await? else { panic!() };
/// store.mark_started(&reservation, "charge", now).await?;
/// assert_eq!(store.release(&reservation, now).await?, Release::Kept);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a step has started, or none has")]
pub enum Release {
    /// Nothing is left: the token can be used again, with any answers.
    Forgotten,
    /// A step had started: the token can be used again only with the same answers, and continues from its record.
    Kept,
}

/// The reason a store did not carry out a verb.
///
/// ```
/// use mrtr_state::SingleUse;
/// use mrtr_state::single_use::{ReserveOutcome, SingleUseError};
///
#[doc = include_str!("../doc/single_use.txt")]
/// let ReserveOutcome::Reserved(slow, _) = store.reserve(&token_use, lease, now).await? else { panic!("it is new") };
/// let ReserveOutcome::Reserved(quick, _) = store.reserve(&token_use, lease, now + lease).await? else { panic!() };
/// store.commit(&quick, b"paid", now + lease).await?;
/// assert!(matches!(store.commit(&slow, b"paid", now + lease).await, Err(SingleUseError::Lost)));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SingleUseError {
    /// The reservation no longer holds: it has ended, or another round has taken it over.
    #[error("the reservation was lost")]
    Lost,
    /// The token is older than the store's memory, which cannot tell whether it was used: it was issued before the
    /// store began to remember, or its entry may have been purged, now or by a clock that was ahead.
    #[error("the token is older than what this store remembers")]
    BeforeMemory,
    /// The store holds as much as it may, and forgets no token that could be sent again: it takes no new one until
    /// older ones have expired.
    #[error(
        "the store for single use is full: it holds {held} of {limit} bytes; raise its limit, let states expire sooner, \
         or keep them in a store on a disk"
    )]
    Full {
        /// The number of bytes it holds.
        held: usize,
        /// The number of bytes it may hold.
        limit: usize,
    },
    /// The caller mixed up the order: it marked a step that had been recorded.
    #[error("step {0:?} was started after it had been recorded")]
    OutOfTurn(String),
    /// The store is overloaded and has not begun with the verb: the caller may try again soon.
    #[error("the store for single use is busy")]
    Busy(#[source] Box<dyn Error + Send + Sync>),
    /// The store itself failed.
    #[error("the store for single use failed")]
    Store(#[source] Box<dyn Error + Send + Sync>),
}

/// For stores: the latest issue and the latest end among the entries that a store ever purged.
///
/// An unknown token that is later than neither may be one of theirs. The end alone would be enough to refuse those; the
/// issue lets tokens through that were made after a clock that had been ahead was put right.
///
/// ```
/// use mrtr_state::single_use::Purged;
///
#[doc = include_str!("../doc/single_use.txt")]
/// assert!(Purged::default().refuse_forgotten(&token_use, now).is_ok());
/// let purged = Purged::default().and(Purged::new(token_use.issued(), token_use.keep_until()));
/// assert!(purged.refuse_forgotten(&token_use, now).is_err(), "it may be the one that was purged");
/// # drop((store, lease));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Purged {
    issued: Timestamp,
    end: Timestamp,
}

/// Nothing was purged.
impl Default for Purged {
    fn default() -> Self {
        Self { issued: Timestamp::from_millis(0), end: Timestamp::from_millis(0) }
    }
}

impl Purged {
    /// Notes one entry, whose token was issued at `issued` and which was kept until `end`.
    pub fn new(issued: Timestamp, end: Timestamp) -> Self {
        Self { issued, end }
    }

    /// The latest issue.
    pub fn issued(self) -> Timestamp {
        self.issued
    }

    /// The latest end.
    pub fn end(self) -> Timestamp {
        self.end
    }

    /// Adds the entries that another value has noted.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { issued: self.issued.max(other.issued), end: self.end.max(other.end) }
    }

    /// Refuses a token that a store does not know, if it may have known it once.
    pub fn refuse_forgotten(self, token_use: &TokenUse, now: Timestamp) -> Result<(), SingleUseError> {
        if token_use.may_be_forgotten(now) {
            return Err(SingleUseError::BeforeMemory);
        }
        if token_use.issued() <= self.issued && token_use.keep_until() <= self.end {
            tracing::warn!(
                %now,
                purged_until = %self.end,
                issued_until = %self.issued,
                "the clock was set back, or another instance's is ahead: tokens that may have been redeemed and purged \
                 are refused; if the clock is right now, new keys and a new store end this sooner"
            );
            return Err(SingleUseError::BeforeMemory);
        }
        Ok(())
    }
}
