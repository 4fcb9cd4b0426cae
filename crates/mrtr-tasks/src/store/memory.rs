//! Tasks in memory: for tests, and for servers whose tasks may end with the process.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use mrtr_server::extend::{Clock, SystemClock};
use mrtr_state::Timestamp;
use tokio::sync::watch;

use super::{
    Acquired, AcquiredTask, Answer, Changed, Changes, Created, Cursor, FlowKey, KeptQuestion, KeptTask, Listed,
    NewTask, Place, Recorded, Run, StoreError, Swept, TaskStore, Wanted,
};
use crate::record::{Change, Event, Refusal};
use crate::{End, Owner, TaskId, TaskRecord};

/// Tasks in memory. They end with the process: a server that should keep them takes a store on a disk.
///
/// ```
/// use mrtr_tasks::store::MemoryTaskStore;
///
/// let store = MemoryTaskStore::default();
/// # drop(store);
/// ```
pub struct MemoryTaskStore {
    clock: Arc<dyn Clock>,
    tasks: Mutex<Tasks>,
    /// How many changes there were.
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct Tasks {
    /// In the order of their creation.
    by_place: BTreeMap<u64, Row>,
    places: HashMap<TaskId, u64>,
    flows: HashMap<FlowKey, TaskId>,
    /// What changed last, the newest last.
    changed: BTreeMap<u64, TaskId>,
    last_place: u64,
}

struct Row {
    record: TaskRecord,
    call: Vec<u8>,
    entries: Vec<Vec<u8>>,
    /// In the order in which they were opened; without a body once it is not open any more.
    questions: Vec<(String, Option<Vec<u8>>)>,
    message: Option<Vec<u8>>,
    result: Option<Vec<u8>>,
    /// The last change of it.
    change: u64,
}

impl MemoryTaskStore {
    /// Goes by this clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, tasks: Mutex::default(), changes: watch::Sender::new(0) }
    }

    fn tasks(&self) -> MutexGuard<'_, Tasks> {
        // No verb leaves a row half changed: they change it last.
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies an event to a task and tells those who wait for changes.
    fn change<T>(
        &self,
        id: TaskId,
        change: impl FnOnce(&mut Row, Timestamp) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let now = self.clock.now();
        let mut tasks = self.tasks();
        let row = tasks.row(id)?;
        let changed = change(row, now)?;
        self.note(&mut tasks, id);
        Ok(changed)
    }

    fn note(&self, tasks: &mut Tasks, id: TaskId) {
        let number = *self.changes.borrow() + 1;
        if let Ok(row) = tasks.row(id) {
            let before = std::mem::replace(&mut row.change, number);
            tasks.changed.remove(&before);
        }
        tasks.changed.insert(number, id);
        self.changes.send_replace(number);
    }
}

impl Default for MemoryTaskStore {
    fn default() -> Self {
        Self::new(Arc::new(SystemClock::default()))
    }
}

impl fmt::Debug for MemoryTaskStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryTaskStore").field("tasks", &self.tasks().by_place.len()).finish_non_exhaustive()
    }
}

impl Tasks {
    fn row(&mut self, id: TaskId) -> Result<&mut Row, StoreError> {
        let place = self.places.get(&id).ok_or(StoreError::NotFound)?;
        self.by_place.get_mut(place).ok_or(StoreError::NotFound)
    }

    fn remove(&mut self, place: u64) {
        if let Some(Row { record, change, .. }) = self.by_place.remove(&place) {
            self.places.remove(&record.id);
            self.flows.remove(&(record.owner, record.flow));
            self.changed.remove(&change);
        }
    }
}

impl Row {
    fn check_owner(&self, owner: Option<&Owner>) -> Result<(), StoreError> {
        if owner.is_none_or(|owner| *owner == self.record.owner) { Ok(()) } else { Err(StoreError::NotFound) }
    }

    fn apply(&mut self, event: Event<'_>, now: Timestamp) -> Result<(), Refusal> {
        self.record.apply(event, now)?;
        if self.record.ended.is_some() {
            (self.entries, self.questions) = Default::default();
        }
        Ok(())
    }

