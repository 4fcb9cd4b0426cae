//! The methods of both families: they read a task's state, answer its questions, and end it.

mod answer;
mod block;
mod listen;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mrtr_flow::check_capabilities;
use mrtr_schema::meta::ResultMeta;
use mrtr_schema::result::InputRequiredResult;
use mrtr_schema::tasks::extension::{CancelTaskResult, DetailedTask, GetTaskResult};
use mrtr_schema::tasks::{self, RelatedTask, TaskParams, TaskPayload};
use mrtr_schema::{ClientCapabilities, ErrorCode, Feature, InputRequests, Json, RequestState, Wire, WireObject};
use mrtr_server::ProtocolError;
use mrtr_server::extend::{ExtensionReply, ExtensionRequest, Standing};

use crate::body::{QuestionBody, ResultBody, internal_error};
use crate::create::{declares_tasks, undeclared};
use crate::record::TransitionError;
use crate::store::{KeptTask, Listed, Place, StoreError};
use crate::tasks::{Inner, Tasks};
use crate::vault::{Kind, Unreadable};
use crate::{Owner, TaskId, TaskRecord, wire};

impl Tasks {
    /// Returns true if a method is one of these, in its family.
    pub(crate) fn owns_method(method: &str, is_core: bool) -> bool {
        match method {
            "tasks/get" | "tasks/cancel" => true,
            "tasks/update" => !is_core,
            "tasks/result" | "tasks/input_response" | "tasks/list" => is_core,
            _ => false,
        }
    }

    pub(crate) async fn answer_method(&self, request: &ExtensionRequest<'_>) -> Result<ExtensionReply, ProtocolError> {
        self.start();
        let is_core = request.revision.has(Feature::CoreTasks);
        // Before anything is read: without the capability there are no tasks for this client.
        if !is_core && !declares_tasks(request.capabilities) {
            return Err(undeclared());
        }
        match request.method {
            "tasks/get" if is_core => Ok(self.core_get(request).await?.into()),
            "tasks/get" => Ok(self.get(request).await?.into()),
            "tasks/cancel" if is_core => Ok(self.core_cancel(request).await?.into()),
            "tasks/cancel" => Ok(self.cancel_for_client(request).await?.into()),
            "tasks/update" => Ok(self.update(request).await?.into()),
            "tasks/input_response" => Ok(self.input_response(request).await?.into()),
            "tasks/result" => self.result(request).await,
            "tasks/list" => Ok(self.list(request).await?.into()),
            _ => Err(ProtocolError::new(ErrorCode::METHOD_NOT_FOUND, "Method not found")),
        }
    }

    /// Finds the task that a request names, if it is the caller's and of the request's revision.
    async fn find(&self, request: &ExtensionRequest<'_>, id: &str) -> Result<KeptTask, ProtocolError> {
        let (id, owner) = (parse(id)?, self.owner(request)?);
        let task = self.0.store.get(id, Some(&owner)).await.map_err(|error| not_found(&error))?;
        if task.record.revision == request.revision { Ok(task) } else { Err(unknown()) }
    }

    /// Finds the task that a request names, if its caller may use the task's tool now. Who lost a scope can still cancel:
    /// that needs ownership alone.
    async fn find_allowed(&self, request: &ExtensionRequest<'_>, id: &str) -> Result<KeptTask, ProtocolError> {
        let task = self.find(request, id).await?;
        let attached = self.0.attached().ok_or_else(|| internal_error("Internal error"))?;
        let subject = (request.method, &*task.record.tool, None);
        attached.host.check(request.identity, subject, Standing::Live, unknown).await?;
        Ok(task)
    }

    fn owner(&self, request: &ExtensionRequest<'_>) -> Result<Owner, ProtocolError> {
        let attached = self.0.attached().ok_or_else(|| internal_error("Internal error"))?;
        Ok(Owner::new(&attached.audience, request.caller, request.tenant))
    }

    async fn get(&self, request: &ExtensionRequest<'_>) -> Result<Json, ProtocolError> {
        let task = self.find_allowed(request, &task_id(request)?).await?;
        let detailed = self.0.detailed(&task, request.capabilities)?;
        wire::write(&GetTaskResult { task: detailed, meta: None }, &task.record)
    }

    async fn core_get(&self, request: &ExtensionRequest<'_>) -> Result<Json, ProtocolError> {
        let task = self.find_allowed(request, &task_id(request)?).await?;
        wire::write(&tasks::GetTaskResult::new(wire::core(&task.record, task.now)), &task.record)
    }

    async fn cancel_for_client(&self, request: &ExtensionRequest<'_>) -> Result<Json, ProtocolError> {
        let task = self.find(request, &task_id(request)?).await?;
        match self.0.store.cancel(task.record.id, Some(&task.record.owner)).await {
            // A task that has ended stays as it is, and the client gets the same reply.
            Ok(()) | Err(StoreError::Refused(TransitionError::Ended)) => {
                wire::write(&CancelTaskResult::new(), &task.record)
            }
            Err(error) => Err(not_found(&error)),
        }
    }

