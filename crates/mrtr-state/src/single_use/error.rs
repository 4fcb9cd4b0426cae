//! What can go wrong in a store for single use.

use std::error::Error;

/// Why a store did not do what it was asked.
///
/// ```
/// use mrtr_state::SingleUse;
/// use mrtr_state::single_use::{ReserveOutcome, SingleUseError};
///
#[doc = include_str!("../../doc/single_use.txt")]
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
        /// How many bytes it holds.
        held: usize,
        /// How many it may hold.
        limit: usize,
    },
    /// The caller mixed up the order: a step that was recorded does not start after that.
    #[error("step {0:?} was started after it had been recorded")]
    OutOfTurn(String),
    /// The store has more to do than it can, and has not begun with this: it is worth another try soon.
    #[error("the store for single use is busy")]
    Busy(#[source] Box<dyn Error + Send + Sync>),
    /// The store itself failed.
    #[error("the store for single use failed")]
    Store(#[source] Box<dyn Error + Send + Sync>),
}
