//! What the parts of one connection tell each other: its socket, its requests, and its streams.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::accounts::{Accounts, Pools};
use super::authenticate::Identity;
use super::reader::Reader;

/// What the parts of one connection tell each other.
#[derive(Debug, Default)]
pub(super) struct Link {
    has_begun: AtomicBool,
    has_unread_body: AtomicBool,
    /// Those of the last caller: most connections have but one.
    accounts: Mutex<Option<Arc<Accounts>>>,
    /// The streams of HTTP/2 that are over, and the last pieces of which may still be in memory.
    ended: Mutex<Vec<Ended>>,
    /// Told when there is one again.
    first_ended: Notify,
    cut_off: Notify,
}

/// A stream that is over, since when.
#[derive(Debug)]
struct Ended {
    since: Instant,
    /// Each piece that is still in memory has it.
    reader: Weak<Reader>,
}

impl Link {
    /// Notes that a request has come.
    pub(super) fn begin(&self) {
        self.has_begun.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::Relaxed)
    }

    /// Notes whether the last response was given before its request was read.
    pub(super) fn set_unread_body(&self, unread: bool) {
        self.has_unread_body.store(unread, Ordering::Relaxed);
    }

    /// Whether the client may still be sending.
    pub(super) fn has_unread_body(&self) -> bool {
        self.has_unread_body.load(Ordering::Relaxed)
    }

    /// The accounts of the caller of a request.
    pub(super) fn accounts(&self, pools: &Arc<Pools>, caller: &Identity, address: Option<IpAddr>) -> Arc<Accounts> {
        let mut last = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some(accounts) if accounts.are_of(pools, caller, address) => Arc::clone(accounts),
            _ => Arc::clone(last.insert(Arc::new(Accounts::new(pools, caller, address)))),
        }
    }

    /// Closes the connection.
    pub(super) fn cut_off(&self) {
        self.cut_off.notify_one();
    }

    /// Waits for a stream that is over until its last pieces are written.
    pub(super) fn await_last_pieces(&self, reader: &Arc<Reader>) {
        let mut ended = self.ended();
        if ended.is_empty() {
            self.first_ended.notify_one();
        }
        // A connection has fewer streams than this, so that what is left is few, and each is looked at once or so.
        if ended.len() >= MOST_ENDED {
            ended.retain(Ended::is_unread);
        }
        ended.push(Ended { since: Instant::now(), reader: Arc::downgrade(reader) });
    }

    /// Ends when the connection is to be closed: somebody said so, or the end of a stream was not read within the limit.
    pub(super) async fn closed(&self, limit: Duration) {
        tokio::select! {
            () = self.cut_off.notified() => {}
            () = self.left_unread(limit) => {}
        }
    }

    async fn left_unread(&self, limit: Duration) {
        loop {
            self.first_ended.notified().await;
            while let Some(oldest) = self.oldest_unread() {
                if oldest.elapsed() >= limit {
                    return;
                }
                sleep_until(oldest + limit).await;
            }
        }
    }

    /// Since when the oldest of the streams is over that are not written yet.
    fn oldest_unread(&self) -> Option<Instant> {
        let mut ended = self.ended();
        ended.retain(Ended::is_unread);
        ended.first().map(|oldest| oldest.since)
    }

    fn ended(&self) -> MutexGuard<'_, Vec<Ended>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ended {
    fn is_unread(&self) -> bool {
        self.reader.strong_count() > 0
    }
}

/// How many streams that are over are remembered before the first look at which of them are written.
const MOST_ENDED: usize = 512;
