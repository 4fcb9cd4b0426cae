//! A task as its clients see it, in both families.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mrtr_schema::tasks::{self, Lifetime, TaskStatus, extension};
use mrtr_schema::{ErrorCode, Feature, InputRequests, Json, Wire};
use mrtr_server::ProtocolError;
use mrtr_state::Timestamp;

use crate::body::internal_error;
use crate::{End, TaskRecord};

/// The reply to a call that became a task. It gives the task's present state, since a replay may come later.
pub(crate) fn created(record: &TaskRecord, is_new: bool, now: Timestamp) -> Result<Json, ProtocolError> {
    if record.revision.has(Feature::CoreTasks) {
        let mut state = core(record, now);
        if is_new {
            state.status_message = Some(format!("Task has been created for {} tool invocation.", record.tool));
        }
        return write(&tasks::CreateTaskResult::new(tasks::Task::new(state)), record);
    }
    let status = record.status(now);
    write(&extension::CreateTaskResult::new(extension::TaskType::Task, status, facts(record, None)), record)
}

/// The state of a task, as the tasks extension of the published revision writes it.
pub(crate) fn detailed(
    record: &TaskRecord,
    now: Timestamp,
    message: Option<String>,
    requests: InputRequests,
    result: Option<Json>,
    error: Option<mrtr_schema::ErrorObject>,
) -> Result<extension::DetailedTask, ProtocolError> {
    let lost = || internal_error("Internal error");
    let message = if record.set_aside.is_some() { Some(SET_ASIDE.to_owned()) } else { message };
    Ok(match record.status(now) {
        TaskStatus::Working => extension::WorkingTask::new(facts(record, message)).into(),
        TaskStatus::InputRequired => extension::InputRequiredTask::new(facts(record, message), requests).into(),
        TaskStatus::Completed => {
            let result = result.and_then(Json::into_object).ok_or_else(lost)?;
            extension::CompletedTask::new(facts(record, None), result).into()
        }
        TaskStatus::Failed => {
            let end = record.end(now).and_then(|end| end_error(record, end));
            let error = end.map(|error| error.object().clone()).or(error).ok_or_else(lost)?;
            extension::FailedTask::new(facts(record, Some(error.message.clone())), error).into()
        }
        TaskStatus::Cancelled => extension::CancelledTask::new(facts(record, None)).into(),
    })
}

/// The state of a task, as the core protocol of the older revisions writes it: a result that says that the tool failed
/// is a failure.
pub(crate) fn core(record: &TaskRecord, now: Timestamp) -> tasks::TaskState {
    let end = record.end(now);
    let status = match end {
        Some(End::Completed { is_error: true }) => TaskStatus::Failed,
        _ => record.status(now),
    };
    let text = match (status, end) {
        (TaskStatus::Working | TaskStatus::InputRequired, _) if record.set_aside.is_some() => SET_ASIDE.to_owned(),
        (TaskStatus::Working, _) => "Task is being worked on".to_owned(),
        (TaskStatus::InputRequired, _) => "Input Required to Proceed call tasks/result".to_owned(),
        (TaskStatus::Completed, _) => "Task has been completed successfully, call tasks/result".to_owned(),
        (TaskStatus::Cancelled, _) => "Task has been cancelled".to_owned(),
        (TaskStatus::Failed, Some(End::Expired)) => "Task has failed: its ttl is over".to_owned(),
        (TaskStatus::Failed, _) => "Task has failed, call tasks/result".to_owned(),
    };
    core_state(record, status, Some(text))
}

/// The error of a task that ended without a run saying how; `None` if a run ended it.
pub(crate) fn end_error(record: &TaskRecord, end: End) -> Option<ProtocolError> {
    match end {
        End::Completed { .. } | End::Failed => None,
        End::Expired => Some(internal_error("The task's ttl is over")),
        End::Stuck => Some(internal_error("The task could not be run")),
        End::Cancelled => {
            let text = format!("The task {} was cancelled", record.id);
            Some(ProtocolError::new(ErrorCode::INVALID_PARAMS, text))
        }
    }
}

pub(crate) fn write<T: Wire>(value: &T, record: &TaskRecord) -> Result<Json, ProtocolError> {
    let written = value.to_json(record.revision).ok().and_then(|text| Json::parse(&text).ok());
    written.ok_or_else(|| {
        tracing::error!(id = %record.id, "a task cannot be written in its revision");
        internal_error("Internal error")
    })
}

fn facts(record: &TaskRecord, message: Option<String>) -> extension::TaskFacts {
    let (created, updated) = (iso(record.created), iso(record.updated));
    let mut facts = extension::TaskFacts::new(record.id.to_string(), created, updated, lifetime(record));
    facts.status_message = message;
    facts.poll_interval_ms = Some(millis(record.poll_interval));
    facts
}

fn core_state(record: &TaskRecord, status: TaskStatus, message: Option<String>) -> tasks::TaskState {
    let (created, updated) = (iso(record.created), iso(record.updated));
    let mut state = tasks::TaskState::new(record.id.to_string(), status, created, updated, lifetime(record));
    state.status_message = message;
    state.poll_interval = Some(millis(record.poll_interval));
    state
}

/// The lifetime of a task, which a task without a ttl has too while it is set aside.
fn lifetime(record: &TaskRecord) -> Lifetime {
    let lasts = record.expires().map(|end| end.since(record.created));
    lasts.map_or(Lifetime::Unlimited, |lasts| Lifetime::Milliseconds(millis(lasts)))
}

/// The message for clients of a task that is set aside.
const SET_ASIDE: &str = "The task is set aside: its last runs were lost. It continues when an operator of the server \
                         retries it; what it has done is kept until its ttl is over.";

/// The milliseconds of a duration, at most as many as every client can read as a number.
fn millis(duration: Duration) -> u64 {
    const LARGEST: u64 = (1 << 53) - 1;
    u64::try_from(duration.as_millis()).unwrap_or(LARGEST).min(LARGEST)
}

/// The moment in ISO 8601.
fn iso(moment: Timestamp) -> String {
    let time = UNIX_EPOCH.checked_add(Duration::from_millis(moment.as_millis())).unwrap_or_else(SystemTime::now);
    humantime::format_rfc3339_millis(time).to_string()
}
