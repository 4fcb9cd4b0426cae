//! What a reply is: complete, interim, or a task.

use mrtr_schema::tasks::{self, extension};
use mrtr_schema::{
    AnyResult, Feature, InputRequiredResult, Json, JsonObject, RawMembers, ReadError, Reply, RequestState, Revision,
    Wire,
};
use serde_json::value::RawValue;

use crate::PendingTask;

pub(super) enum ReplyKind {
    Complete(Json),
    Interim { asked: Option<JsonObject>, state: Option<RequestState> },
    Task(PendingTask),
}

impl ReplyKind {
    pub(super) fn of(result: &RawValue, revision: Revision) -> Result<Self, ReadError> {
        let dialect = revision.lenient();
        match Reply::<AnyResult>::read(result, dialect)? {
            Reply::Complete(_) => match RawMembers::of(result)?.get("task") {
                // The older revisions tell a task by its member (TK-1).
                Some(_) if revision.has(Feature::CoreTasks) => {
                    let task = tasks::CreateTaskResult::read(result, dialect)?.task.state;
                    Ok(Self::Task(PendingTask::new(task.task_id, task.poll_interval)))
                }
                _ => Json::from_raw(result).map(Self::Complete),
            },
            Reply::InputRequired(interim) => Self::interim(result, &interim),
            Reply::Extension(extension) if extension.result_type.as_str() == "task" => {
                let task = extension::CreateTaskResult::read(result, dialect)?.facts;
                Ok(Self::Task(PendingTask::new(task.task_id, task.poll_interval_ms)))
            }
            _ => Err(ReadError::refused("a result of a kind that nobody declared").in_member("resultType")),
        }
    }

    /// Keeps what was asked as it came: another process may know kinds that this one does not.
    fn interim(result: &RawValue, interim: &InputRequiredResult) -> Result<Self, ReadError> {
        let asked = RawMembers::of(result)?.get("inputRequests").map(JsonObject::from_raw).transpose()?;
        let asked = asked.filter(|_| interim.input_requests().next().is_some());
        Ok(Self::Interim { asked, state: interim.request_state().cloned() })
    }
}
