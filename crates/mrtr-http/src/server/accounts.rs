//! The resources that can run out at an endpoint, what each caller holds of them, and how an unread reply makes way.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::Waker;

use bytes::Bytes;
use mrtr_server::Identity;
use mrtr_server::transport::{Account, CallerKey, FairPool, Holding};

use super::budget::ReservedBytes;
use super::heavy_requests::HeavyRequests;
use super::http2_streams::{PIECE, Reader};
use super::link::Link;
use super::rejection::Rejection;

/// The resources that can run out at an endpoint, divided between callers.
#[derive(Debug, Clone)]
pub(super) struct Pools {
    pub(super) requests: FairPool,
    pub(super) subscriptions: FairPool,
    /// The bytes of requests.
    pub(super) bodies: FairPool,
    /// The bytes of replies.
    pub(super) replies: FairPool,
    /// The turns of heavy requests.
    pub(super) heavy_requests: HeavyRequests,
}

/// The resources that one caller holds at an endpoint. A connection keeps the accounts of its last caller.
#[derive(Debug)]
pub(super) struct Accounts {
    pools: Arc<Pools>,
    owner: Owner,
    key: Arc<CallerKey>,
    requests: Account,
    // These are looked up when needed: most requests only need to run.
    subscriptions: OnceLock<Account>,
    bodies: OnceLock<Account>,
    replies: OnceLock<Account>,
}

/// The caller that accounts belong to.
#[derive(Debug)]
enum Owner {
    Known(Identity),
    /// An anonymous caller, by its address as far as that is known.
    Anonymous(Option<IpAddr>),
}

impl Owner {
    fn new(identity: &Identity, address: Option<IpAddr>) -> Self {
        if identity.is_anonymous() { Self::Anonymous(address) } else { Self::Known(identity.clone()) }
    }

    fn key(&self) -> CallerKey {
        match self {
            Self::Known(identity) => {
                identity.caller().map_or(CallerKey::unknown(), |caller| CallerKey::of(caller, identity.tenant()))
            }
            Self::Anonymous(address) => address.map_or(CallerKey::unknown(), CallerKey::address),
        }
    }

    fn is(&self, identity: &Identity, address: Option<IpAddr>) -> bool {
        match self {
            Self::Known(known) => known.owns_as(identity),
            Self::Anonymous(known) => identity.is_anonymous() && *known == address,
        }
    }
}

impl Accounts {
    /// Creates the accounts of a caller: by its identity, or by its address if it is anonymous.
    pub(super) fn new(pools: &Arc<Pools>, identity: &Identity, address: Option<IpAddr>) -> Self {
        let owner = Owner::new(identity, address);
        let key = Arc::new(owner.key());
        Self {
            requests: pools.requests.account(&key),
            pools: Arc::clone(pools),
            owner,
            key,
            subscriptions: OnceLock::new(),
            bodies: OnceLock::new(),
            replies: OnceLock::new(),
        }
    }

    /// Returns true if these are this caller's accounts in these pools.
    pub(super) fn are_of(&self, pools: &Arc<Pools>, identity: &Identity, address: Option<IpAddr>) -> bool {
        Arc::ptr_eq(&self.pools, pools) && self.owner.is(identity, address)
    }

    /// The key of the caller that these accounts belong to.
    pub(super) fn key(&self) -> &Arc<CallerKey> {
        &self.key
    }

    /// Takes a permit for a request to run. Requests of this caller that only wait make way for it.
    pub(super) fn take_request(&self) -> Result<Holding, Rejection> {
        loop {
            match self.requests.take(1) {
                Ok(permit) => return Ok(permit),
                Err(_) if self.requests.end_oldest_offer() => {}
                Err(_) => return Err(Rejection::Overloaded),
            }
        }
    }

    /// Takes a permit for a subscription.
    pub(super) fn take_subscription(&self) -> Result<Holding, Rejection> {
        let subscriptions = self.subscriptions.get_or_init(|| self.pools.subscriptions.account(&self.key));
        subscriptions.take(1).map_err(|_| Rejection::Overloaded)
    }

    /// The bytes of the caller's requests.
    pub(super) fn bodies(&self) -> &Account {
        self.bodies.get_or_init(|| self.pools.bodies.account(&self.key))
    }

