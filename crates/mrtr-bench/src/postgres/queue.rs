//! A plain queue: one table, a row a job, claimed with FOR UPDATE SKIP LOCKED.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, bail, ensure};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio_postgres::{Client, NoTls, Statement};

use crate::tasks::{CALL, Keeper, Phase, RESULT};

pub(super) struct Queue {
    runtime: Runtime,
    connections: Vec<Arc<Connection>>,
    tasks: usize,
    claimed: Vec<i64>,
}

struct Connection {
    client: Client,
    create: Statement,
    claim: Statement,
    complete: Statement,
}

impl Queue {
    /// Returns true if a queue has such a phase: a job asks nothing.
    pub(super) fn has(phase: Phase) -> bool {
        matches!(phase, Phase::Create | Phase::Claim | Phase::Complete)
    }

    pub(super) fn connect(address: &str, tasks: usize, at_once: usize) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let connections = runtime.block_on(async {
            let mut connections = Vec::new();
            for _ in 0..at_once {
                connections.push(Arc::new(Connection::open(address, connections.is_empty()).await?));
            }
            anyhow::Ok(connections)
        })?;
        Ok(Self { runtime, connections, tasks, claimed: Vec::new() })
    }

    /// Runs the verb for each job: any connection that is free takes the next one.
    fn each<F>(&self, jobs: &[i64], verb: impl Fn(Arc<Connection>, i64) -> F + Copy + Send + 'static) -> Result<()>
    where
        F: Future<Output = Result<(), tokio_postgres::Error>> + Send + 'static,
    {
        let (jobs, next): (Arc<[_]>, _) = (jobs.into(), Arc::new(AtomicUsize::new(0)));
        self.runtime.block_on(async {
            let mut loops = JoinSet::new();
            for connection in &self.connections {
                let (connection, jobs, next) = (Arc::clone(connection), Arc::clone(&jobs), Arc::clone(&next));
                loops.spawn(async move {
                    while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                        verb(Arc::clone(&connection), *job).await?;
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

    fn claim(&mut self) -> Result<()> {
        self.claimed.clear();
        while self.claimed.len() < self.tasks {
            let (first, most) = (&self.connections[0], i64::try_from(self.connections.len())?);
            let rows = self.runtime.block_on(first.client.query(&first.claim, &[&most]))?;
            ensure!(!rows.is_empty(), "no job is ready");
            self.claimed.extend(rows.iter().map(|row| row.get::<_, i64>(0)));
        }
        Ok(())
    }
}

impl Keeper for Queue {
    fn go(&mut self, phase: Phase) -> Result<()> {
        match phase {
            Phase::Create => self.each(&vec![0; self.tasks], |connection, _| async move {
                connection.client.execute(&connection.create, &[&CALL.as_slice()]).await.map(drop)
            }),
            Phase::Claim => self.claim(),
            Phase::Complete => self.each(&self.claimed, |connection, job| async move {
                connection.client.execute(&connection.complete, &[&job, &RESULT.as_slice()]).await.map(drop)
            }),
            other => bail!("a queue has no phase {other:?}"),
        }
    }
}

impl Connection {
    async fn open(address: &str, is_first: bool) -> Result<Self> {
        let (client, connection) = tokio_postgres::connect(address, NoTls).await?;
        tokio::spawn(connection);
        if is_first {
            client.batch_execute(TABLE).await?;
        }
        let (create, claim) = (client.prepare(CREATE).await?, client.prepare(CLAIM).await?);
        Ok(Self { create, claim, complete: client.prepare(COMPLETE).await?, client })
    }
}

const TABLE: &str = "CREATE TABLE job (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, call bytea NOT NULL, \
                     ready boolean NOT NULL DEFAULT true, claimed timestamptz, result bytea) WITH (fillfactor = 70); \
                     CREATE INDEX job_ready ON job (id) WHERE ready";
const CREATE: &str = "INSERT INTO job (call) VALUES ($1)";
const CLAIM: &str = "UPDATE job SET ready = false, claimed = now() WHERE id = ANY (ARRAY(SELECT id FROM job WHERE ready \
                     ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED)) RETURNING id, call";
const COMPLETE: &str = "UPDATE job SET result = $2 WHERE id = $1";
