//! Tasks, as an extension of a server: what it shares with its runner, its methods and the operator.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use mrtr_flow::{StopReason, StopSignal};
use mrtr_server::TaskPolicy;
use mrtr_server::extend::{Host, LeaseThread, Renewal};
use mrtr_state::ProcessRandom;
use tokio::sync::{Notify, watch};

use crate::TaskId;
use crate::hub::Hub;
use crate::options::TaskOptions;
use crate::record::TransitionError;
use crate::store::{Run, StoreError, TaskStore};
use crate::vault::Vault;

/// Runs calls of tools as tasks: they continue without their client, ask through their task, and survive a restart of
/// the server if the store does. Clones share one state, which is that of one server: several servers have each a value
/// of their own, which may share a store.
///
/// ```
/// use mrtr_server::{Failure, Flow, Server, TaskPolicy, Tool};
/// use mrtr_tasks::Tasks;
/// use mrtr_tasks::store::MemoryTaskStore;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), mrtr_server::BuildError> {
/// let index = Tool::new("index", async |_: Flow| Ok::<_, Failure>("indexed")).tasks(TaskPolicy::IfPossible);
/// let server = Server::builder("library", "1.0.0")
///     .tool(index)
///     .extension(Tasks::new(MemoryTaskStore::default()))
///     .build()?;
/// # drop(server);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Tasks(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) store: Arc<dyn TaskStore>,
    pub(crate) options: TaskOptions,
    pub(crate) random: ProcessRandom,
    pub(crate) hub: Hub,
    /// Makes the runner look for work.
    pub(crate) work: Notify,
    pub(crate) phase: watch::Sender<Phase>,
    /// Renews the leases of the runs of this instance.
    pub(crate) leases: LeaseThread<Run>,
    /// The signals that stop the runs of this instance.
    runs: Mutex<HashMap<Run, StopSignal>>,
    /// The number of runs.
    running: watch::Sender<usize>,
    /// The number of requests of each owner that wait for a result.
    pub(crate) blocked: Mutex<HashMap<String, usize>>,
    attached: OnceLock<Attached>,
    pub(crate) is_started: AtomicBool,
}

/// The parts that are known once there is a server.
pub(crate) struct Attached {
    pub(crate) host: Host,
    pub(crate) vault: Vault,
    /// The deployment that tasks belong to.
    pub(crate) audience: String,
}

/// The phase of an instance: it takes on work, or does not any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Running,
    /// The instance takes nothing on, and requests that wait for a result get an error. Its runs continue.
    Stopping,
    /// The instance gives up its runs, too.
    ShuttingDown,
}

impl Tasks {
    /// Makes tasks that this store keeps, with the default options.
    pub fn new(store: impl TaskStore) -> Self {
        Self::with_options(Arc::new(store), TaskOptions::default())
    }

    /// Makes tasks that this store keeps, with these options.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use mrtr_tasks::store::MemoryTaskStore;
    /// use mrtr_tasks::{TaskOptions, Tasks};
    ///
    /// let tasks = Tasks::with_options(Arc::new(MemoryTaskStore::default()), TaskOptions::default().workers(2));
    /// # drop(tasks);
    /// ```
    pub fn with_options(store: Arc<dyn TaskStore>, options: TaskOptions) -> Self {
        Self(Arc::new(Inner {
            leases: lease_thread(&store, options.lease),
            store,
            options,
            random: ProcessRandom::new(),
            hub: Hub::default(),
            work: Notify::new(),
            phase: watch::Sender::new(Phase::Running),
            runs: Mutex::default(),
            running: watch::Sender::new(0),
            blocked: Mutex::default(),
            attached: OnceLock::new(),
            is_started: AtomicBool::new(false),
        }))
    }

