//! Databases for tests, and a clock that stands until it is set.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use mrtr_postgres::testing::Cluster;
use mrtr_postgres::{PostgresOptions, PostgresStore};
use mrtr_server::extend::Clock;
use mrtr_state::Timestamp;
use tokio::sync::watch;

/// An empty database; each store in it has a schema of its own, unless it is to share one.
pub(crate) struct Database {
    pub(crate) address: String,
    schemas: AtomicUsize,
}

impl Database {
    /// Nothing where PostgreSQL is not installed, which has been said.
    pub(crate) fn fresh() -> Option<Self> {
        Some(Self { address: Cluster::shared()?.fresh_database().unwrap(), schemas: AtomicUsize::new(0) })
    }

    pub(crate) fn options(&self) -> PostgresOptions {
        PostgresOptions::new(&self.address).unwrap().connections(8)
    }

    pub(crate) async fn fresh_schema(&self, clock: Arc<dyn Clock>) -> PostgresStore {
        let name = format!("trial{}", self.schemas.fetch_add(1, Ordering::Relaxed));
        self.options().schema(name.parse().unwrap()).clock(clock).connect().await.unwrap()
    }

    pub(crate) async fn same_schema(&self, clock: Arc<dyn Clock>) -> PostgresStore {
        self.options().clock(clock).connect().await.unwrap()
    }

    /// Two stores on one schema.
    pub(crate) async fn shared_schema(&self, clock: Arc<dyn Clock>) -> (PostgresStore, PostgresStore) {
        let name = format!("shared{}", self.schemas.fetch_add(1, Ordering::Relaxed));
        let options = self.options().schema(name.parse().unwrap()).clock(clock);
        (options.clone().connect().await.unwrap(), options.connect().await.unwrap())
    }
}

/// Turns a hang into a failure.
pub(crate) async fn within_minutes<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(3), future).await.expect("a caller that waits is woken")
}

pub(crate) fn set_clock(now: Timestamp) -> Arc<dyn Clock> {
    Arc::new(SetClock::at(now))
}

/// Stands until it is set.
#[derive(Debug)]
pub(crate) struct SetClock(watch::Sender<Timestamp>);

impl SetClock {
    pub(crate) fn at(moment: Timestamp) -> Self {
        Self(watch::Sender::new(moment))
    }
}

#[async_trait]
impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        *self.0.borrow()
    }

    async fn sleep(&self, duration: Duration) {
        let end = self.now() + duration;
        drop(self.0.subscribe().wait_for(|now| *now >= end).await);
    }
}
