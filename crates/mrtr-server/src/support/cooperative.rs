//! Streams that take part in the runtime's turns.

use std::task::{Context, Poll, ready};

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use tokio::task::coop;

/// Polls a stream as the runtime's own are: one that is always ready makes way after a while, so that who reads it in a
/// loop starves nothing else on the thread.
pub(crate) fn poll_cooperatively<T>(stream: &mut BoxStream<'static, T>, cx: &mut Context<'_>) -> Poll<Option<T>> {
    let turn = ready!(coop::poll_proceed(cx));
    let next = stream.poll_next_unpin(cx);
    if next.is_ready() {
        turn.made_progress();
    }
    next
}
