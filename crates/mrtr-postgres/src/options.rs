//! The options for reaching and using a database, with defaults.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mrtr_flow::Clock;
use tokio_postgres::Config;

use crate::tls::Tls;
use crate::{ConnectError, Schema};

/// The options for reaching and using a database.
///
/// ```
/// use std::time::Duration;
/// use mrtr_postgres::PostgresOptions;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let Some(cluster) = mrtr_postgres::testing::Cluster::shared() else { return Ok(()) };
/// # let address = cluster.fresh_database()?;
/// // Such as postgres://mrtr@db.example.com/mrtr.
/// let store = PostgresOptions::new(&address)?
///     .connections(32)
///     .wait_for_connection(Duration::from_secs(1))
///     .connect()
///     .await?;
/// # drop(store);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct PostgresOptions {
    pub(crate) address: Config,
    pub(crate) listener: Option<Config>,
    pub(crate) schema: Schema,
    pub(crate) connections: usize,
    pub(crate) wait: Duration,
    pub(crate) patience: Duration,
    pub(crate) poll: Duration,
    pub(crate) is_behind_pgbouncer: bool,
    pub(crate) migrates: bool,
    pub(crate) tls: Tls,
    pub(crate) clock: Option<Arc<dyn Clock>>,
}

impl PostgresOptions {
    /// The most connections an instance keeps, the listener apart: 16.
    pub const DEFAULT_CONNECTIONS: usize = 16;
    /// The time a verb waits for a connection to be free: 2 seconds.
    pub const DEFAULT_WAIT: Duration = Duration::from_secs(2);
    /// The time a statement may take: 10 seconds.
    pub const DEFAULT_STATEMENT_TIMEOUT: Duration = Duration::from_secs(10);
    /// The longest time that changes go unseen if no notification comes: 1 second. Each wait lasts between half of it
    /// and all of it.
    pub const DEFAULT_POLL: Duration = Duration::from_secs(1);

    /// Makes options for the database at this address: `postgres://user:password@host/database`, or `key=value` pairs,
    /// as libpq takes them.
    ///
    /// ```
    /// use mrtr_postgres::PostgresOptions;
    ///
    /// assert!(PostgresOptions::new("host=/run/postgresql dbname=mrtr").is_ok());
    /// ```
    pub fn new(address: &str) -> Result<Self, ConnectError> {
        Ok(Self {
            address: config(address)?,
            listener: None,
            schema: Schema::default(),
            connections: Self::DEFAULT_CONNECTIONS,
            wait: Self::DEFAULT_WAIT,
            patience: Self::DEFAULT_STATEMENT_TIMEOUT,
            poll: Self::DEFAULT_POLL,
            is_behind_pgbouncer: false,
            migrates: true,
            tls: Tls::None,
            clock: None,
        })
    }

