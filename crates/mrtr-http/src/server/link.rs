//! The state that the parts of one connection share: its socket, its requests, and its streams. Also the origin of a
//! request.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use http::request::Parts;
use mrtr_server::Identity;
use mrtr_server::transport::Holding;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};

use super::accounts::{Accounts, Pools};
use super::config::EndpointConfig;
use super::http2_streams::Reader;

/// The state that the parts of one connection share.
#[derive(Debug)]
pub(super) struct Link {
    /// The place of the connection among those that are served, until it closes.
    place: Mutex<Option<Holding>>,
    is_offered: AtomicBool,
    /// The signal that the place is no longer offered.
    resumed: Notify,
    /// The number of requests that have come.
    requests: AtomicUsize,
    /// The number of them that are being answered.
    active: AtomicUsize,
    has_unread_body: AtomicBool,
    /// The accounts of the last caller: most connections have only one caller.
    accounts: Mutex<Option<Arc<Accounts>>>,
    /// The streams of HTTP/2 that are over, but whose last pieces may still be in memory.
    ended: Mutex<Vec<Ended>>,
    /// The signal that there is such a stream again.
    first_ended: Notify,
    cut_off: Notify,
}

/// A stream that is over, with the time of its end.
#[derive(Debug)]
struct Ended {
    since: Instant,
    /// The reader of the stream. Each piece that is still in memory holds it.
    reader: Weak<Reader>,
}

/// A request that is being answered, until its response is done with.
#[derive(Debug)]
pub(super) struct Answering(Arc<Link>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Link {
    /// Creates the link of a connection that has this place among those that are served.
    pub(super) fn new(place: Holding) -> Self {
        Self {
            place: Mutex::new(Some(place)),
            is_offered: AtomicBool::new(false),
            resumed: Notify::new(),
            requests: AtomicUsize::new(0),
            active: AtomicUsize::new(0),
            has_unread_body: AtomicBool::new(false),
            accounts: Mutex::default(),
            ended: Mutex::default(),
            first_ended: Notify::new(),
            cut_off: Notify::new(),
        }
    }

    /// Notes that a request has come.
    pub(super) fn begin(self: &Arc<Self>) -> Answering {
        self.requests.fetch_add(1, Ordering::SeqCst);
        self.active.fetch_add(1, Ordering::SeqCst);
        if self.is_offered.load(Ordering::SeqCst) {
            self.resume();
        }
        Answering(Arc::clone(self))
    }

    pub(super) fn has_begun(&self) -> bool {
        self.requests.load(Ordering::SeqCst) > 0
    }

    /// Lets the connection make way for another caller's while it has no request.
    pub(super) async fn make_way_while_idle(self: &Arc<Self>) {
        let (mut requests, mut patience) = (0, FIRST_REQUEST);
        loop {
            sleep(patience).await;
            let before = std::mem::replace(&mut requests, self.requests.load(Ordering::SeqCst));
            if before == requests && self.active.load(Ordering::SeqCst) == 0 {
                self.offer();
                self.resumed.notified().await;
            }
            patience = IDLE;
        }
    }

    fn offer(self: &Arc<Self>) {
        let link = Arc::downgrade(self);
        if let Some(place) = &mut *self.place() {
            place.offer(move || {
                if let Some(link) = link.upgrade() {
                    link.cut_off();
                }
            });
        }
        self.is_offered.store(true, Ordering::SeqCst);
        // A request may have come meanwhile, and have seen no offer.
        if self.active.load(Ordering::SeqCst) > 0 {
            self.resume();
        }
    }

    #[cold]
    fn resume(&self) {
        if self.is_offered.swap(false, Ordering::SeqCst) {
            // If another connection has the place by now, this one is being closed.
            let _ = self.place().as_mut().map(Holding::keep);
            self.resumed.notify_one();
        }
    }

    /// Gives the place of the connection to others.
    pub(super) fn leave(&self) {
        drop(self.place().take());
    }

    fn place(&self) -> MutexGuard<'_, Option<Holding>> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes if the last response came before its request was read to its end.
    pub(super) fn set_unread_body(&self, unread: bool) {
        self.has_unread_body.store(unread, Ordering::Relaxed);
    }

    /// Returns true if the client may still be sending.
    pub(super) fn has_unread_body(&self) -> bool {
        self.has_unread_body.load(Ordering::Relaxed)
    }

    /// Returns the accounts of the caller of a request.
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

    /// Remembers a stream that is over until its last pieces are written.
    pub(super) fn await_last_pieces(&self, reader: &Arc<Reader>) {
        let mut ended = self.ended();
        if ended.is_empty() {
            self.first_ended.notify_one();
        }
        // A connection has fewer streams than this, so only few are left, and each is looked at about once.
        if ended.len() >= MOST_ENDED {
            ended.retain(Ended::is_unread);
        }
        ended.push(Ended { since: Instant::now(), reader: Arc::downgrade(reader) });
    }

    /// Waits for a reason to close the connection: it was cut off, or its client left a stream unread for `limit`.
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

    /// Returns the time at which the oldest of the streams ended that are not written yet.
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

/// The other end of a request's connection, as far as it is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer<'l> {
    pub(super) address: Option<IpAddr>,
    /// The connection, if it is one of ours.
    pub(super) link: Option<&'l Arc<Link>>,
}

impl Peer<'_> {
    /// Returns the accounts of the caller that a request comes from.
    pub(super) fn accounts(self, config: &EndpointConfig, head: &Parts, identity: &Identity) -> Arc<Accounts> {
        let address = self.address.map(|address| config.proxies.client(address, &head.headers));
        match self.link {
            Some(link) => link.accounts(&config.pools, identity, address),
            None => Arc::new(Accounts::new(&config.pools, identity, address)),
        }
    }
}

/// The time that a connection has for its first request before it may make way.
const FIRST_REQUEST: Duration = Duration::from_secs(1);

/// The time without requests after which a connection may make way.
const IDLE: Duration = Duration::from_secs(5);

/// The number of ended streams that a connection remembers before it first looks which of them are written.
const MOST_ENDED: usize = 512;
