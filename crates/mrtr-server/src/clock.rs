//! The one place where time comes in.

use std::fmt;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use mrtr_state::Timestamp;

/// What tells the time and waits. A server has one; a test brings its own.
#[async_trait]
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The time.
    fn now(&self) -> Timestamp;

    /// Waits.
    async fn sleep(&self, duration: Duration);
}

/// The machine's clock, with tokio's timers.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        SystemTime::now().into()
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}
