//! What a reply is: complete, interim, or a task.

use mrtr_schema::result::ResultType;
use mrtr_schema::tasks::{self, extension};
use mrtr_schema::{
    Feature, InputRequiredResult, Json, JsonObject, RawMembers, ReadError, RequestState, Wire, WireObject,
};
use serde_json::value::RawValue;

use crate::pending::Questions;
use crate::{PendingCall, PendingTask};

pub(super) enum ReplyKind {
    Complete(Json),
    Interim { asked: Option<Questions>, state: Option<RequestState> },
    Task(PendingTask),
}

impl ReplyKind {
    pub(super) fn of(result: Json, call: &PendingCall) -> Result<Self, ReadError> {
        let kind = Self::read(result, call)?;
        // The draft has servers ask on any request; the others say on which (SV-1).
        let may_ask = call.revision.may_ask_on(&call.method) || call.revision.has(Feature::RetryOnAnyRequest);
        if may_ask || matches!(kind, Self::Complete(_)) {
            return Ok(kind);
        }
        Err(ReadError::refused("this method has no interim results").in_member("resultType"))
    }

    fn read(result: Json, call: &PendingCall) -> Result<Self, ReadError> {
        let raw = result.as_raw();
        let (revision, dialect) = (call.revision, call.revision.lenient());
        let members = RawMembers::of(raw)?;
        match ResultType::of(&members, dialect)? {
            // The older revisions tell a task by its member (TK-1).
            ResultType::Complete if revision.has(Feature::CoreTasks) && members.get("task").is_some() => {
                let state = tasks::CreateTaskResult::read(raw, dialect)?.task.state;
                let mut task = PendingTask::new(revision, state.task_id);
                task.update(state.created_at, state.ttl, state.poll_interval);
                Ok(Self::Task(task))
            }
            ResultType::Complete => Ok(Self::Complete(result)),
            ResultType::InputRequired => {
                let interim = InputRequiredResult::read_members(members, dialect)?;
                Ok(Self::interim(result, interim))
            }
            ResultType::Extension(word) if word.as_str() == "task" => {
                let facts = extension::CreateTaskResult::read(raw, dialect)?.facts;
                let mut task = PendingTask::new(revision, facts.task_id);
                task.update(facts.created_at, facts.ttl_ms, facts.poll_interval_ms);
                Ok(Self::Task(task))
            }
            _ => Err(ReadError::refused("a result of a kind that nobody declared").in_member("resultType")),
        }
    }

    fn interim(result: Json, interim: InputRequiredResult) -> Self {
        let (requests, state) = interim.into_parts();
        if requests.is_empty() {
            return Self::Interim { asked: None, state };
        }
        let raw = result.into_object().and_then(|result| result.get(REQUESTS)?.into_object());
        Self::Interim { asked: raw.map(|raw| Questions { raw, requests }), state }
    }
}

/// What a result asks, kept as it came.
pub(super) fn asked(result: &RawValue, call: &PendingCall) -> Result<Option<Questions>, ReadError> {
    let raw = RawMembers::of(result)?.get(REQUESTS).map(JsonObject::from_raw).transpose()?;
    raw.map(|raw| Questions::read(raw, call.revision)).transpose()
}

const REQUESTS: &str = "inputRequests";