    /// Sets the schema that holds the tables: `mrtr` by default.
    ///
    /// ```
    /// # use mrtr_postgres::PostgresOptions;
    /// let options = PostgresOptions::new("host=localhost")?.schema("mrtr_staging".parse()?);
    /// # drop(options);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn schema(self, schema: Schema) -> Self {
        Self { schema, ..self }
    }

    /// Sets how many connections the store keeps at most, the listener apart: 16 by default. At least one: zero counts
    /// as one.
    ///
    /// ```
    /// # use mrtr_postgres::PostgresOptions;
    /// let options = PostgresOptions::new("host=localhost")?.connections(4);
    /// # drop(options);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn connections(self, connections: usize) -> Self {
        Self { connections: connections.max(1), ..self }
    }

    /// Sets how long a verb waits for a free connection before it fails with the error that the store is busy: 2 s by
    /// default.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use mrtr_postgres::PostgresOptions;
    /// let options = PostgresOptions::new("host=localhost")?.wait_for_connection(Duration::from_millis(500));
    /// # drop(options);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn wait_for_connection(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }

    /// Sets how long a statement may take before its connection counts as lost: 10 s by default.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use mrtr_postgres::PostgresOptions;
    /// let options = PostgresOptions::new("host=localhost")?.statement_timeout(Duration::from_secs(3));
    /// # drop(options);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn statement_timeout(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Sets the longest time between two looks for changes while a caller waits for some, even if no notification
    /// comes: 1 s by default. Each wait lasts between half of it and all of it, so that instances do not look in step.
    /// Notifications make the store look sooner, but it relies on this alone. At least 10 ms: a shorter time counts as
    /// 10 ms.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use mrtr_postgres::PostgresOptions;
    /// let options = PostgresOptions::new("host=localhost")?.poll(Duration::from_millis(250));
    /// # drop(options);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn poll(self, poll: Duration) -> Self {
        Self { poll: poll.max(Duration::from_millis(10)), ..self }
    }

    /// Says whether the address is a pgbouncer that shares connections between transactions. If so, the store prepares
    /// nothing and hears no notifications there: give [`listener`](Self::listener) too, or it sees changes by other
    /// instances only by [polling](Self::poll).
    ///
    /// ```
    /// # use mrtr_postgres::PostgresOptions;
    /// let options = PostgresOptions::new("host=pgbouncer port=6432")?.pgbouncer(true).listener("host=db")?;
    /// # drop(options);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn pgbouncer(self, is_behind_pgbouncer: bool) -> Self {
        Self { is_behind_pgbouncer, ..self }
    }

    /// Sets the address at which the store hears notifications: that of PostgreSQL itself, where the main one is a
    /// pgbouncer's.
    ///
    /// ```
    /// # use mrtr_postgres::PostgresOptions;
    /// assert!(PostgresOptions::new("host=pgbouncer")?.listener("not an address").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn listener(self, address: &str) -> Result<Self, ConnectError> {
        Ok(Self { listener: Some(config(address)?), ..self })
    }

    /// Says whether connecting brings an older schema to the newest version, which takes the right to create tables. It
    /// does by default. Otherwise connecting refuses an older schema, and the operator runs
    /// [`migrations::sql`](crate::migrations::sql).
    ///
    /// ```
    /// # use mrtr_postgres::PostgresOptions;
    /// let options = PostgresOptions::new("host=localhost")?.migrate_at_start(false);
    /// # drop(options);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn migrate_at_start(self, migrates: bool) -> Self {
        Self { migrates, ..self }
    }

    /// Sets the TLS configuration of connections, where the address asks for TLS: always with `sslmode=require`, and
    /// where the server offers TLS with `sslmode=prefer`, the default.
    ///
    /// ```
    /// use mrtr_postgres::PostgresOptions;
    ///
    /// fn secured(certificates: rustls::ClientConfig) -> Result<PostgresOptions, mrtr_postgres::ConnectError> {
    ///     Ok(PostgresOptions::new("postgres://mrtr@db.example.com/mrtr?sslmode=require")?.tls(certificates))
    /// }
    /// ```
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(self, config: rustls::ClientConfig) -> Self {
        Self { tls: Tls::Rustls(tokio_postgres_rustls::MakeRustlsConnect::new(config)), ..self }
    }

    /// Uses this clock, and the times that callers pass to verbs, instead of the database's clock. This is for tests:
    /// instances that share a database must not do so.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use mrtr_postgres::PostgresOptions;
    /// use mrtr_flow::SystemClock;
    ///
    /// let options = PostgresOptions::new("host=localhost")?.clock(Arc::new(SystemClock::default()));
    /// # drop(options);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock: Some(clock), ..self }
    }
}

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address shows no password.
        f.debug_struct("PostgresOptions")
            .field("address", &self.address)
            .field("schema", &self.schema)
            .field("connections", &self.connections)
            .finish_non_exhaustive()
    }
}

/// Reads an address. Its settings let the store notice a connection whose other end is gone without a word.
fn config(address: &str) -> Result<Config, ConnectError> {
    let mut config: Config =
        address.parse().map_err(|error: tokio_postgres::Error| ConnectError::Address(error.into()))?;
    if config.get_application_name().is_none() {
        config.application_name("mrtr");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(Duration::from_secs(5));
    }
    config.keepalives_idle(Duration::from_secs(10)).keepalives_interval(Duration::from_secs(5)).keepalives_retries(3);
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(Duration::from_secs(20));
    }
    Ok(config)
}
