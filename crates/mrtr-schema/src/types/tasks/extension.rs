//! The tasks extension of the published revision: `io.modelcontextprotocol/tasks`.

use mrtr_macros::Wire;
use schemars::{Schema, json_schema};
use serde::Serializer;
use serde::ser::SerializeMap;
use serde_json::value::RawValue;

use super::{Lifetime, TaskStatus};
use crate::error::ReadError;
use crate::json::{JsonObject, Members, RawMembers};
use crate::revision::{Dialect, Feature, Revision};
use crate::types::error_object::ErrorObject;
use crate::types::input::{InputRequests, InputResponses};
use crate::types::meta::{NotificationMeta, RequestMeta, ResultMeta};
use crate::types::params::required_params;
use crate::types::result::CompleteType;
use crate::wire::schema::{Definitions, ObjectSchema};
use crate::wire::{Part, Wire, WireObject, serde_at_published_revision, write_object};

/// The extension's name, under which both sides declare it.
///
/// ```
/// use mrtr_schema::tasks::extension;
/// use mrtr_schema::{ClientCapabilities, JsonObject};
///
/// let mut client = ClientCapabilities::new();
/// client.extensions.get_or_insert_default().insert(extension::NAME.into(), JsonObject::default());
/// assert_eq!(serde_json::to_string(&client)?, r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub const NAME: &str = "io.modelcontextprotocol/tasks";

/// Asks for a task with the members of its status: a result, an error, or the inputs that it waits for.
///
/// ```
/// use mrtr_schema::methods::RequestMethod;
/// use mrtr_schema::tasks::extension::GetTask;
///
/// assert_eq!(GetTask::METHOD, "tasks/get");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a marker, which has no values")]
pub enum GetTask {}

/// Answers the questions that a task asked.
///
/// ```
/// use mrtr_schema::methods::RequestMethod;
/// use mrtr_schema::tasks::extension::UpdateTask;
///
/// assert_eq!(UpdateTask::METHOD, "tasks/update");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a marker, which has no values")]
pub enum UpdateTask {}

/// Cancels a task.
///
/// ```
/// use mrtr_schema::methods::RequestMethod;
/// use mrtr_schema::tasks::extension::CancelTask;
///
/// assert_eq!(CancelTask::METHOD, "tasks/cancel");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a marker, which has no values")]
pub enum CancelTask {}

/// The facts about a task, whatever its status.
///
/// ```
/// use mrtr_schema::tasks::Lifetime;
/// use mrtr_schema::tasks::extension::TaskFacts;
///
/// let now = "2026-08-01T12:00:00Z";
/// let mut facts = TaskFacts::new("t-1", now, now, Lifetime::Milliseconds(60_000));
/// facts.poll_interval_ms = Some(500);
/// assert!(facts.status_message.is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(part)]
#[non_exhaustive]
pub struct TaskFacts {
    /// Its id.
    pub task_id: String,
    /// One sentence about the status.
    pub status_message: Option<String>,
    /// The time at which it was created, in ISO 8601.
    pub created_at: String,
    /// The time of its last change, in ISO 8601.
    pub last_updated_at: String,
    /// The milliseconds after its creation for which the task is kept.
    pub ttl_ms: Lifetime,
    /// The milliseconds that the client should wait between two polls.
    pub poll_interval_ms: Option<u64>,
}

