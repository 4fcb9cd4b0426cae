//! Load shedding: an overloaded server ends the round of a flow at a yield point, and the flow continues elsewhere or
//! later.

use std::fmt;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mrtr_state::Timestamp;
use tokio::sync::Notify;

/// Decides, at a yield point, whether a flow is shed: the client gets a state and no question, and retries.
///
/// A flow is shed three times at most, whatever this says.
///
/// ```
/// use mrtr_server::extend::{Load, Shedder};
///
/// #[derive(Debug)]
/// struct WhenMemoryIsLow;
///
/// impl Shedder for WhenMemoryIsLow {
///     fn sheds(&self, load: &Load) -> bool {
///         load.running > 10 && free_memory() < 1_000_000
///     }
/// }
/// # fn free_memory() -> u64 { 0 }
/// ```
pub trait Shedder: fmt::Debug + Send + Sync + 'static {
    /// Returns true if the flow is to be shed.
    fn sheds(&self, load: &Load) -> bool;
}

/// The load of the server, as a flow at a yield point sees it.
///
/// ```
/// use mrtr_server::extend::{Load, ShedAbove, Shedder};
///
/// let load = Load::default();
/// assert!(!ShedAbove(100).sheds(&load));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Load {
    /// The number of rounds that run, this one included.
    pub running: usize,
    /// The time that the request waited before its round began, if its transport says when it came in.
    pub queued: Duration,
}

/// Puts flows down while more than this many rounds run.
///
/// ```
/// use mrtr_server::Server;
/// use mrtr_server::extend::ShedAbove;
///
/// let builder = Server::builder("busy", "1.0.0").shedder(ShedAbove(100));
/// ```
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "one number is all there is to it")]
pub struct ShedAbove(pub usize);

impl Shedder for ShedAbove {
    fn sheds(&self, load: &Load) -> bool {
        load.running > self.0
    }
}

/// Puts down flows whose request waited longer than this.
///
/// ```
/// use std::time::Duration;
/// use mrtr_server::Server;
/// use mrtr_server::extend::ShedAfterQueueing;
///
/// let builder = Server::builder("busy", "1.0.0").shedder(ShedAfterQueueing(Duration::from_millis(250)));
/// ```
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "one duration is all there is to it")]
pub struct ShedAfterQueueing(pub Duration);

impl Shedder for ShedAfterQueueing {
    fn sheds(&self, load: &Load) -> bool {
        load.queued > self.0
    }
}

/// Counts the rounds that run, and holds back new ones while an extension does work that no round may run beside.
#[derive(Debug, Default)]
pub(crate) struct Gauge {
    /// The number of rounds; the highest bit says that new ones are held back. Both are in one word, so that a round
    /// that begins is counted and sees the bit in one operation.
    running: AtomicUsize,
    /// Tells the extension that holds rounds back that one waits.
    wanted: Notify,
    released: Notify,
}

const HELD: usize = 1 << (usize::BITS - 1);

impl Gauge {
    /// The load as it is when a round begins.
    pub(crate) fn measured(&self, received: Option<Timestamp>, now: Timestamp) -> Load {
        let queued = received.map_or(Duration::ZERO, |received| now.since(received));
        Load { running: self.running(), queued }
    }

    pub(crate) fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed) & !HELD
    }

    /// Holds back rounds that begin from now on. Returns false while a round runs, or while another holder holds them
    /// back.
    pub(crate) fn hold(&self) -> bool {
        self.running.compare_exchange(0, HELD, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    pub(crate) fn release(&self) {
        self.running.fetch_and(!HELD, Ordering::AcqRel);
        self.released.notify_waiters();
    }

    /// Waits until a round is held back.
    pub(crate) async fn is_wanted(&self) {
        loop {
            let mut wanted = pin!(self.wanted.notified());
            wanted.as_mut().enable();
            if self.running() > 0 {
                return;
            }
            wanted.await;
        }
    }

    async fn wait_for_release(&self) {
        loop {
            let mut released = pin!(self.released.notified());
            released.as_mut().enable();
            if self.running.load(Ordering::Acquire) & HELD == 0 {
                return;
            }
            self.wanted.notify_waiters();
            released.await;
        }
    }
}

/// A round that runs, counted while it lives.
pub(crate) struct LoadGuard<'a> {
    gauge: &'a Gauge,
    /// True if it has to [wait](Self::wait_for_release) before its handler is called.
    pub(crate) is_held: bool,
}

impl<'a> LoadGuard<'a> {
    pub(crate) fn begin(gauge: &'a Gauge) -> Self {
        let before = gauge.running.fetch_add(1, Ordering::Relaxed);
        Self { gauge, is_held: before & HELD != 0 }
    }

    /// Waits until rounds are not held back any more. The future is boxed, since hardly any round waits.
    #[cold]
    pub(crate) fn wait_for_release(&self) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(self.gauge.wait_for_release())
    }
}

impl Drop for LoadGuard<'_> {
    fn drop(&mut self) {
        self.gauge.running.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_round_that_begins_while_rounds_are_held_back_is_counted_and_waits() {
        let gauge = Gauge::default();
        let running = LoadGuard::begin(&gauge);
        assert!(!running.is_held && !gauge.hold(), "one runs");
        drop(running);
        assert!(gauge.hold() && !gauge.hold(), "one holder at a time");
        assert!(gauge.is_wanted().now_or_never().is_none());
        let held = LoadGuard::begin(&gauge);
        assert!(held.is_held);
        assert_eq!(gauge.running(), 1);
        let mut waiting = held.wait_for_release();
        assert!((&mut waiting).now_or_never().is_none());
        gauge.is_wanted().await;
        gauge.release();
        waiting.await;
        drop(held);
        assert!(gauge.hold(), "nothing of it is left");
    }
}
