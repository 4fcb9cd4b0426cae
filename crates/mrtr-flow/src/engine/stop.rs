//! The signal by which a runner stops a run from outside.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::Notify;

/// Stops a run from outside: the run finishes and records the steps that have begun, and begins nothing else. Clones
/// are the same signal.
///
/// ```
/// use mrtr_flow::{StopReason, StopSignal};
///
/// let signal = StopSignal::new();
/// assert_eq!(signal.raised(), None);
/// signal.raise(StopReason::Cancelled);
/// signal.raise(StopReason::Shutdown);
/// assert_eq!(signal.raised(), Some(StopReason::Cancelled), "the first reason stands");
/// ```
#[derive(Clone, Default)]
pub struct StopSignal(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// 0 until it is raised.
    reason: AtomicU8,
    raised: Notify,
}

/// The reason why a run is stopped.
///
/// ```
/// use mrtr_flow::{Failure, Flow};
/// use mrtr_flow::StopReason;
///
/// async fn index(flow: Flow) -> Result<&'static str, Failure> {
///     let work = std::future::pending::<()>();
///     tokio::select! {
///         () = work => Ok("indexed"),
///         reason = flow.cancelled() => Ok(if reason == StopReason::Shutdown { "later" } else { "no more" }),
///     }
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum StopReason {
    /// The client does not wait for the reply any more.
    Disconnected = 1,
    /// The call was cancelled.
    Cancelled = 2,
    /// Another runner has the flow now.
    LeaseLost = 3,
    /// The process is about to end; the flow continues elsewhere or later.
    Shutdown = 4,
}

impl StopSignal {
    /// Makes a signal that is not raised yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Raises it. If it was raised before, the first reason stands.
    pub fn raise(&self, reason: StopReason) {
        self.0.reason.compare_exchange(0, reason as u8, Ordering::AcqRel, Ordering::Acquire).ok();
        self.0.raised.notify_waiters();
    }

    /// Returns the reason why it was raised, if it was.
    pub fn raised(&self) -> Option<StopReason> {
        match self.0.reason.load(Ordering::Acquire) {
            0 => None,
            1 => Some(StopReason::Disconnected),
            2 => Some(StopReason::Cancelled),
            3 => Some(StopReason::LeaseLost),
            _ => Some(StopReason::Shutdown),
        }
    }

    /// Waits until it is raised.
    ///
    /// ```
    /// # use mrtr_flow::{StopReason, StopSignal};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let signal = StopSignal::new();
    /// let (reason, ()) = tokio::join!(signal.wait(), async { signal.raise(StopReason::Cancelled) });
    /// assert_eq!(reason, StopReason::Cancelled);
    /// # }
    /// ```
    pub async fn wait(&self) -> StopReason {
        tokio::task::coop::consume_budget().await;
        loop {
            // First in line, then the look, so that a signal between the two is not missed.
            let mut raised = std::pin::pin!(self.0.raised.notified());
            raised.as_mut().enable();
            if let Some(reason) = self.raised() {
                return reason;
            }
            raised.await;
        }
    }
}

impl fmt::Debug for StopSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StopSignal").field(&self.raised()).finish()
    }
}
