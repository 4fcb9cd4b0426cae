//! Tasks in memory: for tests, and for servers whose tasks may end with the process.

mod due;
mod indexes;
mod row;
mod tasks;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use mrtr_flow::{Clock, SystemClock};
use mrtr_state::Timestamp;
use tokio::sync::watch;

use super::{
    Acquired, Answer, Changes, Choice, Created, Cursor, EXPIRED_PASSED_OVER, KeptQuestion, KeptTask, LeaseKeeper,
    Limits, Listed, NewTask, Place, Recorded, Run, StoreError, Swept, TaskStore, Wanted,
};
use crate::record::{Change, Event};
use crate::{End, Owner, TaskId, TaskOptions, TaskRecord};
use row::Row;
use tasks::Tasks;

/// A store of tasks in memory. They end with the process: a server that should keep them takes a store on a disk.
///
/// ```
/// use mrtr_tasks::store::MemoryTaskStore;
///
/// let store = MemoryTaskStore::default();
/// # drop(store);
/// ```
pub struct MemoryTaskStore {
    clock: Arc<dyn Clock>,
    tasks: Arc<Mutex<Tasks>>,
    /// The number of changes so far.
    changes: watch::Sender<u64>,
}

impl MemoryTaskStore {
    /// Makes an empty store that goes by this clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, tasks: Arc::default(), changes: watch::Sender::new(0) }
    }

    fn tasks(&self) -> MutexGuard<'_, Tasks> {
        lock(&self.tasks)
    }

    fn tasks_now(&self) -> (MutexGuard<'_, Tasks>, Timestamp) {
        let mut tasks = self.tasks();
        let now = self.clock.now();
        tasks.clock.see(now);
        (tasks, now)
    }

    /// Changes a task and tells those who wait for changes.
    fn change<T>(
        &self,
        id: TaskId,
        change: impl FnOnce(&mut Row, Timestamp) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let (mut tasks, now) = self.tasks_now();
        let changed = tasks.change(id, |row| change(row, now))?;
        tasks.note(id);
        self.announce(&tasks);
        Ok(changed)
    }

    fn announce(&self, tasks: &Tasks) {
        self.changes.send_replace(tasks.last_change());
    }
}

fn lock(tasks: &Mutex<Tasks>) -> MutexGuard<'_, Tasks> {
    // No verb leaves a row half changed: they change it last.
    tasks.lock().unwrap_or_else(PoisonError::into_inner)
}

struct MemoryKeeper {
    clock: Arc<dyn Clock>,
    tasks: Arc<Mutex<Tasks>>,
}

impl LeaseKeeper for MemoryKeeper {
    fn renew(&mut self, runs: &[Run], lease: Duration) -> Vec<Result<(), StoreError>> {
        let mut tasks = lock(&self.tasks);
        let now = self.clock.now();
        tasks.clock.see(now);
        let mut renew = |run: &Run| {
            let renew = Event::Renew { fence: run.fence, lease };
            tasks.change(run.id, |row| Ok(row.apply(renew, now)?))
        };
        runs.iter().map(&mut renew).collect()
    }
}

impl Default for MemoryTaskStore {
    fn default() -> Self {
        Self::new(Arc::new(SystemClock::default()))
    }
}

impl fmt::Debug for MemoryTaskStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryTaskStore").field("tasks", &self.tasks().len()).finish_non_exhaustive()
    }
}

#[async_trait]
impl TaskStore for MemoryTaskStore {
    async fn now(&self) -> Result<Timestamp, StoreError> {
        Ok(self.clock.now())
    }

    fn outlives_process(&self) -> bool {
        false
    }

    fn usual_bytes(&self) -> u64 {
        TaskOptions::DEFAULT_MEMORY_BYTES
    }

