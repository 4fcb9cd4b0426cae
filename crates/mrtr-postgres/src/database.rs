//! Connections from the pool, and statements on them: each within its time, and sorted by what its failure means.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deadpool_postgres::{Object, Pool};
use mrtr_schema::Backoff;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use crate::failure::Failure;
use crate::statement::Statement;

pub(crate) type Params<'a> = [&'a (dyn ToSql + Sync)];

#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) pool: Pool,
    /// True if the next statement may reach another connection of the database, so that nothing can be prepared.
    pub(crate) is_shared: bool,
    /// The time that a statement may take.
    pub(crate) patience: Duration,
}

impl Database {
    /// Waits for a free connection, within bounds.
    pub(crate) async fn connection(&self) -> Result<Connection<'_>, Failure> {
        let object = self.pool.get().await?;
        Ok(Connection { object: Some(object), is_spoiled: AtomicBool::new(false), database: self })
    }

    /// Reads, as often as it takes: reading twice changes nothing.
    pub(crate) async fn read(&self, statement: &Statement, params: &Params<'_>) -> Result<Vec<Row>, Failure> {
        let mut attempts = Attempts::new();
        loop {
            let read = async { self.connection().await?.query(statement, params).await };
            match read.await {
                Ok(rows) => return Ok(rows),
                Err(failure) => attempts.after(failure).await?,
            }
        }
    }
}

/// A connection in use. It goes back to the pool, unless it was spoiled.
pub(crate) struct Connection<'a> {
    object: Option<Object>,
    /// Set while a transaction is open, and for good once an answer failed to come: another user of the connection
    /// would find itself in the middle of things.
    is_spoiled: AtomicBool,
    database: &'a Database,
}

impl Connection<'_> {
    pub(crate) async fn query(&self, statement: &Statement, params: &Params<'_>) -> Result<Vec<Row>, Failure> {
        let object = self.object()?;
        let run = async {
            if self.database.is_shared {
                return object.query_typed(&statement.sql, &typed(statement, params)).await;
            }
            let prepared = object.prepare_typed_cached(&statement.sql, &statement.types).await?;
            object.query(&prepared, params).await
        };
        self.in_time(run).await
    }

    /// Carries out a statement, and returns how many rows it wrote.
    pub(crate) async fn execute(&self, statement: &Statement, params: &Params<'_>) -> Result<u64, Failure> {
        let object = self.object()?;
        let run = async {
            if self.database.is_shared {
                return object.execute_typed(&statement.sql, &typed(statement, params)).await;
            }
            let prepared = object.prepare_typed_cached(&statement.sql, &statement.types).await?;
            object.execute(&prepared, params).await
        };
        self.in_time(run).await
    }

    /// Carries out statements without parameters or results.
    pub(crate) async fn batch(&self, sql: &str) -> Result<(), Failure> {
        let object = self.object()?;
        self.in_time(object.batch_execute(sql)).await
    }

    /// Prepares statements that are to be sent one behind the other without waiting: each is then sent at once.
    pub(crate) async fn prepare(&self, statements: &[&Statement]) -> Result<(), Failure> {
        if self.database.is_shared {
            return Ok(());
        }
        let object = self.object()?;
        for statement in statements {
            self.in_time(object.prepare_typed_cached(&statement.sql, &statement.types)).await?;
        }
        Ok(())
    }

    /// Notes that a transaction begins. From here to [`ends`](Self::ends), a caller that goes away takes the connection
    /// with it, and the database rolls back.
    pub(crate) fn begins(&self) {
        self.is_spoiled.store(true, Ordering::Relaxed);
    }

    /// Notes that the transaction was committed or rolled back.
    pub(crate) fn ends(&self) {
        self.is_spoiled.store(false, Ordering::Relaxed);
    }

    fn object(&self) -> Result<&Object, Failure> {
        self.object.as_ref().ok_or_else(|| Failure::Unreachable("the connection was given back".into()))
    }

    async fn in_time<T>(&self, run: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, Failure> {
        let result = match timeout(self.database.patience, run).await {
            Ok(result) => result.map_err(Failure::from),
            Err(late) => Err(Failure::Unsure(late.into())),
        };
        if matches!(result, Err(Failure::Unsure(_))) {
            self.is_spoiled.store(true, Ordering::Relaxed);
        }
        result
    }
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        if let Some(object) = self.object.take_if(|_| *self.is_spoiled.get_mut()) {
            drop(Object::take(object));
        }
    }
}

pub(crate) fn typed<'a>(statement: &Statement, params: &Params<'a>) -> Vec<(&'a (dyn ToSql + Sync), Type)> {
    params.iter().copied().zip(statement.types.iter().cloned()).collect()
}

/// Attempts at one thing, within bounds: a database that restarts is back in a few seconds.
pub(crate) struct Attempts {
    until: Instant,
    paused: u32,
}

impl Attempts {
    pub(crate) fn new() -> Self {
        Self { until: Instant::now() + LONGEST_TRY, paused: 0 }
    }

    /// Waits before another attempt; gives the failure back if none makes sense.
    pub(crate) async fn after(&mut self, failure: Failure) -> Result<(), Failure> {
        let pause = PAUSES.pause(self.paused);
        if !failure.may_pass() || Instant::now() + pause > self.until {
            return Err(failure);
        }
        sleep(varied(pause)).await;
        self.paused += 1;
        Ok(())
    }
}

/// Returns a random duration between half of a pause and all of it, so that callers do not retry in step.
pub(crate) fn varied(pause: Duration) -> Duration {
    Backoff::varied(pause, (RandomState::new().hash_one(()) >> 32) as u32)
}

const LONGEST_TRY: Duration = Duration::from_secs(5);
const PAUSES: Backoff = Backoff::new(Duration::from_millis(10), Duration::from_millis(500));
