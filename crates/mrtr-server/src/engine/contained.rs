//! A future out of which no panic comes: neither when it is polled nor when it is dropped.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

pin_project! {
    /// A future whose panics are its output. It is dropped as soon as it has ended.
    pub(crate) struct Contained<F> {
        #[pin]
        future: Option<F>,
    }

    impl<F> PinnedDrop for Contained<F> {
        fn drop(this: Pin<&mut Self>) {
            if let Err(Panicked(text)) = this.clear() {
                tracing::error!(panic = &*crate::support::echo::logged(&text), "what was under way panicked when it was dropped");
            }
        }
    }
}

/// The message of a panic.
#[derive(Debug)]
pub(crate) struct Panicked(pub(crate) String);

impl<F> Contained<F> {
    pub(crate) fn new(future: F) -> Self {
        Self { future: Some(future) }
    }

    /// Drops the future, if it is still there.
    pub(crate) fn clear(self: Pin<&mut Self>) -> Result<(), Panicked> {
        let mut future = self.project().future;
        if future.is_none() {
            return Ok(());
        }
        contain(|| future.set(None))
    }
}

impl<F: Future> Future for Contained<F> {
    type Output = Result<F::Output, Panicked>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = self.as_mut().project().future.as_pin_mut() else { return Poll::Pending };
        let polled = match contain(|| future.poll(cx)) {
            Ok(polled) => Ok(ready!(polled)),
            Err(panicked) => Err(panicked),
        };
        let dropped = self.clear();
        // The first panic is the one to tell of.
        Poll::Ready(polled.and_then(|output| dropped.map(|()| output)))
    }
}

/// Runs something, and has its panic as an error.
pub(crate) fn contain<R>(run: impl FnOnce() -> R) -> Result<R, Panicked> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = message(&*panic).to_owned();
        // What a panic carries may itself panic when it is dropped; then it is not dropped at all.
        if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
            std::mem::forget(again);
        }
        Panicked(text)
    })
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message")
}
