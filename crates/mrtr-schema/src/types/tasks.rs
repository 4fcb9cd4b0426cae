//! Tasks of the core protocol, in the older revisions: work that continues after the reply, and asks through
//! `tasks/result`.
//!
//! The published revision has them as an extension, with messages of its own: see [`extension`].

pub mod extension;

use mrtr_macros::Wire;
use schemars::{Schema, json_schema};
use serde::Serializer;
use serde_json::value::RawValue;

use crate::error::ReadError;
use crate::json::Members;
use crate::revision::{Dialect, Feature, Revision};
use crate::types::input::InputResponses;
use crate::types::meta::{NotificationMeta, RequestMeta, ResultMeta};
use crate::types::params::required_params;
use crate::types::request_state::RequestState;
use crate::types::result::CompleteType;
use crate::wire::schema::Definitions;
use crate::wire::{LARGEST_COUNT, Wire};

/// The status of a task. `completed`, `failed` and `cancelled` are final.
///
/// ```
/// use mrtr_schema::tasks::TaskStatus;
///
/// assert!(TaskStatus::Cancelled.is_final());
/// assert!(!TaskStatus::InputRequired.is_final());
/// assert_eq!(serde_json::to_string(&TaskStatus::InputRequired)?, r#""input_required""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Wire)]
#[wire(name = "TaskStatus", when = Feature::Tasks)]
#[expect(clippy::exhaustive_enums, reason = "the state machine has these five")]
pub enum TaskStatus {
    /// The task is working.
    Working,
    /// The task waits for input.
    #[wire(rename = "input_required")]
    InputRequired,
    /// The task has a result.
    Completed,
    /// The task has no result, and never will.
    Failed,
    /// The caller or the server cancelled it.
    Cancelled,
}

impl TaskStatus {
    /// Returns true if the status will never change again.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// Asks, in `params.task`, for a request to run as a task.
///
/// ```
/// use mrtr_schema::tasks::TaskMetadata;
/// use mrtr_schema::{Revision, Wire};
/// use mrtr_schema::tools::CallToolParams;
///
/// let mut call = CallToolParams::new("train_model");
/// call.task.get_or_insert_with(TaskMetadata::new).ttl = Some(60_000);
/// assert_eq!(call.to_json(Revision::Sep2322)?, r#"{"name":"train_model","task":{"ttl":60000}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(name = "TaskMetadata", when = Feature::CoreTasks)]
#[non_exhaustive]
pub struct TaskMetadata {
    /// The milliseconds after its creation for which the task should be kept.
    pub ttl: Option<u64>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The task that a message belongs to, in `_meta`.
///
/// ```
/// use mrtr_schema::tasks::RelatedTask;
/// use mrtr_schema::{Revision, Wire};
/// use mrtr_schema::meta::ResultMeta;
///
/// let mut meta = ResultMeta::new();
/// meta.related_task = Some(RelatedTask::new("t-1"));
/// assert_eq!(meta.to_json(Revision::Sep2322)?, r#"{"io.modelcontextprotocol/related-task":{"taskId":"t-1"}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "RelatedTaskMetadata", when = Feature::CoreTasks)]
#[non_exhaustive]
pub struct RelatedTask {
    /// Its id.
    pub task_id: String,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The facts about a task.
///
/// ```
/// use mrtr_schema::tasks::{Lifetime, TaskState, TaskStatus};
///
/// let now = "2026-01-27T03:32:48Z";
/// let mut state = TaskState::new("t-1", TaskStatus::Working, now, now, Lifetime::Unlimited);
/// state.poll_interval = Some(500);
/// assert_eq!(state.created_at, state.last_updated_at, "nothing has happened yet");
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(part)]
#[non_exhaustive]
pub struct TaskState {
    /// Its id.
    pub task_id: String,
    /// The status.
    pub status: TaskStatus,
    /// One sentence about the status.
    pub status_message: Option<String>,
    /// The time at which it was created, in ISO 8601.
    pub created_at: String,
    /// The time of its last change, in ISO 8601.
    pub last_updated_at: String,
    /// The milliseconds after its creation for which the task is kept.
    pub ttl: Lifetime,
    /// The milliseconds that the client should wait between two polls.
    pub poll_interval: Option<u64>,
}

/// A task.
///
/// ```
/// use mrtr_schema::tasks::{Lifetime, Task, TaskState, TaskStatus};
///
/// let now = "2026-01-27T03:32:48Z";
/// let state = TaskState::new("echo_1", TaskStatus::Working, now, now, Lifetime::Milliseconds(60_000));
/// let task = Task::new(state);
/// assert!(!task.state.status.is_final());
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "Task", when = Feature::CoreTasks)]
#[non_exhaustive]
pub struct Task {
    /// The facts about the task.
    #[wire(flatten)]
    pub state: TaskState,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The time for which a task is kept: a number of milliseconds, or `null` for as long as the server likes.
///
/// ```
/// use mrtr_schema::tasks::Lifetime;
/// use mrtr_schema::{Revision, Wire};
///
/// assert_eq!(Lifetime::from_json("null", Revision::Sep2322.strict())?, Lifetime::Unlimited);
/// assert_eq!(Lifetime::from_json("60000", Revision::Sep2322.strict())?, Lifetime::Milliseconds(60_000));
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "limited or not")]
pub enum Lifetime {
    /// The task is kept for this many milliseconds after its creation.
    Milliseconds(u64),
    /// The task is kept as long as the server likes.
    Unlimited,
}

