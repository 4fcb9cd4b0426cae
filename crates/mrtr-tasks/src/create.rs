//! Turns a call into a task: by the tool's policy, if the client can have one, or by the call's flow.

use std::sync::Arc;

use mrtr_schema::capabilities::ServerTasksCapability;
use mrtr_schema::error_object::MissingCapabilityData;
use mrtr_schema::tasks::{Lifetime, extension};
use mrtr_schema::{ClientCapabilities, ErrorCode, ErrorObject, Feature, Json, JsonObject, Revision, Wire};
use mrtr_server::extend::OfferedCall;
use mrtr_server::{ProtocolError, TaskPolicy};
use mrtr_state::{FlowId, Timestamp};

use crate::body::{CallBody, internal_error};
use crate::store::{Limits, NewTask, StoreError};
use crate::tasks::{Inner, Tasks};
use crate::vault::Kind;
use crate::{Account, Owner, TaskId, TaskOptions, TaskRecord, count, wire};

impl Tasks {
    /// Returns true if the tool's policy has a call run as a task from the beginning.
    pub(crate) fn begins_as_task(call: &OfferedCall<'_>) -> Result<bool, ProtocolError> {
        let (policy, can) = (call.tasks(), can_have_task(call));
        match policy {
            TaskPolicy::Required if !can => Err(required(call.revision())),
            // The client asks for what the tool does not do (TK-16); the published revision does not know the member.
            TaskPolicy::Never if can && call.revision().has(Feature::CoreTasks) => {
                Err(ProtocolError::new(ErrorCode::METHOD_NOT_FOUND, "The tool does not run as a task"))
            }
            TaskPolicy::Required => Ok(true),
            TaskPolicy::IfPossible => Ok(can),
            _ => Ok(false),
        }
    }

    /// The flow of a call that runs in place since its client cannot have a task, though the flow may be a task
    /// already.
    pub(crate) fn flow_beside_task(call: &OfferedCall<'_>) -> Option<FlowId> {
        // By both policies the flow may have become a task in another request, which declared tasks.
        let may_be_task = matches!(call.tasks(), TaskPolicy::ByFlow | TaskPolicy::IfPossible);
        if may_be_task && !can_have_task(call) { call.resumed_flow() } else { None }
    }

    /// Refuses a call whose flow is a task already. Its state is older than the task's journal, so it would do again in
    /// place what the task has done.
    pub(crate) async fn refuse_beside_task(&self, call: &OfferedCall<'_>, flow: FlowId) -> Result<(), ProtocolError> {
        let inner = &*self.0;
        let attached = inner.attached().ok_or_else(|| internal_error("Internal error"))?;
        let (id, revision) = (TaskId::random(&inner.random), call.revision());
        let owner = Owner::new(&attached.audience, call.caller(), call.tenant());
        let record = TaskRecord::new(id, owner, flow, call.tool(), revision, Timestamp::from_millis(0));
        // With a limit of no tasks the store creates none, but returns one that it already has.
        let none = Limits { open: 0, ..Limits::NONE };
        match inner.store.create(NewTask { record, call: Vec::new(), entries: None }, none).await {
            Err(StoreError::Full) => Ok(()),
            Ok(known) => {
                tracing::info!(id = %known.record.id, "a client without tasks sent a call that is a task already");
                Err(is_task_already(revision))
            }
            Err(error) => Err(Inner::store_failed(&error)),
        }
    }

    /// Creates a task for a call, unless there is one already, and returns its handle.
    pub(crate) async fn create(&self, offered: &OfferedCall<'_>) -> Result<Json, ProtocolError> {
        let inner = &*self.0;
        self.start();
        let attached = inner.attached().ok_or_else(|| internal_error("Internal error"))?;
        let wish = wish(offered)?;
        let call = offered.to_call();
        let owner = Owner::new(&attached.audience, offered.caller(), offered.tenant());
        let id = TaskId::random(&inner.random);
        let mut record = TaskRecord::new(
            id,
            owner,
            call.flow_progress.flow(),
            offered.tool(),
            offered.revision(),
            call.flow_progress.started(),
        );
        record.account = Account::new(&record.owner, offered.account());
        record.ttl = inner.options.granted(wish);
        record.poll_interval = inner.options.poll_interval;
        record.retention = inner.options.retention;
        let unwritten = |error: serde_json::Error| {
            tracing::error!(%error, "a call cannot be stored as a task");
            internal_error("Internal error")
        };
        let is_first = call.flow_progress.round() == 1;
        let journal = call.journal.to_bytes();
        let new = NewTask {
            record,
            call: attached.vault.seal_body(Kind::Call, id, &CallBody::of(&call)).map_err(unwritten)?,
            entries: (!journal.is_empty()).then(|| attached.vault.seal(Kind::Entries, id, &journal)),
        };
        let owner = new.record.owner.clone();
        let created = match inner.store.create(new, inner.limits()).await {
            Ok(created) => created,
            Err(error) => {
                // In a later round a retry brings the flow's id, and finds the task by it.
                if matches!(error, StoreError::Store(_)) && is_first {
                    tokio::spawn(withdraw(Arc::clone(&self.0), id, owner));
                }
                return Err(inner.refused(&error));
            }
        };
        let mut now = created.record.created;
        if created.is_new {
            count::created();
            inner.work.notify_one();
        } else {
            tracing::info!(id = %created.record.id, "a call that is a task already was sent again");
            now = inner.store.now().await.map_err(|error| Inner::store_failed(&error))?;
        }
        wire::created(&created.record, created.is_new, now)
    }
}