/// A task by its facts alone, without the members of its status.
///
/// ```
/// use mrtr_schema::tasks::extension::{Task, TaskFacts};
/// use mrtr_schema::tasks::{Lifetime, TaskStatus};
///
/// let now = "2026-08-01T12:00:00Z";
/// let task = Task::new(TaskStatus::Working, TaskFacts::new("t-1", now, now, Lifetime::Unlimited));
/// assert!(serde_json::to_string(&task)?.contains(r#""ttlMs":null"#), "never left out");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "Task", when = Feature::TasksExtension)]
#[non_exhaustive]
pub struct Task {
    /// The status.
    pub status: TaskStatus,
    /// The facts about the task.
    #[wire(flatten)]
    pub facts: TaskFacts,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A task with the members of its status: a result, an error, or the inputs that it waits for.
///
/// ```
/// use mrtr_schema::tasks::Lifetime;
/// use mrtr_schema::tasks::extension::{DetailedTask, TaskFacts, WorkingTask};
///
/// let now = "2026-08-01T12:00:00Z";
/// let facts = TaskFacts::new("t-1", now, now, Lifetime::Unlimited);
/// let task = DetailedTask::from(WorkingTask::new(facts));
/// assert_eq!(task.facts().task_id, "t-1");
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "DetailedTask", tag = "status", when = Feature::TasksExtension)]
#[expect(clippy::exhaustive_enums, reason = "the state machine has these five")]
pub enum DetailedTask {
    /// The task is working.
    #[wire(value = "working")]
    Working(WorkingTask),
    /// The task waits for input.
    #[wire(value = "input_required")]
    InputRequired(InputRequiredTask),
    /// The task has a result.
    #[wire(value = "completed")]
    Completed(CompletedTask),
    /// The task has no result, and never will.
    #[wire(value = "failed")]
    Failed(FailedTask),
    /// The caller or the server cancelled the task.
    #[wire(value = "cancelled")]
    Cancelled(CancelledTask),
}

impl DetailedTask {
    /// Returns the facts about the task.
    pub fn facts(&self) -> &TaskFacts {
        match self {
            Self::Working(task) => &task.facts,
            Self::InputRequired(task) => &task.facts,
            Self::Completed(task) => &task.facts,
            Self::Failed(task) => &task.facts,
            Self::Cancelled(task) => &task.facts,
        }
    }

    /// Returns the status.
    ///
    /// ```
    /// use mrtr_schema::tasks::Lifetime;
    /// use mrtr_schema::tasks::extension::{CancelledTask, DetailedTask, TaskFacts};
    ///
    /// let now = "2026-08-01T12:00:00Z";
    /// let task = DetailedTask::from(CancelledTask::new(TaskFacts::new("t-1", now, now, Lifetime::Unlimited)));
    /// assert!(task.status().is_final());
    /// ```
    pub fn status(&self) -> TaskStatus {
        match self {
            Self::Working(_) => TaskStatus::Working,
            Self::InputRequired(_) => TaskStatus::InputRequired,
            Self::Completed(_) => TaskStatus::Completed,
            Self::Failed(_) => TaskStatus::Failed,
            Self::Cancelled(_) => TaskStatus::Cancelled,
        }
    }

    /// The schemas of the five, each with further members.
    fn schemas_with(definitions: &mut Definitions, more: &Schema) -> Schema {
        let schemas = [
            WorkingTask::schema(definitions),
            InputRequiredTask::schema(definitions),
            CompletedTask::schema(definitions),
            FailedTask::schema(definitions),
            CancelledTask::schema(definitions),
        ];
        json_schema!({ "anyOf": schemas.map(|schema| ObjectSchema::merged(schema, more)) })
    }
}

