//! Redeeming a token once: who may run it, what its steps did, and what its reply was.

#[cfg(feature = "contract")]
pub mod contract;
mod memory;
mod purged;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

pub use memory::MemorySingleUse;
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteOpenError, SqliteSingleUse};

use crate::digest::AnswersDigest;
use crate::{ALLOWED_SKEW, Timestamp};

/// A store that lets each token be redeemed once.
///
/// A round claims its token, marks each step before it starts and records what it gave, and commits its reply. A
/// claim whose holder died lapses, and the next claim goes on from the record. Every verb is told the time.
///
/// `renew`, `mark_started`, `record`, `commit` and `release` are compare-and-set: they fail with
/// [`GuardError::Lost`], and change nothing, once somebody else has taken the claim over or the claim has ended. A
/// claim that has lapsed and that nobody has taken over is still its holder's.
///
/// A false yes runs a token twice: somebody pays twice. A false no costs one round: the caller starts anew. So a
/// store that cannot know refuses. An entry is kept until [`Redemption::keep_until`], and for as long as it is
/// leased; then it is gone, and its holder with it.
///
/// A verb whose future is dropped is carried out before the same holder's next one, or not at all.
///
/// Clocks go back, or differ. A store that has purged an entry at some moment goes on to refuse its token, whatever
/// time it is told afterwards. It cannot keep the token for that, so it keeps how far it has purged.
///
/// ```
/// use std::time::Duration;
/// use mrtr_state::single_use::{Claim, GuardError, Redemption, SingleUse};
/// use mrtr_state::Timestamp;
///
/// /// Sends an e-mail once, however often the client retries.
/// async fn send_once(
///     store: &dyn SingleUse,
///     redemption: &Redemption,
///     now: Timestamp,
/// ) -> Result<Option<Vec<u8>>, GuardError> {
///     loop {
///         match store.claim(redemption, Duration::from_secs(30), now).await? {
///             Claim::Taken(holder, records) if records.is_empty() => {
///                 store.mark_started(&holder, "send", now).await?;
///                 // Here the e-mail leaves.
///                 store.record(&holder, "send", b"queued", now).await?;
///                 store.commit(&holder, b"sent", now).await?;
///                 return Ok(Some(b"sent".to_vec()));
///             }
///             Claim::Taken(holder, _somebody_died_here) => {
///                 store.release(&holder, now).await?;
///                 return Ok(None);
///             }
///             Claim::Running(running) => store.ended(&running).await?,
///             Claim::Committed(reply) => return Ok(Some(reply)),
///             Claim::OtherAnswers => return Ok(None),
///         }
///     }
/// }
/// ```
#[async_trait]
pub trait SingleUse: Send + Sync + 'static {
    /// Asks to redeem a token. The claim lapses after `lease` unless it is renewed.
    ///
    /// A claim is taken from a holder whose lease is over, `now` being the end of it or later, and after a release.
    /// If a step had started by then, only the same answers take it, and go on from its record.
    async fn claim(&self, redemption: &Redemption, lease: Duration, now: Timestamp) -> Result<Claim, GuardError>;

    /// Keeps a claim for another `lease` from now.
    async fn renew(&self, holder: &Holder, lease: Duration, now: Timestamp) -> Result<(), GuardError>;

    /// Says that a step is about to start: from here on the claim cannot be released without a trace.
    ///
    /// Marking a step again changes nothing, so that one in doubt may run again if it can. Once it has been
    /// recorded it is [`GuardError::OutOfTurn`].
    async fn mark_started(&self, holder: &Holder, step: &str, now: Timestamp) -> Result<(), GuardError>;

    /// Keeps what a step gave, in place of its mark or of an earlier record: the last one stands.
    ///
    /// A step that was not marked is recorded like any other, since the mark may be what was lost on the way.
    async fn record(&self, holder: &Holder, step: &str, outcome: &[u8], now: Timestamp) -> Result<(), GuardError>;

    /// Ends the claim with a reply, which the same token with the same answers gets from now on.
    async fn commit(&self, holder: &Holder, reply: &[u8], now: Timestamp) -> Result<(), GuardError>;

    /// Gives the claim up. With no step started, by this holder or an earlier one, the token is as if never redeemed;
    /// otherwise its record stands.
    async fn release(&self, holder: &Holder, now: Timestamp) -> Result<Release, GuardError>;

    /// Waits until a running claim has ended, or may have: committed, released, or taken over.
    ///
    /// A claim that merely lapses wakes nobody, for the store has no clock: claim again when its lease is over.
    async fn ended(&self, running: &Running) -> Result<(), GuardError>;
}

