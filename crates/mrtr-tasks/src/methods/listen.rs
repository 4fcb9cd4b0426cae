//! `notifications/tasks` on a subscription: what `tasks/get` would say, when it changes.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream;
use mrtr_schema::subscriptions::SubscriptionFilter;
use mrtr_schema::tasks::TaskStatus;
use mrtr_schema::tasks::extension::{DetailedTask, TaskNotificationParams};
use mrtr_schema::{ClientCapabilities, Feature, Json, Wire};
use mrtr_server::extend::{ExtensionNotice, ExtensionNotices, ExtensionRequest, Standing};
use mrtr_server::{Identity, ProtocolError};
use mrtr_state::Timestamp;

use crate::create::{declares_tasks, undeclared};
use crate::hub::Following;
use crate::store::{KeptTask, StoreError};
use crate::tasks::{Inner, Tasks};
use crate::{Owner, TaskId, TaskRecord};

impl Tasks {
    /// Notifies a client of changes to its own tasks among those that it names. The server acknowledges the ids of
    /// other callers' tasks like these, so that a stranger learns nothing from it, and never tells anything of them. A
    /// client that wants notifications of tasks has to declare the extension.
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
        let subscription = Subscription {
            following: self.0.hub.follow(ids.iter().filter_map(|id| id.parse().ok()).collect()),
            inner: Arc::clone(&self.0),
            owner: Owner::new(&attached.audience, request.caller, request.tenant),
            capabilities: request.capabilities.clone(),
            identity: request.identity.clone(),
            told: HashMap::new(),
            to_read: VecDeque::new(),
            hasher: RandomState::new(),
        };
        let notices = stream::unfold(subscription, |mut subscription| async {
            let notice = subscription.next().await;
            Some((notice, subscription))
        });
        let mut acknowledged = SubscriptionFilter::new();
        acknowledged.task_ids = Some(ids.clone());
        // A subscription ends when its client wants it to.
        Ok(Some(ExtensionNotices { acknowledged, notices: notices.boxed() }))
    }
}

/// A client's subscription to tasks. It keeps nothing of what they hold: it reads one task at a time, in a copy that
/// all share who look at it.
struct Subscription {
    following: Following,
    inner: Arc<Inner>,
    owner: Owner,
    capabilities: ClientCapabilities,
    /// The subscriber, with what it was granted when it subscribed.
    identity: Identity,
    /// The last notification of each task.
    told: HashMap<TaskId, Told>,
    /// The tasks that have changed.
    to_read: VecDeque<TaskId>,
    hasher: RandomState,
}

/// The last notification of a task that a client got.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    /// There was none: the task works since this moment, and the client knows from its creation that it works.
    Works(Timestamp),
    /// A notification whose text has this hash.
    Text(u64),
}

impl Subscription {
    /// Waits for the next notification.
    async fn next(&mut self) -> ExtensionNotice {
        loop {
            if let Some(id) = self.to_read.pop_front() {
                if let Some(notice) = self.read(id).await {
                    return notice;
                }
            } else {
                let changed = self.following.changed().await;
                self.look_through(&changed).await;
            }
        }
    }

    /// Finds out which of these tasks to read. It looks at many records at once, without what the tasks hold.
    async fn look_through(&mut self, changed: &BTreeSet<TaskId>) {
        let changed: Vec<_> = changed.iter().copied().collect();
        for some in changed.chunks(LOOKED_AT_ONCE) {
            let records = loop {
                let now = self.inner.store.now().await;
                match (now, self.inner.store.records(some).await) {
                    (Ok(now), Ok(records)) => break records.into_iter().map(move |record| (record, now)),
                    _ => tokio::time::sleep(PAUSE_AFTER_FAILURE).await,
                }
            };
            for (record, now) in records.filter(|(record, _)| record.owner == self.owner).collect::<Vec<_>>() {
                self.look(&record, now);
            }
        }
    }

    fn look(&mut self, record: &TaskRecord, now: Timestamp) {
        let works = record.status(now) == TaskStatus::Working;
        let told = works.then_some(Told::Works(record.updated));
        match self.told.get(&record.id) {
            // The client knows from its creation that it works, but may not know what became of it since then.
            None if works => drop(self.told.insert(record.id, Told::Works(record.updated))),
            Some(last) if Some(*last) == told => {}
            _ => self.to_read.push_back(record.id),
        }
    }

    /// Reads a task, and returns a notification if it says anything new.
    async fn read(&mut self, id: TaskId) -> Option<ExtensionNotice> {
        let task = loop {
            match self.following.read(id, &self.inner.store).await {
                Ok(task) => break task,
                Err(StoreError::NotFound) => return None,
                Err(_) => tokio::time::sleep(PAUSE_AFTER_FAILURE).await,
            }
        };
        let subject = ("subscriptions/listen", &*task.record.tool, None);
        let host = &self.inner.attached()?.host;
        host.check(&self.identity, subject, Standing::Live, ProtocolError::not_allowed).await.ok()?;
        let text = self.text(&task)?;
        let told = Told::Text(self.hasher.hash_one(&text));
        if self.told.insert(id, told) == Some(told) {
            return None;
        }
        Some(ExtensionNotice { method: "notifications/tasks", params: Json::parse(&text).ok()? })
    }

    /// The parameters, if the client may be shown the task as it stands.
    fn text(&self, task: &KeptTask) -> Option<String> {
        let task: DetailedTask = self.inner.detailed(task, &self.capabilities).ok()?;
        TaskNotificationParams { task, meta: None }.to_json(mrtr_schema::Revision::V2026_07_28).ok()
    }
}

const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);
/// The number of records that are read at once.
const LOOKED_AT_ONCE: usize = 256;
