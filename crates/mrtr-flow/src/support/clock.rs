//! The one place where time comes in.

use std::fmt;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use mrtr_state::Timestamp;

/// A clock that tells the time and waits. A program has one; a test brings its own.
///
/// ```
/// use std::time::Duration;
/// use std::sync::Arc;
/// use mrtr_flow::{Clock, Environment};
/// use mrtr_state::{Sealer, Timestamp};
///
/// /// An hour ahead of the machine's.
/// #[derive(Debug)]
/// struct Ahead;
///
/// #[async_trait::async_trait]
/// impl Clock for Ahead {
///     fn now(&self) -> Timestamp {
///         Timestamp::from(std::time::SystemTime::now()) + Duration::from_secs(3600)
///     }
///
///     async fn sleep(&self, duration: Duration) {
///         tokio::time::sleep(duration).await;
///     }
/// }
///
/// let environment = Environment::sealed_by(Sealer::this_process_only()).clock(Arc::new(Ahead));
/// ```
#[async_trait]
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// Returns the time.
    fn now(&self) -> Timestamp;

    /// Waits for this long.
    async fn sleep(&self, duration: Duration);
}

/// The machine's clock, with tokio's timers.
///
/// ```
/// use mrtr_flow::{Clock, SystemClock};
///
/// let clock = SystemClock::default();
/// assert!(clock.now() <= clock.now());
/// ```
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