    fn record(
        &mut self,
        recorded: Recorded,
        now: Timestamp,
        event: impl FnOnce(Change<'_>) -> Event<'_>,
    ) -> Result<(), StoreError> {
        let Recorded { entries, opened, retired, progressed, lasts, message } = recorded;
        let opened_keys: Vec<_> = opened.iter().map(|question| question.key.clone()).collect();
        if let Some(used) = opened_keys.iter().find(|key| self.questions.iter().any(|(known, _)| known == *key)) {
            return Err(StoreError::KeyUsed(used.clone()));
        }
        self.apply(event(Change { opened: &opened_keys, retired: &retired, progressed, lasts }), now)?;
        self.close(&retired);
        self.questions.extend(opened.into_iter().map(|question| (question.key, Some(question.body))));
        self.entries.extend(entries);
        self.message = message.or(self.message.take());
        Ok(())
    }

    fn close(&mut self, keys: &[String]) {
        let closed = self.questions.iter_mut().filter(|(key, _)| keys.contains(key));
        closed.for_each(|(_, body)| *body = None);
    }

    fn open(&self) -> Vec<KeptQuestion> {
        let open = |(key, body): &(String, Option<Vec<u8>>)| {
            let body = body.clone()?;
            Some(KeptQuestion { key: key.clone(), body })
        };
        self.questions.iter().filter_map(open).collect()
    }

    fn used(&self) -> Vec<String> {
        self.questions.iter().filter(|(_, body)| body.is_none()).map(|(key, _)| key.clone()).collect()
    }
}

#[async_trait]
impl TaskStore for MemoryTaskStore {
    async fn now(&self) -> Result<Timestamp, StoreError> {
        Ok(self.clock.now())
    }

    async fn create(&self, task: NewTask, most_open: usize) -> Result<Created, StoreError> {
        let now = self.clock.now();
        let NewTask { mut record, call, entries } = task;
        let mut tasks = self.tasks();
        let flow = (record.owner.clone(), record.flow);
        if let Some(&id) = tasks.flows.get(&flow) {
            return Ok(Created { record: tasks.row(id)?.record.clone(), is_new: false });
        }
        let open = tasks.by_place.values().filter(|row| row.record.owner == record.owner && row.record.ended.is_none());
        if open.count() >= most_open {
            return Err(StoreError::Full);
        }
        (record.created, record.updated, record.due) = (now, now, Some(now));
        let (id, row) = (record.id, record.clone());
        tasks.last_place += 1;
        let place = tasks.last_place;
        tasks.places.insert(id, place);
        tasks.flows.insert(flow, id);
        let entries = entries.into_iter().collect();
        let row = Row { record: row, call, entries, questions: Vec::new(), message: None, result: None, change: 0 };
        tasks.by_place.insert(place, row);
        self.note(&mut tasks, id);
        Ok(Created { record, is_new: true })
    }

    async fn acquire(&self, wanted: &Wanted) -> Result<Acquired, StoreError> {
        let now = self.clock.now();
        let mut tasks = self.tasks();
        let mut due: Vec<_> = tasks
            .by_place
            .values()
            .filter(|row| row.record.end(now).is_none() && wanted.tools.contains(&row.record.tool))
            .filter_map(|row| Some((row.record.attention()?, row.record.id)))
            .collect();
        due.sort_unstable();
        let mut acquired = Acquired::default();
        for (attention, id) in due {
            if attention > now || acquired.tasks.len() == wanted.most {
                acquired.next = Some(attention.since(now));
                break;
            }
            let row = tasks.row(id)?;
            if row.apply(Event::Acquire { lease: wanted.lease }, now).is_err() {
                continue;
            }
            if row.record.leased_until.is_some() {
                acquired.tasks.push(AcquiredTask {
                    record: row.record.clone(),
                    call: row.call.clone(),
                    entries: row.entries.clone(),
                    open: row.open(),
                    used: row.used(),
                });
            } else if let Some(attention) = row.record.attention() {
                let pause = attention.since(now);
                acquired.next = Some(acquired.next.map_or(pause, |next| next.min(pause)));
            }
            self.note(&mut tasks, id);
        }
        Ok(acquired)
    }