    async fn create(&self, mut task: NewTask, limits: Limits) -> Result<Created, StoreError> {
        let (mut tasks, now) = self.tasks_now();
        if let Some(known) = tasks.of_flow(&(task.record.owner.clone(), task.record.flow)) {
            return Ok(Created { record: known.clone(), is_new: false });
        }
        let account = task.record.account.clone();
        let too_many = (tasks.open(&account) + 1).saturating_sub(limits.open);
        if limits.open > 0 && too_many > 0 {
            let expired = tasks.expired_of(&account, too_many.min(EXPIRED_PASSED_OVER), now);
            tasks.expire(&expired, now)?;
            self.announce(&tasks);
        }
        if tasks.open(&account) >= limits.open && tasks.open_at(&account, now) >= limits.open {
            return Err(StoreError::Full);
        }
        if tasks.row(task.record.id).is_ok() {
            return Err(StoreError::Store("another task has this id".into()));
        }
        (task.record.created, task.record.updated, task.record.due) = (now, now, Some(now));
        let (record, row) = (task.record.clone(), Row::new(task));
        limits.check_bytes(row.bytes(), tasks.bytes(&account))?;
        tasks.add(row);
        self.announce(&tasks);
        Ok(Created { record, is_new: true })
    }

    async fn acquire(&self, wanted: &Wanted) -> Result<Acquired, StoreError> {
        let (mut tasks, now) = self.tasks_now();
        let tools: BTreeSet<_> = wanted.tools.iter().map(String::as_str).collect();
        let running = &wanted.running;
        tasks.bound_waits(wanted, &tools, now)?;
        let mut set_aside = tasks.settle_lapsed_trials(&tools, running, now)?;
        let trials = tasks.on_trial(&tools, running, now);
        let (trial, others) = (trials.first().copied(), tasks.first_attention(&tools, running, now));
        let others = others.filter(|attention| *attention <= now);
        let choice = wanted.choose(trial.map(|(due, _)| due), others, tasks.is_one_reserved(now), now);
        let mut turns = wanted.turns.clone();
        let mut acquired = match (choice, trial) {
            (Choice::Others, _) => tasks.acquire_others(wanted, &mut turns, &tools, now)?,
            (Choice::Trial, Some((_, place))) => tasks.acquire_trial(wanted, place, now)?,
            (Choice::Reserve, Some((_, place))) => {
                tasks.change_at(place, |row| Ok(row.apply(wanted.reserve_event(), now)?))?;
                Acquired::default()
            }
            _ => Acquired::default(),
        };
        acquired.trial_waits = matches!(choice, Choice::Reserve | Choice::Tell);
        set_aside.append(&mut acquired.set_aside);
        acquired.set_aside = set_aside;
        let next = tasks.next_of_accounts(wanted, &turns, &tools, now).into_iter();
        let next = next.chain(tasks.next_trial(&tools, running, now)).min().map(|next| next.since(now));
        acquired.next = acquired.next.into_iter().chain(next).min();
        acquired.turn = acquired.turn.or(wanted.turns.after());
        self.announce(&tasks);
        Ok(acquired)
    }

    async fn renew(&self, run: Run, lease: Duration, message: Option<Vec<u8>>) -> Result<(), StoreError> {
        let renew = Event::Renew { fence: run.fence, lease };
        if let Some(message) = message {
            return self.change(run.id, |row, now| {
                row.apply(renew, now)?;
                row.apply(Event::Record { fence: run.fence, change: Change::default() }, now)?;
                row.message = Some(message);
                Ok(())
            });
        }
        // No caller waits for a renewal, so it counts as no change.
        let (mut tasks, now) = self.tasks_now();
        tasks.change(run.id, |row| Ok(row.apply(renew, now)?))
    }

    fn lease_keeper(&self) -> Box<dyn LeaseKeeper> {
        Box::new(MemoryKeeper { clock: Arc::clone(&self.clock), tasks: Arc::clone(&self.tasks) })
    }

    async fn accompany(&self, run: Run) -> Result<(), StoreError> {
        let (mut tasks, now) = self.tasks_now();
        tasks.change(run.id, |row| Ok(row.apply(Event::Accompany { fence: run.fence }, now)?))
    }

    async fn record(&self, run: Run, recorded: Recorded) -> Result<(), StoreError> {
        self.change(run.id, |row, now| row.record(recorded, now, |change| Event::Record { fence: run.fence, change }))
    }

    async fn compact(&self, run: Run, first: usize, entries: Vec<u8>) -> Result<(), StoreError> {
        // A change of the entries cannot be seen from outside.
        let (mut tasks, now) = self.tasks_now();
        tasks.change(run.id, |row| {
            row.record.clone().apply(Event::Renew { fence: run.fence, lease: Duration::ZERO }, now)?;
            row.compact(first, entries);
            Ok(())
        })
    }

