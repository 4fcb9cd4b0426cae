//! Fair shares: divides what can run out between callers.
//!
//! A pool has three counters on the hot path and takes no lock there. It locks its registry of accounts to look an
//! account up, and when it is full.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use mrtr_flow::Caller;
use mrtr_flow::for_server::all_hex;

/// The part of a pool that is kept for callers below their share: one in this many.
const RESERVED: usize = 4;

/// The caller that an account is for.
///
/// ```
/// use mrtr_server::Caller;
/// use mrtr_server::transport::CallerKey;
///
/// let ann = Caller::new("https://id.example.com", "ann");
/// assert_ne!(CallerKey::of(&ann, None), CallerKey::of(&ann, Some("acme")), "each tenant has an account of its own");
/// // A network of one household or host has one account, whichever of its 2^64 addresses it uses.
/// assert_eq!(CallerKey::address("2001:db8::1".parse()?), CallerKey::address("2001:db8::2".parse()?));
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallerKey(Key);

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Key {
    Unknown,
    Address(u128),
    Caller { issuer: String, subject: String, tenant: Option<String> },
    Opaque(Box<[u8]>),
}

impl CallerKey {
    /// A caller that was authenticated, in its tenant.
    pub fn of(caller: &Caller, tenant: Option<&str>) -> Self {
        Self(Key::Caller {
            issuer: caller.issuer().to_owned(),
            subject: caller.subject().to_owned(),
            tenant: tenant.map(str::to_owned),
        })
    }

    /// An anonymous caller, by its address. IPv6 addresses count by their /64: one customer of a provider has that
    /// many.
    pub fn address(address: IpAddr) -> Self {
        Self(Key::Address(match address.to_canonical() {
            IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
            IpAddr::V6(address) => address.to_bits() >> 64 << 64,
        }))
    }

    /// All callers that the server knows nothing of.
    pub const fn unknown() -> Self {
        Self(Key::Unknown)
    }

    /// A caller that is known by a digest or another name of its own.
    pub fn opaque(name: impl Into<Box<[u8]>>) -> Self {
        Self(Key::Opaque(name.into()))
    }

    /// The name under which an anonymous caller's account can be kept: its address, the /64 of an IPv6 one, or its
    /// opaque name in hexadecimal. `None` for a caller that was authenticated, and for one that the server knows
    /// nothing of.
    ///
    /// ```
    /// use mrtr_server::transport::CallerKey;
    ///
    /// assert_eq!(CallerKey::address("192.0.2.1".parse()?).anonymous_name().as_deref(), Some("192.0.2.1"));
    /// assert_eq!(CallerKey::address("2001:db8::7".parse()?).anonymous_name().as_deref(), Some("2001:db8::/64"));
    /// assert_eq!(CallerKey::unknown().anonymous_name(), None);
    /// # Ok::<(), std::net::AddrParseError>(())
    /// ```
    pub fn anonymous_name(&self) -> Option<String> {
        match &self.0 {
            Key::Address(bits) => {
                let address = Ipv6Addr::from_bits(*bits);
                Some(address.to_ipv4_mapped().map_or_else(|| format!("{address}/64"), |address| address.to_string()))
            }
            Key::Opaque(name) => Some(all_hex(name)),
            Key::Unknown | Key::Caller { .. } => None,
        }
    }
}

/// Something that can run out, divided between callers: permits, bytes, slots. Cheap to clone.
///
/// A caller has what is free, but for the last quarter, which is for callers below their share. The share is an equal
/// part for each caller that holds something and for one more, and at most a quarter. If the pool is full and a caller
/// below its share wants something, what others *offered* makes way, the largest holder's first; anything else stays
/// with its holder.
///
/// ```
/// use mrtr_server::transport::{CallerKey, FairPool};
///
/// let permits = FairPool::new(8);
/// let greedy = permits.account(&CallerKey::opaque(*b"greedy"));
/// let held: Vec<_> = std::iter::from_fn(|| greedy.take(1).ok()).collect();
/// assert_eq!(held.len(), 6, "the last quarter is not for a caller above its share");
/// let modest = permits.account(&CallerKey::opaque(*b"modest"));
/// assert!(modest.take(1).is_ok());
/// drop(held);
/// assert_eq!(permits.used(), 0);
/// ```
#[derive(Clone)]
pub struct FairPool(Arc<Pool>);

