//! A call that has become a task: polled, answered, and followed to its end.

use mrtr_schema::result::AnyResult;
use mrtr_schema::tasks::{self, TaskStatus, extension};
use mrtr_schema::{Feature, Json, JsonObject, MethodResult, ReadError, Wire};
use serde_json::json;
use serde_json::value::RawValue;

use super::backoff::poll_delay;
use super::{Call, CallOutcome, Outgoing, Phase, Sending, Stop, reply};
use crate::pending::Questions;
use crate::raw::RawObject;

impl Call {
    pub(super) fn task_message(&self, sending: Sending) -> Outgoing {
        let method = match sending {
            Sending::AnswerTask if self.is_core_task() => "tasks/input_response",
            Sending::AnswerTask => "tasks/update",
            Sending::TaskResult => "tasks/result",
            Sending::GetTask | Sending::Call => "tasks/get",
        };
        let mut params = RawObject::default();
        params.set("taskId", self.task_id());
        if sending == Sending::AnswerTask {
            params.set("inputResponses", &self.pending.answers);
            if self.is_core_task() {
                params.set("_meta", &json!({ RELATED_TASK: { "taskId": self.task_id() } }));
            }
            if let Some(state) = &self.pending.state {
                params.set("requestState", state);
            }
        }
        Outgoing { method: method.to_owned(), params: params.finish(), is_retry: true }
    }

    fn task_id(&self) -> &str {
        self.pending.task.as_ref().map(|task| &*task.id).unwrap_or_default()
    }

    /// True if the task is one of the core protocol, as the older revisions have them.
    fn is_core_task(&self) -> bool {
        self.pending.revision.has(Feature::CoreTasks)
    }

    pub(super) fn after_task_message(&mut self, sending: Sending, result: &RawValue) -> Result<Phase, Stop> {
        let phase = match sending {
            Sending::AnswerTask => self.after_answers(result),
            Sending::TaskResult => self.after_task_result(result),
            Sending::GetTask | Sending::Call => {
                self.count_poll();
                if self.is_core_task() { self.after_core_poll(result) } else { self.after_poll(result) }
            }
        }?;
        self.pending.state_only_rounds = 0;
        Ok(phase)
    }

    fn count_poll(&mut self) {
        if let Some(task) = &mut self.pending.task {
            task.polls = task.polls.saturating_add(1);
        }
    }

    /// Waits before the next poll, if there is to be one.
    pub(super) fn poll_later(&self) -> Phase {
        let Some(task) = &self.pending.task else { return Phase::Sending(Sending::Call) };
        if task.polls >= self.limits.polls {
            return Phase::stopped(Stop::TooManyPolls(task.polls));
        }
        let (usual, least) = (self.limits.poll_interval, self.limits.least_poll_interval);
        Phase::Waiting(poll_delay(task.poll_ms, usual, least), Sending::GetTask)
    }

    fn after_answers(&mut self, acknowledgement: &RawValue) -> Result<Phase, Stop> {
        complete(acknowledgement, self)?;
        let answered: Vec<_> = self.pending.answers.keys().cloned().collect();
        if let Some(task) = &mut self.pending.task {
            task.answered.extend(answered);
        }
        self.end_round(None, None);
        Ok(self.poll_later())
    }

    fn after_poll(&mut self, result: &RawValue) -> Result<Phase, Stop> {
        use extension::DetailedTask;
        let task = extension::GetTaskResult::read(result, self.pending.revision.lenient())?.task;
        let facts = task.facts();
        self.check_task(&facts.task_id)?;
        if let Some(pending) = &mut self.pending.task {
            pending.update(facts.created_at.clone(), facts.ttl_ms, facts.poll_interval_ms);
        }
        self.pending.asked = None;
        match task {
            DetailedTask::Working(_) => Ok(self.poll_later()),
            DetailedTask::Completed(task) => {
                Ok(Phase::Over(CallOutcome::Complete(complete(task.result.as_raw(), self)?)))
            }
            DetailedTask::Failed(task) => Ok(Phase::Over(CallOutcome::Failed(task.error))),
            DetailedTask::Cancelled(_) => Err(Stop::TaskCancelled),
            DetailedTask::InputRequired(_) => self.ask_for_task(result),
        }
    }

    fn after_core_poll(&mut self, result: &RawValue) -> Result<Phase, Stop> {
        let state = tasks::GetTaskResult::read(result, self.pending.revision.lenient())?.state;
        self.check_task(&state.task_id)?;
        if let Some(pending) = &mut self.pending.task {
            pending.update(state.created_at, state.ttl, state.poll_interval);
        }
        self.pending.asked = None;
        match state.status {
            TaskStatus::Working => Ok(self.poll_later()),
            TaskStatus::Cancelled => Err(Stop::TaskCancelled),
            // The result says what the task asks, and what came of it (TK-2).
            TaskStatus::InputRequired | TaskStatus::Completed | TaskStatus::Failed => {
                Ok(Phase::Sending(Sending::TaskResult))
            }
        }
    }

    fn check_task(&self, id: &str) -> Result<(), ReadError> {
        if id == self.task_id() { Ok(()) } else { Err(ReadError::refused("another task").in_member("taskId")) }
    }

    fn after_task_result(&mut self, result: &RawValue) -> Result<Phase, Stop> {
        match MethodResult::<AnyResult>::read(result, self.pending.revision.lenient())? {
            MethodResult::InputRequired(interim) => {
                let state = interim.request_state().cloned();
                self.check_size(None, state.as_ref())?;
                self.pending.state = state;
                self.ask_for_task(result)
            }
            _ => Ok(Phase::Over(CallOutcome::Complete(complete(result, self)?))),
        }
    }

    /// Asks the questions that were not answered before. If there are no new ones, the call polls the task again later.
    fn ask_for_task(&mut self, result: &RawValue) -> Result<Phase, Stop> {
        let Some(asked) = self.unanswered_questions(result)? else { return Ok(self.poll_later()) };
        self.check_size(Some(&asked), None)?;
        self.pending.asked = Some(asked);
        self.pending.answers.clear();
        self.pending.skipped.clear();
        Ok(self.ask())
    }

    /// The questions whose keys were not answered yet.
    fn unanswered_questions(&self, result: &RawValue) -> Result<Option<Questions>, ReadError> {
        let Some(asked) = reply::asked(result, &self.pending)? else { return Ok(None) };
        let answered = self.pending.task.as_ref().map(|task| &*task.answered).unwrap_or_default();
        let mut members = RawObject::of(asked.raw.as_raw());
        members.retain(|key, _| !answered.iter().any(|known| known == key));
        if members.is_empty() {
            return Ok(None);
        }
        Questions::read(JsonObject::from_raw(&members.finish())?, self.pending.revision).map(Some)
    }
}

/// The result, if it is a complete one.
fn complete(result: &RawValue, call: &Call) -> Result<Json, ReadError> {
    match MethodResult::<AnyResult>::read(result, call.pending.revision.lenient())? {
        MethodResult::Complete(_) => Json::from_raw(result),
        _ => Err(ReadError::refused("a result that is not complete").in_member("resultType")),
    }
}

const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
