//! A caller that gives up on a call: the task that it became is cancelled, since no other caller knows of it.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::Handle;

use super::Client;
use super::drive::CompletedCall;
use crate::{CallError, PendingCall, PendingTask};

/// The task that a call has become, if it has.
pub(super) type BecameTask = Arc<Mutex<Option<PendingTask>>>;

impl Client {
    /// Runs a call to its end; if the future is dropped before that, the task that it has become is cancelled.
    pub(super) async fn drive_or_cancel(&self, pending: PendingCall) -> Result<CompletedCall, CallError> {
        let guard = CancelOnDrop { client: self, task: BecameTask::default() };
        let ended = self.drive(pending, Some(&guard.task)).await;
        // Whoever has the error has the call, and with it the task.
        guard.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        ended
    }
}

struct CancelOnDrop<'a> {
    client: &'a Client,
    task: BecameTask,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        let Some(task) = self.task.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        // Without a runtime the task is left to its time.
        let Ok(runtime) = Handle::try_current() else { return };
        let client = self.client.clone();
        runtime.spawn(async move {
            if let Err(error) = client.cancel_task(&task).await {
                tracing::info!(task = task.id(), %error, "a task whose caller gave up could not be cancelled");
            }
        });
    }
}
