//! How much sessions keep: counted for each, and for all of them together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A count that may not go beyond a limit.
#[derive(Debug)]
pub(super) struct Bytes {
    used: AtomicUsize,
    most: usize,
}

impl Bytes {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { used: AtomicUsize::new(0), most })
    }

    fn take(&self, more: usize) -> Result<(), Full> {
        let room = |used: usize| used.checked_add(more).filter(|used| *used <= self.most);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).map(drop).map_err(|_| Full)
    }

    fn give_back(&self, less: usize) {
        self.used.fetch_sub(less, Ordering::Relaxed);
    }

    #[cfg(test)]
    fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}

/// There is no room left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Full;

/// What a session may keep.
#[derive(Debug, Clone)]
pub(super) struct Memory {
    session: Arc<Bytes>,
    all: Arc<Bytes>,
}

impl Memory {
    pub(super) fn new(most: usize, all: Arc<Bytes>) -> Self {
        Self { session: Bytes::new(most), all }
    }

    /// A part that takes nothing yet.
    pub(super) fn share(&self) -> Share {
        Share { memory: self.clone(), bytes: 0 }
    }
}

/// A part of what a session keeps. It is given back when it is dropped.
#[derive(Debug)]
pub(super) struct Share {
    memory: Memory,
    bytes: usize,
}

impl Share {
    /// Has it cover so many bytes. If there is no room, it stays as it was.
    pub(super) fn resize(&mut self, bytes: usize) -> Result<(), Full> {
        if let Some(more) = bytes.checked_sub(self.bytes) {
            self.memory.session.take(more)?;
            self.memory.all.take(more).inspect_err(|_| self.memory.session.give_back(more))?;
        } else {
            self.give_back(self.bytes - bytes);
        }
        self.bytes = bytes;
        Ok(())
    }

    fn give_back(&self, less: usize) {
        self.memory.session.give_back(less);
        self.memory.all.give_back(less);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_takes_no_more_than_it_may_and_no_more_than_is_left() {
        let all = Bytes::new(10);
        let (one, other) = (Memory::new(6, Arc::clone(&all)), Memory::new(6, Arc::clone(&all)));
        let (mut first, mut second) = (one.share(), other.share());
        assert_eq!(first.resize(7), Err(Full), "more than one may");
        assert_eq!((first.resize(6), second.resize(5)), (Ok(()), Err(Full)), "more than is left");
        assert_eq!((all.used(), other.session.used()), (6, 0), "what was refused takes nothing");
        assert_eq!((first.resize(2), second.resize(5)), (Ok(()), Ok(())));
        drop((first, second));
        assert_eq!((all.used(), one.session.used(), other.session.used()), (0, 0, 0));
    }
}
