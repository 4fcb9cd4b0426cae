//! A clock that stands until it is set.

use std::sync::Mutex;
use std::time::Duration;

use mrtr_flow::Clock;
use mrtr_state::Timestamp;

#[derive(Debug)]
pub(crate) struct SetClock(Mutex<Timestamp>);

impl SetClock {
    pub(crate) fn at(moment: Timestamp) -> Self {
        Self(Mutex::new(moment))
    }

    pub(crate) fn set(&self, moment: Timestamp) {
        *self.0.lock().unwrap() = moment;
    }
}

#[async_trait::async_trait]
impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }

    async fn sleep(&self, _: Duration) {
        panic!("stores do not sleep by it")
    }
}

/// A moment like any other.
pub(crate) const NOON: Timestamp = Timestamp::from_millis(1_785_240_000_000);