/// A token about to be redeemed; made by [`Opened::redemption`](crate::Opened::redemption) alone.
///
/// ```
/// use mrtr_state::ALLOWED_SKEW;
///
#[doc = include_str!("../doc/redeeming.txt")]
/// assert_eq!(redemption.keep_until(), opened.expires() + 2 * ALLOWED_SKEW);
/// assert!(!redemption.may_be_forgotten(opened.expires()));
/// assert!(redemption.may_be_forgotten(opened.expires() + ALLOWED_SKEW));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redemption {
    pub(crate) key: UseKey,
    pub(crate) answers: AnswersDigest,
    pub(crate) issued: Timestamp,
    pub(crate) keep_until: Timestamp,
}

impl Redemption {
    /// What the token is known by.
    pub fn key(&self) -> UseKey {
        self.key
    }

    /// The answers that came with it.
    pub fn answers(&self) -> AnswersDigest {
        self.answers
    }

    /// When the token was issued.
    pub fn issued(&self) -> Timestamp {
        self.issued
    }

    /// Until when its entry must be kept: past the token's expiry, by twice the allowed skew.
    pub fn keep_until(&self) -> Timestamp {
        self.keep_until
    }

    /// For stores: whether another instance, whose clock may be ahead, may have purged its entry by now.
    ///
    /// From then on an unknown token may be a forgotten one, and is refused as [`GuardError::BeforeMemory`].
    pub fn may_be_forgotten(&self, now: Timestamp) -> bool {
        now + ALLOWED_SKEW >= self.keep_until
    }
}

/// What a token is known by: a digest of audience, principal and token id.
///
/// ```
/// use mrtr_schema::RawMembers;
/// use mrtr_state::AnswersDigest;
///
#[doc = include_str!("../doc/redeeming.txt")]
/// let answers = RawMembers::parse(r#"{"how": {"action": "accept"}}"#)?;
/// let other_answers = opened.redemption(AnswersDigest::of(Some(&answers))?);
/// assert_eq!(redemption.key(), other_answers.key(), "the token is the same");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UseKey(pub(crate) [u8; 32]);

impl UseKey {
    /// The bytes, as a store keeps them.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for UseKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UseKey(")?;
        self.0[..4].iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str("…)")
    }
}

/// What became of a request to redeem a token.
///
/// ```
/// use mrtr_state::SingleUse;
/// use mrtr_state::single_use::Claim;
///
#[doc = include_str!("../doc/redeeming.txt")]
/// let Claim::Taken(holder, _) = store.claim(&redemption, lease, now).await? else { panic!("it is new") };
/// assert!(matches!(store.claim(&redemption, lease, now).await?, Claim::Running(_)));
/// store.commit(&holder, b"paid", now).await?;
/// assert_eq!(store.claim(&redemption, lease, now).await?, Claim::Committed(b"paid".to_vec()));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a caller that misses one of them runs a token twice")]
pub enum Claim {
    /// It is yours, and goes on from what earlier holders did: their steps in the order in which they started.
    Taken(Holder, Vec<StepRecord>),
    /// Somebody else is at it: wait for [`SingleUse::ended`] or the end of the lease, and claim again.
    Running(Running),
    /// It was redeemed with the same answers, and this was the reply.
    Committed(Vec<u8>),
    /// It was redeemed with other answers, or steps ran for other answers.
    OtherAnswers,
}

/// Whoever holds a claim, with a number that is higher than those of all earlier holders of the token.
///
/// ```
/// use mrtr_state::SingleUse;
/// use mrtr_state::single_use::Claim;
///
#[doc = include_str!("../doc/redeeming.txt")]
/// let Claim::Taken(first, _) = store.claim(&redemption, lease, now).await? else { panic!("it is new") };
/// let Claim::Taken(second, _) = store.claim(&redemption, lease, now + lease).await? else { panic!("it lapsed") };
/// assert_eq!(first.key(), second.key());
/// assert!(first.fence() < second.fence());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    key: UseKey,
    fence: u64,
}

impl Holder {
    /// For stores: the holder with this number.
    pub fn new(key: UseKey, fence: u64) -> Self {
        Self { key, fence }
    }

    /// The token it holds.
    pub fn key(&self) -> UseKey {
        self.key
    }

    /// Its number.
    pub fn fence(&self) -> u64 {
        self.fence
    }
}

