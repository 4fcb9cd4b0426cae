//! The other side: loops that execute the store's statements, and nothing else.

// The statements themselves, so that both sides always have the same.
#[path = "../../../mrtr-postgres/src/store/tasks/statements.rs"]
#[allow(dead_code, reason = "not every statement is part of what is measured")]
mod statements;
mod verbs;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use anyhow::{Result, ensure};
use mrtr_state::{ProcessRandom, Random};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Row, Statement as Prepared};

use crate::statement::Statement;
use crate::tasks::{Keeper, Phase};
use verbs::Verbs;

pub(super) struct Raw {
    runtime: Runtime,
    /// One for each task that is worked on at once.
    connections: Vec<Arc<Verbs>>,
    random: ProcessRandom,
    tasks: usize,
    ids: Vec<[u8; 16]>,
}

impl Raw {
    pub(super) fn connect(address: &str, tasks: usize, at_once: usize) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let connections = runtime.block_on(async {
            // The store makes the tables.
            drop(mrtr_postgres::PostgresStore::connect(address).await?);
            let mut connections = Vec::new();
            for _ in 0..at_once {
                connections.push(Arc::new(Verbs::new(Connection::open(address).await?)));
            }
            anyhow::Ok(connections)
        })?;
        Ok(Self { runtime, connections, random: ProcessRandom::new(), tasks, ids: Vec::new() })
    }

    /// Runs the verb for each task: any connection that is free takes the next one.
    fn each<F>(&self, verb: impl Fn(Arc<Verbs>, [u8; 16]) -> F + Copy + Send + 'static) -> Result<()>
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        let (ids, next): (Arc<[_]>, _) = (self.ids.as_slice().into(), Arc::new(AtomicUsize::new(0)));
        self.runtime.block_on(async {
            let mut loops = JoinSet::new();
            for connection in &self.connections {
                let (connection, ids, next) = (Arc::clone(connection), Arc::clone(&ids), Arc::clone(&next));
                loops.spawn(async move {
                    while let Some(id) = ids.get(next.fetch_add(1, Ordering::Relaxed)) {
                        verb(Arc::clone(&connection), *id).await?;
                    }
                    anyhow::Ok(())
                });
            }
            while let Some(done) = loops.join_next().await {
                done??;
            }
            Ok(())
        })
    }

    fn claim(&self) -> Result<()> {
        let mut claimed = 0;
        while claimed < self.tasks {
            let some = self.runtime.block_on(self.connections[0].claim(self.connections.len()))?;
            ensure!(some > 0, "no task is due");
            claimed += some;
        }
        Ok(())
    }
}

impl Keeper for Raw {
    fn go(&mut self, phase: Phase) -> Result<()> {
        match phase {
            Phase::Create => {
                let random = |_| {
                    let mut id = [0; 16];
                    self.random.fill(&mut id);
                    id
                };
                self.ids = (0..self.tasks).map(random).collect();
                self.each(|verbs, id| async move { verbs.create(id).await })
            }
            Phase::Claim | Phase::ClaimAgain => self.claim(),
            Phase::Step => self.each(|verbs, id| async move { verbs.step(id).await }),
            Phase::Ask => self.each(|verbs, id| async move { verbs.ask(id).await }),
            Phase::Answer => self.each(|verbs, id| async move { verbs.answer(id).await }),
            Phase::Complete => self.each(|verbs, id| async move { verbs.complete(id).await }),
            Phase::Get => self.each(|verbs, id| async move { verbs.get(id).await }),
        }
    }
}

pub(crate) type Params<'a> = [&'a (dyn ToSql + Sync)];

pub(crate) struct Connection {
    client: Client,
    prepared: Mutex<HashMap<String, Prepared>>,
}

impl Connection {
    pub(crate) async fn open(address: &str) -> Result<Self> {
        let (client, connection) = tokio_postgres::connect(address, NoTls).await?;
        tokio::spawn(connection);
        Ok(Self { client, prepared: Mutex::default() })
    }

    pub(crate) async fn query(&self, statement: &Statement, params: &Params<'_>) -> Result<Vec<Row>> {
        let prepared = self.prepared(statement).await?;
        Ok(self.client.query(&prepared, params).await?)
    }

    pub(crate) async fn execute(&self, statement: &Statement, params: &Params<'_>) -> Result<u64> {
        let prepared = self.prepared(statement).await?;
        Ok(self.client.execute(&prepared, params).await?)
    }

    pub(crate) async fn batch(&self, sql: &str) -> Result<()> {
        Ok(self.client.batch_execute(sql).await?)
    }

    /// Prepares a statement when it is first wanted, as the store does.
    pub(crate) async fn prepared(&self, statement: &Statement) -> Result<Prepared> {
        let known = self.prepared.lock().expect("no holder panics").get(&statement.sql).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let prepared = self.client.prepare_typed(&statement.sql, &statement.types).await?;
        self.prepared.lock().expect("no holder panics").insert(statement.sql.clone(), prepared.clone());
        Ok(prepared)
    }
}
