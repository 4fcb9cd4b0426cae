//! What tells the sink: entries in their order, while the handler goes on.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::contained::{Contained, Panicked};
use super::outbox::Batch;
use super::pace::poll_apart;
use super::sink::SinkError;
use super::state::Run;

/// Hands entries to the sink, one batch at a time.
#[derive(Default)]
pub(super) struct Recorder(Option<Recording>);

/// A batch on its way, which comes back with what became of it.
#[expect(clippy::type_complexity, reason = "this is the name for it")]
struct Recording(Pin<Box<dyn Future<Output = (Batch, Result<(), SinkError>)> + Send>>);

impl Recorder {
    pub(super) fn is_idle(&self) -> bool {
        self.0.is_none()
    }

    /// Ready when the sink has kept a batch, or has failed; then the steps that waited for it were woken.
    pub(super) fn poll(&mut self, run: &Run, cx: &mut Context<'_>) -> Poll<()> {
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

    /// Has everything kept that is left.
    pub(super) async fn finish(&mut self, run: &Run) {
        poll_fn(|cx| {
            while self.poll(run, cx).is_ready() {}
            if self.is_idle() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}
