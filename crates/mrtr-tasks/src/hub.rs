//! Notices of changes of tasks on this instance: one listener to the store serves all that wait.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{Notify, watch};

use crate::TaskId;
use crate::store::{Changed, KeptTask, StoreError, TaskStore};

/// Tells those who wait for a task that it may have changed. Clones share one state.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hub(Arc<Mutex<Watched>>);

#[derive(Debug, Default)]
struct Watched {
    tasks: HashMap<TaskId, watch::Sender<()>>,
    /// The number of tasks at which those that no caller watches any more are removed.
    room: usize,
    followed: HashMap<TaskId, FollowedTask>,
}

/// A task that subscriptions follow.
#[derive(Debug, Default)]
struct FollowedTask {
    followers: Vec<Weak<Follower>>,
    /// The number of notices that it may have changed.
    told: u64,
    /// The task as it was read since the last notice: all that look at it at once share one copy.
    shared: Weak<KeptTask>,
}

impl FollowedTask {
    fn tell(&mut self, id: TaskId) {
        (self.told, self.shared) = (self.told + 1, Weak::new());
        self.followers.iter().filter_map(Weak::upgrade).for_each(|follower| follower.tell(id));
    }
}

/// A subscription to tasks.
#[derive(Debug, Default)]
struct Follower {
    changed: Mutex<BTreeSet<TaskId>>,
    noted: Notify,
}

impl Follower {
    fn changed(&self) -> MutexGuard<'_, BTreeSet<TaskId>> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, id: TaskId) {
        self.changed().insert(id);
        self.noted.notify_one();
    }
}

/// Follows tasks for as long as it lives.
#[derive(Debug)]
pub(crate) struct Following {
    hub: Hub,
    ids: BTreeSet<TaskId>,
    follower: Arc<Follower>,
}

impl Following {
    /// Waits until tasks may have changed, and returns them: the first time, all of them.
    pub(crate) async fn changed(&self) -> BTreeSet<TaskId> {
        loop {
            let noted = self.follower.noted.notified();
            let changed = std::mem::take(&mut *self.follower.changed());
            if !changed.is_empty() {
                return changed;
            }
            noted.await;
        }
    }

    /// Reads a task as it stands, in a copy that all share who look at it meanwhile.
    pub(crate) async fn read(&self, id: TaskId, store: &Arc<dyn TaskStore>) -> Result<Arc<KeptTask>, StoreError> {
        let told = {
            let watched = self.hub.watched();
            let task = watched.followed.get(&id);
            if let Some(shared) = task.and_then(|task| task.shared.upgrade()) {
                return Ok(shared);
            }
            task.map(|task| task.told)
        };
        let read = Arc::new(store.get(id, None).await?);
        let mut watched = self.hub.watched();
        if let Some(task) = watched.followed.get_mut(&id).filter(|task| Some(task.told) == told) {
            task.shared = Arc::downgrade(&read);
        }
        Ok(read)
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let mut watched = self.hub.watched();
        for id in &self.ids {
            let Some(task) = watched.followed.get_mut(id) else { continue };
            task.followers.retain(|follower| !std::ptr::eq(follower.as_ptr(), Arc::as_ptr(&self.follower)));
            if task.followers.is_empty() {
                watched.followed.remove(id);
            }
        }
    }
}

impl Hub {
    /// Registers for changes of a task: a caller that reads the task afterwards misses none.
    pub(crate) fn watch(&self, id: TaskId) -> watch::Receiver<()> {
        let mut watched = self.watched();
        // A new caller removes the tasks whose watchers went away, on average a few at a time.
        if watched.tasks.len() >= watched.room {
            watched.tasks.retain(|_, sender| !sender.is_closed());
            watched.room = 2 * watched.tasks.len() + 16;
        }
        watched.tasks.entry(id).or_insert_with(|| watch::Sender::new(())).subscribe()
    }

    /// Follows these tasks: all of them count as changed at first, so that a subscriber misses nothing.
    pub(crate) fn follow(&self, ids: BTreeSet<TaskId>) -> Following {
        let follower = Arc::new(Follower::default());
        follower.changed().clone_from(&ids);
        let mut watched = self.watched();
        for id in &ids {
            watched.followed.entry(*id).or_default().followers.push(Arc::downgrade(&follower));
        }
        drop(watched);
        Following { hub: self.clone(), ids, follower }
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, changed: &Changed) {
        let mut watched = self.watched();
        match changed {
            Changed::These(ids) => {
                ids.iter().filter_map(|id| watched.tasks.get(id)).for_each(|sender| sender.send_replace(()));
                for id in ids {
                    watched.followed.get_mut(id).into_iter().for_each(|task| task.tell(*id));
                }
            }
            Changed::Many => {
                watched.tasks.values().for_each(|sender| sender.send_replace(()));
                watched.followed.iter_mut().for_each(|(id, task)| task.tell(*id));
            }
        }
    }

    /// Listens to the store for as long as it is polled.
    pub(crate) async fn listen(&self, store: &Arc<dyn TaskStore>) {
        let mut since = None;
        loop {
            let heard = match since {
                None => store.cursor().await.map(|cursor| (Changed::Many, cursor)),
                Some(cursor) => store.changed(cursor).await.map(|changes| (changes.changed, changes.until)),
            };
            match heard {
                Ok((changed, until)) => {
                    since = Some(until);
                    self.tell(&changed);
                }
                Err(error) => {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "changes of tasks cannot be read from the store"
                    );
                    // The changes that it missed meanwhile are not known.
                    self.tell(&Changed::Many);
                    tokio::time::sleep(PAUSE_AFTER_FAILURE).await;
                }
            }
        }
    }
}

const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);
