//! Processes: a client that has a minute, and a server that is gone when its value is.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

/// Runs a client. One that hangs has failed, and is ended with the server that it started.
pub(super) fn in_time(client: &Command) -> Result<Output> {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", "60"]).arg(client.get_program()).args(client.get_args());
    command.envs(client.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.stdin(Stdio::null()).output().context("could not start `timeout`")?;
    if output.status.code() == Some(124) {
        bail!("it took more than a minute: {}", all_of(&output));
    }
    Ok(output)
}

pub(super) fn all_of(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A server on a free port of this machine, which is gone when this is.
pub(super) struct Served {
    process: Child,
    address: SocketAddr,
    /// What it says, on both its outputs: in a file, in which a line is as soon as it was written.
    said: PathBuf,
    /// How much of that was read.
    read: usize,
}

impl Served {
    /// Starts a server by this command, which is told its address, and waits until it listens.
    pub(super) fn start(said: PathBuf, command: impl FnOnce(SocketAddr) -> Command) -> Result<Self> {
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

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// What it has said since this was last asked.
    pub(super) fn news(&mut self) -> Result<String> {
        let said = fs::read(&self.said)?;
        let news = String::from_utf8_lossy(&said[self.read..]).into_owned();
        self.read = said.len();
        Ok(news)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may be gone already, which is as well.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// An address of this machine that nothing listens at, and that was not given out before: servers start beside each
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

/// Whether there is a listener: not so if a connection was made from the very port that it goes to, and met itself.
fn listens(address: SocketAddr) -> bool {
    TcpStream::connect(address).is_ok_and(|stream| stream.local_addr().is_ok_and(|local| local != address))
}
