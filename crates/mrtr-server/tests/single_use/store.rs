//! Stores to guard with, and one around them that stops or fails where a test wants it to.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use mrtr_flow::Clock;
use mrtr_server::testing::FixedClock;
use mrtr_sqlite::SqliteSingleUse;
use mrtr_state::single_use::{
    InProgress, LeaseKeeper, Release, Reservation, ReserveOutcome, SingleUse, SingleUseError,
};
use mrtr_state::{MemorySingleUse, Timestamp, TokenUse};
use tempfile::TempDir;
use tokio::sync::Notify;

/// Both stores, by name, with the folder in which one of them lives.
pub(crate) fn stores(clock: &FixedClock) -> Vec<(&'static str, Arc<dyn SingleUse>, Option<TempDir>)> {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = SqliteSingleUse::open(folder.path().join("used.sqlite"), clock.now()).unwrap();
    vec![("memory", Arc::new(MemorySingleUse::new(clock.now())), None), ("sqlite", Arc::new(sqlite), Some(folder))]
}

/// Waits, and fails the test after a minute: a run that never gets there must not hang it.
pub(crate) async fn in_time<T>(otherwise: &str, waiting: impl Future<Output = T>) -> T {
    let Ok(happened) = tokio::time::timeout(Duration::from_mins(1), waiting).await else { panic!("{otherwise}") };
    happened
}

/// Counts the places at which a run may be cut short, and stops the run at one of them. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Wire(Arc<Inner>);

#[derive(Default)]
struct Inner {
    passed: AtomicUsize,
    stop_at: AtomicUsize,
    reached: Notify,
    go_on: Notify,
}

impl Wire {
    /// From here on, stops at the place with this number, counted from 1; never for 0.
    pub(crate) fn set(&self, place: usize) {
        self.0.passed.store(0, Ordering::SeqCst);
        self.0.stop_at.store(place, Ordering::SeqCst);
    }

    /// A place where a run may be cut short.
    pub(crate) async fn place(&self) {
        let place = self.0.passed.fetch_add(1, Ordering::SeqCst) + 1;
        if place == self.0.stop_at.load(Ordering::SeqCst) {
            self.0.reached.notify_one();
            self.0.go_on.notified().await;
        }
    }

    /// Waits until so many places were passed.
    pub(crate) async fn passed(&self, places: usize) {
        in_time("the places were not passed", async {
            while self.0.passed.load(Ordering::SeqCst) < places {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }

    /// Waits until the place is reached.
    pub(crate) async fn reached(&self) {
        in_time("the place was not reached", self.0.reached.notified()).await;
    }

    /// Lets the run that stopped go on.
    pub(crate) fn go_on(&self) {
        self.0.go_on.notify_one();
    }
}

/// A store with a place before and after each verb, some of which may be told to fail once.
pub(crate) struct Wired {
    pub(crate) inner: Arc<dyn SingleUse>,
    pub(crate) wire: Wire,
    pub(crate) failures: Failures,
}

/// Verbs that fail the next time, or every time. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Failures {
    once: Arc<Mutex<HashSet<&'static str>>>,
    no_renewal: Arc<AtomicBool>,
    lost: Arc<AtomicBool>,
    renewals: Arc<AtomicUsize>,
    /// The number of times that a renewal was tried.
    tried: Arc<AtomicUsize>,
}

impl Failures {
    pub(crate) fn fail_once(&self, verb: &'static str) {
        self.once.lock().unwrap().insert(verb);
    }

    /// The number of times that claims were renewed.
    pub(crate) fn renewals(&self) -> usize {
        self.renewals.load(Ordering::SeqCst)
    }

    /// Waits until a renewal was tried so often.
    pub(crate) async fn tried(&self, times: usize) {
        while self.tried.load(Ordering::SeqCst) < times {
            tokio::task::yield_now().await;
        }
    }

    pub(crate) fn never_renew(&self) {
        self.no_renewal.store(true, Ordering::SeqCst);
    }

    /// Makes every renewal find that another run holds the claim.
    pub(crate) fn lose(&self) {
        self.lost.store(true, Ordering::SeqCst);
    }

    fn check(&self, verb: &'static str) -> Result<(), SingleUseError> {
        if verb == "renew" && self.lost.load(Ordering::SeqCst) {
            return Err(SingleUseError::Lost);
        }
        let never = verb == "renew" && self.no_renewal.load(Ordering::SeqCst);
        if never || self.once.lock().unwrap().remove(verb) {
            return Err(SingleUseError::Store("the disk is full".into()));
        }
        Ok(())
    }
}

macro_rules! wired {
    ($self:ident, $verb:ident($($argument:expr),*)) => {{
        $self.wire.place().await;
        $self.failures.check(stringify!($verb))?;
        let done = $self.inner.$verb($($argument),*).await;
        $self.wire.place().await;
        done
    }};
}

#[async_trait]
impl SingleUse for Wired {
    async fn reserve(
        &self,
        redemption: &TokenUse,
        lease: Duration,
        now: Timestamp,
    ) -> Result<ReserveOutcome, SingleUseError> {
        wired!(self, reserve(redemption, lease, now))
    }

    async fn renew(&self, holder: &Reservation, lease: Duration, now: Timestamp) -> Result<(), SingleUseError> {
        if let Err(error) = self.failures.check("renew") {
            self.failures.tried.fetch_add(1, Ordering::SeqCst);
            return Err(error);
        }
        let renewed = self.inner.renew(holder, lease, now).await;
        self.failures.renewals.fetch_add(1, Ordering::SeqCst);
        self.failures.tried.fetch_add(1, Ordering::SeqCst);
        renewed
    }

    fn lease_keeper(&self) -> Box<dyn LeaseKeeper> {
        self.inner.lease_keeper()
    }

    async fn mark_started(&self, holder: &Reservation, step: &str, now: Timestamp) -> Result<(), SingleUseError> {
        wired!(self, mark_started(holder, step, now))
    }

    async fn record(
        &self,
        holder: &Reservation,
        step: &str,
        outcome: &[u8],
        now: Timestamp,
    ) -> Result<(), SingleUseError> {
        wired!(self, record(holder, step, outcome, now))
    }

    async fn commit(&self, holder: &Reservation, reply: &[u8], now: Timestamp) -> Result<(), SingleUseError> {
        wired!(self, commit(holder, reply, now))
    }

    async fn release(&self, holder: &Reservation, now: Timestamp) -> Result<Release, SingleUseError> {
        wired!(self, release(holder, now))
    }

    async fn ended(&self, running: &InProgress) -> Result<(), SingleUseError> {
        self.inner.ended(running).await
    }
}