/// A task that is working.
///
/// ```
/// use mrtr_schema::tasks::Lifetime;
/// use mrtr_schema::tasks::extension::{TaskFacts, WorkingTask};
///
/// let now = "2026-08-01T12:00:00Z";
/// let task = WorkingTask::new(TaskFacts::new("t-1", now, now, Lifetime::Unlimited));
/// assert!(serde_json::to_string(&task)?.starts_with(r#"{"status":"working","taskId":"t-1","#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "WorkingTask", when = Feature::TasksExtension, tag(status = "working"))]
#[non_exhaustive]
pub struct WorkingTask {
    /// The facts about the task.
    #[wire(flatten)]
    pub facts: TaskFacts,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A task that waits for input.
///
/// ```
/// use mrtr_schema::tasks::Lifetime;
/// use mrtr_schema::tasks::extension::{InputRequiredTask, TaskFacts};
/// use mrtr_schema::InputRequests;
/// use mrtr_schema::roots::ListRootsRequest;
///
/// let now = "2026-08-01T12:00:00Z";
/// let mut asks = InputRequests::default();
/// asks.insert("roots-1", ListRootsRequest::new());
/// let task = InputRequiredTask::new(TaskFacts::new("t-1", now, now, Lifetime::Unlimited), asks);
/// assert!(serde_json::to_string(&task)?.ends_with(r#""inputRequests":{"roots-1":{"method":"roots/list"}}}"#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "InputRequiredTask", when = Feature::TasksExtension, tag(status = "input_required"))]
#[non_exhaustive]
pub struct InputRequiredTask {
    /// The facts about the task.
    #[wire(flatten)]
    pub facts: TaskFacts,
    /// The inputs that the task asks for. A key is never used again over a task's life (TK-7).
    pub input_requests: InputRequests,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A task that has a result.
///
/// ```
/// use mrtr_schema::tasks::Lifetime;
/// use mrtr_schema::tasks::extension::{CompletedTask, TaskFacts};
/// use mrtr_schema::{CallToolResult, ContentBlock, JsonObject};
///
/// let now = "2026-08-01T12:00:00Z";
/// let mut failure = CallToolResult::new([ContentBlock::text("The printer is on fire")]);
/// failure.is_error = Some(true);
/// let facts = TaskFacts::new("t-1", now, now, Lifetime::Unlimited);
/// let task = CompletedTask::new(facts, JsonObject::of(&failure)?);
/// assert!(task.result.get("isError").is_some(), "a tool that failed has a result all the same");
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "CompletedTask", when = Feature::TasksExtension, tag(status = "completed"))]
#[non_exhaustive]
pub struct CompletedTask {
    /// The facts about the task.
    #[wire(flatten)]
    pub facts: TaskFacts,
    /// The result that the request would have had, failures of a tool included (TK-11).
    pub result: JsonObject,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A task that has no result, and never will.
///
/// ```
/// use mrtr_schema::tasks::Lifetime;
/// use mrtr_schema::tasks::extension::{FailedTask, TaskFacts};
/// use mrtr_schema::{ErrorCode, ErrorObject};
///
/// let now = "2026-08-01T12:00:00Z";
/// let error = ErrorObject::new(ErrorCode::INTERNAL_ERROR, "Something broke");
/// let task = FailedTask::new(TaskFacts::new("t-1", now, now, Lifetime::Unlimited), error);
/// assert!(serde_json::to_string(&task)?.ends_with(r#""error":{"code":-32603,"message":"Something broke"}}"#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "FailedTask", when = Feature::TasksExtension, tag(status = "failed"))]
#[non_exhaustive]
pub struct FailedTask {
    /// The facts about the task.
    #[wire(flatten)]
    pub facts: TaskFacts,
    /// The error that the request would have ended in (TK-11).
    pub error: ErrorObject,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A task that was cancelled.
///
/// ```
/// use mrtr_schema::tasks::extension::DetailedTask;
///
/// let task = r#"{"status": "cancelled", "taskId": "t-1", "ttlMs": null,
///     "createdAt": "2026-08-01T12:00:00Z", "lastUpdatedAt": "2026-08-01T12:05:00Z"}"#;
/// assert!(matches!(serde_json::from_str(task)?, DetailedTask::Cancelled(_)));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "CancelledTask", when = Feature::TasksExtension, tag(status = "cancelled"))]
#[non_exhaustive]
pub struct CancelledTask {
    /// The facts about the task.
    #[wire(flatten)]
    pub facts: TaskFacts,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The `resultType` of a result that is a task.
///
/// ```
/// use mrtr_schema::result::ResultType;
/// use mrtr_schema::tasks::extension::TaskType;
///
/// let word = serde_json::to_string(&TaskType::Task)?;
/// assert_eq!(word, r#""task""#);
/// assert!(matches!(serde_json::from_str(&word)?, ResultType::Extension(_)));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Wire)]
#[expect(clippy::exhaustive_enums, reason = "a result of another kind is another type")]
pub enum TaskType {
    /// The request continues as a task.
    #[default]
    Task,
}

/// The reply sent in place of a result: it names the task that will have the result.
///
/// ```
/// use mrtr_schema::tasks::extension::{CreateTaskResult, TaskFacts, TaskType};
/// use mrtr_schema::tasks::{Lifetime, TaskStatus};
///
/// let now = "2026-08-01T12:00:00Z";
/// let facts = TaskFacts::new("t-1", now, now, Lifetime::Unlimited);
/// let result = CreateTaskResult::new(TaskType::Task, TaskStatus::Working, facts);
/// assert!(serde_json::to_string(&result)?.starts_with(r#"{"resultType":"task","status":"working","#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "CreateTaskResult", when = Feature::TasksExtension)]
#[non_exhaustive]
pub struct CreateTaskResult {
    /// Says that the result is a task. It is always sent: without it the result would count as complete.
    pub result_type: TaskType,
    /// The status.
    pub status: TaskStatus,
    /// The facts about the task.
    #[wire(flatten)]
    pub facts: TaskFacts,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<ResultMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A task with the members of its status, as the result of `tasks/get`.
///
/// ```
/// use mrtr_schema::tasks::Lifetime;
/// use mrtr_schema::tasks::extension::{GetTaskResult, TaskFacts, WorkingTask};
///
/// let now = "2026-08-01T12:00:00Z";
/// let task = WorkingTask::new(TaskFacts::new("t-1", now, now, Lifetime::Unlimited));
/// let result = GetTaskResult { task: task.into(), meta: None };
/// assert!(serde_json::to_string(&result)?.starts_with(r#"{"resultType":"complete","status":"working","#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct GetTaskResult {
    /// The task. It also keeps the other members of the result.
    pub task: DetailedTask,
    /// Metadata.
    pub meta: Option<ResultMeta>,
}

/// The members that a result has beyond a task.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(part)]
struct ResultMembers {
    /// Says that the result is complete, not an interim one.
    #[wire(lenient)]
    result_type: CompleteType,
    /// Metadata.
    #[wire(rename = "_meta")]
    meta: Option<ResultMeta>,
}

/// Says what status a task has now: the task is the one that `tasks/get` would return.
///
/// ```
/// use mrtr_schema::meta::NotificationMeta;
/// use mrtr_schema::tasks::Lifetime;
/// use mrtr_schema::tasks::extension::{CancelledTask, TaskFacts, TaskNotificationParams};
///
/// let now = "2026-08-01T12:00:00Z";
/// let task = CancelledTask::new(TaskFacts::new("t-1", now, now, Lifetime::Unlimited)).into();
/// let mut meta = NotificationMeta::new();
/// meta.subscription_id = Some(7.into());
/// let text = serde_json::to_string(&TaskNotificationParams { task, meta: Some(meta) })?;
/// assert!(text.starts_with(r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":7},"status":"cancelled","#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TaskNotificationParams {
    /// The task. It also keeps the other members of the notification.
    pub task: DetailedTask,
    /// Metadata, with the subscription.
    pub meta: Option<NotificationMeta>,
}

/// The members that a notification has beyond a task.
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(part)]
struct NotificationMembers {
    /// Metadata, with the subscription.
    #[wire(rename = "_meta")]
    meta: Option<NotificationMeta>,
}

/// Defines an object that is a task and something else besides.
macro_rules! task_with {
    ($object:ident, $name:literal, $more:ident, $members:ident => $build:expr) => {
        impl Wire for $object {
            const NAME: Option<&'static str> = Some($name);
            const WHEN: Option<Feature> = Some(Feature::TasksExtension);

            fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
                Self::read_members(RawMembers::of(value)?, dialect)
            }

            fn write<S: Serializer>(&self, revision: Revision, serializer: S) -> Result<S::Ok, S::Error> {
                write_object(self, revision, serializer)
            }

            fn schema(definitions: &mut Definitions) -> Schema {
                let mut more = ObjectSchema::new("");
                $more::describe(&mut more, definitions);
                DetailedTask::schemas_with(definitions, &more.finish())
            }

            #[cfg(feature = "proptest")]
            fn any_value(revision: Revision) -> proptest::strategy::BoxedStrategy<Self> {
                use proptest::strategy::Strategy;
                let parts = (DetailedTask::any_value(revision), $more::any_value(revision));
                parts.prop_map(|(task, more)| Self { task, meta: more.meta }).boxed()
            }
        }

        impl WireObject for $object {
            fn read_members(mut members: RawMembers<'_>, dialect: Dialect) -> Result<Self, ReadError> {
                let meta = $more::take(&mut members, dialect)?.meta;
                Ok(Self { task: DetailedTask::read_members(members, dialect)?, meta })
            }

            fn write_members<M: SerializeMap>(&self, revision: Revision, map: &mut M) -> Result<(), M::Error> {
                let $members = self;
                $build.write_members(revision, map)?;
                self.task.write_members(revision, map)
            }
        }

        serde_at_published_revision!($object);
    };
}

