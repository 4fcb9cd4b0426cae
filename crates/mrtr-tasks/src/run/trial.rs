//! A run on trial: nothing else begins in its process before the store knows that it is not alone any more.

use std::sync::Arc;
use std::time::Duration;

use mrtr_flow::{StopReason, StopSignal};
use mrtr_server::extend::CallHold;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::Instant;

use crate::store::{Run, StoreError};
use crate::tasks::Inner;

/// A run on trial, until it starts.
pub(super) struct OnTrial {
    inner: Arc<Inner>,
    run: Run,
    place: OwnedSemaphorePermit,
    /// Keeps handlers of plain calls away, if none ran when it was taken.
    hold: Option<CallHold>,
}

/// Tells that a run on trial cannot be lost any more: it has recorded something, or its handler is gone.
#[derive(Clone)]
pub(super) struct Acquitted(watch::Sender<()>);

impl OnTrial {
    pub(super) fn new(inner: &Arc<Inner>, run: Run, place: OwnedSemaphorePermit, hold: Option<CallHold>) -> Self {
        Self { inner: Arc::clone(inner), run, place, hold }
    }

    /// Begins the trial, which continues beside the run: a handler that blocks its thread must not keep calls waiting.
    pub(super) fn begin(self, signal: StopSignal) -> Acquitted {
        let (acquitted, is_acquitted) = watch::channel(());
        tokio::spawn(self.watch(signal, is_acquitted));
        Acquitted(acquitted)
    }

    /// Keeps others away for a lease at most: a run that has not ended its process by then may have company.
    async fn watch(mut self, signal: StopSignal, mut acquitted: watch::Receiver<()>) {
        let over = Instant::now() + self.inner.options.lease;
        let is_over = tokio::select! {
            () = is_wanted(self.hold.as_ref()) => false,
            () = tokio::time::sleep_until(over) => true,
            _ = acquitted.changed() => return self.end(),
        };
        tokio::select! {
            () = accompany(&self.inner, self.run, &signal, over) => {}
            _ = acquitted.changed() => return self.end(),
        }
        self.hold = None;
        if !is_over {
            tokio::select! {
                () = tokio::time::sleep_until(over) => {}
                _ = acquitted.changed() => {}
            }
        }
        self.end();
    }

    fn end(self) {
        drop((self.hold, self.place));
        self.inner.work.notify_one();
    }
}

impl Acquitted {
    pub(super) fn tell(&self) {
        self.0.send_replace(());
    }
}

async fn is_wanted(hold: Option<&CallHold>) {
    match hold {
        Some(hold) => hold.is_wanted().await,
        None => std::future::pending().await,
    }
}

/// Tells the store that the run has company from now on. While the store fails, the run is stopped instead: calls do
/// not wait for a store.
async fn accompany(inner: &Inner, run: Run, signal: &StopSignal, over: Instant) {
    let patience = Instant::now() + PATIENCE;
    loop {
        match inner.store.accompany(run).await {
            Ok(()) | Err(StoreError::Refused(_) | StoreError::NotFound) => return,
            Err(error) => tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the store was not told that a run on trial is no longer alone"
            ),
        }
        if Instant::now() >= patience {
            signal.raise(StopReason::LeaseLost);
        }
        if Instant::now() >= over + PATIENCE {
            return;
        }
        tokio::time::sleep(RETRY).await;
    }
}

const PATIENCE: Duration = Duration::from_secs(2);
const RETRY: Duration = Duration::from_millis(200);