impl Wire for Lifetime {
    const NAME: Option<&'static str> = None;

    fn read(value: &RawValue, dialect: Dialect) -> Result<Self, ReadError> {
        if value.get() == "null" {
            return Ok(Self::Unlimited);
        }
        u64::read(value, dialect).map(Self::Milliseconds)
    }

    fn write<S: Serializer>(&self, _: Revision, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Milliseconds(lifetime) => serializer.serialize_u64(*lifetime),
            Self::Unlimited => serializer.serialize_unit(),
        }
    }

    fn schema(_: &mut Definitions) -> Schema {
        json_schema!({ "type": ["integer", "null"], "minimum": 0, "maximum": LARGEST_COUNT })
    }

    #[cfg(feature = "proptest")]
    fn any_value(_: Revision) -> proptest::strategy::BoxedStrategy<Self> {
        use proptest::prelude::*;
        prop_oneof![Just(Self::Unlimited), (0..=LARGEST_COUNT).prop_map(Self::Milliseconds)].boxed()
    }
}

/// Says whether a tool runs as a task.
///
/// ```
/// use mrtr_schema::tasks::{TaskSupport, ToolExecution};
///
/// let mut execution = ToolExecution::new();
/// execution.task_support = Some(TaskSupport::Optional);
/// assert_eq!(serde_json::to_string(&execution)?, r#"{"taskSupport":"optional"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(name = "ToolExecution", when = Feature::CoreTasks)]
#[non_exhaustive]
pub struct ToolExecution {
    /// The tool's support for tasks; absent means that it does not run as one.
    pub task_support: Option<TaskSupport>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// A tool's support for tasks: says whether it runs as one.
///
/// ```
/// use mrtr_schema::tasks::TaskSupport;
/// use mrtr_schema::{Revision, Tool, Wire};
///
/// let tool = r#"{"name": "train", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}}"#;
/// let tool = Tool::from_json(tool, Revision::Sep2322.strict())?;
/// assert_eq!(tool.execution.unwrap().task_support, Some(TaskSupport::Required));
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Wire)]
#[non_exhaustive]
pub enum TaskSupport {
    /// The tool does not run as a task.
    Forbidden,
    /// The tool runs as a task if the client asks for it.
    Optional,
    /// The tool runs as a task only.
    Required,
}

