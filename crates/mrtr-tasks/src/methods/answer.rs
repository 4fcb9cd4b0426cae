//! Answers to a task. The server checks them when they come, so that the task does not leave `input_required` for
//! answers that it cannot take.

use mrtr_flow::{Entries, check_answer};
use mrtr_schema::result::AnyResult;
use mrtr_schema::tasks::TaskInputResponseParams;
use mrtr_schema::tasks::extension::{UpdateTaskParams, UpdateTaskResult};
use mrtr_schema::{InputResponses, Json};
use mrtr_server::ProtocolError;
use mrtr_server::extend::ExtensionRequest;

use super::{invalid, not_found, read_params, related_meta, unreadable};
use crate::body::{QuestionBody, internal_error};
use crate::record::TransitionError;
use crate::run::fresh_key;
use crate::store::{Answer, KeptQuestion, KeptTask, StoreError};
use crate::tasks::Tasks;
use crate::vault::Kind;
use crate::{count, wire};

impl Tasks {
    /// `tasks/update`: acknowledged whatever it brings, if the task is the caller's.
    pub(super) async fn update(&self, request: &ExtensionRequest<'_>) -> Result<Json, ProtocolError> {
        let params: UpdateTaskParams = read_params(request)?;
        let task = self.find_allowed(request, &params.task_id).await?;
        self.deliver(&task, &params.input_responses).await?;
        wire::write(&UpdateTaskResult::new(), &task.record)
    }

    /// `tasks/input_response`: acknowledged unless the task has ended (TK-4).
    pub(super) async fn input_response(&self, request: &ExtensionRequest<'_>) -> Result<Json, ProtocolError> {
        let params: TaskInputResponseParams = read_params(request)?;
        let id = params.task().map_err(|error| invalid(&error))?;
        let task = self.find_allowed(request, id).await?;
        if params.request_state.as_ref().is_some_and(|state| !self.0.is_task_state(&task.record, state)) {
            return Err(ProtocolError::invalid_params("`requestState` was not issued for this task"));
        }
        if !self.deliver(&task, &params.input_responses).await? {
            return Err(ProtocolError::invalid_params("The task has ended"));
        }
        let mut acknowledged = AnyResult::default();
        acknowledged.meta = Some(related_meta(&task.record));
        wire::write(&acknowledged, &task.record)
    }

    /// Keeps the answers that pass the check. For one that does not, it asks again under a fresh key, since a client
    /// shows each key once. Returns false if the task has ended.
    async fn deliver(&self, task: &KeptTask, answers: &InputResponses) -> Result<bool, ProtocolError> {
        let inner = &*self.0;
        let (record, vault) = (&task.record, &inner.attached().ok_or_else(|| internal_error("Internal error"))?.vault);
        if record.end(task.now).is_some() {
            return Ok(false);
        }
        let mut taken = Vec::new();
        let mut refused = Vec::new();
        for (key, question) in inner.questions(task)? {
            let Some(answer) = answers.get(&key) else { continue };
            let asked = question.request(record.revision).map_err(|error| unreadable(record, &error))?;
            match check_answer(&asked, answer.as_object().as_raw(), record.revision) {
                Ok(()) => {
                    let entry = Entries::of_answer(&question.name, answer.as_object().as_raw(), question.asked());
                    if entry.as_bytes().len() > inner.options.entry_limit {
                        let text = format!("The answer to `{key}` is larger than a task may hold");
                        return Err(ProtocolError::invalid_params(text));
                    }
                    let entry = vault.seal(Kind::Entries, record.id, entry.as_bytes());
                    taken.push(Answer { key, entry });
                }
                Err(reason) => {
                    tracing::info!(id = %record.id, key, reason, "an answer to a task is refused");
                    refused.push((key, question.noted(&reason, record.revision)));
                }
            }
        }
        count::answered("refused", refused.len());
        for (key, question) in refused {
            self.ask_anew(task, &key, &question).await?;
        }
        if taken.is_empty() {
            return Ok(true);
        }
        match inner.store.answer(record.id, &record.owner, taken).await {
            Ok(answered) => {
                count::answered("taken", answered.len());
                inner.work.notify_one();
                Ok(true)
            }
            Err(StoreError::Refused(TransitionError::Ended)) => Ok(false),
            Err(error) => Err(not_found(&error)),
        }
    }

    /// Asks a question again under a fresh key; its message now gives the reason.
    async fn ask_anew(&self, task: &KeptTask, key: &str, question: &QuestionBody) -> Result<(), ProtocolError> {
        let (inner, record) = (&*self.0, &task.record);
        let vault = &inner.attached().ok_or_else(|| internal_error("Internal error"))?.vault;
        let tried = number(&question.name, key);
        // A store keeps keys for as long as their task, so their number is limited: the question stays open under the
        // last one.
        if tried >= MOST_KEYS {
            return Ok(());
        }
        let mut used: Vec<String> = task.open.iter().map(|open| open.key.clone()).collect();
        loop {
            let is_used = |key: &str| number(&question.name, key) <= tried || used.iter().any(|used| used == key);
            let fresh = fresh_key(&question.name, is_used);
            let body = vault.seal_body(Kind::Question, record.id, question);
            let body = body.map_err(|_| internal_error("Internal error"))?;
            let again = KeptQuestion { key: fresh, body };
            match inner.store.ask_anew(record.id, &record.owner, key, again).await {
                // Another answer to this key may have come first.
                Ok(_) | Err(StoreError::Refused(_)) => return Ok(()),
                Err(StoreError::KeyUsed(key)) => used.push(key),
                Err(error) => return Err(not_found(&error)),
            }
        }
    }
}

/// The number of this key among the keys of its question, from 1.
fn number(name: &str, key: &str) -> u32 {
    let number = key.strip_prefix(name).and_then(|rest| rest.strip_prefix('.'));
    number.and_then(|number| number.parse().ok()).unwrap_or(1)
}

/// The most keys that a question gets. It gets a fresh one each time an answer to it does not follow its form.
const MOST_KEYS: u32 = 100;
