//! Acquires tasks for an instance: those that are due, or one on trial when it has no other run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::conclude;
use super::run;
use super::trial::OnTrial;
use crate::store::{Acquired, AcquiredTask, Run, StoreError, Trials, Turn, Turns, Wanted};
use crate::tasks::Inner;
use crate::{Account, count};

/// Acquires tasks for the workers of an instance.
pub(super) struct Claims<'a> {
    inner: &'a Arc<Inner>,
    workers: Workers,
    /// The place where turns over accounts continue.
    turn: Option<Turn>,
    /// The one place of a run on trial.
    trial: Arc<Semaphore>,
    /// True if the instance acquires nothing until it has no run, to make room for a task on trial that has waited too
    /// long.
    makes_room: bool,
    has_failed: bool,
}

impl<'a> Claims<'a> {
    pub(super) fn new(inner: &'a Arc<Inner>) -> Self {
        let workers = Workers::new(inner.options.workers);
        Self { inner, workers, turn: None, trial: Arc::new(Semaphore::new(1)), makes_room: false, has_failed: false }
    }

    /// Acquires as many tasks as there are free workers, and starts their runs. Returns the time after which to look
    /// again at the latest.
    pub(super) async fn look(&mut self, tools: Vec<String>) -> Duration {
        let usual = self.inner.options.look_interval;
        let free = self.workers.free();
        let has_room = free > 0 || self.makes_room;
        if self.trial.available_permits() == 0 || !has_room {
            return usual;
        }
        if self.has_failed {
            self.try_store_again().await;
            return usual.max(PAUSE_AFTER_OUTAGE);
        }
        let is_idle = free == self.inner.options.workers;
        let claimed = match (is_idle, self.makes_room) {
            (true, true) => self.claim_trial(tools).await,
            (true, false) => self.claim(tools, free, Trials::Idle).await,
            (false, true) => self.claim(tools, free, Trials::MakesRoom).await,
            (false, false) => self.claim(tools, free, Trials::Busy).await,
        };
        match claimed {
            Ok(next) => next.map_or(usual, |next| next.min(usual)),
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "no task can be acquired");
                self.has_failed = !matches!(error, StoreError::Busy(_));
                usual
            }
        }
    }

    /// Checks whether the store answers again. The instance acquires nothing at once then: runs whose leases ended
    /// meanwhile were not lost, and their instances are about to say so.
    async fn try_store_again(&mut self) {
        self.has_failed = self.inner.store.cursor().await.is_err();
    }

    async fn claim(&mut self, tools: Vec<String>, most: usize, trials: Trials) -> Result<Option<Duration>, StoreError> {
        let asked = Instant::now();
        let acquired = self.acquire(tools.clone(), most, trials).await?;
        let Acquired { tasks, next, trial_waits, .. } = acquired;
        self.makes_room = trial_waits && trials != Trials::Idle;
        for task in tasks {
            self.start(task, asked, None).await;
        }
        match trials {
            Trials::Idle if trial_waits => self.claim_trial(tools).await,
            // This instance takes nothing that is due now: the end of a run makes it look again.
            _ if self.makes_room => Ok(None),
            _ => Ok(next),
        }
    }

    /// Acquires a task on trial, whose run is alone unless a handler of a plain call runs here.
    async fn claim_trial(&mut self, tools: Vec<String>) -> Result<Option<Duration>, StoreError> {
        self.makes_room = false;
        let hold = self.inner.attached().and_then(|attached| attached.host.hold_calls());
        let (trials, asked) = (Trials::Takes { alone: hold.is_some() }, Instant::now());
        let Acquired { mut tasks, .. } = self.acquire(tools, 1, trials).await?;
        // Another instance may have been quicker, and there may be something else to do.
        let Some(task) = tasks.pop() else { return Ok(Some(PAUSE_AFTER_NOTHING)) };
        let place = Arc::clone(&self.trial).try_acquire_owned().ok();
        let trial = place.map(|place| OnTrial::new(self.inner, claimed(&task), place, hold));
        self.start(task, asked, trial).await;
        Ok(None)
    }

    async fn acquire(&mut self, tools: Vec<String>, most: usize, trials: Trials) -> Result<Acquired, StoreError> {
        let (lease, running) = (self.inner.options.lease, self.inner.running_here());
        let turns = Turns::new(self.turn, self.inner.options.workers, self.workers.accounts());
        let acquired = self.inner.store.acquire(&Wanted { tools, lease, most, trials, running, turns }).await?;
        self.turn = acquired.turn;
        for id in &acquired.set_aside {
            tracing::error!(%id, "a task is set aside: its last runs were lost; an operator has to retry or cancel it");
            count::set_aside();
        }
        Ok(acquired)
    }

    async fn start(&self, task: AcquiredTask, asked: Instant, trial: Option<OnTrial>) {
        let inner = self.inner;
        let worker = self.workers.take(&task.record.account).filter(|_| inner.takes_work());
        let Some(worker) = worker else {
            // The store was asked before the shutdown, and answered after it: another instance continues at once.
            conclude::hand_over(inner, claimed(&task), Duration::ZERO).await;
            return;
        };
        tokio::spawn(run(Arc::clone(inner), task, asked, worker, trial));
    }
}

/// The workers of an instance, and the accounts for which they work.
struct Workers {
    places: Arc<Semaphore>,
    accounts: Arc<Mutex<Vec<Account>>>,
}

/// A worker that has a run, for as long as the value lives.
pub(super) struct Worker {
    _place: OwnedSemaphorePermit,
    account: Account,
    accounts: Arc<Mutex<Vec<Account>>>,
}

impl Workers {
    fn new(number: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(number)), accounts: Arc::default() }
    }

    fn free(&self) -> usize {
        self.places.available_permits()
    }

    /// The account of each run.
    fn accounts(&self) -> Vec<Account> {
        lock(&self.accounts).clone()
    }

    fn take(&self, account: &Account) -> Option<Worker> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        lock(&self.accounts).push(account.clone());
        Some(Worker { _place: place, account: account.clone(), accounts: Arc::clone(&self.accounts) })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let mut accounts = lock(&self.accounts);
        if let Some(at) = accounts.iter().position(|account| *account == self.account) {
            accounts.swap_remove(at);
        }
    }
}

fn lock(accounts: &Mutex<Vec<Account>>) -> MutexGuard<'_, Vec<Account>> {
    accounts.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The run that has the task which was acquired.
fn claimed(task: &AcquiredTask) -> Run {
    Run { id: task.record.id, fence: task.record.fence }
}

/// The pause after an outage: longer than an instance needs to hand over the tasks that it could not hand over
/// meanwhile.
const PAUSE_AFTER_OUTAGE: Duration = Duration::from_secs(2);
const PAUSE_AFTER_NOTHING: Duration = Duration::from_millis(50);
