//! Pauses between attempts: longer each time, up to a longest one.

use std::time::Duration;

/// Pauses that double. Time and randomness are the caller's.
///
/// It stands here because every crate of the workspace waits for something and all depend on this one.
///
/// ```
/// use mrtr_schema::Backoff;
/// use std::time::Duration;
///
/// const PAUSES: Backoff = Backoff::new(Duration::from_secs(2), Duration::from_secs(60));
/// assert_eq!(PAUSES.pause(0), Duration::from_secs(2));
/// assert_eq!(PAUSES.pause(3), Duration::from_secs(16));
/// assert_eq!(PAUSES.pause(u32::MAX), Duration::from_secs(60));
/// // Between half and all of it, for what is between 0 and all bits.
/// assert_eq!(Backoff::varied(PAUSES.pause(0), 0), Duration::from_secs(1));
/// assert_eq!(Backoff::varied(PAUSES.pause(0), u32::MAX), Duration::from_secs(2));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
}

impl Backoff {
    /// Makes a backoff from its first pause and its longest one.
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest }
    }

    /// Returns the pause that follows `pauses_before` others: each is twice as long as the one before, up to the
    /// longest.
    pub fn pause(self, pauses_before: u32) -> Duration {
        self.first.saturating_mul(2_u32.saturating_pow(pauses_before)).min(self.longest)
    }

    /// Returns between half of a pause and all of it, chosen by `bits`. Give random bits, so that clients that were
    /// refused at the same moment do not all come back at the same moment.
    pub fn varied(pause: Duration, bits: u32) -> Duration {
        let half = pause / 2;
        half + half.mul_f64(f64::from(bits) / f64::from(u32::MAX))
    }
}
