//! `notifications/tasks` on a subscription: what `tasks/get` would say, when it changes.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream, SelectAll};
use mrtr_schema::subscriptions::SubscriptionFilter;
use mrtr_schema::tasks::TaskStatus;
use mrtr_schema::tasks::extension::TaskNotificationParams;
use mrtr_schema::{ClientCapabilities, Feature, Json, Wire};
use mrtr_server::ProtocolError;
use mrtr_server::extend::{ExtensionNotice, ExtensionNotices, ExtensionRequest};

use crate::create::{declares_tasks, undeclared};
use crate::store::StoreError;
use crate::tasks::{Inner, Tasks};
use crate::{Owner, TaskId};

impl Tasks {
    /// Tells of the tasks that a client wants to hear of and that are its own. Ids of others are acknowledged like these,
    /// so that a stranger learns nothing from it, and nothing is ever said of them. A client that wants to hear of tasks
    /// has to declare the extension.
    pub(crate) fn notices(
        &self,
        wanted: &SubscriptionFilter,
        request: &ExtensionRequest<'_>,
    ) -> Result<Option<ExtensionNotices>, ProtocolError> {
        let ids = wanted.task_ids.as_ref().filter(|_| request.revision.has(Feature::TasksExtension));
        let Some(ids) = ids else { return Ok(None) };
        if !declares_tasks(request.capabilities) {
            return Err(undeclared());
        }
        self.start();
        let Some(attached) = self.0.attached() else { return Ok(None) };
        let owner = Owner::new(&attached.audience, request.caller, request.tenant);
        let ids: Vec<_> = ids.iter().take(MOST_TASKS).cloned().collect();
        let told = ids.iter().filter_map(|id| id.parse().ok());
        let notices: SelectAll<_> =
            told.map(|id| self.0.clone().tell(id, owner.clone(), request.capabilities.clone())).collect();
        let mut acknowledged = SubscriptionFilter::new();
        acknowledged.task_ids = Some(ids);
        // A subscription ends when its client wants it to.
        Ok(Some(ExtensionNotices { acknowledged, notices: notices.chain(stream::pending()).boxed() }))
    }
}

impl Inner {
    fn tell(
        self: Arc<Self>,
        id: TaskId,
        owner: Owner,
        capabilities: ClientCapabilities,
    ) -> BoxStream<'static, ExtensionNotice> {
        let changes = self.hub.watch(id);
        let state = (self, changes, None::<String>, true);
        let notices = stream::unfold(state, move |(inner, mut changes, mut last, mut is_first)| {
            let (owner, capabilities) = (owner.clone(), capabilities.clone());
            async move {
                loop {
                    if !is_first && changes.changed().await.is_err() {
                        return None;
                    }
                    changes.mark_unchanged();
                    let task = loop {
                        match inner.store.get(id, Some(&owner)).await {
                            Ok(task) => break task,
                            Err(StoreError::NotFound) => return None,
                            Err(_) => tokio::time::sleep(PAUSE_AFTER_FAILURE).await,
                        }
                    };
                    let works = task.record.status(task.now) == TaskStatus::Working;
                    let params = inner.detailed(&task, &capabilities).ok();
                    let params = params.and_then(|task| notification(task, last.as_deref()));
                    // That it works is known from its creation; what it came to since then may not be.
                    let was_first = std::mem::replace(&mut is_first, false);
                    let Some((text, params)) = params else { continue };
                    last = Some(text);
                    if was_first && works {
                        continue;
                    }
                    let notice = ExtensionNotice { method: "notifications/tasks", params };
                    return Some((notice, (inner, changes, last, is_first)));
                }
            }
        });
        notices.boxed()
    }
}

/// The parameters, unless they were told last.
fn notification(task: mrtr_schema::tasks::extension::DetailedTask, last: Option<&str>) -> Option<(String, Json)> {
    let text = TaskNotificationParams { task, meta: None }.to_json(mrtr_schema::Revision::Published).ok()?;
    if last == Some(text.as_str()) {
        return None;
    }
    let params = Json::parse(&text).ok()?;
    Some((text, params))
}

const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);
/// A client hears of at most so many tasks on one subscription.
const MOST_TASKS: usize = 100;
