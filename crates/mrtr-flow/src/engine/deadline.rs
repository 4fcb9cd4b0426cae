//! When a run must end, whatever its handler waits for.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use super::pace::poll_apart;
use crate::support::clock::Clock;

/// The end of a run's time. It counts from the moment at which the handler first waits for something: most never do,
/// and need no timer.
pub(super) struct Deadline<'a> {
    clock: &'a dyn Clock,
    limit: Duration,
    timer: Timer<'a>,
}

enum Timer<'a> {
    Unset,
    Set(Pin<Box<dyn Future<Output = ()> + Send + 'a>>),
    Passed,
}

impl<'a> Deadline<'a> {
    pub(super) fn new(clock: &'a dyn Clock, limit: Duration) -> Self {
        Self { clock, limit, timer: Timer::Unset }
    }

    pub(super) fn has_passed(&self) -> bool {
        matches!(self.timer, Timer::Passed)
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Timer::Unset = self.timer {
            self.timer = Timer::Set(self.clock.sleep(self.limit));
        }
        if let Timer::Set(sleep) = &mut self.timer {
            std::task::ready!(poll_apart(sleep.as_mut(), cx));
            self.timer = Timer::Passed;
        }
        Poll::Ready(())
    }

    /// Waits for something until then; `None` if it had not come.
    pub(super) async fn bound<F: Future>(&mut self, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => self.poll(cx).map(|()| None),
        })
        .await
    }
}
