//! The streams of a connection of HTTP/2, each a task: one whose client does not read is ended.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::Executor;
use tokio::time::{Sleep, sleep};

use super::link::Link;
use super::reader::Reader;

/// Runs the streams of a connection of HTTP/2, each for as long as its client reads.
///
/// Without room for the next piece, a body is not polled, and neither are the run in it, its deadline, and its timers.
/// They would be there for as long as the client likes.
#[derive(Debug, Clone)]
pub(super) struct StreamExecutor {
    link: Arc<Link>,
    /// How long a client may read nothing.
    limit: Duration,
}

impl StreamExecutor {
    pub(super) fn new(link: Arc<Link>, limit: Duration) -> Self {
        Self { link, limit }
    }
}

impl<F> Executor<F> for StreamExecutor
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        tokio::spawn(WhileRead {
            stream: Some(Box::pin(stream)),
            reader: Arc::default(),
            link: Arc::clone(&self.link),
            limit: self.limit,
            stalled: None,
        });
    }
}

/// A stream until it is over, or its client does not read it. What runs in it ends with it, and a reset tells.
struct WhileRead<F> {
    stream: Option<Pin<Box<F>>>,
    reader: Arc<Reader>,
    link: Arc<Link>,
    limit: Duration,
    /// Which piece the client is waited for to read, and until when.
    stalled: Option<(usize, Pin<Box<Sleep>>)>,
}

impl<F: Future<Output = ()>> Future for WhileRead<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Self { stream: Some(stream), reader, .. } = &mut *self else { return Poll::Ready(()) };
        if reader.scope(|| stream.as_mut().poll(cx)).is_ready() || reader.is_withdrawn(cx) {
            return Poll::Ready(());
        }
        self.poll_stalled(cx)
    }
}

impl<F> WhileRead<F> {
    /// Ready once the client has read nothing for too long.
    fn poll_stalled(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(piece) = self.reader.awaited() else {
            self.stalled = None;
            return Poll::Pending;
        };
        let limit = self.limit;
        let (_, until) = match self.stalled.take() {
            Some((before, until)) if before == piece => self.stalled.insert((before, until)),
            _ => self.stalled.insert((piece, Box::pin(sleep(limit)))),
        };
        until.as_mut().poll(cx).map(|()| tracing::debug!("a stream is reset: its client does not read"))
    }
}

impl<F> Drop for WhileRead<F> {
    fn drop(&mut self) {
        // With it go the run and its permit. What the connection was given already may stay there, until it is read.
        self.stream = None;
        if Arc::strong_count(&self.reader) > 1 {
            self.link.await_last_pieces(&self.reader);
        }
    }
}
