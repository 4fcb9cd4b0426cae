//! The sink that keeps a run's entries as they are made: the sink, its outbox, and the recorder that empties the
//! outbox.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use async_trait::async_trait;

use super::contained::{Contained, Panicked};
use super::journal::Entries;
use super::pace::poll_apart;
use super::state::ActiveRun;

/// Keeps entries as they are made. Plain rounds keep them in the journal alone.
///
/// ```
/// use mrtr_flow::{Entries, JournalSink, SinkError};
///
/// #[derive(Debug)]
/// struct Log;
///
/// #[async_trait::async_trait]
/// impl JournalSink for Log {
///     async fn record(&self, entries: &Entries) -> Result<(), SinkError> {
///         for entry in entries.iter() {
///             println!("{:?} {}", entry.kind(), entry.name());
///         }
///         Ok(())
///     }
/// }
/// ```
#[async_trait]
pub trait JournalSink: Send + Sync + 'static {
    /// Keeps entries, after those of earlier calls. The runner makes one call at a time. A step starts only when the
    /// sink has kept the entry that says so, and the handler continues only when the sink has kept the outcome. The
    /// client may be shown a question once this returns.
    async fn record(&self, entries: &Entries) -> Result<(), SinkError>;
}

/// The reason why a sink could not keep entries: the run ends there.
///
/// ```
/// use mrtr_flow::SinkError;
///
/// let error = SinkError::Store("the disk is full".into());
/// assert_eq!(error.to_string(), "the entry could not be stored");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SinkError {
    /// Another runner has this flow now.
    #[error("another runner has this flow now")]
    Lost,
    /// The store failed.
    #[error("the entry could not be stored")]
    Store(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The entries that wait for the sink. The runner alone takes from it, so that the sink keeps them in their order.
#[derive(Default)]
pub(super) struct Outbox {
    entries: Entries,
    /// The number of times that something was put in. `kept` counts those of them that the sink has kept.
    queued: u64,
    kept: u64,
    /// True if the sink failed: it keeps nothing any more.
    failed: bool,
    waiting: Vec<(u64, Waker)>,
}

/// The entries that the runner hands to the sink in one go.
pub(super) struct Batch {
    pub(super) entries: Entries,
    up_to: u64,
}

impl Outbox {
    /// Puts entries in, and returns the number with which the sink keeps them.
    pub(super) fn push(&mut self, write: impl FnOnce(&mut Entries)) -> u64 {
        write(&mut self.entries);
        self.queued += 1;
        self.queued
    }

    /// Ready when the sink has kept what was put in with this number; with `None` if it never will.
    pub(super) fn poll_kept(&mut self, number: u64, waker: &Waker) -> Poll<Option<()>> {
        if self.failed {
            return Poll::Ready(None);
        }
        if self.kept >= number {
            return Poll::Ready(Some(()));
        }
        self.waiting.retain(|(waiting, other)| *waiting != number || !other.will_wake(waker));
        self.waiting.push((number, waker.clone()));
        Poll::Pending
    }

    /// Takes the next batch for the sink.
    pub(super) fn take(&mut self) -> Option<Batch> {
        if self.entries.is_empty() || self.failed {
            return None;
        }
        Some(Batch { entries: std::mem::take(&mut self.entries), up_to: self.queued })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() || self.failed
    }

    /// Notes that the sink has kept a batch. Returns the wakers of those that waited for it.
    pub(super) fn kept(&mut self, batch: &Batch) -> Vec<Waker> {
        self.kept = batch.up_to;
        let kept = self.kept;
        let (ready, waiting) = std::mem::take(&mut self.waiting).into_iter().partition(|(number, _)| *number <= kept);
        self.waiting = waiting;
        wakers(ready)
    }

    /// Notes that the sink has failed. Returns the wakers of all that wait.
    pub(super) fn fail(&mut self) -> Vec<Waker> {
        self.failed = true;
        wakers(std::mem::take(&mut self.waiting))
    }
}

fn wakers(waiting: Vec<(u64, Waker)>) -> Vec<Waker> {
    waiting.into_iter().map(|(_, waker)| waker).collect()
}

/// Hands entries to the sink, one batch at a time.
#[derive(Default)]
pub(super) struct Recorder(Option<Recording>);

/// A batch on its way, which comes back with its result.
#[expect(clippy::type_complexity, reason = "this is the name for it")]
struct Recording(Pin<Box<dyn Future<Output = (Batch, Result<(), SinkError>)> + Send>>);

impl Recorder {
    pub(super) fn is_idle(&self) -> bool {
        self.0.is_none()
    }

    /// Ready when the sink has kept a batch, or has failed. It has woken the steps that waited for that.
    pub(super) fn poll(&mut self, run: &ActiveRun, cx: &mut Context<'_>) -> Poll<()> {
        if self.0.is_none() {
            let Some(batch) = run.take_batch() else { return Poll::Pending };
            let Some(sink) = run.context.sink.as_ref().map(Arc::clone) else { return Poll::Pending };
            self.0 = Some(Recording(Box::pin(async move {
                let recorded = Contained::new(async { sink.record(&batch.entries).await }).await;
                let panicked = |Panicked(text)| Err(SinkError::Store(format!("the sink panicked: {text}").into()));
                let kept = recorded.unwrap_or_else(panicked);
                (batch, kept)
            })));
        }
        let Some(Recording(recording)) = &mut self.0 else { return Poll::Pending };
        match poll_apart(recording.as_mut(), cx) {
            Poll::Ready((batch, kept)) => {
                self.0 = None;
                run.batch_ended(&batch, kept);
                Poll::Ready(())
            }
            Poll::Pending => Poll::Pending,
        }
    }

    /// Gives the sink everything that is left.
    pub(super) async fn finish(&mut self, run: &ActiveRun) {
        poll_fn(|cx| {
            while self.poll(run, cx).is_ready() {}
            if self.is_idle() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}