    async fn renew(&self, run: Run, lease: Duration, message: Option<Vec<u8>>) -> Result<(), StoreError> {
        self.change(run.id, |row, now| {
            row.apply(Event::Renew { fence: run.fence, lease }, now)?;
            row.message = message.or(row.message.take());
            Ok(())
        })
    }

    async fn record(&self, run: Run, recorded: Recorded) -> Result<(), StoreError> {
        self.change(run.id, |row, now| row.record(recorded, now, |change| Event::Record { fence: run.fence, change }))
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
            row.result = Some(result);
            Ok(())
        })
    }

    async fn answer(&self, id: TaskId, owner: &Owner, answers: Vec<Answer>) -> Result<Vec<String>, StoreError> {
        self.change(id, |row, now| {
            row.check_owner(Some(owner))?;
            let mut answered: Vec<String> = Vec::new();
            for answer in &answers {
                if row.record.open.contains(&answer.key) && !answered.contains(&answer.key) {
                    answered.push(answer.key.clone());
                }
            }
            row.apply(Event::Answer { keys: &answered }, now)?;
            for key in &answered {
                let first = answers.iter().find(|answer| answer.key == *key);
                row.entries.extend(first.map(|answer| answer.entry.clone()));
            }
            row.close(&answered);
            Ok(answered)
        })
    }

    async fn ask_anew(&self, id: TaskId, owner: &Owner, key: &str, again: KeptQuestion) -> Result<bool, StoreError> {
        self.change(id, |row, now| {
            row.check_owner(Some(owner))?;
            if row.questions.iter().any(|(known, _)| *known == again.key) {
                return Err(StoreError::KeyUsed(again.key));
            }
            let retired = key.to_owned();
            let was_open = row.record.open.contains(&retired);
            row.apply(Event::AskAnew { retired: &retired, opened: &again.key }, now)?;
            if was_open {
                row.close(&[retired]);
                row.questions.push((again.key, Some(again.body)));
            }
            Ok(was_open)
        })
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
        let now = self.clock.now();
        let mut tasks = self.tasks();
        let row = tasks.row(id)?;
        row.check_owner(owner)?;
        let (record, open) = (row.record.clone(), row.open());
        Ok(KeptTask { record, now, open, message: row.message.clone(), result: row.result.clone() })
    }

    async fn list(&self, owner: Option<&Owner>, after: Option<Place>, most: usize) -> Result<Vec<Listed>, StoreError> {
        let tasks = self.tasks();
        let first = after.map_or(0, |Place(place)| place.saturating_add(1));
        let rows = tasks.by_place.range(first..).filter(|(_, row)| row.check_owner(owner).is_ok());
        let listed = rows.map(|(&place, row)| Listed { place: Place(place), record: row.record.clone() });
        Ok(listed.take(most).collect())
    }

    async fn sweep(&self, most: usize) -> Result<Swept, StoreError> {
        let now = self.clock.now();
        let mut tasks = self.tasks();
        let over = |row: &&Row| row.record.ended.is_none() && row.record.end(now).is_some();
        let expired: Vec<_> = tasks.by_place.values().filter(over).map(|row| row.record.id).take(most).collect();
        for &id in &expired {
            tasks.row(id)?.apply(Event::Expire, now)?;
            self.note(&mut tasks, id);
        }
        let removable = |row: &Row| row.record.removable().is_some_and(|moment| moment <= now);
        let removed: Vec<_> =
            tasks.by_place.iter().filter(|(_, row)| removable(row)).map(|(&place, _)| place).take(most).collect();
        removed.iter().for_each(|&place| tasks.remove(place));
        Ok(Swept { expired: expired.len(), removed: removed.len() })
    }

    async fn cursor(&self) -> Result<Cursor, StoreError> {
        Ok(Cursor(*self.changes.borrow()))
    }

    async fn changed(&self, since: Cursor) -> Result<Changes, StoreError> {
        let mut changes = self.changes.subscribe();
        let until = *changes.wait_for(|&last| last > since.0).await.map_err(|error| StoreError::Store(error.into()))?;
        let tasks = self.tasks();
        let changed: Vec<_> = tasks.changed.range(since.0 + 1..=until).map(|(_, &id)| id).collect();
        Ok(Changes { changed: Changed::These(changed), until: Cursor(until) })
    }
}
