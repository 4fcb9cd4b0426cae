//! Processes: commands for the programs of the matrix, a client that has a minute, and a server that ends when its
//! value is dropped.

use std::collections::BTreeSet;
use std::fs::File;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context, Result, bail, ensure};
use xtask_support::packages::Sdks;
use xtask_support::root;

use crate::peer::Program;

/// Runs a client. One that hangs has failed, and is ended with the server that it started.
pub(crate) fn in_time(client: &Command) -> Result<Output> {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", "60"]).arg(client.get_program()).args(client.get_args());
    command.envs(client.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.stdin(Stdio::null()).output().context("could not start `timeout`")?;
    if output.status.code() == Some(124) {
        bail!("it took more than a minute: {}", all_of(&output));
    }
    Ok(output)
}

pub(crate) fn all_of(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A server on a free port of this machine, which ends when this is dropped.
pub(crate) struct Served {
    process: Child,
    address: SocketAddr,
    /// The file that takes both its outputs: a line is in it as soon as the process has written it.
    said: PathBuf,
    /// The bytes of it that were read.
    read: usize,
}

impl Served {
    /// Starts a server by this command, which gets a free address, and waits until it listens.
    pub(crate) fn start(said: PathBuf, command: impl FnOnce(SocketAddr) -> Command) -> Result<Self> {
        let address = unused_address()?;
        let mut command = command(address);
        let file = File::create(&said)?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let process = command.spawn().with_context(|| format!("could not start {command:?}"))?;
        let mut served = Self { process, address, said, read: 0 };
        let patience = Instant::now() + Duration::from_secs(30);
        while !listens(address) {
            if let Some(status) = served.process.try_wait()? {
                bail!("the server ended with {status}: {}", served.news()?);
            }
            ensure!(Instant::now() < patience, "the server does not listen at {address}");
            thread::sleep(Duration::from_millis(10));
        }
        Ok(served)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Returns what it has said since the last call.
    pub(crate) fn news(&mut self) -> Result<String> {
        let said = fs::read(&self.said)?;
        let news = String::from_utf8_lossy(&said[self.read..]).into_owned();
        self.read = said.len();
        Ok(news)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // The process may have ended already; that is fine.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// An address of this machine at which nothing listens, and that was not given out before: servers start beside each
/// other, and the port of one that is not up yet is free for the next.
fn unused_address() -> Result<SocketAddr> {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    loop {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        if GIVEN.lock().unwrap_or_else(PoisonError::into_inner).insert(address.port()) {
            return Ok(address);
        }
    }
}

/// Returns true if there is a listener: not so if a connection was made from the very port that it goes to, and met
/// itself.
fn listens(address: SocketAddr) -> bool {
    TcpStream::connect(address).is_ok_and(|stream| stream.local_addr().is_ok_and(|local| local != address))
}

pub(crate) struct Places {
    pub(crate) packages: Sdks,
    /// The folder where cargo puts programs.
    pub(crate) programs: PathBuf,
    /// The folder for the files of a run.
    pub(crate) folder: PathBuf,
}

impl Places {
    /// The words that start a program, with these behind them.
    pub(crate) fn words(&self, program: &Program, arguments: &[&str]) -> Vec<String> {
        let script = |folder: &str, name: &str| root().join("xtask/interop").join(folder).join(name);
        let mut words = match program {
            Program::Python { environment: "python-1", script: name } => {
                vec![self.packages.python_1.clone(), script("python", name)]
            }
            Program::Python { script: name, .. } => vec![self.packages.python_2.clone(), script("python", name)],
            Program::Node(name) => vec![self.packages.node.clone(), script("typescript", name)],
            Program::Peers(_) => vec![self.program("peers")],
            Program::Ours(name) => vec![self.program(name)],
        };
        if let Program::Peers(first) = program {
            words.extend(first.iter().map(PathBuf::from));
        }
        let words = words.into_iter().map(|word| word.display().to_string());
        words.chain(arguments.iter().map(|&argument| argument.to_owned())).collect()
    }

    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// A command with the environment that all programs have, and that clients pass on to the servers they start.
    pub(crate) fn command(&self, words: &[String]) -> Command {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        // Scripts find their packages in another folder, and leave no files beside themselves.
        command.env("PACKAGES", format!("{}/", self.packages.npm.display())).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }
}

/// Starts the program `azure_devops` as a server over HTTP.
pub(crate) fn start_tracker(places: &Places, said: PathBuf) -> Result<Served> {
    let program = places.program("azure_devops");
    Served::start(said, |address| {
        let mut command = Command::new(program);
        command.env("TRACKER_ADDRESS", address.to_string()).env("MRTR_STATE_KEYS", KEYS);
        command
    })
}

/// The words that start it over stdio; its keys are in the environment.
pub(crate) fn tracker_words(places: &Places) -> [String; 2] {
    [places.program("azure_devops").display().to_string(), "--stdio".to_owned()]
}

/// A key for tests.
pub(crate) const KEYS: &str = "tracker=k1:BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";

/// The line that it prints when it has made the link of the scenario.
pub(crate) const LINKED: &str = "tracker: #4522 is linked to #4301";

/// Does each piece of work, several at a time.
pub(crate) fn side_by_side<T: Sync, R: Send>(work: &[T], perform: impl Fn(usize, &T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let perform_some = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = work.get(index) else { return done };
            done.push((index, perform(index, piece)));
        }
    };
    let mut done: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(perform_some)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("work does not panic")).collect()
    });
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

/// Most of the work is the start of interpreters, which wait for the disk and for each other now and then.
const WORKERS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_in_the_order_of_the_work() {
        let work: Vec<_> = (0..100).collect();
        let done = side_by_side(&work, |index, piece| (index, piece * 2));
        assert_eq!(done, (0..100).map(|piece| (piece, piece * 2)).collect::<Vec<_>>());
    }
}