    /// Counts a request, and returns true if it is to be [begun aside](Self::begin_aside).
    pub(super) fn count_heavy(&self, body: usize) -> bool {
        self.pools.heavy_requests.count(body, &self.key)
    }

    /// Waits for the caller's turn at heavy requests, and polls the future that answers one for the first time.
    pub(super) async fn begin_aside<F: Future>(&self, answering: Pin<&mut F>) -> Option<F::Output> {
        let turn = self.pools.heavy_requests.turn(&self.key).await;
        // The future is boxed: most requests are not heavy, and should not carry the room for it.
        Box::pin(turn.poll_first(answering)).await
    }

    /// Counts a reply in the memory for replies.
    fn charge_reply(&self, bytes: usize) -> Holding {
        self.pools.heavy_requests.note_reply(bytes, &self.key);
        self.replies().charge(bytes)
    }

    /// The bytes of the caller's replies.
    pub(super) fn replies(&self) -> &Account {
        self.replies.get_or_init(|| self.pools.replies.account(&self.key))
    }
}

/// A counter of the replies to one request for its caller, from when they are there until the client has read them.
#[derive(Debug)]
pub(super) struct Charges {
    accounts: Arc<Accounts>,
    cut: Cut,
}

/// The way in which a reply that is not read makes room for another caller's.
#[derive(Debug)]
enum Cut {
    /// The stream of the reply ends.
    Body(Arc<Withdrawal>),
    /// The connection of the reply closes, where it carries nothing else.
    Connection(Arc<Link>),
}

impl Charges {
    /// Creates the charges of a request on this connection, or of one that an application reads from its own
    /// connection.
    pub(super) fn new(accounts: Arc<Accounts>, link: Option<&Arc<Link>>) -> Self {
        let cut = match link {
            Some(link) if Reader::current().is_none() => Cut::Connection(Arc::clone(link)),
            _ => Cut::Body(Arc::default()),
        };
        Self { accounts, cut }
    }

    /// Counts a reply in the caller's account. Short ones do not count, since the number of running requests is
    /// limited. Until the client has read a counted reply, it may make way for another caller's.
    pub(super) fn charge(&self, reply: Bytes) -> Bytes {
        if reply.len() <= PIECE {
            return reply;
        }
        let mut taken = self.accounts.charge_reply(reply.len());
        self.offer(&mut taken);
        Bytes::from_owner(ReservedBytes { bytes: reply, _taken: taken })
    }

    /// Lets a subscription make way for another caller, since it only waits.
    pub(super) fn subscribe(&self, mut permit: Holding) -> Holding {
        self.offer(&mut permit);
        permit
    }

    fn offer(&self, taken: &mut Holding) {
        match &self.cut {
            Cut::Body(withdrawal) => {
                let withdrawal = Arc::clone(withdrawal);
                taken.offer(move || withdrawal.withdraw());
            }
            Cut::Connection(link) => {
                let link = Arc::clone(link);
                taken.offer(move || link.cut_off());
            }
        }
    }

    /// The signal that tells a body of this reply to end.
    pub(super) fn withdrawal(&self) -> Option<&Arc<Withdrawal>> {
        if let Cut::Body(withdrawal) = &self.cut { Some(withdrawal) } else { None }
    }

    pub(super) fn into_withdrawal(self) -> Option<Arc<Withdrawal>> {
        if let Cut::Body(withdrawal) = self.cut { Some(withdrawal) } else { None }
    }
}

/// A signal that tells a body to end, wherever it is polled.
#[derive(Debug, Default)]
pub(super) struct Withdrawal {
    is_withdrawn: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Withdrawal {
    /// Tells the body to end.
    fn withdraw(&self) {
        self.is_withdrawn.store(true, Ordering::Release);
        let waker = self.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Returns true if the body is to end. If not, the task that asks is woken once it is.
    pub(super) fn is_withdrawn(&self, waker: &Waker) -> bool {
        let mut place = self.waker.lock().unwrap_or_else(PoisonError::into_inner);
        if !place.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *place = Some(waker.clone());
        }
        // This reads after the waker is in its place, so that neither side misses the other.
        self.is_withdrawn.load(Ordering::Acquire)
    }
}
