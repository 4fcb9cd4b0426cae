//! Who reads a stream of HTTP/2, as far as its body can tell.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Context;

use super::withdrawal::Withdrawal;

/// Who reads a stream of HTTP/2, as far as its body can tell: it is asked for the next piece as soon as the client has
/// made room for it.
#[derive(Debug, Default)]
pub(super) struct Reader {
    pieces: AtomicUsize,
    is_awaited: AtomicBool,
    withdrawal: OnceLock<Option<Arc<Withdrawal>>>,
}

tokio::task_local! {
    static READER: Arc<Reader>;
}

impl Reader {
    /// The one of the stream that is polled. On HTTP/1, the socket itself tells.
    pub(super) fn current() -> Option<Arc<Self>> {
        READER.try_with(Arc::clone).ok()
    }

    /// Polls a stream of it.
    pub(super) fn scope<T>(self: &Arc<Self>, poll: impl FnOnce() -> T) -> T {
        READER.sync_scope(Arc::clone(self), poll)
    }

    /// Notes that there is a body for it, which may be told to end.
    pub(super) fn begin(&self, withdrawal: Option<Arc<Withdrawal>>) {
        let _ = self.withdrawal.set(withdrawal);
        self.is_awaited.store(true, Ordering::Relaxed);
    }

    /// Whether the body is to end now, read or not.
    pub(super) fn is_withdrawn(&self, cx: &Context<'_>) -> bool {
        let withdrawal = self.withdrawal.get().and_then(Option::as_ref);
        withdrawal.is_some_and(|withdrawal| withdrawal.is_withdrawn(cx.waker()))
    }

    /// Notes that there is a piece for it.
    pub(super) fn offer_piece(&self) {
        self.pieces.fetch_add(1, Ordering::Relaxed);
        self.is_awaited.store(true, Ordering::Relaxed);
    }

    /// Notes that it wants more than there is.
    pub(super) fn wait_for_piece(&self) {
        self.is_awaited.store(false, Ordering::Relaxed);
    }

    /// How many pieces there were, if the last one is still to be read.
    pub(super) fn awaited(&self) -> Option<usize> {
        self.is_awaited.load(Ordering::Relaxed).then(|| self.pieces.load(Ordering::Relaxed))
    }
}
