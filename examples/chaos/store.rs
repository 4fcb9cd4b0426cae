//! Where tasks are kept: in a file of SQLite, or in a database of PostgreSQL.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use mrtr_postgres::{ConnectError, PostgresOptions};
use mrtr_sqlite::SqliteTaskStore;
use mrtr_tasks::store::TaskStore;

use crate::clock::ClockAhead;

/// A store that many processes share.
#[derive(Debug, Clone)]
pub(crate) enum StoreAt {
    File(PathBuf),
    Database(String),
}

/// An address of PostgreSQL, or else the path of a file.
impl FromStr for StoreAt {
    type Err = Infallible;

    fn from_str(place: &str) -> Result<Self, Infallible> {
        let is_address = place.starts_with("postgres://");
        Ok(if is_address { Self::Database(place.to_owned()) } else { Self::File(place.into()) })
    }
}

impl StoreAt {
    /// Opens it, to go by the time of the machine or of the database; or, a file alone, by another clock.
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

/// As a supervisor would, it tries again while the database is down or restarts.
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
