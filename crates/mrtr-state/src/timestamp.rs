//! A moment, as the caller tells it: this crate has no clock.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A moment, in milliseconds since the Unix epoch.
///
/// ```
/// use std::time::{Duration, SystemTime, UNIX_EPOCH};
/// use mrtr_state::Timestamp;
///
/// let noon = Timestamp::from_millis(1_785_240_000_000);
/// assert_eq!(noon + Duration::from_secs(60), Timestamp::from_millis(1_785_240_060_000));
/// assert_eq!(Timestamp::from(UNIX_EPOCH), Timestamp::from_millis(0));
/// assert!(Timestamp::from(SystemTime::now()) > Timestamp::from_millis(0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The moment this many milliseconds after the epoch.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// The number of milliseconds from the epoch to this moment.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to this moment; zero if `earlier` is still to come.
    ///
    /// ```
    /// use std::time::Duration;
    /// use mrtr_state::Timestamp;
    ///
    /// let noon = Timestamp::from_millis(1_785_240_000_000);
    /// assert_eq!((noon + Duration::from_secs(60)).since(noon), Duration::from_secs(60));
    /// assert_eq!(noon.since(noon + Duration::from_secs(60)), Duration::ZERO);
    /// ```
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

/// A moment before the epoch counts as the epoch.
impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

/// Saturates at the last moment that a timestamp can hold.
impl std::ops::Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.0)
    }
}
