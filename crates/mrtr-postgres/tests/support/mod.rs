//! Databases for tests, each empty, on one server that the tests of a program share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mrtr_flow::Clock;
use mrtr_postgres::testing::{Bouncer, Cluster};
use mrtr_postgres::{PostgresOptions, PostgresStore};

/// An empty database; stores in it have schemas of their own, unless they are to share one.
pub(crate) struct Database {
    pub(crate) cluster: &'static Cluster,
    direct: String,
    bouncer: Option<String>,
    schemas: AtomicUsize,
}

impl Database {
    /// Returns `None` where PostgreSQL is not installed; the cluster has said so.
    pub(crate) fn fresh() -> Option<Self> {
        let cluster = Cluster::shared()?;
        let direct = cluster.fresh_database().unwrap();
        Some(Self { cluster, direct, bouncer: None, schemas: AtomicUsize::new(0) })
    }

    /// This database by another way: all but what is heard goes through pgbouncer.
    pub(crate) fn through(&self, bouncer: &Bouncer) -> Self {
        let through = bouncer.before(&self.direct);
        Self {
            cluster: self.cluster,
            direct: self.direct.clone(),
            bouncer: Some(through),
            schemas: AtomicUsize::new(self.schemas.load(Ordering::Relaxed)),
        }
    }

    pub(crate) fn options(&self) -> PostgresOptions {
        let options = match &self.bouncer {
            None => PostgresOptions::new(&self.direct).unwrap(),
            Some(bouncer) => PostgresOptions::new(bouncer).unwrap().pgbouncer(true).listener(&self.direct).unwrap(),
        };
        options.connections(8)
    }

    pub(crate) async fn fresh_schema(&self, clock: Arc<dyn Clock>) -> PostgresStore {
        self.in_next_schema(clock).connect().await.unwrap()
    }

    /// Two stores on one schema.
    pub(crate) async fn shared_schema(&self, clock: Arc<dyn Clock>) -> (PostgresStore, PostgresStore) {
        let options = self.in_next_schema(clock);
        (options.clone().connect().await.unwrap(), options.connect().await.unwrap())
    }

    fn in_next_schema(&self, clock: Arc<dyn Clock>) -> PostgresOptions {
        let name = format!("trial{}", self.schemas.fetch_add(1, Ordering::Relaxed));
        self.options().schema(name.parse().unwrap()).clock(clock)
    }
}

/// Turns a hang into a failure.
pub(crate) async fn within_minutes<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(3), future).await.expect("a caller that waits is woken")
}