    async fn core_cancel(&self, request: &ExtensionRequest<'_>) -> Result<Json, ProtocolError> {
        let task = self.find(request, &task_id(request)?).await?;
        match self.0.store.cancel(task.record.id, Some(&task.record.owner)).await {
            Ok(()) => {
                let task = self.find(request, &task.record.id.to_string()).await?;
                wire::write(&tasks::CancelTaskResult::new(wire::core(&task.record, task.now)), &task.record)
            }
            Err(StoreError::Refused(TransitionError::Ended)) => {
                Err(ProtocolError::invalid_params("The task has ended, and cannot be cancelled"))
            }
            Err(error) => Err(not_found(&error)),
        }
    }

    /// Lists the caller's tasks, but only where callers can be told apart: callers that the transport does not know
    /// would see each other's tasks.
    async fn list(&self, request: &ExtensionRequest<'_>) -> Result<Json, ProtocolError> {
        if request.caller.is_none() {
            return Err(ProtocolError::new(ErrorCode::METHOD_NOT_FOUND, "Method not found"));
        }
        let cursor = request.params.text("cursor").map_err(|error| invalid(&error))?;
        let after = cursor.map(|cursor| cursor.parse().map(Place)).transpose();
        let after = after.map_err(|_| ProtocolError::invalid_params("`cursor` was not issued by this server"))?;
        let owner = self.owner(request)?;
        let listed = self.0.store.list(Some(&owner), after, PAGE + 1).await;
        let listed = listed.map_err(|error| Inner::store_failed(&error))?;
        let now = self.0.store.now().await.map_err(|error| Inner::store_failed(&error))?;
        let page = listed.iter().take(PAGE);
        let host = &self.0.attached().ok_or_else(|| internal_error("Internal error"))?.host;
        let mut hidden = Vec::new();
        for task in page.clone() {
            let subject = (request.method, &*task.record.tool, None);
            if host.check(request.identity, subject, Standing::Live, unknown).await.is_err() {
                hidden.push(task.record.id);
            }
        }
        let of_now = |task: &&Listed| task.record.revision == request.revision && !hidden.contains(&task.record.id);
        let shown = page.clone().filter(of_now);
        let all: Vec<_> = shown.map(|task| tasks::Task::new(wire::core(&task.record, now))).collect();
        let mut result = tasks::ListTasksResult::new(all);
        result.next_cursor = (listed.len() > PAGE).then(|| listed[PAGE - 1].place.0.to_string());
        let text = result.to_json(request.revision).ok().and_then(|text| Json::parse(&text).ok());
        text.ok_or_else(|| internal_error("Internal error"))
    }
}

impl Inner {
    /// The state of a task, as `tasks/get` returns it to a client with these capabilities.
    pub(crate) fn detailed(
        &self,
        task: &KeptTask,
        capabilities: &ClientCapabilities,
    ) -> Result<DetailedTask, ProtocolError> {
        let requests = self.shown(task, capabilities)?;
        let (result, error) = match self.result_body(task)? {
            Some(ResultBody::Result(result)) => (Some(result), None),
            Some(ResultBody::Error(error)) => (None, Some(error)),
            None => (None, None),
        };
        wire::detailed(&task.record, task.now, self.message(task), requests, result, error)
    }

    /// The questions of a task that this client may be asked: those whose capabilities it declared. The error -32021 if
    /// there are only others.
    pub(crate) fn shown(
        &self,
        task: &KeptTask,
        capabilities: &ClientCapabilities,
    ) -> Result<InputRequests, ProtocolError> {
        let mut shown = InputRequests::default();
        if task.record.end(task.now).is_some() {
            return Ok(shown);
        }
        let mut refusal = None;
        for (key, question) in self.questions(task)? {
            let request = question.request(task.record.revision).map_err(|error| unreadable(&task.record, &error))?;
            match check_capabilities([&request], capabilities, task.record.revision) {
                Ok(()) => shown.insert(key, request),
                Err(error) => refusal = Some(error),
            }
        }
        match refusal {
            Some(error) if shown.is_empty() => Err(error),
            _ => Ok(shown),
        }
    }

    /// The open questions, by their keys, in the order in which they were asked.
    pub(crate) fn questions(&self, task: &KeptTask) -> Result<Vec<(String, QuestionBody)>, ProtocolError> {
        let vault = &self.attached().ok_or_else(|| internal_error("Internal error"))?.vault;
        let kept = |key: &String| task.open.iter().find(|kept| kept.key == *key);
        let open = task.record.open.iter().filter_map(kept).map(|kept| {
            let body = vault.open_body(Kind::Question, task.record.id, &kept.body);
            Ok((kept.key.clone(), body.map_err(|error| unreadable(&task.record, &error))?))
        });
        open.collect()
    }

