//! Code that was added to the server: its panics stay its own, and its streams take part in the turns of the runtime.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use mrtr_flow::for_server::{Contained, Panicked, contain, echo, internal_error};
use mrtr_schema::ErrorObject;
use tokio::task::coop;

/// Runs code that was added to the server. If it panics, the caller gets an internal error, and the log the rest. It
/// stands in a box, so that nothing large is moved.
pub(crate) async fn contained<T>(
    who: &str,
    code: Pin<Box<dyn Future<Output = T> + Send + '_>>,
) -> Result<T, ErrorObject> {
    Contained::new(code).await.map_err(|panicked| panicked_in(who, &panicked))
}

/// Asks code that was added to the server and only computes.
pub(crate) fn contained_call<T>(who: &str, code: impl FnOnce() -> T) -> Result<T, ErrorObject> {
    contain(code).map_err(|panicked| panicked_in(who, &panicked))
}

/// Logs a panic, and returns the error that the caller gets.
#[cold]
pub(crate) fn panicked_in(who: &str, Panicked(text): &Panicked) -> ErrorObject {
    tracing::error!(who, panic = &*echo::logged(text), "code that the application added to the server panicked");
    internal_error()
}

/// A stream that was added to the server. If it panics, an error is its last item.
pub(crate) struct ContainedStream<T> {
    who: &'static str,
    /// `None` once it has ended.
    items: Option<BoxStream<'static, T>>,
}

impl<T> ContainedStream<T> {
    pub(crate) fn new(who: &'static str, items: BoxStream<'static, T>) -> Self {
        Self { who, items: Some(items) }
    }

    fn clear(&mut self) {
        let items = self.items.take();
        if let Err(panicked) = contain(|| drop(items)) {
            // The stream has said all that it had to say: only the log hears of the panic.
            panicked_in(self.who, &panicked);
        }
    }
}

impl<T> Stream for ContainedStream<T> {
    type Item = Result<T, ErrorObject>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(items) = &mut self.items else { return Poll::Ready(None) };
        let next = match contain(|| poll_cooperatively(items, cx)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(Some(item))) => return Poll::Ready(Some(Ok(item))),
            Ok(Poll::Ready(None)) => None,
            Err(panicked) => Some(Err(panicked_in(self.who, &panicked))),
        };
        self.clear();
        Poll::Ready(next)
    }
}

impl<T> Drop for ContainedStream<T> {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Polls a stream as the runtime's own are: one that is always ready makes way after a while, so that a loop that reads
/// it starves nothing else on the thread.
pub(crate) fn poll_cooperatively<T>(stream: &mut BoxStream<'static, T>, cx: &mut Context<'_>) -> Poll<Option<T>> {
    let turn = ready!(coop::poll_proceed(cx));
    let next = stream.poll_next_unpin(cx);
    if next.is_ready() {
        turn.made_progress();
    }
    next
}
