//! The callers that wait for the end of a reservation, which may be held in this process or another.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// Callers by the fence of the reservation that they wait for.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Mutex<HashMap<i64, watch::Sender<()>>>);

impl Waiting {
    /// Is told when the reservation with this fence may have ended, from now on.
    pub(crate) fn wait(&self, fence: i64) -> watch::Receiver<()> {
        self.crowds().entry(fence).or_insert_with(|| watch::Sender::new(())).subscribe()
    }

    /// The fences that callers wait for; those who went away are forgotten.
    pub(crate) fn fences(&self) -> Vec<i64> {
        let mut crowds = self.crowds();
        crowds.retain(|_, crowd| !crowd.is_closed());
        crowds.keys().copied().collect()
    }

    /// Tells those who wait for these.
    pub(crate) fn ended(&self, fences: impl IntoIterator<Item = i64>) {
        let mut crowds = self.crowds();
        for fence in fences {
            // Those who wait find the other end gone.
            crowds.remove(&fence);
        }
    }

    fn crowds(&self) -> MutexGuard<'_, HashMap<i64, watch::Sender<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