    fn message(&self, task: &KeptTask) -> Option<String> {
        let kept = task.message.as_ref()?;
        let text = self.attached()?.vault.open(Kind::Message, task.record.id, kept).ok()?;
        String::from_utf8(text).ok().filter(|text| !text.is_empty())
    }

    fn result_body(&self, task: &KeptTask) -> Result<Option<ResultBody>, ProtocolError> {
        let Some(kept) = &task.result else { return Ok(None) };
        let vault = &self.attached().ok_or_else(|| internal_error("Internal error"))?.vault;
        let body = vault.open_body(Kind::Result, task.record.id, kept);
        body.map(Some).map_err(|error| unreadable(&task.record, &error))
    }

    /// The result that `tasks/result` returns for a task, once it asks or has ended; `None` while it works.
    pub(crate) fn core_result(
        &self,
        task: &KeptTask,
        capabilities: &ClientCapabilities,
    ) -> Result<Option<Json>, ProtocolError> {
        let record = &task.record;
        if let Some(end) = record.end(task.now) {
            if let Some(error) = wire::end_error(record, end) {
                return Err(error);
            }
            return match self.result_body(task)? {
                Some(ResultBody::Error(error)) => Err(error.into()),
                Some(ResultBody::Result(result)) => {
                    let payload = TaskPayload::read(result.as_raw(), record.revision.lenient());
                    let mut payload = payload.map_err(|_| internal_error("Internal error"))?;
                    payload.meta.get_or_insert_default().related_task = Some(related(record));
                    wire::write(&payload, record).map(Some)
                }
                None => Err(internal_error("Internal error")),
            };
        }
        if record.open.is_empty() {
            return Ok(None);
        }
        let may_return = self.options.request_state && record.revision.has(Feature::TaskRequestState);
        let state = may_return.then(|| self.task_state(record)).flatten();
        let requests = self.shown(task, capabilities)?;
        let mut asks =
            InputRequiredResult::from_parts(requests, state).ok_or_else(|| internal_error("Internal error"))?;
        asks.meta_mut().get_or_insert_default().related_task = Some(related(record));
        wire::write(&asks, record).map(Some)
    }

    /// The state that a client may bring back with its answers: it says which task they are for.
    pub(crate) fn task_state(&self, record: &TaskRecord) -> Option<RequestState> {
        let sealed = self.attached()?.vault.seal(Kind::State, record.id, STATE);
        Some(RequestState::new(URL_SAFE_NO_PAD.encode(sealed)))
    }

    /// Returns true if [`task_state`](Self::task_state) gave this state for this task.
    pub(crate) fn is_task_state(&self, record: &TaskRecord, state: &RequestState) -> bool {
        let opened = URL_SAFE_NO_PAD
            .decode(state.untrusted_text())
            .ok()
            .and_then(|sealed| self.attached()?.vault.open(Kind::State, record.id, &sealed).ok());
        opened.is_some_and(|text| text == STATE)
    }
}

const STATE: &[u8] = b"asked by a task";
const PAGE: usize = 50;

/// The id that a request names.
fn task_id(request: &ExtensionRequest<'_>) -> Result<String, ProtocolError> {
    let params: TaskParams = read_params(request)?;
    Ok(params.task_id)
}

/// Reads the parameters of a request, or says what is wrong with them.
fn read_params<T: WireObject>(request: &ExtensionRequest<'_>) -> Result<T, ProtocolError> {
    request.params.clone().read(request.revision.strict()).map_err(|error| invalid(&error))
}

fn parse(id: &str) -> Result<TaskId, ProtocolError> {
    id.parse().map_err(|_| unknown())
}

/// The error for a task that does not exist, or that is another caller's: the words are equal, so that a stranger
/// learns nothing.
fn unknown() -> ProtocolError {
    ProtocolError::invalid_params("Unknown task")
}

fn not_found(error: &StoreError) -> ProtocolError {
    match error {
        StoreError::NotFound => unknown(),
        error => Inner::store_failed(error),
    }
}

fn invalid(error: &mrtr_schema::ReadError) -> ProtocolError {
    ProtocolError::invalid_params(error.to_string())
}

fn unreadable(record: &TaskRecord, error: &Unreadable) -> ProtocolError {
    tracing::error!(id = %record.id, error = error as &dyn std::error::Error, "a task cannot be read");
    internal_error("Internal error")
}

fn related(record: &TaskRecord) -> RelatedTask {
    RelatedTask::new(record.id.to_string())
}

/// Metadata that says which task a result is about.
fn related_meta(record: &TaskRecord) -> ResultMeta {
    let mut meta = ResultMeta::default();
    meta.related_task = Some(related(record));
    meta
}