task_with!(GetTaskResult, "GetTaskResult", ResultMembers,
    this => ResultMembers { result_type: CompleteType::Complete, meta: this.meta.clone() });
task_with!(TaskNotificationParams, "TaskStatusNotificationParams", NotificationMembers,
    this => NotificationMembers { meta: this.meta.clone() });

/// Parameters of `tasks/update`: answers to what a task asked.
///
/// ```
/// use mrtr_schema::tasks::extension::UpdateTaskParams;
/// use mrtr_schema::{InputResponse, InputResponses, Revision};
/// use mrtr_schema::elicitation::ElicitResult;
///
/// let mut answers = InputResponses::default();
/// answers.insert("name", InputResponse::of(&ElicitResult::decline(), Revision::V2026_07_28)?);
/// let params = UpdateTaskParams::new("t-1", answers);
/// assert!(serde_json::to_string(&params).is_err(), "like every request it must carry metadata");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[non_exhaustive]
pub struct UpdateTaskParams {
    /// The task.
    pub task_id: String,
    /// The answers.
    pub input_responses: InputResponses,
    /// Metadata.
    #[wire(rename = "_meta", required = Feature::RequestMetadata)]
    pub meta: Option<RequestMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

required_params!(UpdateTaskParams, TaskNotificationParams);

/// Says that answers have arrived.
///
/// ```
/// use mrtr_schema::tasks::extension::UpdateTaskResult;
///
/// assert_eq!(serde_json::to_string(&UpdateTaskResult::new())?, r#"{"resultType":"complete"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(name = "UpdateTaskResult", when = Feature::TasksExtension)]
#[non_exhaustive]
pub struct UpdateTaskResult {
    /// Says that the result is complete, not an interim one.
    #[wire(lenient)]
    pub result_type: CompleteType,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<ResultMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// Says that a call to cancel has arrived.
///
/// ```
/// use mrtr_schema::tasks::extension::CancelTaskResult;
///
/// let result = CancelTaskResult::new();
/// assert_eq!(serde_json::to_string(&result)?, r#"{"resultType":"complete"}"#, "where the task stands is not said");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(name = "CancelTaskResult", when = Feature::TasksExtension)]
#[non_exhaustive]
pub struct CancelTaskResult {
    /// Says that the result is complete, not an interim one.
    #[wire(lenient)]
    pub result_type: CompleteType,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<ResultMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}
