//! A candidate in a process of its own, on a core of its own.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::ValueEnum;

use super::candidate::Candidate;
use crate::machine::{self, Core};

/// A server that runs until this is dropped.
pub(crate) struct Server {
    pub(crate) candidate: Candidate,
    pub(crate) address: SocketAddr,
    process: Child,
}

impl Server {
    pub(crate) fn start(candidate: Candidate) -> Result<Self> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let name = candidate.to_possible_value().expect("every candidate has a name").get_name().to_owned();
        let mut command = Command::new(candidate.program()?);
        command.args(["serve", &name, "--port", &port.to_string()]).stdin(Stdio::null());
        // It cannot find out by itself: it begins on the core of whoever starts it.
        if let Some(core) = machine::number(Core::Measured) {
            command.args(["--core", &core.to_string()]);
        }
        let server = Self { candidate, address: (Ipv4Addr::LOCALHOST, port).into(), process: command.spawn()? };
        server.wait()?;
        Ok(server)
    }

    fn wait(&self) -> Result<()> {
        let patience = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(self.address).is_err() {
            ensure!(Instant::now() < patience, "{} does not listen", self.candidate.name());
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// How long it has been on a core.
    pub(crate) fn cpu_time(&self) -> Option<Duration> {
        machine::cpu_time(self.process.id())
    }

    /// How much of its memory is resident, in bytes.
    pub(crate) fn resident(&self) -> Option<u64> {
        machine::resident(self.process.id())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
