//! The server under test, over HTTP: a process on a free port that is gone when this is.

use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

pub(super) struct Tracker {
    process: Child,
    address: SocketAddr,
}

impl Tracker {
    pub(super) fn start(program: &Path) -> Result<Self> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let mut command = Command::new(program);
        command.env("TRACKER_ADDRESS", address.to_string()).env("MRTR_STATE_KEYS", KEYS);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let process = command.spawn().with_context(|| format!("could not start {}", program.display()))?;
        let tracker = Self { process, address };
        let patience = Instant::now() + Duration::from_secs(10);
        while !listens(address) {
            if Instant::now() > patience {
                bail!("the server does not listen at {address}");
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(tracker)
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Ends it, and gives what it printed.
    pub(super) fn end(mut self) -> Result<String> {
        self.process.kill()?;
        let mut printed = String::new();
        self.process.stdout.take().context("standard output is piped")?.read_to_string(&mut printed)?;
        Ok(printed)
    }
}

impl Drop for Tracker {
    fn drop(&mut self) {
        // It may be gone already, which is as well.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Whether there is a listener: not so if a connection was made from the very port that it goes to, and met itself.
pub(super) fn listens(address: SocketAddr) -> bool {
    TcpStream::connect(address).is_ok_and(|stream| stream.local_addr().is_ok_and(|local| local != address))
}

/// A key for tests.
pub(super) const KEYS: &str = "tracker=k1:BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";
