//! A store that fails, hangs or counts, verb by verb.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use mrtr_state::Timestamp;
use mrtr_tasks::store::{
    Acquired, Answer, Changes, Created, Cursor, KeptQuestion, KeptTask, LeaseKeeper, Limits, Listed, NewTask, Place,
    Recorded, Run, StoreError, Swept, TaskStore, Wanted,
};
use mrtr_tasks::{End, Owner, TaskId, TaskRecord};
use tokio::sync::Notify;

/// A fault of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The store says that it failed, and did nothing.
    Fails,
    /// The store says that it has too much to do, and did nothing.
    Busy,
    /// The store says that it failed, and did it all the same.
    FailsAfterwards,
    /// The store does not answer until all is well again, and then says that it failed.
    Hangs,
}

/// A store over another one.
#[derive(Debug)]
pub(crate) struct Faulty {
    inner: Arc<dyn TaskStore>,
    faults: Mutex<HashMap<&'static str, (Fault, usize)>>,
    called: Mutex<HashMap<&'static str, usize>>,
    /// The tasks that the last runner which wanted work said it runs.
    running: Mutex<Vec<TaskId>>,
    healed: Notify,
}

impl Faulty {
    pub(crate) fn over(inner: Arc<dyn TaskStore>) -> Arc<Self> {
        let (faults, called, running) = (Mutex::default(), Mutex::default(), Mutex::default());
        Arc::new(Self { inner, faults, called, running, healed: Notify::new() })
    }

    /// Makes a verb go wrong, so many times from now.
    pub(crate) fn fault(&self, verb: &'static str, fault: Fault, times: usize) {
        self.faults.lock().unwrap().insert(verb, (fault, times));
    }

    /// Makes all well again.
    pub(crate) fn heal(&self) {
        self.faults.lock().unwrap().clear();
        self.healed.notify_waiters();
    }

    pub(crate) fn calls(&self, verb: &str) -> usize {
        self.called.lock().unwrap().get(verb).copied().unwrap_or_default()
    }

    pub(crate) fn running(&self) -> Vec<TaskId> {
        self.running.lock().unwrap().clone()
    }

    pub(crate) fn all_calls(&self) -> usize {
        self.called.lock().unwrap().values().sum()
    }

    async fn through<T>(
        &self,
        verb: &'static str,
        inner: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        *self.called.lock().unwrap().entry(verb).or_default() += 1;
        let fault = {
            let mut faults = self.faults.lock().unwrap();
            faults.get_mut(verb).filter(|(_, times)| *times > 0).map(|(fault, times)| {
                *times -= 1;
                *fault
            })
        };
        let failed = || StoreError::Store("the disk is on fire".into());
        match fault {
            None => inner.await,
            Some(Fault::Fails) => Err(failed()),
            Some(Fault::Busy) => Err(StoreError::Busy("no connection was free".into())),
            Some(Fault::FailsAfterwards) => inner.await.and_then(|_| Err(failed())),
            Some(Fault::Hangs) => {
                self.healed.notified().await;
                Err(failed())
            }
        }
    }
}

#[async_trait]
impl TaskStore for Faulty {
    async fn now(&self) -> Result<Timestamp, StoreError> {
        self.through("now", self.inner.now()).await
    }

    async fn create(&self, task: NewTask, limits: Limits) -> Result<Created, StoreError> {
        self.through("create", self.inner.create(task, limits)).await
    }

    async fn acquire(&self, wanted: &Wanted) -> Result<Acquired, StoreError> {
        self.running.lock().unwrap().clone_from(&wanted.running);
        self.through("acquire", self.inner.acquire(wanted)).await
    }

    async fn renew(&self, run: Run, lease: Duration, message: Option<Vec<u8>>) -> Result<(), StoreError> {
        self.through("renew", self.inner.renew(run, lease, message)).await
    }

    fn lease_keeper(&self) -> Box<dyn LeaseKeeper> {
        self.inner.lease_keeper()
    }

    async fn accompany(&self, run: Run) -> Result<(), StoreError> {
        self.through("accompany", self.inner.accompany(run)).await
    }

    async fn record(&self, run: Run, recorded: Recorded) -> Result<(), StoreError> {
        self.through("record", self.inner.record(run, recorded)).await
    }

    async fn compact(&self, run: Run, first: usize, entries: Vec<u8>) -> Result<(), StoreError> {
        self.through("compact", self.inner.compact(run, first, entries)).await
    }

    async fn park(&self, run: Run, recorded: Recorded, look_again: Option<Duration>) -> Result<(), StoreError> {
        self.through("park", self.inner.park(run, recorded, look_again)).await
    }

    async fn hand_over(&self, run: Run, pause: Duration) -> Result<(), StoreError> {
        self.through("hand_over", self.inner.hand_over(run, pause)).await
    }

    async fn finish(&self, run: Run, end: End, result: Vec<u8>) -> Result<(), StoreError> {
        self.through("finish", self.inner.finish(run, end, result)).await
    }

    async fn answer(&self, id: TaskId, owner: &Owner, answers: Vec<Answer>) -> Result<Vec<String>, StoreError> {
        self.through("answer", self.inner.answer(id, owner, answers)).await
    }

    async fn ask_anew(&self, id: TaskId, owner: &Owner, key: &str, again: KeptQuestion) -> Result<bool, StoreError> {
        self.through("ask_anew", self.inner.ask_anew(id, owner, key, again)).await
    }

    async fn wake(&self, id: TaskId) -> Result<(), StoreError> {
        self.through("wake", self.inner.wake(id)).await
    }

    async fn cancel(&self, id: TaskId, owner: Option<&Owner>) -> Result<(), StoreError> {
        self.through("cancel", self.inner.cancel(id, owner)).await
    }

    async fn retry(&self, id: TaskId) -> Result<(), StoreError> {
        self.through("retry", self.inner.retry(id)).await
    }

    async fn get(&self, id: TaskId, owner: Option<&Owner>) -> Result<KeptTask, StoreError> {
        self.through("get", self.inner.get(id, owner)).await
    }

    async fn records(&self, ids: &[TaskId]) -> Result<Vec<TaskRecord>, StoreError> {
        self.through("records", self.inner.records(ids)).await
    }

    async fn list(&self, owner: Option<&Owner>, after: Option<Place>, most: usize) -> Result<Vec<Listed>, StoreError> {
        self.through("list", self.inner.list(owner, after, most)).await
    }

    async fn sweep(&self, most: usize) -> Result<Swept, StoreError> {
        self.through("sweep", self.inner.sweep(most)).await
    }

    async fn cursor(&self) -> Result<Cursor, StoreError> {
        self.through("cursor", self.inner.cursor()).await
    }

    async fn changed(&self, since: Cursor) -> Result<Changes, StoreError> {
        self.through("changed", self.inner.changed(since)).await
    }
}
