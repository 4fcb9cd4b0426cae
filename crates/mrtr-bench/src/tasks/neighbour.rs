//! A caller beside three busy processes on one file: the time that it waits for its turn.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use mrtr_schema::{RawMembers, Revision};
use mrtr_sqlite::SqliteDatabase;
use mrtr_state::single_use::ReserveOutcome;
use mrtr_state::{AnswersDigest, Binding, JsonPayload, ProcessRandom, Sealer, SingleUse, TokenUse};
use mrtr_tasks::store::{Limits, TaskStore};
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;

use super::child::Process;
use super::store::new_task;
use crate::Scale;
use crate::measure::Spread;
use crate::report::{Figure, Ratio, Target};

/// A kind of write that a caller repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Reserves a token, and commits a reply.
    SingleUse,
    /// Creates a task.
    Tasks,
}

/// Options of a busy process.
#[derive(clap::Args)]
pub(crate) struct Options {
    kind: Kind,
    #[arg(long)]
    file: PathBuf,
}

pub(super) fn figures(scale: Scale) -> Result<Vec<Figure>> {
    [Kind::SingleUse, Kind::Tasks].into_iter().map(|kind| figure(kind, scale)).collect()
}

fn figure(kind: Kind, scale: Scale) -> Result<Figure> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("shared.sqlite");
    let caller = Caller::open(kind, &file)?;
    let name = kind.to_possible_value().context("every kind has a name")?;
    let path = file.to_str().context("a path is a text")?;
    let busy = (0..BUSY).map(|_| Process::start(&["write-without-pause", name.get_name(), "--file", path]));
    let busy: Vec<_> = busy.collect::<Result<_>>()?;
    let runtime = runtime()?;
    let mut waits = Vec::new();
    for _ in 0..if scale == Scale::Quick { 200 } else { 1000 } {
        let start = Instant::now();
        runtime.block_on(caller.write())?;
        waits.push(start.elapsed());
        // Each wait begins at a moment of its own.
        std::thread::sleep(Duration::from_millis(3));
    }
    drop(busy);
    waits.sort_unstable();
    let (p50, p99) = (waits[waits.len() / 2], waits[waits.len() * 99 / 100]);
    let ratio = p99.as_secs_f64() / MOST.as_secs_f64();
    Ok(Figure {
        what: format!("{} beside {BUSY} busy processes, p99 of {} ms", name.get_name(), MOST.as_millis()),
        who: "mrtr-sqlite".to_owned(),
        ratio: Ratio::from(Spread::of(vec![ratio])),
        target: Some(Target::AtMost(1.0)),
        absolute: format!("p50 {:.1} ms, p99 {:.1} ms", p50.as_secs_f64() * 1e3, p99.as_secs_f64() * 1e3),
    })
}

/// Writes without a pause, with many callers at once, until it is killed.
pub(crate) fn run(options: &Options) -> Result<()> {
    let caller = Arc::new(Caller::open(options.kind, &options.file)?);
    println!("ready");
    runtime()?.block_on(async {
        let callers = (0..AT_ONCE).map(|_| {
            let caller = Arc::clone(&caller);
            async move {
                loop {
                    caller.write().await?;
                }
            }
        });
        futures_util::future::try_join_all(callers).await.map(|_: Vec<std::convert::Infallible>| ())
    })
}

/// A store on the file, and the kind of write.
struct Caller {
    kind: Kind,
    tasks: mrtr_sqlite::SqliteTaskStore,
    single_use: mrtr_sqlite::SqliteSingleUse,
    sealer: Sealer,
    random: ProcessRandom,
}

impl Caller {
    fn open(kind: Kind, file: &Path) -> Result<Self> {
        let database = SqliteDatabase::open(file)?;
        let (tasks, single_use) = (database.tasks(), database.single_use());
        Ok(Self { kind, tasks, single_use, sealer: Sealer::this_process_only(), random: ProcessRandom::new() })
    }

    async fn write(&self) -> Result<()> {
        if self.kind == Kind::Tasks {
            self.tasks.create(new_task(&self.random, "neighbour"), Limits::NONE).await?;
            return Ok(());
        }
        let now = SystemTime::now().into();
        let outcome = self.single_use.reserve(&self.token()?, LEASE, now).await?;
        let ReserveOutcome::Reserved(reservation, _) = outcome else { bail!("a token is used by one caller only") };
        Ok(self.single_use.commit(&reservation, b"paid", now).await?)
    }

    fn token(&self) -> Result<TokenUse> {
        let (now, params) = (SystemTime::now().into(), RawMembers::parse(r#"{"name": "pay"}"#)?);
        let binding = Binding::new(Revision::V2026_07_28, "tools/call", &params)?;
        let state = self.sealer.seal(&Order, &binding, now)?;
        let opened =
            self.sealer.open::<Order>(&state, &binding, now).map_err(|refusal| anyhow::anyhow!("{refusal:?}"))?;
        Ok(opened.token_use(AnswersDigest::of(None)?))
    }
}

#[derive(Serialize, Deserialize)]
struct Order;

impl JsonPayload for Order {
    const KIND: &'static str = "com.example/order";
}

fn runtime() -> Result<Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

const BUSY: usize = 3;
const AT_ONCE: usize = 64;
const LEASE: Duration = Duration::from_secs(30);
/// The most time that one call in a hundred may wait.
const MOST: Duration = Duration::from_millis(300);
