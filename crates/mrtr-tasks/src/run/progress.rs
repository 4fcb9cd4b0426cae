//! The progress of a flow: clients see its last message in the state of the task.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use mrtr_flow::NotificationSink;
use mrtr_schema::{Json, LoggingLevel};
use tokio::sync::Notify;
use tokio::time::Instant;

/// The last message of a run that was not kept yet. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Progress(Arc<Last>);

#[derive(Default)]
struct Last {
    message: Mutex<Option<String>>,
    noted: Notify,
}

impl Progress {
    /// Takes the message, to be kept.
    pub(super) fn take(&self) -> Option<String> {
        self.message().take()
    }

    /// Waits for a message, and until this moment: a flow that says much is heard only now and then.
    pub(super) async fn noted(&self, earliest: Instant) {
        loop {
            let mut noted = std::pin::pin!(self.0.noted.notified());
            noted.as_mut().enable();
            if self.message().is_some() {
                break;
            }
            noted.await;
        }
        tokio::time::sleep_until(earliest).await;
    }

    fn message(&self) -> MutexGuard<'_, Option<String>> {
        self.0.message.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl NotificationSink for Progress {
    async fn progress(&self, update: mrtr_flow::Progress) {
        let text = update.message.unwrap_or_else(|| match update.total {
            Some(total) => format!("{} of {total}", update.progress),
            None => update.progress.to_string(),
        });
        *self.message() = Some(text);
        self.0.noted.notify_waiters();
    }

    /// Log messages of a task have no reader.
    async fn log(&self, _: LoggingLevel, _: Json) {}
}