/// The reply sent in place of a result: it names the task that will have the result.
///
/// ```
/// use mrtr_schema::tasks::{CreateTaskResult, Lifetime, Task, TaskState, TaskStatus};
/// use mrtr_schema::{Revision, Wire};
///
/// let now = "2026-01-27T03:32:48Z";
/// let task = Task::new(TaskState::new("t-1", TaskStatus::Working, now, now, Lifetime::Unlimited));
/// let text = CreateTaskResult::new(task).to_json(Revision::Draft202602)?;
/// assert!(text.starts_with(r#"{"task":{"taskId":"t-1","status":"working","#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "CreateTaskResult", when = Feature::CoreTasks)]
#[non_exhaustive]
pub struct CreateTaskResult {
    /// Says that the result is complete, not an interim one.
    #[wire(when = Feature::ResultType, lenient)]
    pub result_type: CompleteType,
    /// The task.
    pub task: Task,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<ResultMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// Parameters of a request about one task.
///
/// ```
/// use mrtr_schema::tasks::TaskParams;
/// use mrtr_schema::{Revision, Wire};
/// use mrtr_schema::jsonrpc::Request;
/// use mrtr_schema::methods::GetTask;
///
/// let request = Request::<GetTask>::new(2, TaskParams::new("t-1"));
/// assert_eq!(
///     request.to_json(Revision::Sep2322)?,
///     r#"{"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"t-1"}}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[non_exhaustive]
pub struct TaskParams {
    /// The task.
    pub task_id: String,
    /// Metadata.
    #[wire(rename = "_meta", required = Feature::RequestMetadata)]
    pub meta: Option<RequestMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The answer to a look at a task: its status and facts.
///
/// ```
/// use mrtr_schema::tasks::{GetTaskResult, Lifetime, TaskState, TaskStatus};
/// use mrtr_schema::{Revision, Wire};
///
/// let now = "2026-01-27T03:32:48Z";
/// let result = GetTaskResult::new(TaskState::new("t-1", TaskStatus::InputRequired, now, now, Lifetime::Unlimited));
/// let text = result.to_json(Revision::Sep2322)?;
/// assert!(text.starts_with(r#"{"resultType":"complete","taskId":"t-1","status":"input_required","#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "GetTaskResult", when = Feature::CoreTasks)]
#[non_exhaustive]
pub struct GetTaskResult {
    /// Says that the result is complete, not an interim one.
    #[wire(when = Feature::ResultType, lenient)]
    pub result_type: CompleteType,
    /// The facts about the task.
    #[wire(flatten)]
    pub state: TaskState,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<ResultMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The answer to a cancellation: the task's status and facts.
///
/// ```
/// use mrtr_schema::tasks::CancelTaskResult;
/// use mrtr_schema::{Revision, Wire};
///
/// let result = r#"{"resultType": "complete", "taskId": "t-1", "status": "cancelled", "ttl": null,
///     "createdAt": "2026-01-27T03:32:48Z", "lastUpdatedAt": "2026-01-27T03:40:00Z"}"#;
/// let result = CancelTaskResult::from_json(result, Revision::Sep2322.strict())?;
/// assert!(result.state.status.is_final());
/// # Ok::<(), mrtr_schema::ReadError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "CancelTaskResult", when = Feature::CoreTasks)]
#[non_exhaustive]
pub struct CancelTaskResult {
    /// Says that the result is complete, not an interim one.
    #[wire(when = Feature::ResultType, lenient)]
    pub result_type: CompleteType,
    /// The facts about the task.
    #[wire(flatten)]
    pub state: TaskState,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<ResultMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// The result that the request would have had if it had not become a task; `tasks/result` answers with it, or with an
/// interim result.
///
/// ```
/// use mrtr_schema::tasks::TaskPayload;
/// use mrtr_schema::{CallToolResult, ContentBlock, MethodResult, Revision, Wire};
///
/// let returned = CallToolResult::new([ContentBlock::text("Done")]).to_json(Revision::Sep2322)?;
/// let read = MethodResult::<TaskPayload>::from_json(&returned, Revision::Sep2322.strict()).unwrap();
/// let MethodResult::Complete(payload) = read else { panic!("complete") };
/// assert!(payload.extra.get("content").is_some(), "the result of the tool, as it is");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Wire)]
#[wire(name = "GetTaskPayloadResult", when = Feature::CoreTasks, open)]
#[non_exhaustive]
pub struct TaskPayload {
    /// Says that the result is complete, not an interim one.
    #[wire(when = Feature::ResultType, lenient)]
    pub result_type: CompleteType,
    /// Metadata, with the task that it belongs to.
    #[wire(rename = "_meta")]
    pub meta: Option<ResultMeta>,
    /// The result.
    #[wire(extra)]
    pub extra: Members,
}

/// One page of the caller's tasks.
///
/// ```
/// use mrtr_schema::tasks::{ListTasksResult, Task};
/// use mrtr_schema::{Revision, Wire};
///
/// let mut page = ListTasksResult::new(Vec::<Task>::new());
/// page.next_cursor = Some("page-2".into());
/// assert_eq!(page.to_json(Revision::Draft202602)?, r#"{"tasks":[],"nextCursor":"page-2"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "ListTasksResult", when = Feature::CoreTasks)]
#[non_exhaustive]
pub struct ListTasksResult {
    /// Says that the result is complete, not an interim one.
    #[wire(when = Feature::ResultType, lenient)]
    pub result_type: CompleteType,
    /// The tasks.
    pub tasks: Vec<Task>,
    /// The place where the next page begins; absent on the last one.
    pub next_cursor: Option<String>,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<ResultMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

/// Parameters of `tasks/input_response`: answers to what a task asked.
///
/// The task is named by `taskId`, by the related task in `_meta`, or by both if they agree (TK-17).
///
/// ```
/// use mrtr_schema::tasks::{RelatedTask, TaskInputResponseParams};
/// use mrtr_schema::InputResponses;
/// use mrtr_schema::meta::RequestMeta;
///
/// let mut params = TaskInputResponseParams::new(InputResponses::default());
/// assert!(params.task().is_err(), "it names no task");
/// let mut meta = RequestMeta::new();
/// meta.related_task = Some(RelatedTask::new("echo_1"));
/// params.meta = Some(meta);
/// assert_eq!(params.task(), Ok("echo_1"));
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "TaskInputResponseRequestParams", when = Feature::CoreTasks)]
#[non_exhaustive]
pub struct TaskInputResponseParams {
    /// The answers.
    pub input_responses: InputResponses,
    /// The server's state for the client to carry, byte for byte.
    pub request_state: Option<RequestState>,
    /// The task, where `_meta` does not say it.
    pub task_id: Option<String>,
    /// Metadata, with the task that the answers belong to.
    #[wire(rename = "_meta")]
    pub meta: Option<RequestMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

impl TaskInputResponseParams {
    /// Returns the id of the task that the answers belong to.
    pub fn task(&self) -> Result<&str, ReadError> {
        let related = self.meta.as_ref().and_then(|meta| meta.related_task.as_ref()).map(|task| task.task_id.as_str());
        match (self.task_id.as_deref(), related) {
            (Some(named), Some(related)) if named != related => {
                Err(ReadError::refused("`taskId` and the related task in `_meta` differ"))
            }
            (Some(task), _) | (None, Some(task)) => Ok(task),
            (None, None) => Err(ReadError::missing("taskId")),
        }
    }
}

/// Says what status a task has now.
///
/// ```
/// use mrtr_schema::tasks::{Lifetime, TaskState, TaskStatus, TaskStatusParams};
/// use mrtr_schema::{Revision, Wire};
/// use mrtr_schema::jsonrpc::Notification;
/// use mrtr_schema::methods::TaskStatusChanged;
///
/// let now = "2026-01-27T03:32:48Z";
/// let state = TaskState::new("t-1", TaskStatus::Completed, now, now, Lifetime::Unlimited);
/// let notice = Notification::<TaskStatusChanged>::new(TaskStatusParams::new(state));
/// assert!(notice.to_json(Revision::Sep2322)?.contains(r#""params":{"taskId":"t-1","status":"completed","#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Wire)]
#[wire(name = "TaskStatusNotificationParams", when = Feature::CoreTasks)]
#[non_exhaustive]
pub struct TaskStatusParams {
    /// The facts about the task.
    #[wire(flatten)]
    pub state: TaskState,
    /// Metadata.
    #[wire(rename = "_meta")]
    pub meta: Option<NotificationMeta>,
    /// Members that this type does not name.
    #[wire(extra)]
    pub extra: Members,
}

required_params!(TaskParams, TaskInputResponseParams, TaskStatusParams);
