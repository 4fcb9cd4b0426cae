//! A server in a process of its own, which can be killed: the echo of the founding stories, as a task in a file.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mrtr::server::TaskPolicy;
use mrtr::tasks::TaskOptions;
use mrtr::{Endpoint, Sealer, Serve, Server, SqliteTaskStore, Tasks, Tool};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use super::effects::Effects;
use super::stage::Stage;
use super::stories::echo_task::echo;

/// What the process is told.
#[derive(clap::Args)]
pub(crate) struct EchoServer {
    /// The file of tasks
    #[arg(long)]
    db: PathBuf,
    /// Where the tour listens for what it does
    #[arg(long)]
    witness: SocketAddr,
}

impl EchoServer {
    /// Serves until it is killed, or until the tour is gone: then its standard input ends.
    pub(crate) async fn run(self) -> Result<()> {
        let options = TaskOptions::default().poll_interval(POLL).look_interval(POLL);
        let tasks = Tasks::with_options(Arc::new(SqliteTaskStore::open(&self.db)?), options);
        let server = Server::builder("echo", env!("CARGO_PKG_VERSION"))
            .sealer(Sealer::from_env(KEYS)?)
            .state(Effects::elsewhere(self.witness))
            .tool(Tool::new("echo", echo).tasks(TaskPolicy::Required))
            .extension(tasks.clone())
            .build()?;
        let bound = Serve::new(Endpoint::anonymous(server)).bind("127.0.0.1:0")?;
        println!("{}", bound.address()?);
        bound.run(async { drop(tokio::io::copy(&mut tokio::io::stdin(), &mut tokio::io::sink()).await) }).await?;
        tasks.shut_down().await;
        Ok(())
    }
}

/// Starts such processes, one after the other, on one file.
pub(crate) struct EchoProcesses {
    db: PathBuf,
    keys: String,
    witness: SocketAddr,
}

/// One of them, which belongs to its stage.
pub(crate) struct EchoProcess {
    pub(crate) id: u32,
    pub(crate) address: SocketAddr,
}

impl EchoProcesses {
    pub(crate) fn new(db: PathBuf, witness: SocketAddr) -> Result<Self> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret)?;
        let keys = format!("tour=k1:{}", STANDARD.encode(secret));
        Ok(Self { db, keys, witness })
    }

    /// Starts one, and waits until it listens.
    pub(crate) async fn start(&self, stage: &Stage) -> Result<EchoProcess> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["tour", "echo-server", "--witness", &self.witness.to_string()]);
        // In the environment, which other users cannot see.
        command.arg("--db").arg(&self.db).env(KEYS, &self.keys);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn().context("the server's process does not start")?;
        let stdout = process.stdout.take().context("its standard output is piped")?;
        let id = process.id().context("it has not been waited for")?;
        stage.adopt(process).await;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).await?;
        let Ok(address) = line.trim().parse() else { bail!("the server's process does not say where it listens") };
        Ok(EchoProcess { id, address })
    }
}

/// How long the client waits between two looks at its task.
const POLL: Duration = Duration::from_millis(100);
const KEYS: &str = "MRTR_STATE_KEYS";