struct Pool {
    capacity: usize,
    used: AtomicUsize,
    /// Accounts that hold something.
    holders: AtomicUsize,
    /// The number of the last offer: older offers make way first.
    offers: AtomicU64,
    accounts: Mutex<HashMap<CallerKey, Weak<Usage>>>,
}

/// The account of one caller in a pool. Cheap to clone; a connection or a session may keep it.
///
/// ```
/// use mrtr_server::transport::{CallerKey, FairPool};
///
/// let replies = FairPool::new(1000);
/// let account = replies.account(&CallerKey::unknown());
/// let reply = account.charge(1200);
/// assert_eq!((account.used(), account.take(1).is_err()), (1200, true), "what exists counts, and leaves no room");
/// drop(reply);
/// assert_eq!(account.used(), 0);
/// ```
#[derive(Clone)]
pub struct Account(Arc<Usage>);

struct Usage {
    pool: FairPool,
    key: CallerKey,
    used: AtomicUsize,
    offers: Mutex<BTreeMap<u64, Arc<Offer>>>,
}

/// A pool has no room for this caller now.
///
/// ```
/// use mrtr_server::transport::{CallerKey, FairPool, Full};
///
/// let account = FairPool::new(8).account(&CallerKey::unknown());
/// assert_eq!(account.take(9).unwrap_err(), Full);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is no room for this caller now")]
pub struct Full;

/// Units of a pool, given back on drop.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use mrtr_server::transport::{CallerKey, FairPool};
///
/// let sessions = FairPool::new(4);
/// let [ann, bob] = [b"ann", b"bob"].map(|name| sessions.account(&CallerKey::opaque(*name)));
/// let _in_use = [ann.take(1)?, ann.take(1)?];
/// let mut idle = ann.take(1)?;
/// let has_ended = Arc::new(AtomicBool::new(false));
/// let ended = Arc::clone(&has_ended);
/// idle.offer(move || ended.store(true, Ordering::Relaxed));
/// let _first = bob.take(1)?;
/// assert!(!has_ended.load(Ordering::Relaxed), "there was room");
/// let carol = sessions.account(&CallerKey::opaque(*b"carol"));
/// let _second = carol.take(1)?;
/// assert!(has_ended.load(Ordering::Relaxed), "it made way");
/// # Ok::<(), mrtr_server::transport::Full>(())
/// ```
pub struct Holding {
    usage: Arc<Usage>,
    units: usize,
    offer: Option<(u64, Arc<Offer>)>,
}

struct Offer {
    units: usize,
    /// Ends what holds the units. Taken out once: by a pool that takes the units, or by the holder that keeps them.
    end: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl FairPool {
    /// Makes a pool of this many units.
    pub fn new(capacity: usize) -> Self {
        let (used, holders, offers) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicU64::new(0));
        Self(Arc::new(Pool { capacity, used, holders, offers, accounts: Mutex::default() }))
    }

    /// The units that there are.
    pub fn capacity(&self) -> usize {
        self.0.capacity
    }

    /// The units that are held.
    pub fn used(&self) -> usize {
        self.0.used.load(Ordering::Relaxed)
    }

    /// The account of a caller.
    pub fn account(&self, key: &CallerKey) -> Account {
        let mut accounts = self.accounts();
        if let Some(usage) = accounts.get(key).and_then(Weak::upgrade) {
            return Account(usage);
        }
        let usage = Usage { pool: self.clone(), key: key.clone(), used: AtomicUsize::new(0), offers: Mutex::default() };
        let usage = Arc::new(usage);
        accounts.insert(key.clone(), Arc::downgrade(&usage));
        Account(usage)
    }

