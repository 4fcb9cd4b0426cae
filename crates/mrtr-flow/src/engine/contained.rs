//! A future that lets no panic out, when it is polled or when it is dropped.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

pub(crate) use crate::error::{Panicked, contain};

pin_project! {
    /// A future whose panics are its output. It is dropped as soon as it has ended.
    pub struct Contained<F, D: AtDrop = Logged> {
        #[pin]
        future: Option<F>,
        at_drop: D,
    }

    impl<F, D: AtDrop> PinnedDrop for Contained<F, D> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this;
            if let Err(panicked) = this.as_mut().clear() {
                this.at_drop.panicked(&panicked);
            }
        }
    }
}

/// Hears of the panic of a future that was dropped before its end: such a future has no output to tell it in.
pub trait AtDrop {
    /// Hears of the panic.
    fn panicked(&self, panicked: &Panicked);
}

/// Tells the log.
#[derive(Debug)]
pub struct Logged;

impl AtDrop for Logged {
    fn panicked(&self, Panicked(text): &Panicked) {
        tracing::error!(panic = &*crate::support::echo::logged(text), "a future panicked while it was dropped");
    }
}

impl<F> Contained<F> {
    /// Contains a future. If it is dropped before its end and panics, the log hears of the panic.
    pub fn new(future: F) -> Self {
        Self::telling(future, Logged)
    }
}

impl<F, D: AtDrop> Contained<F, D> {
    /// Contains a future. If it is dropped before its end and panics, `at_drop` hears of the panic.
    pub fn telling(future: F, at_drop: D) -> Self {
        Self { future: Some(future), at_drop }
    }

    /// Drops the future, if it is still there.
    pub fn clear(self: Pin<&mut Self>) -> Result<(), Panicked> {
        let mut future = self.project().future;
        if future.is_none() {
            return Ok(());
        }
        contain(|| future.set(None))
    }
}

impl<F: Future, D: AtDrop> Future for Contained<F, D> {
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
