//! The clients: so many orders at a time, each with a customer of its own, and the account at the end.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mrtr_client::{Client, FormRequest, Limits};
use mrtr_http::HttpTransport;
use mrtr_tasks::store::Listed;
use serde_json::json;

use crate::customer::{Customer, Habits};
use crate::figures::Figures;
use crate::ledger::Entry;
use crate::random::Random;
use crate::store::StoreAt;
use crate::tools::CRASH;
use crate::{check, trace};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Where the workers listen
    #[arg(long, value_delimiter = ',', required = true)]
    urls: Vec<String>,
    /// The file of tasks, or the address of the database that has them
    #[arg(long)]
    store: StoreAt,
    /// The file that says what really ran
    #[arg(long)]
    trace: PathBuf,
    /// How many orders are open at a time
    #[arg(long)]
    tasks: u64,
    /// For how long a new one is made when one ends; none is, if there is no time
    #[arg(long, default_value_t = 0)]
    seconds: u64,
    /// How long those that are open then may still take
    #[arg(long, default_value_t = 60)]
    patience: u64,
    /// How long a customer thinks about a question, at most
    #[arg(long, default_value_t = 2_000)]
    thought_ms: u64,
    /// How long a step takes, at most
    #[arg(long, default_value_t = 400)]
    step_ms: u64,
    /// What customers do is the same for the same seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Fails if anything that a client was told does not hold.
pub(crate) async fn run(options: Options) -> Result<ExitCode> {
    let ledger = tokio::select! {
        ledger = trade(&options) => ledger?,
        failed = operate(&options) => failed?,
        failed = crash(&options) => failed?,
    };
    let events = trace::read(&options.trace)?;
    let kept = kept(&options).await?;
    let violations = check::violations(&ledger, &events, &kept);
    print!("{}", Figures::of(&ledger, &events, &kept));
    for violation in &violations {
        eprintln!("violation: {violation}");
    }
    Ok(if violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Retries what is set aside though its tool ends no process, as an operator does: a kill that meets a task alone, five
/// times in a row, looks like its own doing. Ends only where the store does not open.
async fn operate<T>(options: &Options) -> Result<T> {
    let store = options.store.open(None).await?;
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        // The database may be down: the next look is soon.
        for task in store.list(None, None, 100_000).await.unwrap_or_default() {
            if task.record.tool != CRASH && task.record.set_aside.is_some() && task.record.ended.is_none() {
                println!("retried: {}", task.record.id);
                drop(store.retry(task.record.id).await);
            }
        }
    }
}

/// Calls the tool that ends its process, now and then. Ends only where there is no worker to call.
async fn crash<T>(options: &Options) -> Result<T> {
    let workers: Vec<_> = options.urls.iter().map(|url| client(url)).collect::<Result<_>>()?;
    let closing = Instant::now() + Duration::from_secs(options.seconds);
    for worker in workers.iter().cycle() {
        tokio::time::sleep(BETWEEN_CRASHES).await;
        if Instant::now() >= closing {
            break;
        }
        // Its worker may be dead.
        drop(worker.call_tool_once(CRASH, json!({})).await);
    }
    std::future::pending().await
}

async fn trade(options: &Options) -> Result<Vec<Entry>> {
    let workers: Result<Arc<[Client]>> = options.urls.iter().map(|url| client(url)).collect();
    let workers = workers?;
    let habits =
        Habits { thought: Duration::from_millis(options.thought_ms), step: Duration::from_millis(options.step_ms) };
    let closing = Instant::now() + Duration::from_secs(options.seconds);
    let deadline = closing + Duration::from_secs(options.patience);
    let numbers = Arc::new(AtomicU64::new(1));
    let mut counters = Vec::new();
    for _ in 0..options.tasks {
        let (workers, numbers, seed) = (Arc::clone(&workers), Arc::clone(&numbers), options.seed);
        counters.push(tokio::spawn(async move {
            let mut entries = Vec::new();
            while entries.is_empty() || Instant::now() < closing {
                let order = numbers.fetch_add(1, Ordering::Relaxed);
                let random = Random::new(seed.wrapping_mul(1 << 32).wrapping_add(order));
                entries.push(Customer::new(order, &workers, habits, random).see_through(deadline).await);
            }
            entries
        }));
    }
    let mut ledger = Vec::new();
    for counter in counters {
        ledger.extend(counter.await.context("a customer panicked")?);
    }
    Ok(ledger)
}

/// Its handler is never called, since customers answer by hand; but it says that this client can be asked.
fn client(url: &str) -> Result<Client> {
    let limits = Limits { exchange: Duration::from_secs(3), rounds: 1_000, ..Limits::default() };
    let client = Client::builder(HttpTransport::new(url)?).limits(limits);
    Ok(client.on_elicit(|form: FormRequest| async move { form.decline() }).build())
}

const BETWEEN_CRASHES: Duration = Duration::from_secs(5);

/// All tasks that the store has.
async fn kept(options: &Options) -> Result<Vec<Listed>> {
    let store = options.store.open(None).await?;
    let mut kept: Vec<Listed> = Vec::new();
    loop {
        let page = store.list(None, kept.last().map(|task| task.place), 1_000).await?;
        if page.is_empty() {
            return Ok(kept);
        }
        kept.extend(page);
    }
}
