//! The lease of a run: it is renewed while the run lives, and the run ends when it cannot be.
//!
//! A thread renews the leases of all runs, so that a handler which blocks keeps its own. The run itself renews what the
//! thread has not renewed in time, such as where time is not the machine's.

use std::sync::Arc;
use std::time::Duration;

use mrtr_flow::{StopReason, StopSignal};
use mrtr_server::extend::{HeldLease, LeaseEnd};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::progress::Progress;
use crate::record::TransitionError;
use crate::store::{Run, StoreError};
use crate::tasks::{Inner, Phase};
use crate::vault::Kind;

/// The lease of a run, which the thread renews for as long as this value lives.
pub(super) struct Lease {
    held: HeldLease<Run>,
    /// The time at which the run itself last asked for the lease and the store then said yes: the lease counts from it.
    confirmed: Instant,
    ended: oneshot::Receiver<StopReason>,
}

/// Makes the thread renew the lease of a run, which was asked for at this moment. The thread stops the run when the
/// lease is lost, even if nothing polls the run.
pub(super) fn hold(inner: &Inner, run: Run, signal: &StopSignal, asked: Instant) -> Lease {
    let ((tell, ended), signal) = (oneshot::channel(), signal.clone());
    let told = move |end| {
        let reason = match end {
            LeaseEnd::Ended => StopReason::Cancelled,
            LeaseEnd::Lost => StopReason::LeaseLost,
        };
        signal.raise(reason);
        tell.send(reason).ok();
    };
    Lease { held: inner.leases.hold(run, asked.into_std(), told), confirmed: asked, ended }
}

impl Lease {
    /// The time of the last request for the lease, by the run or the thread, that the store granted.
    fn confirmed(&self) -> Instant {
        self.held.confirmed().map_or(self.confirmed, |by_thread| self.confirmed.max(by_thread.into()))
    }

    fn was_renewed(&mut self, asked: Instant) {
        self.confirmed = asked;
        self.held.was_renewed(asked.into_std());
    }
}

/// Renews the lease of a run where the thread did not, and stops the run when it must not continue: the task's time is
/// over after this long, if it has an end. Returns when the run is to be dropped.
pub(super) async fn supervise(
    inner: &Arc<Inner>,
    run: Run,
    signal: &StopSignal,
    progress: &Progress,
    held: &mut Lease,
    expires: Option<Duration>,
) {
    let (lease, began) = (inner.options.lease, held.confirmed);
    let mut expires = expires.map(|left| began + left);
    let mut changes = inner.hub.watch(run.id);
    let mut phase = inner.phase.subscribe();
    // True if it was stopped for another run to continue: steps that have begun then have all the time that they need.
    let mut makes_way = false;
    loop {
        let confirmed = held.confirmed();
        let next = (confirmed + lease / 3).max(Instant::now() + lease / 30);
        let is_due = async {
            tokio::select! {
                () = tokio::time::sleep_until(next) => {}
                // The flow's progress message goes along, about as often as clients look.
                () = progress.noted(confirmed + inner.options.poll_interval) => {}
            }
        };
        tokio::select! {
            reason = signal.wait(), if !makes_way => {
                makes_way = reason == StopReason::Shutdown && !inner.is_shutting_down();
                if !makes_way {
                    return tokio::time::sleep(grace(inner, reason)).await;
                }
            }
            () = async { drop(phase.wait_for(|phase| *phase == Phase::ShuttingDown).await) }, if makes_way => {
                return tokio::time::sleep(grace(inner, StopReason::Shutdown)).await;
            }
            Ok(reason) = &mut held.ended, if makes_way => return tokio::time::sleep(grace(inner, reason)).await,
            () = is_due => {
                let asked = Instant::now();
                let message = progress.take().and_then(|text| seal(inner, run, &text));
                let confirmed = held.confirmed();
                if message.is_none() && confirmed + lease / 3 > asked {
                    continue;
                }
                match renew(inner, run, message, confirmed + lease * 2 / 3).await {
                    Ok(()) => held.was_renewed(asked),
                    Err(reason) if makes_way => return tokio::time::sleep(grace(inner, reason)).await,
                    Err(reason) => signal.raise(reason),
                }
            }
            // No change tells that the task's time is over.
            () = tokio::time::sleep_until(expires.unwrap_or(began)), if expires.is_some() => {
                expires = look(inner, run, signal).await.or_else(|| Some(Instant::now() + lease / 3));
            }
            _ = changes.changed() => expires = look(inner, run, signal).await.or(expires),
        }
    }
}

/// Renews the lease, with as many tries as fit before this deadline.
async fn renew(inner: &Inner, run: Run, message: Option<Vec<u8>>, deadline: Instant) -> Result<(), StopReason> {
    loop {
        let renewing = inner.store.renew(run, inner.options.lease, message.clone());
        match tokio::time::timeout_at(deadline, renewing).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(StoreError::Refused(TransitionError::Ended))) => return Err(StopReason::Cancelled),
            // Another run has it; or two thirds of the lease are over, and another may soon take it.
            Ok(Err(StoreError::Refused(_) | StoreError::NotFound)) | Err(_) => return Err(StopReason::LeaseLost),
            Ok(Err(error)) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "a lease was not renewed");
                let again = Instant::now() + RETRY;
                if again >= deadline {
                    return Err(StopReason::LeaseLost);
                }
                tokio::time::sleep_until(again).await;
            }
        }
    }
}

/// Stops the run if the task was ended or taken over from elsewhere. Returns when the task's time is over, if it has an
/// end.
async fn look(inner: &Inner, run: Run, signal: &StopSignal) -> Option<Instant> {
    // A store that does not answer must not keep the lease from being renewed, or from being given up in time.
    let read = tokio::time::timeout(inner.options.lease / 6, inner.store.get(run.id, None)).await;
    match read.unwrap_or_else(|late| Err(StoreError::Store(late.into()))) {
        Ok(task) if task.record.end(task.now).is_some() => signal.raise(StopReason::Cancelled),
        Ok(task) if task.record.fence != run.fence => signal.raise(StopReason::LeaseLost),
        Err(StoreError::NotFound) => signal.raise(StopReason::Cancelled),
        Ok(task) => return task.record.expires().map(|end| Instant::now() + end.since(task.now)),
        // If the lease is lost, the next renewal says so.
        Err(_) => {}
    }
    None
}

fn seal(inner: &Inner, run: Run, text: &str) -> Option<Vec<u8>> {
    Some(inner.attached()?.vault.seal(Kind::Message, run.id, text.as_bytes()))
}

/// The time that begun steps have once the run is stopped: without a lease, no longer than another run needs to take
/// the task over.
fn grace(inner: &Inner, reason: StopReason) -> Duration {
    match reason {
        StopReason::LeaseLost => inner.options.grace.min(inner.options.lease / 3),
        _ => inner.options.grace,
    }
}

const RETRY: Duration = Duration::from_millis(200);
