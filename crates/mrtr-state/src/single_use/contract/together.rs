//! Futures that run at once, on whatever runtime the store needs.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// Polls all of them until each has an output.
pub(super) async fn all<T>(futures: impl IntoIterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut in_progress: Vec<Pin<Box<_>>> = futures.into_iter().map(Box::pin).collect();
    let mut outputs = Vec::new();
    poll_fn(|context| {
        in_progress.retain_mut(|future| match future.as_mut().poll(context) {
            Poll::Ready(output) => {
                outputs.push(output);
                false
            }
            Poll::Pending => true,
        });
        if in_progress.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    outputs
}

/// Starts `first`, then does `second`, then waits for both.
pub(super) async fn meanwhile<A, B>(first: impl Future<Output = A>, second: impl Future<Output = B>) -> (A, B) {
    let mut first = Box::pin(first);
    let begun = poll_fn(|context| Poll::Ready(first.as_mut().poll(context))).await;
    let second = second.await;
    let first = match begun {
        Poll::Ready(first) => first,
        Poll::Pending => first.await,
    };
    (first, second)
}

/// Starts a future, and drops it wherever it is by then.
pub(super) async fn begin_and_drop(future: impl Future) {
    let mut future = Box::pin(future);
    poll_fn(|context| {
        drop(future.as_mut().poll(context));
        Poll::Ready(())
    })
    .await;
}
