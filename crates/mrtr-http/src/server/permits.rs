//! Permits: how many of something there may be at a time.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::rejection::Rejection;

/// This many permits, or as many as can be counted.
pub(super) fn permits(max: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(max.min(Semaphore::MAX_PERMITS)))
}

/// One of them, if one is left: a request that has none is sent away, and does not wait.
pub(super) fn permit(permits: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Rejection> {
    Arc::clone(permits).try_acquire_owned().map_err(|_| Rejection::Overloaded)
}
