//! The stage of a story: its servers, its clients, its folder, its recording and its claims.

use std::fmt::Debug;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use mrtr::{Endpoint, Sealer, Serve, Server, client, server};
use serde::Serialize;
use tempfile::TempDir;
use tokio::process::Child;
use tokio::sync::{Mutex as AsyncMutex, oneshot};
use tokio::task::JoinHandle;

use crate::clients::{Balancer, Instance};
use crate::recording::{Actor, Effects, Event, Recording};

/// The stage of one story. Nothing of it is left once it is closed.
pub(crate) struct Stage {
    recording: Recording,
    claims: Claims,
    /// The keys that instances share: each can open what another one sealed.
    sealer: Sealer,
    running: Mutex<Vec<Running>>,
    processes: AsyncMutex<Vec<Child>>,
    folder: TempDir,
}

/// A server in this process.
struct Running {
    at: Actor,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<io::Result<()>>,
}

impl Stage {
    pub(crate) fn new(recording: Recording) -> Result<Self> {
        let folder = temporary_folder().context("there is no room for a temporary folder")?;
        Ok(Self {
            recording,
            claims: Claims::default(),
            sealer: Sealer::this_process_only(),
            running: Mutex::default(),
            processes: AsyncMutex::default(),
            folder,
        })
    }

    pub(crate) fn recording(&self) -> &Recording {
        &self.recording
    }

    /// A file in the folder of this story.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts to build a server that shares its keys with the others on this stage, and whose effects are recorded.
    pub(crate) fn server(&self, at: Actor) -> server::Builder {
        let effects = Effects::here(at, self.recording.clone());
        Server::builder(at, env!("CARGO_PKG_VERSION")).sealer(self.sealer.clone()).state(effects)
    }

    /// Serves on a free port of this machine.
    pub(crate) fn serve(&self, at: Actor, server: server::Builder) -> Result<Instance> {
        let serve = Serve::new(Endpoint::anonymous(server.build()?)).shutdown_timeout(SHUTDOWN);
        let bound = serve.bind("127.0.0.1:0")?;
        let instance = Instance::new(at, bound.address()?);
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(bound.run(async { drop(stopped.await) }));
        self.running.lock().unwrap_or_else(PoisonError::into_inner).push(Running { at, stop, serving });
        Ok(instance)
    }

    /// Stops a server, as an operator does who replaces it.
    pub(crate) async fn stop(&self, instance: &Instance, why: &str) -> Result<()> {
        let running = {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            running.iter().position(|running| running.at == instance.at).map(|at| running.swap_remove(at))
        };
        running.context("it was stopped before")?.end().await;
        ensure!(instance.is_gone().await, "{} still listens", instance.at);
        self.recording.add(Event::Stopped { at: instance.at, what: why.to_owned() });
        Ok(())
    }

    /// Takes a process that ends with this stage.
    pub(crate) async fn adopt(&self, process: Child) {
        self.processes.lock().await.push(process);
    }

    /// Kills a process with -9, and waits until it is gone.
    pub(crate) async fn kill(&self, id: u32) -> Result<()> {
        let mut processes = self.processes.lock().await;
        let at = processes.iter().position(|process| process.id() == Some(id));
        let at = at.with_context(|| format!("there is no process {id}"))?;
        processes[at].kill().await.with_context(|| format!("the process {id} cannot be killed"))?;
        processes.swap_remove(at);
        Ok(())
    }

    /// Starts to build a client of a server.
    pub(crate) fn client(&self, who: Actor, instance: &Instance) -> Result<client::Builder> {
        Ok(self.balancer(who, instance)?.client())
    }

    /// A balancer for a client, when the instance behind it may change.
    pub(crate) fn balancer(&self, who: Actor, first: &Instance) -> Result<Balancer> {
        Balancer::new(who, first, self.recording.clone())
    }

    /// Claims something that the story has shown, and checks it.
    #[expect(clippy::needless_pass_by_value, reason = "a story hands over what it has just counted")]
    pub(crate) fn claim<S: PartialEq<E> + Debug, E: Debug>(&self, what: &str, seen: S, expected: E) {
        self.claims.check(what, &seen, &expected);
    }

    /// Stops all servers, removes the folder, and returns the events and the claims.
    pub(crate) async fn close(self) -> Result<(Vec<Event>, Vec<Claim>)> {
        let running = std::mem::take(&mut *self.running.lock().unwrap_or_else(PoisonError::into_inner));
        for running in running {
            running.end().await;
        }
        for mut process in self.processes.into_inner() {
            process.kill().await.context("a process is left behind")?;
        }
        // The folder goes after the servers, whose stores have their files there.
        self.folder.close().context("the temporary folder is left behind")?;
        Ok((self.recording.events(), self.claims.all()))
    }
}

impl Running {
    async fn end(self) {
        drop(self.stop);
        let mut serving = self.serving;
        if tokio::time::timeout(2 * SHUTDOWN, &mut serving).await.is_err() {
            serving.abort();
            // The task has ended once it reports that it was aborted.
            drop(serving.await);
        }
    }
}

/// Makes a folder that other users of this machine cannot look into: stores keep replies there.
fn temporary_folder() -> io::Result<TempDir> {
    let mut folder = tempfile::Builder::new();
    folder.prefix("mrtr-tour-");
    #[cfg(unix)]
    folder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    folder.tempdir()
}

/// The most time that a server may take to end.
const SHUTDOWN: Duration = Duration::from_millis(500);

/// A claim of a story about what it has shown.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Claim {
    #[serde(rename = "claim")]
    pub(crate) what: String,
    pub(crate) holds: bool,
    /// The expected and the actual value, if the claim does not hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
}

/// The claims of a story so far.
#[derive(Debug, Default)]
pub(crate) struct Claims(Mutex<Vec<Claim>>);

impl Claims {
    /// Compares what was seen with what the story says, and keeps the result. The story continues either way: the tour
    /// counts what does not hold at its end.
    pub(crate) fn check<S: PartialEq<E> + Debug, E: Debug>(&self, what: &str, seen: &S, expected: &E) {
        let holds = seen == expected;
        let problem = (!holds).then(|| format!("expected {expected:?}, saw {seen:?}"));
        let claim = Claim { what: what.to_owned(), holds, problem };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(claim);
    }

    pub(crate) fn all(&self) -> Vec<Claim> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
