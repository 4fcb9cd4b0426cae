//! A server with many tasks that wait for answers: its memory, and the time to read and to acquire a task.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use mrtr_sqlite::SqliteTaskStore;
use mrtr_state::{ProcessRandom, Random};
use mrtr_tasks::store::{AcquiredTask, Limits, Recorded, Run, TaskStore, Trials, Turns, Wanted};
use mrtr_tasks::{TaskId, Tasks};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::child::{Process, answer_lines};
use super::store::{LEASE, new_task, owner, question};
use crate::measure::Spread;
use crate::report::{Figure, Target};
use crate::{Scale, machine, tracker};

const WAITING: [usize; 3] = [0, 10_000, 100_000];
/// The bytes that a server may take for any of these numbers of waiting tasks, beyond what it takes over an empty
/// store.
const ALLOWANCE: f64 = 20.0 * 1024.0 * 1024.0;
/// The target for times that hardly grow with the number of tasks: the tables are trees, and that of 100,000 tasks has
/// one or two levels more than that of a few.
const FLAT: Target = Target::AtMost(1.5);

pub(super) fn figures(scale: Scale) -> Result<Vec<Figure>> {
    let mut servers = Vec::new();
    for waiting in WAITING {
        servers.push(Process::start(&["wait-with-tasks", &waiting.to_string()])?);
    }
    let memory: Vec<f64> = servers.iter_mut().map(resident).collect::<Result<_>>()?;
    let mut figures = Vec::new();
    for (waiting, memory) in WAITING.into_iter().zip(memory) {
        figures.push(Figure {
            what: format!("memory, {waiting} waiting, of 20 MiB"),
            who: "mrtr-tasks".to_owned(),
            ratio: Spread::of(vec![memory / ALLOWANCE]).into(),
            target: Some(Target::AtMost(1.0)),
            absolute: format!("{:.2} MiB more than when it was empty", memory / f64::from(1 << 20)),
        });
    }
    for what in ["get", "claim"] {
        figures.extend(latencies(what, &mut servers, scale)?);
    }
    Ok(figures)
}

/// The resident bytes beyond those of the server with an empty store.
fn resident(server: &mut Process) -> Result<f64> {
    let now = |server: &Process| machine::resident(server.id()).context("this system does not say what is resident");
    let before = now(server)?;
    ask(server, "fill")?;
    let more = now(server)?.saturating_sub(before);
    #[expect(clippy::cast_precision_loss, reason = "no server has that much memory")]
    let more = more as f64;
    Ok(more)
}

fn latencies(what: &str, servers: &mut [Process], scale: Scale) -> Result<Vec<Figure>> {
    let mut turns: Vec<Vec<f64>> = Vec::new();
    for _ in 0..scale.turns() {
        turns.push(servers.iter_mut().map(|server| ask(server, what)).collect::<Result<_>>()?);
    }
    let figure = |(which, waiting): (usize, usize)| {
        let seconds = Spread::of(turns.iter().map(|turn| turn[which]).collect()).median;
        Figure {
            what: format!("{what}, {waiting} waiting, as a multiple of none"),
            who: "mrtr-tasks".to_owned(),
            ratio: Spread::of(turns.iter().map(|turn| turn[which] / turn[0]).collect()).into(),
            target: Some(FLAT),
            absolute: format!("{:.1} µs on a core", seconds * 1e6),
        }
    };
    Ok(WAITING.into_iter().enumerate().skip(1).map(figure).collect())
}

fn ask(server: &mut Process, what: &str) -> Result<f64> {
    server.tell(what)?;
    Ok(server.hear()?.parse()?)
}

/// The server, in a process of its own.
pub(crate) fn run(waiting: usize) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let folder = tempfile::tempdir()?;
    let store = Arc::new(SqliteTaskStore::open(folder.path().join("tasks.sqlite"))?);
    let tasks = Tasks::with_options(Arc::clone(&store) as _, mrtr_tasks::TaskOptions::default());
    // It has a runner, as a server has, which serves other tools than the one that waits here.
    let server = runtime.block_on(async { tracker::server_with(tasks) })?;
    let mut waits = Waits { runtime, store, random: ProcessRandom::new(), ids: Vec::new() };
    answer_lines(|line| {
        let answer = match line {
            "fill" => waits.fill(waiting)?,
            "get" => waits.get()?,
            "claim" => waits.claim()?,
            other => bail!("`{other}` is nothing that can be asked"),
        };
        Ok(answer.to_string())
    })?;
    drop(server);
    Ok(())
}

