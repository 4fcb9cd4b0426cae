//! Entries that the sink has not been told of yet, and who waits until it has.

use std::task::{Poll, Waker};

use super::journal::Entries;

/// What a run has for its sink. The runner alone takes from it, so that entries are kept in their order.
#[derive(Default)]
pub(super) struct Outbox {
    entries: Entries,
    /// How many times something was put in, and how many of those the sink has kept.
    queued: u64,
    kept: u64,
    /// Whether the sink failed: nothing is kept any more.
    failed: bool,
    waiting: Vec<(u64, Waker)>,
}

/// What the runner hands to the sink in one go.
pub(super) struct Batch {
    pub(super) entries: Entries,
    up_to: u64,
}

impl Outbox {
    /// Puts entries in, and says with which number they are kept.
    pub(super) fn push(&mut self, write: impl FnOnce(&mut Entries)) -> u64 {
        write(&mut self.entries);
        self.queued += 1;
        self.queued
    }

    /// Whether what was put in with this number is kept; `None` if it never will be.
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

    /// What the sink is to be told next.
    pub(super) fn take(&mut self) -> Option<Batch> {
        if self.entries.is_empty() || self.failed {
            return None;
        }
        Some(Batch { entries: std::mem::take(&mut self.entries), up_to: self.queued })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() || self.failed
    }

    /// The sink has kept a batch. Gives back who is to be woken.
    pub(super) fn kept(&mut self, batch: &Batch) -> Vec<Waker> {
        self.kept = batch.up_to;
        let kept = self.kept;
        let (ready, waiting) = std::mem::take(&mut self.waiting).into_iter().partition(|(number, _)| *number <= kept);
        self.waiting = waiting;
        wakers(ready)
    }

    /// The sink has failed. Gives back who is to be woken.
    pub(super) fn fail(&mut self) -> Vec<Waker> {
        self.failed = true;
        wakers(std::mem::take(&mut self.waiting))
    }
}

fn wakers(waiting: Vec<(u64, Waker)>) -> Vec<Waker> {
    waiting.into_iter().map(|(_, waker)| waker).collect()
}
