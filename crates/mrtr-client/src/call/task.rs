//! A call that has become a task: looked at, answered, and followed to its end.

use std::time::Duration;

use mrtr_schema::tasks::{self, TaskStatus, extension};
use mrtr_schema::{Feature, InputRequests, Json, JsonObject, RawMembers, ReadError, Reply, Wire};
use serde_json::value::RawValue;
use serde_json::{Map, json};

use super::{Call, Outcome, Outgoing, Phase, Sending, Stop, answers, object};

impl Call {
    pub(super) fn poll_interval(&self) -> Duration {
        let wished = self.pending.task.as_ref().and_then(|task| task.poll_ms);
        wished.map_or(self.limits.poll, Duration::from_millis)
    }

    pub(super) fn task_message(&self, sending: Sending) -> Outgoing {
        let id = self.pending.task.as_ref().map(|task| task.id.clone()).unwrap_or_default();
        let extension = !self.pending.revision.has(Feature::CoreTasks);
        let task_id = json!({ "taskId": id });
        let task_id = task_id.as_object().cloned().unwrap_or_default();
        match sending {
            Sending::AnswerTask => {
                let method = if extension { "tasks/update" } else { "tasks/input_response" };
                let mut members = task_id;
                if !extension {
                    let related = json!({ "io.modelcontextprotocol/related-task": { "taskId": id } });
                    members.insert("_meta".to_owned(), related);
                    if let Some(state) = &self.pending.state {
                        members.insert("requestState".to_owned(), state.untrusted_text().into());
                    }
                }
                let raw = vec![("inputResponses".to_owned(), answers(&self.pending))];
                Outgoing { method: method.to_owned(), params: object(raw, members) }
            }
            Sending::TaskResult => Outgoing { method: "tasks/result".to_owned(), params: object(Vec::new(), task_id) },
            Sending::GetTask | Sending::Call => {
                Outgoing { method: "tasks/get".to_owned(), params: object(Vec::new(), task_id) }
            }
        }
    }

    pub(super) fn after_task_message(&mut self, sending: Sending, result: &RawValue) -> Result<Phase, ReadError> {
        if sending == Sending::GetTask
            && let Some(task) = &mut self.pending.task
        {
            task.looks = task.looks.saturating_add(1);
            if task.looks > self.limits.looks {
                return Ok(Phase::Over(Outcome::Stopped(Stop::TooManyLooks(self.limits.looks))));
            }
        }
        match sending {
            Sending::AnswerTask => {
                let answered: Vec<_> = self.pending.answers.keys().cloned().collect();
                if let Some(task) = &mut self.pending.task {
                    task.answered.extend(answered);
                }
                self.pending.answers.clear();
                self.pending.asked = None;
                self.pending.state = None;
                Ok(Phase::Waiting(self.poll_interval(), Sending::GetTask))
            }
            Sending::TaskResult => self.after_task_result(result),
            Sending::GetTask | Sending::Call if self.pending.revision.has(Feature::CoreTasks) => {
                self.after_older_look(result)
            }
            Sending::GetTask | Sending::Call => self.after_look(result),
        }
    }

    fn after_look(&mut self, result: &RawValue) -> Result<Phase, ReadError> {
        use extension::DetailedTask;
        let extension::GetTaskResult { task, .. } =
            extension::GetTaskResult::read(result, self.pending.revision.lenient())?;
        self.note_interval(task.facts().poll_interval_ms);
        Ok(match task {
            DetailedTask::Working(_) => Phase::Waiting(self.poll_interval(), Sending::GetTask),
            DetailedTask::Completed(task) => Phase::Over(Outcome::Complete(task.result.into())),
            DetailedTask::Failed(task) => Phase::Over(Outcome::Failed(task.error)),
            DetailedTask::Cancelled(_) => Phase::Over(Outcome::Stopped(Stop::TaskCancelled)),
            DetailedTask::InputRequired(task) => {
                let raw = RawMembers::of(result)?.get("inputRequests");
                self.gather_for_task(raw, &task.input_requests)?
            }
        })
    }

    fn after_older_look(&mut self, result: &RawValue) -> Result<Phase, ReadError> {
        let looked = tasks::GetTaskResult::read(result, self.pending.revision.lenient())?.state;
        self.note_interval(looked.poll_interval);
        Ok(match looked.status {
            TaskStatus::Working => Phase::Waiting(self.poll_interval(), Sending::GetTask),
            TaskStatus::Cancelled => Phase::Over(Outcome::Stopped(Stop::TaskCancelled)),
            TaskStatus::InputRequired | TaskStatus::Completed | TaskStatus::Failed => {
                Phase::Sending(Sending::TaskResult)
            }
        })
    }

    fn after_task_result(&mut self, result: &RawValue) -> Result<Phase, ReadError> {
        let reply = Reply::<tasks::TaskPayload>::read(result, self.pending.revision.lenient())?;
        match reply {
            Reply::InputRequired(interim) => {
                self.pending.state = interim.request_state().cloned();
                let raw = RawMembers::of(result)?.get("inputRequests");
                let (requests, _) = interim.into_parts();
                self.gather_for_task(raw, &requests)
            }
            _ => Ok(Phase::Over(Outcome::Complete(Json::from_raw(result)?))),
        }
    }

    /// Asks for what nobody was asked before; if there is nothing new, the task is looked at again later.
    fn gather_for_task(&mut self, raw: Option<&RawValue>, requests: &InputRequests) -> Result<Phase, ReadError> {
        let answered = self.pending.task.as_ref().map(|task| &*task.answered).unwrap_or_default();
        let is_new = |key: &str| !answered.iter().any(|known| known == key);
        if !requests.keys().any(is_new) {
            return Ok(Phase::Waiting(self.poll_interval(), Sending::GetTask));
        }
        let members = raw.map(RawMembers::of).transpose()?.unwrap_or_default();
        let fresh =
            members.iter().filter(|(key, _)| is_new(key)).map(|(key, value)| (key.to_owned(), value.to_owned()));
        let asked: JsonObject = object(fresh.collect(), Map::new());
        self.pending.rounds += 1;
        if self.pending.rounds > self.limits.rounds {
            return Ok(Phase::Over(Outcome::Stopped(Stop::TooManyRounds(self.limits.rounds))));
        }
        self.pending.asked = Some(asked);
        self.pending.answers.clear();
        self.pending.skipped.clear();
        Ok(Phase::Gathering)
    }

    fn note_interval(&mut self, interval: Option<u64>) {
        if let (Some(task), Some(interval)) = (&mut self.pending.task, interval) {
            task.poll_ms = Some(interval);
        }
    }
}
