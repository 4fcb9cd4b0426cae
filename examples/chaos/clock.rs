//! A clock that a test sets forward, for all processes at once.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use mrtr_server::extend::{Clock, SystemClock};
use mrtr_state::Timestamp;

/// The machine's clock, ahead by as many seconds as a file says.
#[derive(Debug)]
pub(crate) struct ClockAhead {
    clock: SystemClock,
    file: PathBuf,
}

impl ClockAhead {
    pub(crate) fn new(file: PathBuf) -> Self {
        Self { clock: SystemClock::default(), file }
    }

    fn ahead(&self) -> Duration {
        let text = std::fs::read_to_string(&self.file).unwrap_or_default();
        Duration::from_secs(text.trim().parse().unwrap_or(0))
    }
}

#[async_trait]
impl Clock for ClockAhead {
    fn now(&self) -> Timestamp {
        self.clock.now() + self.ahead()
    }

    async fn sleep(&self, duration: Duration) {
        self.clock.sleep(duration).await;
    }
}
