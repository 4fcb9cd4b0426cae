//! Workers as real processes on one store of tasks, and what their flows wrote into the trace.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use mrtr_client::{CallError, Client, FormRequest, Limits, PendingCall, RoundOutcome};
use mrtr_http::HttpTransport;
use mrtr_postgres::PostgresStore;
use mrtr_postgres::testing::Cluster;
use mrtr_sqlite::SqliteTaskStore;
use mrtr_tasks::{TaskId, TaskRecord, TaskStore};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The folder where workers keep their tasks.
pub(crate) struct Place {
    folder: TempDir,
    /// The address of a database; without one, tasks are in a file, and go by a clock that tests set.
    database: Option<String>,
    lease: Duration,
}

impl Place {
    /// A file of SQLite.
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), database: None, lease: LEASE }
    }

    /// A database of PostgreSQL; `None` where that is not installed, which it has said.
    pub(crate) fn in_postgres() -> Option<Self> {
        let database = Cluster::shared()?.fresh_database().unwrap();
        Some(Self { database: Some(database), ..Self::new() })
    }

    pub(crate) fn lease(self, lease: Duration) -> Self {
        Self { lease, ..self }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts a worker that serves these tools, and waits until it listens.
    pub(crate) fn worker(&self, tools: &str) -> Worker {
        self.try_worker(tools).expect("it says where it listens")
    }

    /// Starts a worker that serves these tools. `None` if it ends before it listens, as it does if it finds a task that
    /// ends its process.
    pub(crate) fn try_worker(&self, tools: &str) -> Option<Worker> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_chaos"));
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        command.args(["worker", "--keys", KEYS, "--tools", tools, "--poll-ms", "50"]);
        command.arg("--port").arg(port.to_string()).arg("--lease-ms").arg(self.lease.as_millis().to_string());
        command.arg("--trace").arg(self.file("trace"));
        match &self.database {
            Some(address) => command.arg("--store").arg(address),
            None => command.arg("--store").arg(self.file("tasks.sqlite")).arg("--clock").arg(self.file("clock")),
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let Some(url) = line.trim().strip_prefix("listening on ") else {
            process.wait().unwrap();
            return None;
        };
        Some(Worker { process, client: client(url) })
    }

    /// Sets the clock of the store forward, for all workers.
    pub(crate) fn set_clock_ahead(&self, ahead: Duration) {
        let (written, clock) = (self.file("clock.new"), self.file("clock"));
        std::fs::write(&written, ahead.as_secs().to_string()).unwrap();
        // In one step, so that no worker reads half of it.
        std::fs::rename(written, clock).unwrap();
    }

    /// The lines of the trace of this kind.
    pub(crate) fn events(&self, kind: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.file("trace")).unwrap_or_default();
        // One that was cut off by a kill has not happened.
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter_map(|event| event.get(kind).cloned()).collect()
    }

    /// Waits until there are so many lines of this kind.
    pub(crate) async fn wait_for_events(&self, kind: &str, least: usize) -> Vec<Value> {
        let patience = Instant::now() + PATIENCE;
        loop {
            let events = self.events(kind);
            if events.len() >= least {
                return events;
            }
            assert!(Instant::now() < patience, "there are {} of {least} `{kind}`", events.len());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// The records of all tasks, as the operator sees them.
    pub(crate) async fn records(&self) -> Vec<TaskRecord> {
        let listed = self.store().await.list(None, None, 1_000).await.unwrap();
        listed.into_iter().map(|listed| listed.record).collect()
    }

    /// Waits until a task meets the predicate.
    pub(crate) async fn wait_for_task(&self, is_it: impl Fn(&TaskRecord) -> bool) -> TaskRecord {
        let patience = Instant::now() + PATIENCE;
        loop {
            if let Some(task) = self.records().await.into_iter().find(&is_it) {
                return task;
            }
            assert!(Instant::now() < patience, "no task is so");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) async fn retry(&self, id: TaskId) {
        self.store().await.retry(id).await.unwrap();
    }

    async fn store(&self) -> Box<dyn TaskStore> {
        match &self.database {
            Some(address) => Box::new(PostgresStore::connect(address).await.unwrap()),
            None => Box::new(SqliteTaskStore::open(self.file("tasks.sqlite")).unwrap()),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// A worker, which ends when this is dropped.
pub(crate) struct Worker {
    process: Child,
    client: Client,
}

impl Worker {
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Tells it to end, and waits until it has handed over its tasks.
    pub(crate) fn end(mut self) {
        drop(self.process.stdin.take());
        assert!(self.process.wait().unwrap().success());
    }

    pub(crate) fn is_gone(&mut self) -> bool {
        self.process.try_wait().unwrap().is_some()
    }

    /// Waits until it ends by itself.
    pub(crate) async fn gone(&mut self) -> ExitStatus {
        let patience = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < patience, "the worker lives");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Returns true if a run of the trace is this process's.
    pub(crate) fn has(&self, began: &Value) -> bool {
        began["run"].as_str().unwrap().starts_with(&format!("{}@", self.process.id()))
    }

    /// Creates a task.
    pub(crate) async fn create(&self, tool: &str, order: u64, step_ms: u64) -> PendingCall {
        let arguments = json!({ "order": order, "step_ms": step_ms });
        match self.client.call_tool_once(tool, arguments).await.unwrap() {
            RoundOutcome::Task(pending, _) => pending,
            other => panic!("no task: {other:?}"),
        }
    }

    /// Creates a task, unless the worker ends before it can say so.
    pub(crate) async fn try_create(&self, tool: &str, order: u64, step_ms: u64) -> Option<PendingCall> {
        let arguments = json!({ "order": order, "step_ms": step_ms });
        match self.client.call_tool_once(tool, arguments).await.ok()? {
            RoundOutcome::Task(pending, _) => Some(pending),
            other => panic!("no task: {other:?}"),
        }
    }

    /// Polls a task here, until it asks.
    pub(crate) async fn asked(&self, pending: PendingCall) -> PendingCall {
        let mut pending = pending.trust_other_server(self.client.server());
        let patience = Instant::now() + PATIENCE;
        while Instant::now() < patience {
            match self.client.advance(pending).await.unwrap() {
                RoundOutcome::Asked(asked) => return asked,
                RoundOutcome::Task(next, pause) => {
                    pending = next;
                    tokio::time::sleep(pause).await;
                }
                other => panic!("it does not ask: {other:?}"),
            }
        }
        panic!("it does not ask: {pending:?}")
    }

    /// Answers a question of a task here.
    pub(crate) async fn answer(&self, asked: PendingCall) -> PendingCall {
        let mut asked = asked.trust_other_server(self.client.server());
        let keys: Vec<_> = asked.unanswered().map(str::to_owned).collect();
        for key in keys {
            asked.accept(&key, &json!({ "value": format!("answer to {key}") })).unwrap();
        }
        match self.client.advance(asked).await.unwrap() {
            RoundOutcome::Task(pending, _) => pending,
            other => panic!("it is over: {other:?}"),
        }
    }

    /// Follows a task here to its end, and answers what it asks.
    pub(crate) async fn follow(&self, pending: PendingCall) -> Result<Value, CallError> {
        let pending = pending.trust_other_server(self.client.server());
        let followed = tokio::time::timeout(PATIENCE, self.client.resume(pending)).await;
        let result = followed.expect("it ends")?;
        Ok(serde_json::from_str(&result.text()).unwrap())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn client(url: &str) -> Client {
    let client = Client::builder(HttpTransport::new(url).unwrap());
    let client = client.limits(Limits { rounds: 100, ..Limits::default() });
    let answer = |form: FormRequest| async move { form.accept(&json!({ "value": "yes" })) };
    client.on_elicit(answer).build()
}

pub(crate) const LEASE: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_mins(1);
const KEYS: &str = "test:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
