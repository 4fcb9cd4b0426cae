//! The clients: a number of orders at a time, each with a customer of its own, and the check at the end.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fastrand::Rng;
use mrtr_client::{Client, FormRequest, Limits};
use mrtr_http::HttpTransport;
use mrtr_tasks::store::Listed;
use serde_json::json;

use crate::check::Flows;
use crate::customer::{Customer, Entry, Habits};
use crate::tools::{CRASH, INTERRUPTED};
use crate::trace::Event;
use crate::worker::StoreAt;
use crate::{check, trace};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// The URLs of the workers
    #[arg(long, value_delimiter = ',', required = true)]
    urls: Vec<String>,
    /// The file of tasks, or the address of the database that has them
    #[arg(long)]
    store: StoreAt,
    /// The file that says what really ran
    #[arg(long)]
    trace: PathBuf,
    /// The number of orders that are open at a time
    #[arg(long)]
    tasks: u64,
    /// The seconds in which a new order is made when one ends; none is made if it is 0
    #[arg(long, default_value_t = 0)]
    seconds: u64,
    /// The seconds that orders which are open then may still take
    #[arg(long, default_value_t = 60)]
    patience: u64,
    /// The most time that a customer thinks about a question
    #[arg(long, default_value_t = 2_000)]
    thought_ms: u64,
    /// The most time that a step takes
    #[arg(long, default_value_t = 400)]
    step_ms: u64,
    /// The seed: customers do the same with the same seed
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

/// Retries tasks that are set aside though their tool ends no process, as an operator does: a kill that hits the same
/// task alone, five times in a row, looks like the task's own doing. Ends only where the store does not open.
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
                let random = Rng::with_seed(seed.wrapping_mul(1 << 32).wrapping_add(order));
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

/// Builds a client. Its handler is never called, since customers answer by hand; but it says that this client can be
/// asked.
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

pub(crate) struct Figures(Vec<(&'static str, String)>);

impl Figures {
    pub(crate) fn of(ledger: &[Entry], events: &[Event], kept: &[Listed]) -> Self {
        let flows = Flows::of(events);
        let sum = |figure: fn(&Entry) -> u64| ledger.iter().map(figure).sum::<u64>().to_string();
        let runs: u64 = kept.iter().map(|task| task.record.fence).sum();
        let mut times: Vec<_> = ledger.iter().map(|entry| entry.took).collect();
        times.sort_unstable();
        let time =
            |time: Option<&Duration>| time.map_or_else(String::new, |time| format!("{:.1} s", time.as_secs_f64()));
        let crashing = || kept.iter().filter(|task| task.record.tool == CRASH);
        let aside = crashing().filter(|task| task.record.set_aside.is_some()).count();
        let interrupted = |event: &&Event| matches!(event, Event::Recorded { receipt, .. } if receipt == INTERRUPTED);
        Self(vec![
            ("tasks", ledger.len().to_string()),
            (
                "tasks of calls that had no reply",
                (kept.len() - crashing().count()).saturating_sub(ledger.len()).to_string(),
            ),
            ("runs", runs.to_string()),
            ("lost runs", lost_runs(events).values().sum::<usize>().to_string()),
            ("calls that end their process", crashing().count().to_string()),
            ("processes that they ended", lost_runs(events).get(&0).copied().unwrap_or(0).to_string()),
            ("of those calls, set aside", aside.to_string()),
            ("answers", sum(|entry| entry.answers.len() as u64)),
            ("answers sent again otherwise", sum(|entry| entry.contradictions)),
            ("requests without a reply", sum(|entry| entry.lost_replies)),
            ("effects", flows.effects().to_string()),
            ("effects repeated between effect and record", flows.repeated().to_string()),
            ("steps seen interrupted", events.iter().filter(interrupted).count().to_string()),
            ("median task", time(times.get(times.len() / 2))),
            ("slowest task", time(times.last())),
        ])
    }
}

/// Counts by order the runs that did not get to say that they ended, or did so after another had taken their task:
/// their process was killed or frozen.
pub(crate) fn lost_runs(events: &[Event]) -> HashMap<u64, usize> {
    let mut lost: HashMap<u64, usize> = HashMap::new();
    let mut newest: HashMap<u64, &str> = HashMap::new();
    let mut open: HashMap<&str, u64> = HashMap::new();
    for event in events {
        match event {
            Event::Began { run, order, .. } => {
                if let Some(earlier) = newest.insert(*order, run)
                    && open.remove(earlier).is_some()
                {
                    *lost.entry(*order).or_default() += 1;
                }
                open.insert(run, *order);
            }
            Event::Left { run } => drop(open.remove(run.as_str())),
            _ => {}
        }
    }
    for order in open.into_values() {
        *lost.entry(order).or_default() += 1;
    }
    lost
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(name, figure)| writeln!(f, "{name}: {figure}"))
    }
}
