//! `tasks/result` of the older revisions: it blocks while the task works, and holds neither a worker nor a request's
//! permit.

use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, PoisonError};

use futures_util::{StreamExt, stream};
use mrtr_schema::{ClientCapabilities, ErrorCode, Json};
use mrtr_server::ProtocolError;
use mrtr_server::extend::{ExtensionMessage, ExtensionReply, ExtensionRequest};

use super::{not_found, task_id};
use crate::body::internal_error;
use crate::tasks::{Inner, Phase, Tasks};
use crate::{Owner, TaskId};

impl Tasks {
    pub(super) async fn result(&self, request: &ExtensionRequest<'_>) -> Result<ExtensionReply, ProtocolError> {
        let task = self.find_allowed(request, &task_id(request)?).await?;
        if let Some(result) = self.0.core_result(&task, request.capabilities)? {
            return Ok(result.into());
        }
        let blocked = Blocked::new(&self.0, &task.record.owner)?;
        let (id, owner, capabilities) = (task.record.id, task.record.owner, request.capabilities.clone());
        let result = async move {
            let result = blocked.0.wait_for_result(id, &owner, &capabilities).await;
            ExtensionMessage::Result(result)
        };
        Ok(ExtensionReply::Stream(stream::once(result).boxed()))
    }
}

impl Inner {
    async fn wait_for_result(
        &self,
        id: TaskId,
        owner: &Owner,
        capabilities: &ClientCapabilities,
    ) -> Result<Json, ProtocolError> {
        // It registers before it reads, so that it hears of a change between the two.
        let mut changes = self.hub.watch(id);
        let mut phase = self.phase.subscribe();
        loop {
            changes.mark_unchanged();
            let task = self.store.get(id, Some(owner)).await.map_err(|error| not_found(&error))?;
            if let Some(result) = self.core_result(&task, capabilities)? {
                return Ok(result);
            }
            let expires = task.record.expires().map(|end| end.since(task.now));
            tokio::select! {
                _ = changes.changed() => {}
                // No change tells that its time is over.
                () = async { tokio::time::sleep(expires.unwrap_or_default()).await }, if expires.is_some() => {}
                _ = phase.wait_for(|phase| *phase != Phase::Running) => {
                    return Err(internal_error("The server is shutting down; ask again"));
                }
            }
        }
    }

    fn blocked(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.blocked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that waits, counted against its caller for as long as it waits.
struct Blocked(Arc<Inner>, Owner);

impl Blocked {
    fn new(inner: &Arc<Inner>, owner: &Owner) -> Result<Self, ProtocolError> {
        let mut blocked = inner.blocked();
        let count = blocked.entry(owner.as_str().to_owned()).or_default();
        if *count >= inner.options.most_blocked {
            let text = "You have reached your limit of results to wait for; poll the status of the others instead";
            return Err(ProtocolError::new(ErrorCode::INVALID_REQUEST, text));
        }
        *count += 1;
        drop(blocked);
        Ok(Self(Arc::clone(inner), owner.clone()))
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        let mut blocked = self.0.blocked();
        if let Some(count) = blocked.get_mut(self.1.as_str()) {
            *count -= 1;
            if *count == 0 {
                blocked.remove(self.1.as_str());
            }
        }
    }
}
