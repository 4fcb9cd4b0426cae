//! Servers in processes of their own, which can be killed: the echo of the founding stories, as a task in a file, and
//! instances over one key and one database of PostgreSQL.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mrtr::server::{Guard, TaskPolicy};
use mrtr::tasks::TaskOptions;
use mrtr::{Endpoint, Sealer, Serve, Server, SqliteTaskStore, Tasks, Tool};
use mrtr_postgres::PostgresStore;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::clients::Instance;
use crate::recording::{Actor, Effects, Event, Witness};
use crate::stage::Stage;
use crate::stories::echo_task::echo;
use crate::stories::fleet::{import, pay, survey};

/// Options of the process.
#[derive(Debug, clap::Args)]
pub(crate) struct EchoServer {
    /// The file of tasks
    #[arg(long)]
    db: PathBuf,
    /// The address at which the tour listens for what it does
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

/// Starts echo servers, one after the other, on one file.
pub(crate) struct EchoProcesses {
    db: PathBuf,
    keys: String,
    witness: SocketAddr,
}

/// One echo server, which belongs to its stage.
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

    /// Starts an echo server, and waits until it listens.
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

/// The time between two looks of the client at its task.
const POLL: Duration = Duration::from_millis(100);
const KEYS: &str = "MRTR_STATE_KEYS";

/// Options of the process.
#[derive(Debug, clap::Args)]
pub(crate) struct FleetInstance {
    /// Its name
    #[arg(long)]
    name: String,
    /// The address at which the tour listens for what it does
    #[arg(long)]
    witness: SocketAddr,
}

/// The name of the instance that a handler runs on.
pub(crate) struct Name(pub(crate) String);

impl FleetInstance {
    /// Serves until it is killed, or until the tour is gone: then its standard input ends.
    pub(crate) async fn run(self) -> Result<()> {
        let store = Arc::new(PostgresStore::connect(&std::env::var(DATABASE)?).await?);
        // Short, so that another instance soon goes on with the tasks of one that was killed.
        let options = TaskOptions::default().lease(Duration::from_secs(2)).poll_interval(Duration::from_secs(1));
        let tasks = Tasks::with_options(store.clone(), options);
        let server = Server::builder("fleet", env!("CARGO_PKG_VERSION"))
            .sealer(Sealer::from_env(KEYS)?)
            .state(Effects::elsewhere(self.witness))
            .state(Name(self.name))
            .tool(Tool::new("survey", survey))
            .tool(Tool::new("import", import).tasks(TaskPolicy::Required))
            .tool(Tool::new("pay", pay).single_use(Guard::new(store)))
            .extension(tasks.clone())
            .build()?;
        let bound = Serve::new(Endpoint::anonymous(server)).bind("127.0.0.1:0")?;
        println!("{}", bound.address()?);
        bound.run(async { drop(tokio::io::copy(&mut tokio::io::stdin(), &mut tokio::io::sink()).await) }).await?;
        tasks.shut_down().await;
        Ok(())
    }
}

/// The three instances, which belong to their stage.
pub(crate) struct Instances(Vec<Running>);

struct Running {
    id: u32,
    instance: Instance,
    _witness: Witness,
}

impl Instances {
    /// Starts the instances, and waits until they listen.
    pub(crate) async fn start(stage: &Stage, database: &str) -> Result<Self> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret)?;
        let keys = format!("tour=k1:{}", STANDARD.encode(secret));
        let mut all = Vec::new();
        for name in NAMES {
            let witness = Witness::of(name, stage.recording().clone()).await?;
            let mut command = Command::new(std::env::current_exe()?);
            command.args(["tour", "fleet-instance", "--name", name, "--witness", &witness.address().to_string()]);
            // In the environment, which other users cannot see.
            command.env(KEYS, &keys).env(DATABASE, database);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
            let mut process = command.spawn().context("an instance does not start")?;
            let stdout = process.stdout.take().context("its standard output is piped")?;
            let id = process.id().context("it has not been waited for")?;
            stage.adopt(process).await;
            let mut line = String::new();
            BufReader::new(stdout).read_line(&mut line).await?;
            let Ok(address) = line.trim().parse() else { bail!("an instance does not say where it listens") };
            all.push(Running { id, instance: Instance::new(name, address), _witness: witness });
        }
        Ok(Self(all))
    }

    pub(crate) fn at(&self, name: Actor) -> Result<&Instance> {
        Ok(&self.running(name)?.instance)
    }

    /// The two instances that are not this one.
    pub(crate) fn but(&self, name: Actor) -> Result<[&Instance; 2]> {
        let others: Vec<_> = self.0.iter().map(|running| &running.instance).filter(|one| one.at != name).collect();
        others.try_into().ok().context("there are three instances")
    }

    /// Kills an instance with -9.
    pub(crate) async fn kill(&self, stage: &Stage, name: Actor) -> Result<()> {
        let id = self.running(name)?.id;
        stage.kill(id).await?;
        stage.recording().add(Event::Stopped { at: name, what: format!("kill -9 {id}") });
        Ok(())
    }

    fn running(&self, name: Actor) -> Result<&Running> {
        self.0.iter().find(|running| running.instance.at == name).context("there is no such instance")
    }
}

const NAMES: [Actor; 3] = ["one", "two", "three"];
const DATABASE: &str = "MRTR_DATABASE";
