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
    /// The first pause, and the longest one.
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest }
    }

    /// Returns the pause after so many others: twice as long each time.
    pub fn pause(self, pauses_before: u32) -> Duration {
        self.first.saturating_mul(2_u32.saturating_pow(pauses_before)).min(self.longest)
    }

    /// Returns between half of a pause and all of it, by bits that differ between those who pause: clients that were
    /// sent away together do not come back together.
    pub fn varied(pause: Duration, bits: u32) -> Duration {
        let half = pause / 2;
        half + half.mul_f64(f64::from(bits) / f64::from(u32::MAX))
    }
}
