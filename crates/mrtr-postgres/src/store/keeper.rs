//! Renewals from a thread of their own: on a connection beside the pool, driven by a runtime that nothing else uses.
//!
//! Connections of the pool are driven by the runtime on which they were made, which a handler may block.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use mrtr_state::Timestamp;
use mrtr_state::single_use::{self, Reservation, SingleUseError};
use mrtr_tasks::record::TransitionError;
use mrtr_tasks::store::{self, Run, StoreError};
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_postgres::Row;

use super::Inner;
use super::tasks::value;
use crate::database::{Params, typed};
use crate::failure::Failure;
use crate::statement::Statement;
use crate::tls::Listening;
use crate::values::{Id, length};

pub(super) struct Keeper {
    inner: Arc<Inner>,
    /// Made by the first renewal.
    connection: Option<Listening>,
    runtime: Option<Runtime>,
}

impl Keeper {
    pub(super) fn new(inner: &Arc<Inner>) -> Self {
        Self { inner: Arc::clone(inner), connection: None, runtime: None }
    }

    /// Carries out a statement within [`statement_timeout`](crate::PostgresOptions::statement_timeout). If it fails on
    /// an open connection, which may have been lost since the last renewal, this opens another one and tries once more.
    fn query(&mut self, statement: &Statement, params: &Params<'_>) -> Result<Vec<Row>, Failure> {
        let runtime = match self.runtime.take() {
            Some(runtime) => runtime,
            None => runtime().map_err(|error| Failure::Unreachable(error.into()))?,
        };
        let was_connected = self.connection.is_some();
        let patience = self.inner.database.patience;
        let mut asked = runtime.block_on(async { timeout(patience, self.ask(statement, params)).await });
        if was_connected && !matches!(asked, Ok(Ok(_))) {
            self.connection = None;
            asked = runtime.block_on(async { timeout(patience, self.ask(statement, params)).await });
        }
        if !matches!(asked, Ok(Ok(_))) {
            self.connection = None;
        }
        self.runtime = Some(runtime);
        asked.unwrap_or_else(|late| Err(Failure::Unsure(late.into())))
    }

    async fn ask(&mut self, statement: &Statement, params: &Params<'_>) -> Result<Vec<Row>, Failure> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => {
                let made = self.inner.tls.listen(&self.inner.address, Arc::new(Notify::new())).await;
                none.insert(made.map_err(|error| Failure::Unreachable(error.into()))?)
            }
        };
        // Without preparing, which pgbouncer does not take.
        Ok(connection.client.query_typed(&statement.sql, &typed(statement, params)).await?)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // Wherever that is: a runtime that is dropped on the thread of another waits, which is not allowed there.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

impl store::LeaseKeeper for Keeper {
    fn renew(&mut self, runs: &[Run], lease: Duration) -> Vec<Result<(), StoreError>> {
        let inner = Arc::clone(&self.inner);
        let ids: Vec<_> = runs.iter().map(|run| Id(*run.id.as_bytes())).collect();
        let fences: Vec<_> = runs.iter().map(|run| run.fence.cast_signed()).collect();
        let params: &Params<'_> = &[&ids, &fences, &length(lease), &inner.told_now(), &inner.stamp()];
        let said = self.query(&inner.tasks.renew_all, params);
        let said = said.and_then(|rows| rows.iter().map(of_run).collect::<Result<Vec<_>, _>>());
        match said {
            Ok(renewed) => renewed,
            Err(failure) => {
                let failure = Arc::new(failure);
                runs.iter().map(|_| Err(StoreError::Store(Arc::clone(&failure).into()))).collect()
            }
        }
    }
}

fn of_run(row: &Row) -> Result<Result<(), StoreError>, Failure> {
    Ok(match (value(row, 0)?, value(row, 1)?, value(row, 2)?, value(row, 3)?) {
        (true, ..) => Ok(()),
        (_, false, ..) => Err(StoreError::NotFound),
        (_, _, true, _) => Err(TransitionError::Ended.into()),
        (_, _, _, false) => Err(TransitionError::Lost.into()),
        (false, true, false, true) => Err(StoreError::Busy(LOCKED.into())),
    })
}

impl single_use::LeaseKeeper for Keeper {
    fn renew(
        &mut self,
        reservations: &[Reservation],
        lease: Duration,
        now: Timestamp,
    ) -> Vec<Result<(), SingleUseError>> {
        let inner = Arc::clone(&self.inner);
        let fences: Vec<_> = reservations.iter().map(|reservation| reservation.fence().cast_signed()).collect();
        let keys: Vec<_> = reservations.iter().map(|reservation| reservation.key().as_bytes().to_vec()).collect();
        let params: &Params<'_> = &[&fences, &keys, &length(lease), &inner.told(now)];
        let said = self.query(&inner.tokens.renew_all, params);
        let said = said.and_then(|rows| rows.iter().map(of_reservation).collect::<Result<Vec<_>, _>>());
        match said {
            Ok(renewed) => renewed,
            Err(failure) => {
                let failure = Arc::new(failure);
                reservations.iter().map(|_| Err(SingleUseError::Store(Arc::clone(&failure).into()))).collect()
            }
        }
    }
}

fn of_reservation(row: &Row) -> Result<Result<(), SingleUseError>, Failure> {
    Ok(match (value(row, 0)?, value(row, 1)?) {
        (true, _) => Ok(()),
        (false, true) => Err(SingleUseError::Busy(LOCKED.into())),
        (false, false) => Err(SingleUseError::Lost),
    })
}

const LOCKED: &str = "another session of the database has locked the row";