    async fn park(&self, run: Run, recorded: Recorded, look_again: Option<Duration>) -> Result<(), StoreError> {
        self.change(run.id, |row, now| {
            row.record(recorded, now, |change| Event::Park { fence: run.fence, change, look_again })
        })
    }

    async fn hand_over(&self, run: Run, pause: Duration) -> Result<(), StoreError> {
        self.change(run.id, |row, now| Ok(row.apply(Event::HandOver { fence: run.fence, pause }, now)?))
    }

    async fn finish(&self, run: Run, end: End, result: Vec<u8>) -> Result<(), StoreError> {
        self.change(run.id, |row, now| {
            row.apply(Event::Finish { fence: run.fence, end }, now)?;
            row.add_result(result);
            Ok(())
        })
    }

    async fn answer(&self, id: TaskId, owner: &Owner, answers: Vec<Answer>) -> Result<Vec<String>, StoreError> {
        let (mut tasks, now) = self.tasks_now();
        let answered = tasks.change(id, |row| {
            row.check_owner(Some(owner))?;
            Ok(row.answer(answers, now)?)
        })?;
        if !answered.is_empty() {
            tasks.note(id);
            self.announce(&tasks);
        }
        Ok(answered)
    }

    async fn ask_anew(&self, id: TaskId, owner: &Owner, key: &str, again: KeptQuestion) -> Result<bool, StoreError> {
        let (mut tasks, now) = self.tasks_now();
        let is_asked = tasks.change(id, |row| {
            row.check_owner(Some(owner))?;
            row.ask_anew(key, again, now)
        })?;
        if is_asked {
            tasks.note(id);
            self.announce(&tasks);
        }
        Ok(is_asked)
    }

    async fn wake(&self, id: TaskId) -> Result<(), StoreError> {
        self.change(id, |row, now| Ok(row.apply(Event::Wake, now)?))
    }

    async fn cancel(&self, id: TaskId, owner: Option<&Owner>) -> Result<(), StoreError> {
        self.change(id, |row, now| {
            row.check_owner(owner)?;
            Ok(row.apply(Event::Cancel, now)?)
        })
    }

    async fn retry(&self, id: TaskId) -> Result<(), StoreError> {
        self.change(id, |row, now| Ok(row.apply(Event::Retry, now)?))
    }

    async fn get(&self, id: TaskId, owner: Option<&Owner>) -> Result<KeptTask, StoreError> {
        let tasks = self.tasks();
        let row = tasks.row(id)?;
        row.check_owner(owner)?;
        let (record, open, now) = (row.record.clone(), row.open(), self.clock.now());
        Ok(KeptTask { record, now, open, message: row.message.clone(), result: row.result.clone() })
    }

    async fn records(&self, ids: &[TaskId]) -> Result<Vec<TaskRecord>, StoreError> {
        let tasks = self.tasks();
        Ok(ids.iter().filter_map(|id| tasks.row(*id).ok()).map(|row| row.record.clone()).collect())
    }

    async fn list(&self, owner: Option<&Owner>, after: Option<Place>, most: usize) -> Result<Vec<Listed>, StoreError> {
        let first = after.map_or(0, |Place(place)| place.saturating_add(1));
        let listed = self.tasks().list(owner, first, most).into_iter();
        Ok(listed.map(|(place, record)| Listed { place: Place(place), record }).collect())
    }

    async fn sweep(&self, most: usize) -> Result<Swept, StoreError> {
        let (mut tasks, now) = self.tasks_now();
        let expired = tasks.expired(most, now);
        tasks.expire(&expired, now)?;
        let removed = tasks.removable(most, now);
        for &place in &removed {
            tasks.remove(place);
        }
        self.announce(&tasks);
        Ok(Swept { expired: expired.len(), removed: removed.len() })
    }

    async fn cursor(&self) -> Result<Cursor, StoreError> {
        Ok(Cursor(self.tasks().last_change()))
    }

    async fn changed(&self, since: Cursor) -> Result<Changes, StoreError> {
        let mut changes = self.changes.subscribe();
        changes.wait_for(|&last| last > since.0).await.map_err(|error| StoreError::Store(error.into()))?;
        Ok(self.tasks().changes(since))
    }
}
