//! A worker: a server whose tools run as tasks, over a store that it shares with other workers.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use async_trait::async_trait;
use mrtr_http::{Endpoint, Serve};
use mrtr_postgres::{ConnectError, PostgresOptions};
use mrtr_server::extend::{Clock, SystemClock};
use mrtr_server::{Sealer, Server};
use mrtr_sqlite::SqliteTaskStore;
use mrtr_state::{KeyRing, Timestamp};
use mrtr_tasks::store::TaskStore;
use mrtr_tasks::{TaskOptions, Tasks};
use tokio::sync::oneshot;

use crate::tools;
use crate::trace::Trace;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The port on this machine
    #[arg(long)]
    port: u16,
    /// The file of tasks, or the address of the database that has them
    #[arg(long)]
    store: StoreAt,
    /// The file that says what really ran
    #[arg(long)]
    trace: PathBuf,
    /// The keys that seal tasks
    #[arg(long, value_name = "KID:BASE64[,…]")]
    keys: KeyRing,
    /// The time that a run has its task, unless it says again that it lives
    #[arg(long, default_value_t = 1_500)]
    lease_ms: u64,
    /// The time that clients are asked to wait between two polls
    #[arg(long, default_value_t = 500)]
    poll_ms: u64,
    /// The tools that it serves
    #[arg(long, value_delimiter = ',', default_value = "order")]
    tools: Vec<String>,
    /// A file that says by how many seconds the clock of a file of tasks is ahead
    #[arg(long)]
    clock: Option<PathBuf>,
}

/// Serves until it is killed or its standard input is closed: then it hands over what it runs.
pub(crate) async fn run(options: Options) -> Result<()> {
    mrtr::init_logging();
    let store = options.store.open(options.clock).await?;
    let settings = TaskOptions::default()
        .lease(Duration::from_millis(options.lease_ms))
        .poll_interval(Duration::from_millis(options.poll_ms))
        .look_interval(Duration::from_millis(200))
        .most_open(1_000_000);
    let tasks = Tasks::with_options(store, settings);
    let builder = Server::builder("mrtr-chaos", env!("CARGO_PKG_VERSION"))
        .sealer(Sealer::new(options.keys, "chaos")?)
        .state(Trace::append_to(&options.trace)?)
        .extension(tasks.clone());
    let server = tools::offer(builder, &options.tools).build()?;
    let bound = Serve::new(Endpoint::anonymous(server)).bind(("127.0.0.1", options.port))?;
    println!("listening on http://{}{}", bound.address()?, mrtr_http::PATH);
    // At the end the worker begins no more tasks and answers requests that wait for a result; then HTTP ends.
    bound.run(told_to_end()).await?;
    // Last, it hands over the tasks that still run.
    tasks.shut_down().await;
    Ok(())
}

/// Waits until standard input is closed: by the process that started this one, or by its death.
async fn told_to_end() {
    let (closed, is_closed) = oneshot::channel();
    std::thread::spawn(move || {
        drop(std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
        let _ = closed.send(());
    });
    drop(is_closed.await);
}

/// A store that many processes share.
#[derive(Debug, Clone)]
pub(crate) enum StoreAt {
    File(PathBuf),
    Database(String),
}

/// Parses an address of PostgreSQL, or else the path of a file.
impl FromStr for StoreAt {
    type Err = Infallible;

    fn from_str(place: &str) -> Result<Self, Infallible> {
        let is_address = place.starts_with("postgres://");
        Ok(if is_address { Self::Database(place.to_owned()) } else { Self::File(place.into()) })
    }
}

impl StoreAt {
    /// Opens the store. It goes by the clock of the machine or of the database; a store in a file may get another
    /// clock.
    pub(crate) async fn open(&self, clock: Option<PathBuf>) -> Result<Arc<dyn TaskStore>> {
        match (self, clock) {
            (Self::File(file), None) => Ok(Arc::new(SqliteTaskStore::open(file)?)),
            (Self::File(file), Some(clock)) => {
                Ok(Arc::new(SqliteTaskStore::open_with_clock(file, Arc::new(ClockAhead::new(clock)))?))
            }
            (Self::Database(address), clock) => {
                ensure!(clock.is_none(), "a database goes by its own clock");
                connect(address).await
            }
        }
    }
}

/// Connects as a supervisor would: it tries again while the database is down or restarts.
async fn connect(address: &str) -> Result<Arc<dyn TaskStore>> {
    let give_up = Instant::now() + Duration::from_secs(30);
    let options = PostgresOptions::new(address)?;
    loop {
        match options.clone().connect().await {
            Ok(store) => return Ok(Arc::new(store)),
            Err(ConnectError::Unreachable(_) | ConnectError::Database(_) | ConnectError::Migration { .. })
                if Instant::now() < give_up =>
            {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// The machine's clock, ahead by as many seconds as a file says.
#[derive(Debug)]
pub(crate) struct ClockAhead {
    clock: SystemClock,
    file: PathBuf,
}

impl ClockAhead {
    pub(crate) fn new(file: PathBuf) -> Self {
        Self { clock: SystemClock::default(), file }
    }

    fn ahead(&self) -> Duration {
        let text = std::fs::read_to_string(&self.file).unwrap_or_default();
        Duration::from_secs(text.trim().parse().unwrap_or(0))
    }
}

#[async_trait]
impl Clock for ClockAhead {
    fn now(&self) -> Timestamp {
        self.clock.now() + self.ahead()
    }

    async fn sleep(&self, duration: Duration) {
        self.clock.sleep(duration).await;
    }
}
