//! `cargo xtask chaos`: tasks on workers that are killed at any moment, and clients that must not notice.

use std::env;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use clap::ValueEnum;
use fastrand::Rng;
use xtask_support::{Outcome, emptied, print};

use crate::faults::{Database, Faults};
use crate::fleet::{Fleet, Place};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Make a new task when one ends, for this many minutes
    #[arg(long, value_name = "M", default_value_t = 10)]
    minutes: u64,
    /// Keep this many tasks open at a time
    #[arg(long, value_name = "N", default_value_t = 200)]
    tasks: u64,
    /// The seed: the same one repeats what is killed, and what clients do
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Run for some seconds with 30 tasks, as in `cargo xtask test`
    #[arg(long, conflicts_with_all = ["minutes", "tasks"])]
    short: bool,
    /// The store for the tasks
    #[arg(long, value_enum, default_value_t = Store::Sqlite)]
    store: Store,
}

/// The store that the workers share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Store {
    /// A file, which stays as it is
    Sqlite,
    /// A throw-away PostgreSQL, which is restarted, and whose connections are cut, meanwhile
    Postgres,
}

/// The length and the size of a run.
struct Plan {
    tasks: u64,
    seconds: u64,
    patience: u64,
    /// The seconds in which workers are killed.
    killing: u64,
    thought_ms: u64,
    step_ms: u64,
    seed: u64,
    /// The time from one fault of the database to the next.
    between_faults: Duration,
}

pub(crate) fn run(options: &Options) -> Result<Outcome> {
    let folder = emptied(&xtask_support::target()?.join("chaos"))?;
    let plan = options.plan()?;
    let mut place = Place::new(&env::current_exe()?, &folder)?;
    let faults = match options.store {
        Store::Sqlite => None,
        Store::Postgres => {
            let Some(database) = Database::start(&place.program)? else { return Ok(Outcome::LeftOut("PostgreSQL")) };
            place.store = database.address().into();
            Some(Faults::of(database, plan.between_faults, Duration::from_secs(plan.seconds)))
        }
    };
    let went = go(&plan, place);
    let counts = faults.map(Faults::end).transpose()?;
    let (has_passed, kills, freezes) = went?;
    print(&format!("kills: {kills}\nfreezes: {freezes}"))?;
    counts.map_or(Ok(()), |counts| print(&counts.to_string()))?;
    print(&format!("seed: {}", plan.seed))?;
    if !has_passed {
        eprintln!("chaos failed with --seed {}: what is left of it is in {}", plan.seed, folder.display());
        return Ok(Outcome::Failed);
    }
    fs::remove_dir_all(&folder)?;
    Ok(Outcome::Passed)
}

/// Runs the plan. Returns true if the clients are content, and the numbers of workers that were killed and frozen.
fn go(plan: &Plan, place: Place) -> Result<(bool, u64, u64)> {
    let mut fleet = Fleet::start(place)?;
    let mut clients = Clients::start(plan, &fleet)?;
    let mut random = Rng::with_seed(plan.seed);
    let (mut kills, mut freezes) = (0, 0);
    let mut next = Instant::now() + BETWEEN_KILLS;
    let last = Instant::now() + Duration::from_secs(plan.killing);
    loop {
        while Instant::now() < next {
            if let Some(status) = clients.0.try_wait()? {
                return Ok((status.success(), kills, freezes));
            }
            fleet.restart_crashed()?;
            thread::sleep(GLANCE);
        }
        next += BETWEEN_KILLS;
        // A step that takes longer than most workers live is lost again and again, and its task waits longer each
        // time: open tasks must come to an end only if workers stay alive.
        if Instant::now() >= last {
            continue;
        }
        let victim = random.usize(..fleet.len());
        // A worker that was frozen for longer than its leases wakes up and continues with tasks that other workers have
        // by then.
        if kills % KILLS_A_FREEZE == 0 {
            fleet.freeze(random.usize(..fleet.len()));
            freezes += 1;
        }
        fleet.kill(victim)?;
        kills += 1;
    }
}

/// The process of all clients, which ends when this is dropped.
struct Clients(Child);

impl Clients {
    fn start(plan: &Plan, fleet: &Fleet) -> Result<Self> {
        let Place { program, store, trace, .. } = fleet.place();
        let mut command = Command::new(program);
        command.arg("clients").arg("--urls").arg(fleet.urls().join(","));
        command.arg("--store").arg(store).arg("--trace").arg(trace);
        let numbers = [
            ("--tasks", plan.tasks),
            ("--seconds", plan.seconds),
            ("--patience", plan.patience),
            ("--thought-ms", plan.thought_ms),
            ("--step-ms", plan.step_ms),
            ("--seed", plan.seed),
        ];
        for (name, number) in numbers {
            command.arg(name).arg(number.to_string());
        }
        Ok(Self(command.stdin(Stdio::null()).spawn().context("the clients do not start")?))
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        // The processes may have ended already; that is fine.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Options {
    fn plan(&self) -> Result<Plan> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
        let seed = self.seed.unwrap_or_else(|| u64::from(now.subsec_nanos()) ^ now.as_secs() << 30);
        Ok(if self.short {
            Plan {
                tasks: 30,
                seconds: 6,
                // With a kill each second, a task may lose five runs in a row, and its next run waits longer each time,
                // up to 25 s so far. Waiting costs nothing if nothing is lost.
                patience: 120,
                // Most runs are over by then. A run that takes longer, on a busy machine, ends without kills.
                killing: 30,
                thought_ms: 400,
                step_ms: 1_000,
                seed,
                between_faults: FAULTS_SHORT,
            }
        } else {
            let seconds = self.minutes * 60;
            let tasks = self.tasks;
            Plan {
                tasks,
                seconds,
                patience: PATIENCE,
                killing: seconds,
                thought_ms: 4_000,
                step_ms: 600,
                seed,
                between_faults: FAULTS,
            }
        })
    }
}

const BETWEEN_KILLS: Duration = Duration::from_secs(1);
const GLANCE: Duration = Duration::from_millis(20);
const KILLS_A_FREEZE: u64 = 4;
/// Longer than the wait of a task that has lost many runs. Waiting costs nothing where nothing is lost.
const PATIENCE: u64 = 420;
const FAULTS: Duration = Duration::from_secs(3);
/// Short, so that each kind of fault comes.
const FAULTS_SHORT: Duration = Duration::from_millis(1_500);