struct Waits {
    runtime: Runtime,
    store: Arc<SqliteTaskStore>,
    random: ProcessRandom,
    ids: Vec<TaskId>,
}

impl Waits {
    /// Makes `waiting` tasks, and one to be acquired, all of which wait for an answer.
    fn fill(&mut self, waiting: usize) -> Result<f64> {
        let Self { runtime, store, random, ids } = self;
        runtime.block_on(async {
            while ids.len() <= waiting {
                let new: Vec<_> = (ids.len()..=waiting).take(AT_ONCE).map(|_| new_task(random, TOOL)).collect();
                ids.extend(new.iter().map(|task| task.record.id));
                let create = |task| {
                    let store = Arc::clone(store);
                    async move { store.create(task, Limits::NONE).await.map(drop) }
                };
                let created: JoinSet<_> = new.into_iter().map(create).collect();
                created.join_all().await.into_iter().collect::<Result<(), _>>()?;
                park_due(store).await?;
            }
            Ok(0.0)
        })
    }

    /// Measures the time to read a task, in seconds on a core: the mean of [`GETS`] reads of random tasks.
    fn get(&self) -> Result<f64> {
        self.runtime.block_on(async {
            let begin = on_core()?;
            for _ in 0..GETS {
                let task = self.store.get(self.some(), Some(&owner())).await?;
                ensure!(!std::hint::black_box(task).open.is_empty(), "a task does not wait");
            }
            Ok(on_core()?.saturating_sub(begin).as_secs_f64() / f64::from(GETS))
        })
    }

    /// Measures the time to acquire the one task that is due, in seconds on a core.
    fn claim(&self) -> Result<f64> {
        self.runtime.block_on(async {
            let mut spent = Duration::ZERO;
            for _ in 0..CLAIMS {
                let id = self.some();
                self.store.wake(id).await?;
                let begin = on_core()?;
                let acquired = self.store.acquire(&wanted()).await?.tasks;
                spent += on_core()?.saturating_sub(begin);
                ensure!(acquired.len() == 1, "{} tasks are due", acquired.len());
                let run = Run { id, fence: acquired[0].record.fence };
                self.store.park(run, Recorded::default(), None).await?;
            }
            Ok(spent.as_secs_f64() / f64::from(CLAIMS))
        })
    }

    fn some(&self) -> TaskId {
        let mut bytes = [0; 8];
        self.random.fill(&mut bytes);
        let number = usize::try_from(u64::from_le_bytes(bytes) >> 1).unwrap_or(0);
        self.ids[number % self.ids.len()]
    }
}

/// Runs the due tasks, which ask and park.
async fn park_due(store: &Arc<SqliteTaskStore>) -> Result<()> {
    loop {
        let acquired = store.acquire(&wanted()).await?.tasks;
        if acquired.is_empty() {
            return Ok(());
        }
        let park = |task: AcquiredTask| {
            let store = Arc::clone(store);
            let run = Run { id: task.record.id, fence: task.record.fence };
            async move { store.park(run, question(), None).await }
        };
        let parked: JoinSet<_> = acquired.into_iter().map(park).collect();
        parked.join_all().await.into_iter().collect::<Result<(), _>>()?;
    }
}

/// The time that this process was on a core: what else the machine does has no part in it.
fn on_core() -> Result<Duration> {
    machine::cpu_time(std::process::id()).context("this system does not say how long a process was on a core")
}

fn wanted() -> Wanted {
    Wanted {
        tools: vec![TOOL.to_owned()],
        lease: LEASE,
        most: AT_ONCE,
        trials: Trials::Busy,
        running: Vec::new(),
        turns: Turns::default(),
    }
}

/// A tool that no server here has, so that no runner takes its tasks.
const TOOL: &str = "waits";
const AT_ONCE: usize = 64;
const GETS: u32 = 500;
const CLAIMS: u32 = 20;
