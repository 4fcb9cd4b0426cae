//! Load shedding: whether a flow is put down at a yield point, and goes on elsewhere or later.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mrtr_state::Timestamp;

/// Decides, at a yield point, whether a flow is put down: the client gets a state and no question, and retries.
///
/// A flow is put down three times at most, whatever this says.
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
    /// Whether to put the flow down.
    fn sheds(&self, load: &Load) -> bool;
}

/// How busy the server is, as a flow at a yield point sees it.
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
    /// How many rounds run, this one included.
    pub running: usize,
    /// How long the request waited before its round began, if its transport says when it came in.
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

/// How many times a flow is put down at most.
pub(crate) const MOST_SHEDS: u32 = 3;

/// Counts the rounds that run.
#[derive(Debug, Default)]
pub(crate) struct Gauge(AtomicUsize);

impl Gauge {
    /// The load as it is when a round begins.
    pub(crate) fn measured(&self, received: Option<Timestamp>, now: Timestamp) -> Load {
        let queued = received.map_or(Duration::ZERO, |received| now.since(received));
        Load { running: self.running(), queued }
    }

    pub(crate) fn running(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// A round that runs, counted while it lives.
pub(crate) struct LoadGuard<'a>(&'a Gauge);

impl<'a> LoadGuard<'a> {
    pub(crate) fn begin(gauge: &'a Gauge) -> Self {
        gauge.0.fetch_add(1, Ordering::Relaxed);
        Self(gauge)
    }
}

impl Drop for LoadGuard<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}