    /// The callers that would be refused one more unit now: those that hold their share, once the rest is reserved.
    pub fn callers_at_their_limit(&self) -> Vec<CallerKey> {
        let free = self.0.capacity.saturating_sub(self.used());
        if free > self.reserved() {
            return Vec::new();
        }
        let share = self.share(self.0.holders.load(Ordering::Relaxed));
        let above = |usage: &Arc<Usage>| usage.used.load(Ordering::Relaxed) >= share;
        self.usages().into_iter().filter(above).map(|usage| usage.key.clone()).collect()
    }

    fn accounts(&self) -> MutexGuard<'_, HashMap<CallerKey, Weak<Usage>>> {
        self.0.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The accounts that exist. They are dropped outside of the lock, which dropping the last handle of one takes.
    fn usages(&self) -> Vec<Arc<Usage>> {
        self.accounts().values().filter_map(Weak::upgrade).collect()
    }

    /// The units that only callers below their share may take.
    fn reserved(&self) -> usize {
        self.0.capacity / RESERVED
    }

    /// The share of each of `holders` callers, and of one more that may come: holders that all have their share leave
    /// room for the next. A share is at most the reserve, so that the reserve has room for what a caller below its
    /// share takes, as long as one above it is admitted.
    fn share(&self, holders: usize) -> usize {
        (self.0.capacity / (holders + 1).max(RESERVED)).max(1)
    }

    /// Takes units off what is free, if `stay` units stay free then.
    fn take_free(&self, units: usize, stay: usize) -> bool {
        let most = self.0.capacity - stay;
        let add = |used: usize| used.checked_add(units).filter(|used| *used <= most);
        self.0.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }

    /// Ends offers until this many units are free, and returns true if they are. It ends only offers of holders above
    /// `least` units.
    fn make_way(&self, units: usize, least: usize) -> bool {
        while self.used().saturating_add(units) > self.0.capacity {
            let holders = self.usages();
            let above = holders.iter().map(|usage| (usage.used.load(Ordering::Relaxed), usage));
            let mut above: Vec<_> = above.filter(|(used, _)| *used > least).collect();
            above.sort_by_key(|(used, _)| std::cmp::Reverse(*used));
            if !above.iter().any(|(_, usage)| usage.end_oldest_offer()) {
                return false;
            }
        }
        true
    }
}

impl Account {
    /// Takes units, or says that there is no room for this caller.
    pub fn take(&self, units: usize) -> Result<Holding, Full> {
        self.0.take(units)?;
        Ok(Holding { usage: Arc::clone(&self.0), units, offer: None })
    }

    /// Takes units whether or not there is room, for what exists already, such as a finished reply. Offers make way if
    /// the pool has more than its capacity then.
    pub fn charge(&self, units: usize) -> Holding {
        self.0.pool.0.used.fetch_add(units, Ordering::Relaxed);
        self.0.add(units);
        self.0.pool.make_way(0, 0);
        Holding { usage: Arc::clone(&self.0), units, offer: None }
    }

    /// The units that this caller holds.
    pub fn used(&self) -> usize {
        self.0.used.load(Ordering::Relaxed)
    }

    /// Ends the oldest thing that this caller itself offered, and says whether there was one.
    pub fn end_oldest_offer(&self) -> bool {
        self.0.end_oldest_offer()
    }
}

impl Usage {
    fn take(&self, units: usize) -> Result<(), Full> {
        let pool = &self.pool;
        // Nearly all requests end here: three quarters are for any caller.
        if pool.take_free(units, pool.reserved()) {
            self.add(units);
            return Ok(());
        }
        self.take_reserved(units)
    }

