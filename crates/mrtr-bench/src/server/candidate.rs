//! The candidates: each serves the same tools, in a process of its own.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::routing::post;
use clap::ValueEnum;
use mrtr_http::{Endpoint, Serve};
use serde::Serialize;

use super::exchange::{Exchange, PATH};
use crate::machine::Core;
use crate::{machine, tracker};

/// A server that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Candidate {
    /// A handler that returns bytes that it has: the floor.
    Bare,
    /// Ours, in an axum router.
    Axum,
    /// Ours, on hyper alone.
    Hyper,
    /// The floor once more, in another process: its difference from the first is the machine's noise.
    BareAgain,
    /// The official SDK.
    Rmcp,
    /// The SDK that comes closest to flows.
    Neva,
}

impl Candidate {
    /// All candidates; the floor is the first.
    pub(crate) fn all() -> &'static [Self] {
        Self::value_variants()
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare axum",
            Self::BareAgain => "bare axum, again (noise)",
            Self::Axum => "mrtr on axum",
            Self::Hyper => "mrtr on hyper",
            Self::Rmcp => "rmcp",
            Self::Neva => "neva",
        }
    }

    pub(crate) fn is_ours(self) -> bool {
        matches!(self, Self::Axum | Self::Hyper)
    }

    pub(crate) fn is_floor(self) -> bool {
        matches!(self, Self::Bare | Self::BareAgain)
    }

    pub(crate) fn is_peer(self) -> bool {
        !self.is_floor() && !self.is_ours()
    }

    /// Returns true if the candidate serves an exchange in the way that its own documentation advises. Other SDKs have
    /// no [`Exchange::Ask`], since they always send a state when they ask.
    pub(crate) fn serves(self, exchange: Exchange) -> bool {
        !self.is_peer() || exchange != Exchange::Ask
    }

    /// The program that runs the candidate: this one, or, for another SDK, the one in the same folder.
    pub(super) fn program(self) -> Result<PathBuf> {
        let own = std::env::current_exe()?;
        if !self.is_peer() {
            return Ok(own);
        }
        let peers = own.parent().context("a program lies in a folder")?.join(PEERS);
        ensure!(peers.exists(), "{} is missing; `cargo xtask bench server` builds it", peers.display());
        Ok(peers)
    }

    /// Serves until the process ends.
    pub(crate) async fn serve(self, port: u16) -> Result<()> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        match self {
            Self::Bare | Self::BareAgain => {
                Ok(axum::serve(tokio::net::TcpListener::bind(address).await?, bare().await?).await?)
            }
            Self::Axum => {
                let router = mrtr_http::router(tracker::server()?);
                Ok(axum::serve(tokio::net::TcpListener::bind(address).await?, router).await?)
            }
            Self::Hyper => {
                let bound = Serve::new(Endpoint::anonymous(tracker::server()?)).bind(address)?;
                Ok(bound.run(std::future::pending()).await?)
            }
            Self::Rmcp | Self::Neva => bail!("it is served by the program `{PEERS}`"),
        }
    }
}

/// Serves our server's replies, one path for each exchange, whatever the request is.
async fn bare() -> Result<axum::Router> {
    let mut router = axum::Router::new();
    for exchange in Exchange::ALL {
        let reply = Bytes::from(tracker::reply_to(exchange).await?);
        let handler = move |_: Bytes| async move { ([(CONTENT_TYPE, "application/json")], reply) };
        router = router.route(&format!("{PATH}/{}", exchange.tag()), post(handler));
    }
    Ok(router)
}

/// The program of `xtask/peers`, with the SDKs of others.
const PEERS: &str = "peers";

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
        // The server cannot find this out itself: it begins on the core of the process that starts it.
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

    /// The time that it has been on a core.
    pub(crate) fn cpu_time(&self) -> Option<Duration> {
        machine::cpu_time(self.process.id())
    }

    /// Returns the server's resident memory, in bytes.
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
