//! Who waits for a task to change, on this instance: one listener to the store for all of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use crate::TaskId;
use crate::store::{Changed, TaskStore};

/// Tells those who wait for a task that it may have changed.
#[derive(Debug, Default)]
pub(crate) struct Hub(Mutex<Watched>);

#[derive(Debug, Default)]
struct Watched {
    tasks: HashMap<TaskId, watch::Sender<()>>,
    /// How many there may be before those who went away are looked for.
    room: usize,
}

impl Hub {
    /// Registers for changes of a task: whoever does so and reads the task afterwards misses none.
    pub(crate) fn watch(&self, id: TaskId) -> watch::Receiver<()> {
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Those who went away are forgotten by those who come, a few at a time on the whole.
        if watched.tasks.len() >= watched.room {
            watched.tasks.retain(|_, sender| !sender.is_closed());
            watched.room = 2 * watched.tasks.len() + 16;
        }
        watched.tasks.entry(id).or_insert_with(|| watch::Sender::new(())).subscribe()
    }

    fn tell(&self, changed: &Changed) {
        let watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match changed {
            Changed::These(ids) => {
                ids.iter().filter_map(|id| watched.tasks.get(id)).for_each(|sender| sender.send_replace(()));
            }
            Changed::Many => watched.tasks.values().for_each(|sender| sender.send_replace(())),
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
                    tracing::warn!(error = &error as &dyn std::error::Error, "changes of tasks cannot be heard");
                    // What was missed meanwhile is not known.
                    self.tell(&Changed::Many);
                    tokio::time::sleep(PAUSE_AFTER_FAILURE).await;
                }
            }
        }
    }
}

const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);
