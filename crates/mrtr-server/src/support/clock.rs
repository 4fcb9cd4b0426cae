//! The one place where time comes in.

use std::fmt;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use mrtr_state::Timestamp;

/// What tells the time and waits. A server has one; a test brings its own.
///
/// ```
/// use std::time::Duration;
/// use mrtr_server::Server;
/// use mrtr_server::extend::Clock;
/// use mrtr_state::Timestamp;
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
/// let builder = Server::builder("early", "1.0.0").clock(Ahead);
/// ```
#[async_trait]
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The time.
    fn now(&self) -> Timestamp;

    /// Waits.
    async fn sleep(&self, duration: Duration);
}

/// The machine's clock, with tokio's timers.
///
/// ```
/// use mrtr_server::extend::{Clock, SystemClock};
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
