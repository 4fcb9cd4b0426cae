//! How long a state lives, and how often a flow may go round.

use std::time::Duration;

use crate::Timestamp;

/// How far ahead another instance's clock may be: a state from further in the future is refused.
///
/// ```
/// use mrtr_state::{ALLOWED_SKEW, Refusal};
///
#[doc = include_str!("../doc/sealing.txt")]
/// let ahead = sealer.seal(&cart, &binding, noon + ALLOWED_SKEW)?;
/// assert!(sealer.open::<Cart>(&ahead, &binding, noon).is_ok());
/// let further = sealer.seal(&cart, &binding, noon + 2 * ALLOWED_SKEW)?;
/// assert_eq!(sealer.open::<Cart>(&further, &binding, noon).unwrap_err(), Refusal::FromTheFuture);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub const ALLOWED_SKEW: Duration = Duration::from_mins(1);

/// How long states and flows live.
///
/// ```
/// use std::time::Duration;
/// use mrtr_state::Lifetimes;
///
/// let overnight = Lifetimes { round: Duration::from_hours(12), ..Lifetimes::default() };
/// assert_eq!(overnight.rounds, 32);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "settings are written as a literal over the default")]
pub struct Lifetimes {
    /// How long a client may take to come back with a state. One hour by default.
    pub round: Duration,
    /// How long a flow may last from its first round. 24 hours by default.
    pub flow: Duration,
    /// How many rounds a flow may have. 32 by default.
    pub rounds: u32,
}

impl Default for Lifetimes {
    fn default() -> Self {
        Self { round: Duration::from_hours(1), flow: Duration::from_hours(24), rounds: 32 }
    }
}

impl Lifetimes {
    /// When a state issued now stops opening, in a flow with this end.
    pub(crate) fn expiry(&self, ends: Timestamp, now: Timestamp) -> Timestamp {
        ends.min(now + self.round)
    }
}