    #[cold]
    fn take_reserved(&self, units: usize) -> Result<(), Full> {
        let pool = &self.pool;
        let own = self.used.load(Ordering::Relaxed);
        let holders = pool.0.holders.load(Ordering::Relaxed) + usize::from(own == 0);
        let share = pool.share(holders);
        if own >= share || units > pool.0.capacity {
            return Err(Full);
        }
        // What makes way may be taken by another caller before this one has it: then something else makes way.
        while !pool.take_free(units, 0) {
            if !pool.make_way(units, share) {
                return Err(Full);
            }
        }
        self.add(units);
        Ok(())
    }

    /// Counts units that the pool has given.
    fn add(&self, units: usize) {
        if units > 0 && self.used.fetch_add(units, Ordering::Relaxed) == 0 {
            self.pool.0.holders.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn give_back(&self, units: usize) {
        if units > 0 && self.used.fetch_sub(units, Ordering::Relaxed) == units {
            self.pool.0.holders.fetch_sub(1, Ordering::Relaxed);
        }
        self.pool.0.used.fetch_sub(units, Ordering::Relaxed);
    }

    fn offers(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Offer>>> {
        self.offers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end_oldest_offer(&self) -> bool {
        loop {
            let Some((_, offer)) = self.offers().pop_first() else { return false };
            // A holder that keeps its units at this moment has taken the end out first.
            if let Some(end) = offer.take_end() {
                self.give_back(offer.units);
                end();
                return true;
            }
        }
    }
}

impl Offer {
    fn take_end(&self) -> Option<Box<dyn FnOnce() + Send>> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Usage {
    fn drop(&mut self) {
        let mut accounts = self.pool.accounts();
        // Another account of this caller may have begun meanwhile.
        if accounts.get(&self.key).is_some_and(|usage| usage.strong_count() == 0) {
            accounts.remove(&self.key);
        }
    }
}

impl Holding {
    /// The units that it holds.
    pub fn units(&self) -> usize {
        self.units
    }

    /// The account that it is part of.
    pub fn account(&self) -> Account {
        Account(Arc::clone(&self.usage))
    }

    /// Resizes it to hold this many units. If there is no room, it stays as it was. An offer is taken back first; if
    /// the pool has taken it, there is no room.
    pub fn resize(&mut self, units: usize) -> Result<(), Full> {
        if !self.keep() {
            return Err(Full);
        }
        match units.checked_sub(self.units) {
            Some(more) => self.usage.take(more)?,
            None => self.usage.give_back(self.units - units),
        }
        self.units = units;
        Ok(())
    }

    /// Offers the units to callers below their share: what holds them is idle, or waits. `end` is called once if they
    /// are taken, without a lock, and must end it soon: the units are given to another at once.
    pub fn offer(&mut self, end: impl FnOnce() + Send + 'static) {
        if !self.keep() {
            return end();
        }
        // Its end would free nothing.
        if self.units == 0 {
            return;
        }
        let number = self.usage.pool.0.offers.fetch_add(1, Ordering::Relaxed);
        let offer = Arc::new(Offer { units: self.units, end: Mutex::new(Some(Box::new(end))) });
        self.usage.offers().insert(number, Arc::clone(&offer));
        self.offer = Some((number, offer));
        // A charge beyond the capacity may wait for these units.
        if self.usage.pool.used() > self.usage.pool.capacity() {
            self.usage.pool.make_way(0, 0);
        }
    }

    /// Takes an offer back, and says whether the units are still held.
    pub fn keep(&mut self) -> bool {
        let Some((number, offer)) = self.offer.take() else { return true };
        if offer.take_end().is_none() {
            // It stays taken, however often this is asked.
            self.offer = Some((number, offer));
            return false;
        }
        self.usage.offers().remove(&number);
        true
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        if self.keep() {
            self.usage.give_back(self.units);
        }
    }
}

impl fmt::Debug for FairPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FairPool")
            .field("capacity", &self.capacity())
            .field("used", &self.used())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("key", &self.0.key).field("used", &self.used()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Holding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Holding").field("units", &self.units).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