/// A claim that somebody else holds.
///
/// ```
/// use mrtr_state::SingleUse;
/// use mrtr_state::single_use::Claim;
///
#[doc = include_str!("../doc/redeeming.txt")]
/// let Claim::Taken(holder, _) = store.claim(&redemption, lease, now).await? else { panic!("it is new") };
/// let Claim::Running(running) = store.claim(&redemption, lease, now).await? else { panic!("somebody is at it") };
/// assert_eq!(running.lapses(), now + lease);
/// assert_eq!(running.holder(), &holder);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    holder: Holder,
    lapses: Timestamp,
}

impl Running {
    /// For stores: this holder's claim, with the end of its lease.
    pub fn new(holder: Holder, lapses: Timestamp) -> Self {
        Self { holder, lapses }
    }

    /// Who holds it.
    pub fn holder(&self) -> &Holder {
        &self.holder
    }

    /// When it lapses unless it is renewed.
    pub fn lapses(&self) -> Timestamp {
        self.lapses
    }
}

/// What is known of a step of an earlier holder.
///
/// ```
/// use mrtr_state::SingleUse;
/// use mrtr_state::single_use::{Claim, StepRecord};
///
#[doc = include_str!("../doc/redeeming.txt")]
/// let Claim::Taken(holder, _) = store.claim(&redemption, lease, now).await? else { panic!("it is new") };
/// store.mark_started(&holder, "charge", now).await?;
/// store.record(&holder, "charge", b"charge-1", now).await?;
/// // The holder dies here.
/// let Claim::Taken(_, records) = store.claim(&redemption, lease, now + lease).await? else { panic!("it lapsed") };
/// assert_eq!(records, [StepRecord::new("charge", Some(b"charge-1".to_vec()))]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepRecord {
    /// The step's name.
    pub name: String,
    /// What it gave; `None` if it started and nobody knows how it went.
    pub outcome: Option<Vec<u8>>,
}

impl StepRecord {
    /// For stores.
    pub fn new(name: impl Into<String>, outcome: Option<Vec<u8>>) -> Self {
        Self { name: name.into(), outcome }
    }
}

/// What giving a claim up left behind.
///
/// ```
/// use mrtr_state::SingleUse;
/// use mrtr_state::single_use::{Claim, Release};
///
#[doc = include_str!("../doc/redeeming.txt")]
/// let Claim::Taken(holder, _) = store.claim(&redemption, lease, now).await? else { panic!("it is new") };
/// assert_eq!(store.release(&holder, now).await?, Release::Forgotten);
/// let Claim::Taken(holder, _) = store.claim(&redemption, lease, now).await? else { panic!("as if new") };
/// store.mark_started(&holder, "charge", now).await?;
/// assert_eq!(store.release(&holder, now).await?, Release::Kept);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a step has started, or none has")]
pub enum Release {
    /// Nothing: the token can be redeemed again, with any answers.
    Forgotten,
    /// A step had started: the token can only be redeemed on from its record, with the same answers.
    Kept,
}

/// Why a store did not do what it was asked.
///
/// ```
/// use mrtr_state::SingleUse;
/// use mrtr_state::single_use::{Claim, GuardError};
///
#[doc = include_str!("../doc/redeeming.txt")]
/// let Claim::Taken(slow, _) = store.claim(&redemption, lease, now).await? else { panic!("it is new") };
/// let Claim::Taken(quick, _) = store.claim(&redemption, lease, now + lease).await? else { panic!("it lapsed") };
/// store.commit(&quick, b"paid", now + lease).await?;
/// assert!(matches!(store.commit(&slow, b"paid", now + lease).await, Err(GuardError::Lost)));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuardError {
    /// The claim is no longer this holder's.
    #[error("the claim was lost to somebody else")]
    Lost,
    /// The token is older than the store's memory, which cannot tell whether it was redeemed: it was issued before the
    /// store began to remember, or its entry may have been purged, now or by a clock that was ahead.
    #[error("the token is older than what this store remembers")]
    BeforeMemory,
    /// The store holds as much as it may, and forgets no token that could be sent again: it takes no new one until older
    /// ones have expired.
    #[error(
        "the store for single use is full: it holds {held} of {limit} bytes; raise its limit, let states expire sooner, \
         or keep them in a store on a disk"
    )]
    Full {
        /// How many bytes it holds.
        held: usize,
        /// How many it may hold.
        limit: usize,
    },
    /// The caller mixed up the order: a step that was recorded does not start after that.
    #[error("step {0:?} was started after it had been recorded")]
    OutOfTurn(String),
    /// The store itself failed.
    #[error("the store for single use failed")]
    Store(#[source] Box<dyn std::error::Error + Send + Sync>),
}
