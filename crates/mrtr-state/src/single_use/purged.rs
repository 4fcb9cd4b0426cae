//! How far a store has purged: what it may have forgotten stays refused, however its clock moves.

use super::SingleUseError;
use crate::{Timestamp, TokenUse};

/// For stores: the latest issue and the latest end among the entries that a store ever purged.
///
/// A token that is unknown and beyond neither may be one of theirs. The end alone would be enough to refuse those; the
/// issue lets tokens through that were made after a clock that had been ahead was put right.
///
/// ```
/// use mrtr_state::single_use::Purged;
///
#[doc = include_str!("../../doc/single_use.txt")]
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
    /// An entry whose token was issued at one moment and that was kept until the other.
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

    /// With another entry purged.
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
