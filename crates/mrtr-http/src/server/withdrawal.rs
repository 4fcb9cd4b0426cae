//! The end of a body that makes way for another caller.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::Waker;

/// Tells a body to end, wherever it is polled.
#[derive(Debug, Default)]
pub(super) struct Withdrawal {
    is_withdrawn: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Withdrawal {
    /// Has the body end.
    pub(super) fn withdraw(&self) {
        self.is_withdrawn.store(true, Ordering::Release);
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Whether the body is to end. If it is not, the task that asks is woken when it is.
    pub(super) fn is_withdrawn(&self, waker: &Waker) -> bool {
        let mut place = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        if !place.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *place = Some(waker.clone());
        }
        // After the waker is in its place, so that none of the two misses the other.
        self.is_withdrawn.load(Ordering::Acquire)
    }
}
