//! A clock that stands until it is set.

use std::time::Duration;

use async_trait::async_trait;
use mrtr_server::extend::Clock;
use mrtr_state::Timestamp;
use tokio::sync::watch;

#[derive(Debug)]
pub(super) struct SetClock(watch::Sender<Timestamp>);

impl SetClock {
    pub(super) fn at(moment: Timestamp) -> Self {
        Self(watch::Sender::new(moment))
    }

    pub(super) fn set(&self, moment: Timestamp) {
        self.0.send_replace(moment);
    }

    pub(super) fn pass(&self, duration: Duration) {
        self.0.send_modify(|now| *now = *now + duration);
    }
}

#[async_trait]
impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        *self.0.borrow()
    }

    async fn sleep(&self, duration: Duration) {
        let end = self.now() + duration;
        // A clock that is gone is not set any more, and neither is there anything left to wait for.
        drop(self.0.subscribe().wait_for(|now| *now >= end).await);
    }
}
