//! A clock that stands still until it is moved.

use std::time::Duration;

use async_trait::async_trait;
use mrtr_flow::Clock;
use mrtr_state::Timestamp;
use tokio::sync::watch;

/// A clock that stands still until it is moved. Clones are the same clock.
///
/// ```
/// use std::time::Duration;
/// use mrtr_flow::Clock;
/// use mrtr_server::testing::FixedClock;
///
/// let clock = FixedClock::default();
/// let before = clock.now();
/// clock.advance(Duration::from_secs(60));
/// assert_eq!(clock.now(), before + Duration::from_secs(60));
/// ```
#[derive(Debug, Clone)]
pub struct FixedClock(watch::Sender<Timestamp>);

impl FixedClock {
    /// Makes a clock that shows this time.
    pub fn new(now: Timestamp) -> Self {
        Self(watch::Sender::new(now))
    }

    /// Moves the clock forward, and wakes the tasks that slept until then.
    pub fn advance(&self, duration: Duration) {
        self.0.send_modify(|now| *now = *now + duration);
    }
}

/// Noon of 28 July 2026, UTC.
impl Default for FixedClock {
    fn default() -> Self {
        Self::new(Timestamp::from_millis(1_785_240_000_000))
    }
}

#[async_trait]
impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        *self.0.borrow()
    }

    async fn sleep(&self, duration: Duration) {
        let end = self.now() + duration;
        let moved = self.0.subscribe().wait_for(|now| *now >= end).await.map(drop);
        moved.expect("the clock holds its own sender");
    }
}
