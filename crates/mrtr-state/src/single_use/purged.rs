//! How far a store has purged: what it may have forgotten stays refused, however its clock moves.

use super::SingleUseError;
use crate::{Timestamp, TokenUse};

/// The latest issue and the latest end among the entries that a store ever purged.
///
/// A token that is unknown and beyond neither may be one of theirs. The end alone would be enough to refuse those; the
/// issue lets tokens through that were made after a clock that had been ahead was put right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Purged {
    pub(super) issued: Timestamp,
    pub(super) end: Timestamp,
}

/// Nothing was purged.
impl Default for Purged {
    fn default() -> Self {
        Self { issued: Timestamp::from_millis(0), end: Timestamp::from_millis(0) }
    }
}

impl Purged {
    /// With another entry purged.
    pub(super) fn and(self, other: Self) -> Self {
        Self { issued: self.issued.max(other.issued), end: self.end.max(other.end) }
    }

    /// Refuses a token that a store does not know, if it may have known it once.
    pub(super) fn refuse_forgotten(self, token_use: &TokenUse, now: Timestamp) -> Result<(), SingleUseError> {
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
