//! The database of the workers: a PostgreSQL of its own, which fails by turns.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{fmt, io, thread};

use anyhow::{Context, Result, anyhow, bail, ensure};
use mrtr_postgres::testing::Cluster;

/// PostgreSQL, in a process of its own; it ends when this is dropped.
pub(crate) struct Database {
    process: Child,
    /// The input of the process, which ends when this is closed.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    address: String,
}

impl Database {
    /// Starts the database. Returns `None` where PostgreSQL is not installed; the process has said so.
    pub(crate) fn start(program: &Path) -> Result<Option<Self>> {
        let mut command = Command::new(program);
        command.arg("database").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().with_context(|| format!("could not start {}", program.display()))?;
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().context("standard output is piped")?);
        let mut database = Self { process, input, output, address: String::new() };
        let line = database.hear()?;
        if line == "left out" {
            return Ok(None);
        }
        let Some(address) = line.strip_prefix("database at ") else { bail!("the database did not start") };
        address.clone_into(&mut database.address);
        Ok(Some(database))
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    fn suffer(&mut self, fault: &str) -> Result<()> {
        writeln!(self.input.as_ref().context("standard input is open")?, "{fault}")?;
        ensure!(self.hear()? == "done", "the database did not do `{fault}`");
        Ok(())
    }

    fn hear(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(line.trim().to_owned())
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        drop(self.input.take());
        // Ends the process with its server. It may have ended already; that is fine.
        let _ = self.process.wait();
    }
}

/// Faults of the database, one after another, while workers are killed.
pub(crate) struct Faults {
    /// Ends the faults when it is dropped.
    end: Sender<()>,
    thread: JoinHandle<Result<Counts>>,
}

/// Counts each fault.
#[derive(Default)]
pub(crate) struct Counts([u64; FAULTS.len()]);

impl Faults {
    /// Causes one fault after another, this long apart, and each kind once at least. What is open then must end, though
    /// workers go on dying.
    pub(crate) fn of(database: Database, between: Duration, time: Duration) -> Self {
        let (end, is_over) = channel();
        let until = Instant::now() + time;
        Self { end, thread: thread::spawn(move || suffer_by_turns(database, between, until, &is_over)) }
    }

    /// Ends the faults, and returns the number of each.
    pub(crate) fn end(self) -> Result<Counts> {
        drop(self.end);
        self.thread.join().map_err(|_| anyhow!("what makes the database fail has panicked"))?
    }
}

fn suffer_by_turns(
    mut database: Database,
    between: Duration,
    until: Instant,
    is_over: &Receiver<()>,
) -> Result<Counts> {
    let mut counts = Counts::default();
    let mut turns = (0..FAULTS.len()).cycle();
    while is_over.recv_timeout(between) == Err(RecvTimeoutError::Timeout) {
        if (Instant::now() < until || counts.0.contains(&0))
            && let Some(turn) = turns.next()
        {
            database.suffer(FAULTS[turn].0)?;
            counts.0[turn] += 1;
        }
    }
    Ok(counts)
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = FAULTS.iter().zip(self.0).map(|((_, name), count)| format!("{name}: {count}"));
        f.write_str(&lines.collect::<Vec<_>>().join("\n"))
    }
}

/// Names of the faults, for the program and for the report.
const FAULTS: [(&str, &str); 3] = [
    ("restart", "restarts of the database, as after a crash"),
    ("terminate", "times that half of all backends were terminated"),
    ("deafen", "times that the listeners were cut"),
];

/// Brings up a throw-away cluster, which waits for the disk as one in use does, and prints the address of a database in
/// it; or, where PostgreSQL is not installed, that it is left out. Ends when standard input is closed.
pub(crate) fn bring_up() -> Result<()> {
    let durable = ["fsync=on", "synchronous_commit=on", "full_page_writes=on", "max_connections=200"];
    let Some(cluster) = Cluster::start(&durable) else {
        println!("left out");
        return Ok(());
    };
    println!("database at {}", cluster.fresh_database()?);
    for line in io::stdin().lines() {
        match line?.trim() {
            "restart" => cluster.restart()?,
            "terminate" => terminate(&cluster, SOME_BACKENDS)?,
            "deafen" => terminate(&cluster, LISTENERS)?,
            other => bail!("there is no fault `{other}`"),
        }
        println!("done");
    }
    Ok(())
}

/// Ends the sessions for which this holds.
fn terminate(cluster: &Cluster, which: &str) -> Result<()> {
    let mut psql: Command = cluster.program("psql");
    let sql = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE application_name = 'mrtr' AND backend_type = 'client backend' AND {which}"
    );
    psql.arg(cluster.address("postgres")).args(["--no-psqlrc", "--quiet", "-c", &sql]);
    let status = psql.stdin(Stdio::null()).stdout(Stdio::null()).status().context("psql does not start")?;
    ensure!(status.success(), "psql failed: {status}");
    Ok(())
}

/// Every second session, whatever it is doing.
const SOME_BACKENDS: &str = "random() < 0.5";
/// Sessions that listen: they have done nothing else.
const LISTENERS: &str = "query LIKE 'LISTEN %'";