    /// Takes on no more work, stops the runs of this instance, and hands their tasks over to other instances, or to
    /// this one when it comes back. Steps that have begun have the [grace](TaskOptions::grace) of the options to
    /// finish. Requests that wait for a result get an error.
    ///
    /// `mrtr_http::Serve`, `mrtr_stdio::serve` and [`Server::shut_down`](mrtr_server::Server::shut_down) do this by
    /// themselves, after the transport has answered its requests. The transport has first told the server that it ends
    /// ([`Server::begin_shutdown`](mrtr_server::Server::begin_shutdown)): from then on this instance begins no task,
    /// and it answers each `tasks/result` that blocks, so that none holds the transport up.
    ///
    /// ```
    /// use mrtr_tasks::Tasks;
    /// use mrtr_tasks::store::MemoryTaskStore;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let tasks = Tasks::new(MemoryTaskStore::default());
    /// tasks.shut_down().await;
    /// # }
    /// ```
    pub async fn shut_down(&self) {
        let inner = &self.0;
        let before = inner.phase.send_replace(Phase::ShuttingDown);
        let tasks = inner.running_here().len();
        inner.signals().values().for_each(|signal| signal.raise(StopReason::Shutdown));
        // The sender is this value's own, so that it does not go away meanwhile.
        drop(inner.running.subscribe().wait_for(|running| *running == 0).await);
        inner.leases.close();
        if before != Phase::ShuttingDown {
            tracing::info!(tasks, "shutting down: running tasks are done or handed over");
        }
    }

    /// Takes on no more work, and ends requests that wait for a result with an error.
    pub(crate) fn stop_claiming(&self) {
        self.0.phase.send_if_modified(|phase| {
            let is_running = *phase == Phase::Running;
            if is_running {
                *phase = Phase::Stopping;
            }
            is_running
        });
    }

    /// Makes the tasks those of a server. A second server is refused: this one's handlers would answer its calls.
    pub(crate) fn attach(&self, host: Host) -> Result<(), &'static str> {
        let sealer = host.sealer();
        let audience = sealer.as_ref().map(|sealer| sealer.audience().to_owned()).unwrap_or_default();
        let attached = Attached { host, vault: Vault::new(sealer, self.0.store.outlives_process()), audience };
        self.0.attached.set(attached).map_err(|_| {
            "one value of `Tasks` serves one server, and this one has another already: \
             give each server a `Tasks::with_options` of its own; they may share a store"
        })
    }
}

impl Inner {
    pub(crate) fn attached(&self) -> Option<&Attached> {
        self.attached.get()
    }

    /// Returns true if this instance begins runs.
    pub(crate) fn takes_work(&self) -> bool {
        *self.phase.borrow() == Phase::Running
    }

    pub(crate) fn is_shutting_down(&self) -> bool {
        *self.phase.borrow() == Phase::ShuttingDown
    }

    /// The tools of which tasks can be run here, while there is a server.
    pub(crate) fn tools(&self) -> Option<Vec<String>> {
        let tools = self.attached()?.host.tools()?;
        let run = tools.into_iter().filter(|(_, policy)| *policy != TaskPolicy::Never);
        Some(run.map(|(name, _)| name).collect())
    }

    fn signals(&self) -> std::sync::MutexGuard<'_, HashMap<Run, StopSignal>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tasks that run in this instance.
    pub(crate) fn running_here(&self) -> Vec<TaskId> {
        self.signals().keys().map(|run| run.id).collect()
    }

    /// Notes a run of this instance, for as long as the value lives.
    pub(crate) fn running(self: &Arc<Self>, run: Run, signal: &StopSignal) -> Running {
        self.signals().insert(run, signal.clone());
        self.running.send_modify(|running| *running += 1);
        if self.is_shutting_down() {
            signal.raise(StopReason::Shutdown);
        }
        Running { inner: Arc::clone(self), run }
    }
}

/// A run of this instance.
pub(crate) struct Running {
    inner: Arc<Inner>,
    run: Run,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.inner.signals().remove(&self.run);
        self.inner.running.send_modify(|running| *running -= 1);
        self.inner.work.notify_one();
    }
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tasks").field("store", &self.0.store).finish_non_exhaustive()
    }
}

/// Makes the thread that renews leases in this store. It starts with the first lease it holds.
fn lease_thread(store: &Arc<dyn TaskStore>, lease: Duration) -> LeaseThread<Run> {
    let store = Arc::clone(store);
    LeaseThread::new("mrtr-leases", lease, move || {
        let mut keeper = store.lease_keeper();
        Box::new(move |runs| keeper.renew(runs, lease).iter().map(renewal).collect())
    })
}

fn renewal(renewed: &Result<(), StoreError>) -> Renewal {
    match renewed {
        Ok(()) => Renewal::Renewed,
        Err(StoreError::Refused(TransitionError::Ended)) => Renewal::Ended,
        Err(StoreError::Refused(_) | StoreError::NotFound) => Renewal::Lost,
        Err(error) => {
            tracing::warn!(error = error as &dyn std::error::Error, "a lease was not renewed");
            Renewal::Failed
        }
    }
}
