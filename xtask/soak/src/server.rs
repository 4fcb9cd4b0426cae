//! The server of a soak: some tools of every kind, with the settings that are judged.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use async_trait::async_trait;
use mrtr_http::{Authenticator, Challenge, Endpoint, Identity, RequestHead, Serve};
use mrtr_server::{Caller, Failure, Flow, Resource, Sealer, Server, SessionLimits, TaskPolicy, Tool};
use mrtr_sqlite::SqliteTaskStore;
use mrtr_tasks::{TaskOptions, Tasks};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::oneshot;

use crate::caller::HOSTILE_CONNECTIONS;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The file of tasks
    #[arg(long)]
    store: PathBuf,
    /// Make limits smaller by this factor than in a long soak
    #[arg(long, default_value_t = 1)]
    scale: usize,
    /// The time that a client may leave unread what the server sends it
    #[arg(long, default_value_t = 10_000)]
    write_timeout_ms: u64,
}

/// The resource that changes each second.
pub(crate) const CLOCK: &str = "soak://clock";
/// The words with which the server says where it listens.
pub(crate) const LISTENING: &str = "listening on ";

/// Limits smaller than by default, so that requests beyond them show.
const BODY_BUDGET: usize = 64 << 20;
const REPLY_BUDGET: usize = 64 << 20;
const SESSION_BYTES: usize = 32 << 20;
const BYTES_OF_SESSION: usize = 4 << 20;
const TASK_BYTES_OF_CALLER: u64 = 16 << 20;
const TASK_BYTES: u64 = 256 << 20;
/// Short, so that tasks are swept in the time of a soak.
const TASK_TTL: Duration = Duration::from_secs(30);
/// The bytes that a connection may take beside its requests: buffers, a head, and on HTTP/2 those that wait to be read.
const CONNECTION_BYTES: usize = (30 + 64 + 256) << 10;

/// The most memory that these settings allow for callers that want as much as they can have.
pub(crate) fn stated_budget(scale: usize) -> u64 {
    let requests = Endpoint::DEFAULT_CONCURRENCY + Endpoint::DEFAULT_SUBSCRIPTIONS;
    let small = (Endpoint::UNCOUNTED_BODY + Endpoint::UNCOUNTED_REPLY) * requests;
    let counted = BODY_BUDGET + REPLY_BUDGET + SESSION_BYTES;
    let all = (counted + small) / scale + CONNECTION_BYTES * HOSTILE_CONNECTIONS;
    all as u64
}

/// Serves until its standard input is closed.
pub(crate) async fn serve(options: Options) -> Result<()> {
    let scale = options.scale.max(1);
    let kept = TaskOptions::default()
        .ttl(TASK_TTL, TASK_TTL)
        .retention(Duration::from_secs(5))
        .kept_bytes(TASK_BYTES_OF_CALLER / scale as u64, TASK_BYTES / scale as u64);
    let tasks = Tasks::with_options(Arc::new(SqliteTaskStore::open(&options.store)?), kept);
    let usual = SessionLimits::default();
    let sessions = SessionLimits {
        sessions: usual.sessions / scale,
        sessions_of_caller: usual.sessions_of_caller / scale,
        bytes: SESSION_BYTES / scale,
        bytes_of_session: BYTES_OF_SESSION / scale,
        ..usual
    };
    let server = Server::builder("mrtr-soak", env!("CARGO_PKG_VERSION"))
        .sealer(Sealer::this_process_only())
        .session_limits(sessions)
        .tool(Tool::new("plain", plain))
        .tool(Tool::new("ask", ask))
        .tool(Tool::new("progress", progress))
        .tool(Tool::new("large", large))
        .tool(Tool::new("report", report).tasks(TaskPolicy::Required))
        .tool(Tool::new("hang", hang).tasks(TaskPolicy::Required))
        .resource(Resource::new(CLOCK, "clock", plain).mime_type("text/plain"))
        .extension(tasks.clone())
        .build()?;
    let endpoint = Endpoint::new(server.clone(), TokenIsPrincipal)
        .body_limit(Endpoint::DEFAULT_BODY_LIMIT / scale)
        .body_budget(BODY_BUDGET / scale)
        .reply_budget(REPLY_BUDGET / scale)
        .concurrency(Endpoint::DEFAULT_CONCURRENCY / scale)
        .subscriptions(Endpoint::DEFAULT_SUBSCRIPTIONS / scale);
    let write_timeout = Duration::from_millis(options.write_timeout_ms);
    let bound = Serve::new(endpoint).write_timeout(write_timeout).bind("127.0.0.1:0")?;
    println!("{LISTENING}{}", bound.address()?);
    let clock = tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            server.changes().resource_updated(CLOCK);
        }
    });
    bound.run(told_to_end()).await?;
    clock.abort();
    tasks.shut_down().await;
    Ok(())
}

/// Takes a bearer token as its caller's name; without one, a caller is anonymous.
#[derive(Debug)]
struct TokenIsPrincipal;

#[async_trait]
impl Authenticator for TokenIsPrincipal {
    async fn authenticate(&self, head: &RequestHead<'_>) -> Result<Identity, Challenge> {
        let Some(value) = head.headers.get("authorization") else { return Ok(Identity::anonymous()) };
        let token = value.to_str().ok().and_then(|value| value.strip_prefix("Bearer "));
        token.map(|name| Identity::of(Caller::new("soak", name))).ok_or_else(|| Challenge::bearer())
    }
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Size {
    bytes: usize,
}

#[derive(Deserialize, JsonSchema)]
struct Reports {
    /// How often it reports.
    reports: i64,
    /// How long it pauses between two reports.
    pause_ms: u64,
}

async fn plain(_: Flow) -> Result<&'static str, Failure> {
    Ok("fine")
}

async fn ask(flow: Flow) -> Result<String, Failure> {
    let Name { name } = flow.elicit("name", "Who are you?").await?;
    Ok(format!("Hello, {name}"))
}

async fn progress(flow: Flow, Reports { reports, pause_ms }: Reports) -> Result<&'static str, Failure> {
    for report in 1..=reports.min(1_000_000) {
        flow.progress(report, None, "going on").await;
        if pause_ms > 0 {
            tokio::time::sleep(Duration::from_millis(pause_ms)).await;
        }
    }
    Ok("done")
}

async fn large(_: Flow, Size { bytes }: Size) -> Result<String, Failure> {
    Ok("x".repeat(bytes.min(1 << 20)))
}

async fn report(flow: Flow, Size { bytes }: Size) -> Result<String, Failure> {
    let text = flow.step("write", async { Ok::<_, Failure>("done".to_owned()) }).await?;
    Ok(text.repeat(bytes.min(1 << 20) / text.len()))
}

async fn hang(_: Flow) -> Result<String, Failure> {
    std::future::pending().await
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