/// Ends a task that the store may have kept though it reported a failure: the client was told of the failure, and does
/// not know of the task. If the flow has another task by then, the store has not kept this one.
async fn withdraw(inner: Arc<Inner>, id: TaskId, owner: Owner) {
    for _ in 0..MOST_WITHDRAWALS {
        match inner.store.cancel(id, Some(&owner)).await {
            Ok(()) => {
                tracing::info!(%id, "a task was ended: its client was never told of it");
                return;
            }
            Err(StoreError::NotFound | StoreError::Refused(_)) => return,
            Err(_) => tokio::time::sleep(BETWEEN_WITHDRAWALS).await,
        }
    }
    tracing::error!(%id, "a task may be left that its client was never told of; it ends with its ttl");
}

const MOST_WITHDRAWALS: usize = 600;
const BETWEEN_WITHDRAWALS: std::time::Duration = std::time::Duration::from_secs(1);

/// Returns true if the client of a call can have a task for it.
pub(crate) fn can_have_task(call: &OfferedCall<'_>) -> bool {
    let revision = call.revision();
    if revision.has(Feature::CoreTasks) {
        return call.task().is_some();
    }
    // Tasks are offered in the modern era only.
    revision.has(Feature::TasksExtension) && declares_tasks(call.capabilities())
}

/// Returns true if a client has declared the extension.
pub(crate) fn declares_tasks(capabilities: &ClientCapabilities) -> bool {
    capabilities.extensions.as_ref().is_some_and(|extensions| extensions.contains_key(extension::NAME))
}

/// The error for a client that did not declare the extension.
pub(crate) fn undeclared() -> ProtocolError {
    lacking_extension("The client did not declare a capability that this request needs")
}

fn lacking_extension(reason: &str) -> ProtocolError {
    let mut lacking = ClientCapabilities::default();
    lacking.extensions.get_or_insert_default().insert(extension::NAME.to_owned(), JsonObject::default());
    let text = format!("{reason}: extensions[\"{}\"]", extension::NAME);
    ErrorObject::with_data(text, &MissingCapabilityData::new(lacking)).into()
}

/// The error for a client whose call is already a task that the client cannot have.
fn is_task_already(revision: Revision) -> ProtocolError {
    if revision.has(Feature::TasksExtension) {
        return lacking_extension(
            "This call is a task already, and the client did not declare the capability that a task needs",
        );
    }
    ProtocolError::invalid_params("This call is a task already: send `task` to follow it")
}

fn required(revision: Revision) -> ProtocolError {
    if revision.has(Feature::TasksExtension) {
        return undeclared();
    }
    if revision.has(Feature::CoreTasks) {
        return ProtocolError::new(ErrorCode::METHOD_NOT_FOUND, "The tool runs as a task only: send `task`");
    }
    ProtocolError::invalid_params(format!("The tool runs as a task only, which {revision} does not have"))
}

/// Reads the time for which the client wishes its task to be kept, in revisions in which a call can say it.
fn wish(call: &OfferedCall<'_>) -> Result<Option<Lifetime>, ProtocolError> {
    let Some(task) = call.task().filter(|_| call.revision().has(Feature::CoreTasks)) else { return Ok(None) };
    let ttl = JsonObject::from_raw(task).and_then(|task| {
        let ttl = task.get("ttl").map(|ttl| Lifetime::read(ttl.as_raw(), call.revision().lenient()));
        ttl.transpose().map_err(|error| error.in_member("ttl"))
    });
    let ttl = ttl.map_err(|error| ProtocolError::invalid_params(error.in_member("task").to_string()))?;
    if ttl == Some(Lifetime::Milliseconds(0)) {
        return Err(ProtocolError::invalid_params("`task.ttl` is 0: the task would be over before it began"));
    }
    Ok(ttl)
}

impl Inner {
    fn limits(&self) -> Limits {
        let TaskOptions { most_open, most_bytes, most_store_bytes, .. } = self.options;
        let store_bytes = most_store_bytes.unwrap_or_else(|| self.store.usual_bytes());
        Limits { open: most_open, bytes: most_bytes, store_bytes }
    }

    /// The error for a caller whose call does not become a task.
    fn refused(&self, error: &StoreError) -> ProtocolError {
        let text = match error {
            StoreError::Full => "You have reached your limit of open tasks; end one of them first".to_owned(),
            StoreError::OwnerBytes => format!(
                "Your tasks have reached their limit of {} bytes. A task that has ended is kept until its ttl is \
                 over, and for at least {} s after its end: try again when some are gone, or call with smaller \
                 arguments or, where the protocol allows one, a shorter ttl",
                self.options.most_bytes,
                self.options.retention.as_secs()
            ),
            StoreError::StoreBytes => {
                tracing::warn!(
                    "a call does not become a task: the tasks of all callers have reached the limit of bytes"
                );
                let text = "The server's tasks have reached their limit of bytes; try again when some that have ended \
                            are gone";
                return ProtocolError::new(ErrorCode::BUSY, text);
            }
            error => return Self::store_failed(error),
        };
        ProtocolError::new(ErrorCode::INVALID_REQUEST, text)
    }

    /// The error for a caller when the store has failed.
    pub(crate) fn store_failed(error: &StoreError) -> ProtocolError {
        if let StoreError::Busy(_) = error {
            tracing::warn!(
                error = error as &dyn std::error::Error,
                "a request was refused: the store has no room or no time for it"
            );
            return ProtocolError::busy();
        }
        tracing::error!(error = error as &dyn std::error::Error, "the store of tasks failed");
        internal_error("Internal error")
    }
}

/// The capability that the server declares to clients of the older revisions, whose core protocol has tasks.
pub(crate) fn core_capability() -> ServerTasksCapability {
    let mut capability = ServerTasksCapability::default();
    capability.cancel = Some(JsonObject::default());
    let calls = capability.requests.get_or_insert_default().tools.get_or_insert_default();
    calls.call = Some(JsonObject::default());
    capability
}
