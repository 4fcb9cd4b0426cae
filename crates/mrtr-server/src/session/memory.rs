//! The memory that sessions take: counted for each, and for all sessions of a caller beside those of others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::fair::{Account, Full, Holding};

/// A count that may not go beyond a limit.
#[derive(Debug)]
struct Bytes {
    used: AtomicUsize,
    most: usize,
}

impl Bytes {
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

/// The memory that a session may take: up to a limit of its own, and as much as its caller has room for beside others.
#[derive(Debug, Clone)]
pub(super) struct Memory {
    session: Arc<Bytes>,
    caller: Account,
}

impl Memory {
    pub(super) fn new(most: usize, caller: Account) -> Self {
        Self { session: Arc::new(Bytes { used: AtomicUsize::new(0), most }), caller }
    }

    /// Makes a share of this memory that takes nothing yet.
    pub(super) fn share(&self) -> Share {
        let held = self.caller.charge(0);
        Share { session: Arc::clone(&self.session), held }
    }
}

/// A part of what a session keeps. It is given back when it is dropped.
#[derive(Debug)]
pub(super) struct Share {
    session: Arc<Bytes>,
    held: Holding,
}

impl Share {
    /// Resizes the share to this many bytes. If there is no room, it stays as it was.
    pub(super) fn resize(&mut self, bytes: usize) -> Result<(), Full> {
        let before = self.held.units();
        let more = bytes.saturating_sub(before);
        self.session.take(more)?;
        self.held.resize(bytes).inspect_err(|_| self.session.give_back(more))?;
        self.session.give_back(before.saturating_sub(bytes));
        Ok(())
    }

    /// Offers its bytes to callers below their share, who end what it is a part of.
    pub(super) fn offer(&mut self, end: impl FnOnce() + Send + 'static) {
        self.held.offer(end);
    }

    /// Takes an offer back, and says whether the bytes are still held.
    pub(super) fn keep(&mut self) -> bool {
        self.held.keep()
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.session.give_back(self.held.units());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::fair::{CallerKey, FairPool};

    #[test]
    fn a_session_takes_no_more_than_it_may_and_no_more_than_its_caller_has_room_for() {
        let all = FairPool::new(16);
        let account = all.account(&CallerKey::unknown());
        let (one, other) = (Memory::new(8, account.clone()), Memory::new(8, account));
        let (mut first, mut second) = (one.share(), other.share());
        assert_eq!(first.resize(9), Err(Full), "more than one may");
        assert_eq!((first.resize(8), second.resize(5)), (Ok(()), Err(Full)), "the last quarter is for others");
        assert_eq!((all.used(), other.session.used()), (8, 0), "what was refused takes nothing");
        assert_eq!((first.resize(4), second.resize(8)), (Ok(()), Ok(())));
        drop((first, second));
        assert_eq!((all.used(), one.session.used(), other.session.used()), (0, 0, 0));
    }
}
