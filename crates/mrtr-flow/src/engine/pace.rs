//! Giving way: even a handler that never has to wait returns to its runtime.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll};

use super::place;
use super::state::ActiveRun;

/// The number of calls on a flow that return immediately, before one of them lets everything else have a turn.
const CALLS_PER_TURN: u32 = 128;

/// Counts the calls on a flow in one poll of its run.
///
/// This is a count of its own, and not the runtime's budget: the runner must tell a run that gives way from one that
/// has nothing to do but ask. Otherwise the number of earlier calls would decide which questions are asked together.
#[derive(Debug, Default)]
pub(super) struct Pace {
    calls: AtomicU32,
    gave_way: AtomicBool,
}

impl Pace {
    /// Begins a new count, for one poll of the run.
    pub(super) fn begin(&self) {
        self.calls.store(0, Ordering::Relaxed);
    }

    /// Returns true if a call of the handler gave way since the last look.
    pub(super) fn take_gave_way(&self) -> bool {
        self.gave_way.load(Ordering::Relaxed) && self.gave_way.swap(false, Ordering::Relaxed)
    }
}

impl ActiveRun {
    /// Gives way if many calls came before this one, and then wants to be polled again at once. Each call on the flow
    /// begins with it, so that a loop of calls which are all ready starves neither timers nor the run's own deadline.
    pub(crate) fn poll_give_way(&self, cx: &Context<'_>) -> Poll<()> {
        let calls = self.pace.calls.fetch_add(1, Ordering::Relaxed);
        if calls % CALLS_PER_TURN < CALLS_PER_TURN - 1 {
            return Poll::Ready(());
        }
        // A spawned task that reports progress is not what the runner polls.
        if place::here(self.id()).is_some() {
            self.pace.gave_way.store(true, Ordering::Relaxed);
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Waits for a turn.
    pub(crate) async fn give_way(&self) {
        poll_fn(|cx| self.poll_give_way(cx)).await;
    }
}

/// Polls a future that the runner itself waits for. It does not share the runtime's budget with the handler: the runner
/// polls the handler first, which may use the budget up each time, and the runner would never see a timer end.
pub(crate) fn poll_apart<F: Future + ?Sized>(future: Pin<&mut F>, cx: &mut Context<'_>) -> Poll<F::Output> {
    Pin::new(&mut tokio::task::unconstrained(future)).poll(cx)
}
