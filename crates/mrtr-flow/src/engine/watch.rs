//! Watches that tell whether the handler polls its steps and checks when they were woken.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

use super::state::ActiveRun;

/// Watches one step or check: passes on that it was woken, and remembers it until it is polled.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// The task that polls it.
    poller: AtomicWaker,
    woken: AtomicBool,
    polls: AtomicU64,
    /// True if the run has given it up: it is not polled any more.
    left: AtomicBool,
}

impl Watch {
    fn woke(&self) {
        self.woken.store(true, Ordering::Release);
        self.poller.wake();
    }

    /// Polls the step or check, with a waker that notes when it is woken.
    pub(crate) fn poll<T>(
        &self,
        waker: &Waker,
        cx: &Context<'_>,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        if self.left.load(Ordering::Relaxed) {
            return Poll::Pending;
        }
        self.poller.register(cx.waker());
        self.polls.fetch_add(1, Ordering::Relaxed);
        self.woken.store(false, Ordering::Release);
        poll(&mut Context::from_waker(waker))
    }

    /// Returns the number of polls before it was woken, if it was woken and has not been polled since.
    pub(super) fn unpolled(&self) -> Option<u64> {
        let is_left = self.left.load(Ordering::Relaxed);
        (!is_left && self.woken.load(Ordering::Acquire)).then(|| self.polls.load(Ordering::Relaxed))
    }

    /// Polls it no more.
    pub(super) fn leave(&self) {
        self.left.store(true, Ordering::Relaxed);
    }

    /// Makes the watch free for another step.
    pub(super) fn clear(&self) {
        drop(self.poller.take());
        self.left.store(false, Ordering::Relaxed);
    }
}

impl Wake for Watch {
    fn wake(self: Arc<Self>) {
        self.woke();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woke();
    }
}

/// Most runs have one step under way at a time, which the run itself watches: that takes no allocation.
impl Wake for ActiveRun {
    fn wake(self: Arc<Self>) {
        self.watch.woke();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.watch.woke();
    }
}

/// The watcher of a step that is under way: the watch of its run while that is free, else a watch of its own.
#[derive(Debug, Clone)]
pub(crate) enum Watcher {
    Run,
    Own(Arc<Watch>),
}

impl Watcher {
    pub(crate) fn watch<'a>(&'a self, run: &'a ActiveRun) -> &'a Watch {
        match self {
            Self::Run => &run.watch,
            Self::Own(watch) => watch,
        }
    }

    pub(crate) fn waker(&self, run: &Arc<ActiveRun>) -> Waker {
        match self {
            Self::Run => Arc::clone(run).into(),
            Self::Own(watch) => Arc::clone(watch).into(),
        }
    }
}
