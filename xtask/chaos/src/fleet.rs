//! The workers: real processes on one store, killed, frozen and started again.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// The places where everything is.
pub(crate) struct Place {
    pub(crate) program: PathBuf,
    /// A file, or the address of a database.
    pub(crate) store: OsString,
    pub(crate) trace: PathBuf,
    /// The log of the workers.
    log: File,
}

impl Place {
    /// Runs a copy of the program, so that a build in the meantime changes nothing.
    pub(crate) fn new(built: &Path, folder: &Path) -> Result<Self> {
        let program = folder.join("chaos");
        fs::copy(built, &program).with_context(|| format!("{} cannot be copied", built.display()))?;
        let log = File::options().create(true).append(true).open(folder.join("workers.log"))?;
        Ok(Self { program, store: folder.join("tasks.sqlite").into(), trace: folder.join("trace.jsonl"), log })
    }
}

/// Workers that end when this is dropped.
pub(crate) struct Fleet {
    place: Place,
    workers: Vec<Worker>,
}

struct Worker {
    process: Child,
    port: u16,
}

impl Fleet {
    pub(crate) fn start(place: Place) -> Result<Self> {
        let mut fleet = Self { place, workers: Vec::new() };
        for port in free_ports()? {
            let worker = Worker { process: fleet.spawn(port)?, port };
            fleet.workers.push(worker);
        }
        Ok(fleet)
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    pub(crate) fn len(&self) -> usize {
        self.workers.len()
    }

    pub(crate) fn urls(&self) -> Vec<String> {
        self.workers.iter().map(|worker| format!("http://127.0.0.1:{}/mcp", worker.port)).collect()
    }

    /// Starts a worker, and waits until it listens. If it takes up a call that ends its process before that, another
    /// worker is started.
    fn spawn(&self, port: u16) -> Result<Child> {
        for _ in 0..MOST_STARTS {
            let mut process = self.spawn_once(port)?;
            let mut line = String::new();
            BufReader::new(process.stdout.take().context("standard output is piped")?).read_line(&mut line)?;
            if line.starts_with("listening") {
                return Ok(process);
            }
            let status = process.wait()?;
            if status.signal() != Some(ABORTED) {
                bail!("a worker did not start: {status}");
            }
        }
        bail!("a worker was ended by calls at each of {MOST_STARTS} starts")
    }

    fn spawn_once(&self, port: u16) -> Result<Child> {
        let Place { program, store, trace, log } = &self.place;
        let mut command = Command::new(program);
        command.arg("worker").arg("--port").arg(port.to_string()).arg("--keys").arg(KEYS);
        command.arg("--lease-ms").arg(LEASE.as_millis().to_string());
        command.arg("--store").arg(store).arg("--trace").arg(trace).arg("--tools").arg("order,crash");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log.try_clone()?);
        command.spawn().with_context(|| format!("could not start {}", program.display()))
    }

    /// Starts a new worker for each one that a call has ended. A worker that ends in another way fails the run.
    pub(crate) fn restart_crashed(&mut self) -> Result<()> {
        for index in 0..self.workers.len() {
            let Worker { process, port } = &mut self.workers[index];
            let port = *port;
            match process.try_wait()? {
                None => continue,
                Some(status) if status.signal() == Some(ABORTED) => {}
                Some(status) => bail!("a worker ended by itself: {status}"),
            }
            let process = self.spawn(port)?;
            self.workers[index] = Worker { process, port };
        }
        Ok(())
    }

    /// Kills a worker with -9, and starts another in its place.
    pub(crate) fn kill(&mut self, index: usize) -> Result<()> {
        let worker = &mut self.workers[index];
        // A call may have ended it in the meantime.
        worker.process.kill()?;
        worker.process.wait()?;
        let port = worker.port;
        let process = self.spawn(port)?;
        self.workers[index] = Worker { process, port };
        Ok(())
    }

    /// Freezes a worker for a while. It may hold the file's lock, so nothing may wait for the others meanwhile.
    pub(crate) fn freeze(&self, index: usize) {
        let process = self.workers[index].process.id().to_string();
        thread::spawn(move || {
            signal("-STOP", &process);
            thread::sleep(FROZEN);
            signal("-CONT", &process);
        });
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            // The process may have ended already; that is fine.
            let _ = worker.process.kill();
            let _ = worker.process.wait();
        }
    }
}

/// Sends a signal. It does not find a worker that was killed in the meantime, which is as well.
fn signal(signal: &str, process: &str) {
    drop(Command::new("kill").args([signal, process]).stderr(Stdio::null()).status());
}

/// Finds ports below those that the system gives to clients: it could give one of those away while its worker is dead.
fn free_ports() -> Result<[u16; WORKERS]> {
    let start = 20_000 + u16::try_from(std::process::id() % 10_000).unwrap_or(0);
    let free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let mut ports = (start..32_000).chain(10_000..start).filter(free);
    let mut next = || ports.next().context("there are no free ports");
    Ok([next()?, next()?, next()?])
}

const WORKERS: usize = 3;
/// A call is set aside after five lost runs, and several may be due at once.
const MOST_STARTS: usize = 30;
/// The signal of a process that aborts.
const ABORTED: i32 = 6;
/// Short, so that workers often take over from each other.
const LEASE: Duration = Duration::from_millis(1_500);
/// Longer than a lease.
const FROZEN: Duration = Duration::from_millis(1_900);
const KEYS: &str = "chaos:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
