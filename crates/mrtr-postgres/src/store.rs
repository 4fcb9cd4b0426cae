//! The store: tasks and single use over one pool of connections.

mod keeper;
mod listening;
mod single_use;
mod tasks;

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use deadpool::managed::QueueMode;
use deadpool_postgres::{Pool, Runtime, Timeouts};
use mrtr_flow::Clock;
use mrtr_state::{ProcessRandom, Random, Timestamp};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tokio_postgres::Config;

use crate::database::Database;
use crate::failure::Failure;
use crate::tls::Tls;
use crate::values::millis;
use crate::{ConnectError, PostgresOptions, Schema, migrations};
use single_use::Waiting;
use tasks::Tail;

pub(crate) use single_use::TokenStatements;
pub(crate) use tasks::TaskStatements;

/// Tasks and single use in a PostgreSQL database, which any number of instances share.
///
/// When a verb returns, its work is as durable as the database makes it. Times are the database's: instances whose
/// clocks differ agree on leases, lapses and what is purged.
///
/// If a verb's connection is lost, the store tries again for a few seconds, provided it can find out whether the verb
/// was carried out; if it cannot, it tells the caller so. A verb whose future is dropped may still be carried out.
///
/// Background tasks listen to other instances, tell them of changes, and look for changes now and then in any case.
/// They belong to the runtime on which the store was connected, and end when the store is dropped.
///
/// ```
/// use std::sync::Arc;
/// use mrtr_postgres::PostgresStore;
/// use mrtr_state::SingleUse;
/// use mrtr_tasks::TaskStore;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let Some(cluster) = mrtr_postgres::testing::Cluster::shared() else { return Ok(()) };
/// # let address = cluster.fresh_database()?;
/// // Such as postgres://mrtr@db.example.com/mrtr.
/// let store = Arc::new(PostgresStore::connect(&address).await?);
/// let (tasks, single_use): (Arc<dyn TaskStore>, Arc<dyn SingleUse>) = (store.clone(), store);
/// # drop((tasks, single_use));
/// # Ok(()) }
/// ```
pub struct PostgresStore {
    inner: Arc<Inner>,
    beside: Vec<AbortHandle>,
}

/// The state that verbs and the background tasks share.
pub(crate) struct Inner {
    database: Database,
    schema: Schema,
    tls: Tls,
    address: Config,
    /// The address at which notifications are heard; `None` if there is only a pgbouncer.
    listener: Option<Config>,
    /// A clock to use instead of the database's, in tests.
    clock: Option<Arc<dyn Clock>>,
    random: ProcessRandom,
    tasks: TaskStatements,
    tokens: TokenStatements,
    tail: Tail,
    waiting: Waiting,
    last_purge: Mutex<Option<Instant>>,
    /// The number of the last verb under a reservation, in this process.
    last_number: AtomicI64,
    /// Wakes the background task that looks for changes.
    look: Arc<Notify>,
    /// Wakes the background task that notifies other instances of a change made here.
    tell: Arc<Notify>,
}

impl PostgresStore {
    /// Connects to the database at this address, with [defaults](PostgresOptions) for everything else.
    ///
    /// ```no_run
    /// use mrtr_postgres::PostgresStore;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), mrtr_postgres::ConnectError> {
    /// let store = PostgresStore::connect("postgres://mrtr@db.example.com/mrtr").await?;
    /// # drop(store);
    /// # Ok(()) }
    /// ```
    pub async fn connect(address: &str) -> Result<Self, ConnectError> {
        PostgresOptions::new(address)?.connect().await
    }

    async fn open(options: PostgresOptions) -> Result<Self, ConnectError> {
        let PostgresOptions { address, schema, tls, clock, .. } = &options;
        let timeouts =
            Timeouts { wait: Some(options.wait), create: Some(options.patience), recycle: Some(options.patience) };
        let pool = Pool::builder(tls.manager(address.clone()))
            .max_size(options.connections)
            // The one that was used last: its process of the database's is awake, and has everything at hand.
            .queue_mode(QueueMode::Lifo)
            .runtime(Runtime::Tokio1)
            .timeouts(timeouts)
            .build()
            .map_err(|error| ConnectError::Address(error.into()))?;
        let is_shared = options.is_behind_pgbouncer;
        let database = Database { pool, is_shared, patience: options.patience };
        migrations::find_or_make(&database, schema, options.migrates).await?;
        let direct = options.listener.clone().or_else(|| (!is_shared).then(|| address.clone()));
        let inner = Arc::new(Inner {
            tasks: TaskStatements::new(schema),
            tokens: TokenStatements::new(schema),
            database,
            schema: schema.clone(),
            tls: tls.clone(),
            address: address.clone(),
            listener: direct,
            clock: clock.clone(),
            random: ProcessRandom::new(),
            tail: Tail::new(),
            waiting: Waiting::default(),
            last_purge: Mutex::new(None),
            last_number: AtomicI64::new(0),
            look: Arc::new(Notify::new()),
            tell: Arc::new(Notify::new()),
        });
        inner.begin_to_remember().await.map_err(|error| ConnectError::Database(error.into()))?;
        let mut beside = vec![
            tokio::spawn(listening::tell(Arc::clone(&inner))).abort_handle(),
            tokio::spawn(listening::look(Arc::clone(&inner), options.poll)).abort_handle(),
        ];
        if let Some(address) = &inner.listener {
            let first = listening::connect(&inner, address).await;
            let first = first.map_err(|error| ConnectError::Unreachable(error.into()))?;
            beside.push(tokio::spawn(listening::listen(Arc::clone(&inner), address.clone(), first)).abort_handle());
        }
        Ok(Self { inner, beside })
    }
}

impl PostgresOptions {
    /// Connects, and finds or makes the tables.
    ///
    /// ```no_run
    /// # use mrtr_postgres::PostgresOptions;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), mrtr_postgres::ConnectError> {
    /// let store = PostgresOptions::new("host=localhost dbname=mrtr")?.connect().await?;
    /// # drop(store);
    /// # Ok(()) }
    /// ```
    pub async fn connect(self) -> Result<PostgresStore, ConnectError> {
        PostgresStore::open(self).await
    }
}

impl Inner {
    /// The time of a test's clock; `None` where the database's clock counts.
    fn told_now(&self) -> Option<i64> {
        self.clock.as_ref().map(|clock| millis(clock.now()))
    }

    /// The time that a verb got as an argument, in a test; `None` where the database's clock counts.
    fn told(&self, now: Timestamp) -> Option<i64> {
        self.clock.as_ref().map(|_| millis(now))
    }

    /// The time of a test's clock, or else the database's time, as a statement read it.
    fn now_or(&self, read: Timestamp) -> Timestamp {
        self.clock.as_ref().map_or(read, |clock| clock.now())
    }

    /// Makes a stamp by which an attempt knows its own writes again.
    fn stamp(&self) -> i64 {
        let mut bytes = [0; 8];
        self.random.fill(&mut bytes);
        i64::from_le_bytes(bytes)
    }

    /// The number of a verb under a reservation, higher than those of all verbs that were begun before.
    fn next_number(&self) -> i64 {
        self.last_number.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Has waiting callers look for changes, in this instance and in others.
    fn signal(&self) {
        self.look.notify_one();
        self.tell.notify_one();
    }

    async fn begin_to_remember(&self) -> Result<(), Failure> {
        self.database.connection().await?.execute(&self.tokens.begin_to_remember, &[&self.told_now()]).await?;
        Ok(())
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.beside.iter().for_each(AbortHandle::abort);
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("schema", &self.inner.schema).finish_non_exhaustive()
    }
}
