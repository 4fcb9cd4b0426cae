//! The methods of the protocol, one by one.

use mrtr_schema::completion::{CompleteParams, CompleteResult};
use mrtr_schema::discovery::DiscoverResult;
use mrtr_schema::prompts::GetPromptResult;
use mrtr_schema::resources::ReadResourceResult;
use mrtr_schema::tasks::TaskStatus;
use mrtr_schema::tasks::extension::{self, DetailedTask};
use mrtr_schema::{CallToolResult, Feature, Json, JsonObject, Revision, Wire, tasks};
use serde::Serialize;
use serde_json::value::RawValue;

use super::cache::Audience;
use super::drive::CompletedCall;
use super::{Client, RoundOutcome};
use crate::raw::text_members;
use crate::{CallError, CallErrorKind, PendingCall, PendingTask};

impl Client {
    /// Calls a tool, and answers what it asks, until it is done.
    ///
    /// If the call becomes a task, the client follows the task. Dropping the future cancels what the server does for
    /// the call, a task included. A caller that wants to leave a task and follow it later drives the call by
    /// [`advance`](Self::advance) or [`resume`](Self::resume), and saves the task's handle.
    ///
    /// ```
    /// use mrtr_client::Client;
    /// use mrtr_client::testing::Script;
    /// use serde_json::json;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), mrtr_client::CallError> {
    /// let server = Script::new().result(json!({ "resultType": "complete", "content": [] }));
    /// let client = Client::builder(server).build();
    /// let result = client.call_tool("greet", json!({ "name": "Ada" })).await?;
    /// assert!(result.content.is_empty());
    /// # Ok(()) }
    /// ```
    pub async fn call_tool(&self, name: &str, arguments: impl Serialize) -> Result<CallToolResult, CallError> {
        let pending = self.prepare_tool(name, arguments)?;
        let completed = self.drive_or_cancel(pending).await?;
        read(&completed.result, completed.pending)
    }

    /// Calls a tool for one round, and hands out what it asks; [`RoundOutcome`] has an example.
    pub async fn call_tool_once(&self, name: &str, arguments: impl Serialize) -> Result<RoundOutcome, CallError> {
        let pending = self.prepare_tool(name, arguments)?;
        self.advance(pending).await
    }

    /// Gets a prompt, and answers what it asks, until it is there.
    ///
    /// ```
    /// use mrtr_client::Client;
    /// use mrtr_client::testing::Script;
    /// use serde_json::json;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), mrtr_client::CallError> {
    /// let client = Client::builder(Script::new().result(json!({ "resultType": "complete", "messages": [] }))).build();
    /// let prompt = client.get_prompt("review", json!({ "code": "fn main() {}" })).await?;
    /// assert!(prompt.messages.is_empty());
    /// # Ok(()) }
    /// ```
    pub async fn get_prompt(&self, name: &str, arguments: impl Serialize) -> Result<GetPromptResult, CallError> {
        let pending = self.prepare_named("prompts/get", name, arguments)?;
        self.run_to_completion(pending).await
    }

    /// Gets a prompt for one round, and hands out what it asks.
    pub async fn get_prompt_once(&self, name: &str, arguments: impl Serialize) -> Result<RoundOutcome, CallError> {
        let pending = self.prepare_named("prompts/get", name, arguments)?;
        self.advance(pending).await
    }

    /// Reads a resource, and answers what it asks, until it is there.
    ///
    /// The client keeps it for as long as the server says, unless answers went into it (CL-6).
    ///
    /// ```
    /// use mrtr_client::Client;
    /// use mrtr_client::testing::Script;
    /// use serde_json::json;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), mrtr_client::CallError> {
    /// let server = Script::new().result(json!({ "contents": [], "ttlMs": 60000, "cacheScope": "private" }));
    /// let client = Client::builder(server.clone()).build();
    /// client.read_resource("docs://guide").await?;
    /// client.read_resource("docs://guide").await?;
    /// assert_eq!(server.sent().len(), 1);
    /// # Ok(()) }
    /// ```
    pub async fn read_resource(&self, uri: &str) -> Result<ReadResourceResult, CallError> {
        self.cached("resources/read", text_members([("uri", uri)])).await
    }

    /// Reads a resource for one round, and hands out what it asks. The client does not keep the result.
    pub async fn read_resource_once(&self, uri: &str) -> Result<RoundOutcome, CallError> {
        self.advance(self.prepare("resources/read", text_members([("uri", uri)]))).await
    }

    /// Creates a call of a tool, and does not send it: for [`advance`](Self::advance) and [`resume`](Self::resume).
    ///
    /// ```
    /// use mrtr_client::Client;
    /// use mrtr_client::testing::Script;
    /// use serde_json::json;
    ///
    /// let client = Client::builder(Script::new()).build();
    /// let call = client.prepare_tool("greet", json!({ "name": "Ada" }))?;
    /// assert_eq!(call.params().as_str(), r#"{"name":"greet","arguments":{"name":"Ada"}}"#);
    /// # Ok::<(), mrtr_client::CallError>(())
    /// ```
    pub fn prepare_tool(&self, name: &str, arguments: impl Serialize) -> Result<PendingCall, CallError> {
        self.prepare_named("tools/call", name, arguments)
    }

    fn prepare_named(&self, method: &str, name: &str, arguments: impl Serialize) -> Result<PendingCall, CallError> {
        let arguments = JsonObject::of(&arguments).map_err(|error| CallError::bad_arguments(name, error))?;
        let params = JsonObject::of(&Named { name, arguments: arguments.as_raw() }).map_err(CallError::bad_params)?;
        Ok(self.prepare(method, params))
    }

    async fn run_to_completion<R: Wire>(&self, pending: PendingCall) -> Result<R, CallError> {
        let completed = self.drive(pending, None).await?;
        read(&completed.result, completed.pending)
    }

    /// Asks the server what it is, and which versions and capabilities it has.
    ///
    /// ```
    /// use mrtr_client::Client;
    /// use mrtr_client::testing::Script;
    /// use serde_json::json;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), mrtr_client::CallError> {
    /// let server = Script::new().result(json!({ "supportedVersions": ["2026-07-28"], "capabilities": {} }));
    /// let offer = Client::builder(server).build().discover().await?;
    /// assert_eq!(offer.supported_versions, ["2026-07-28"]);
    /// # Ok(()) }
    /// ```
    pub async fn discover(&self) -> Result<DiscoverResult, CallError> {
        self.cached("server/discover", JsonObject::default()).await
    }

    /// Returns completions of an argument that a person is typing.
    ///
    /// ```
    /// use mrtr_client::Client;
    /// use mrtr_client::testing::Script;
    /// use mrtr_schema::completion::{CompleteParams, CompletionArgument, PromptReference};
    /// use serde_json::json;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), mrtr_client::CallError> {
    /// let server = Script::new().result(json!({ "completion": { "values": ["python"] } }));
    /// let client = Client::builder(server).build();
    /// let typed = CompletionArgument::new("language", "py");
    /// let found = client.complete(&CompleteParams::new(PromptReference::new("review"), typed)).await?;
    /// assert_eq!(found.completion.values.as_slice(), ["python"]);
    /// # Ok(()) }
    /// ```
    pub async fn complete(&self, params: &CompleteParams) -> Result<CompleteResult, CallError> {
        let revision = self.revision();
        let mut params = params.clone();
        if revision.has(Feature::RequestMetadata) {
            // Without these the parameters cannot be written. The client fills in their real values when it sends the
            // request.
            let meta = params.meta.get_or_insert_default();
            meta.protocol_version.get_or_insert_with(|| revision.to_string());
            meta.client_capabilities.get_or_insert_default();
        }
        let text = params.to_json(revision).map_err(|error| CallError::bad_params(error.into()))?;
        let params = JsonObject::parse(&text).map_err(CallError::bad_params)?;
        self.run_to_completion(self.prepare("completion/complete", params)).await
    }

    /// Cancels a task, and returns whether that came in time. On success the server has heard of it; the error says why it
    /// has not. A task that is over stays as it is.
    ///
    /// Where the server only acknowledges the request, the client looks once at the task.
    ///
    /// ```
    /// use mrtr_client::testing::Script;
    /// use mrtr_client::{CancelOutcome, Client, PendingTask};
    /// use mrtr_schema::Revision;
    /// use serde_json::json;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), mrtr_client::CallError> {
    /// let server = Script::new().result(json!({ "resultType": "complete" })).result(json!({
    ///     "resultType": "complete", "taskId": "task-1", "status": "cancelled", "createdAt": "2026-08-01T12:00:00Z",
    ///     "lastUpdatedAt": "2026-08-01T12:00:05Z", "ttlMs": null }));
    /// let client = Client::builder(server).build();
    /// let outcome = client.cancel_task(&PendingTask::new(Revision::V2026_07_28, "task-1")).await?;
    /// assert_eq!(outcome, CancelOutcome::Cancelled);
    /// # Ok(()) }
    /// ```
    pub async fn cancel_task(&self, task: &PendingTask) -> Result<CancelOutcome, CallError> {
        let refusal = match self.request_cancellation(task).await {
            Ok(Some(status)) => return Ok(CancelOutcome::of(status)),
            Ok(None) => None,
            Err(error) if error.is_invalid_params() => Some(error),
            Err(error) => return Err(error),
        };
        let found = self.task_status(task).await.map(CancelOutcome::of);
        match (found, refusal) {
            (Ok(CancelOutcome::Requested), Some(refusal)) => Err(refusal),
            (Ok(outcome), _) => Ok(outcome),
            // The server has heard of it, and nothing says that it came too late.
            (Err(_), None) => Ok(CancelOutcome::Requested),
            (Err(_), Some(refusal)) => Err(refusal.about_unknown_task()),
        }
    }

    /// Asks the server to cancel a task, and returns the status of the task if the response has it.
    pub(super) async fn request_cancellation(&self, task: &PendingTask) -> Result<Option<TaskStatus>, CallError> {
        let pending = self.prepare_about("tasks/cancel", task)?;
        if task.revision().has(Feature::CoreTasks) {
            self.run_to_completion::<tasks::CancelTaskResult>(pending).await.map(|result| Some(result.state.status))
        } else {
            self.run_to_completion::<extension::CancelTaskResult>(pending).await.map(|_| None)
        }
    }

    async fn task_status(&self, task: &PendingTask) -> Result<TaskStatus, CallError> {
        let pending = self.prepare_about("tasks/get", task)?;
        if task.revision().has(Feature::CoreTasks) {
            return Ok(self.run_to_completion::<tasks::GetTaskResult>(pending).await?.state.status);
        }
        Ok(match self.run_to_completion::<extension::GetTaskResult>(pending).await?.task {
            DetailedTask::Working(_) => TaskStatus::Working,
            DetailedTask::InputRequired(_) => TaskStatus::InputRequired,
            DetailedTask::Completed(_) => TaskStatus::Completed,
            DetailedTask::Failed(_) => TaskStatus::Failed,
            DetailedTask::Cancelled(_) => TaskStatus::Cancelled,
        })
    }

    /// Creates a request about a task, for the server and in the revision that the task belongs to.
    fn prepare_about(&self, method: &str, task: &PendingTask) -> Result<PendingCall, CallError> {
        let mut pending = self.prepare(method, text_members([("taskId", task.id())]));
        pending.revision = task.revision();
        if let Some(server) = task.server() {
            pending.server = Some(server.to_owned());
            pending = self.check_server(pending)?;
        }
        Ok(pending)
    }

    /// Forgets every result that the client has kept, for when the server has said that something changed.
    ///
    /// If the server says so during this client's own calls, the client forgets them by itself.
    pub fn clear_cache(&self) {
        self.0.cache.clear();
    }

    /// A result that was kept, or a new one, which is kept if the server says so.
    pub(super) async fn cached<R: Wire>(&self, method: &str, params: JsonObject) -> Result<R, CallError> {
        self.cached_with_length(method, params).await.map(|(typed, _)| typed)
    }

    /// A result that was kept, or a new one, with the length of its text.
    pub(super) async fn cached_with_length<R: Wire>(
        &self,
        method: &str,
        params: JsonObject,
    ) -> Result<(R, usize), CallError> {
        let key = |revision: Revision| format!("{revision} {method} {}", params.as_str());
        let pending = self.prepare(method, params.clone());
        if let Some(result) = self.cached_result(&key(pending.revision)).await {
            return Ok((read(&result, pending)?, result.as_str().len()));
        }
        let CompletedCall { result, pending, credentials, is_cacheable } = self.drive(pending, None).await?;
        let revision = pending.revision;
        let typed = read(&result, pending)?;
        if is_cacheable {
            self.0.cache.insert(key(revision), &result, revision, credentials);
        }
        Ok((typed, result.as_str().len()))
    }

    /// A result that was kept, if it is public, or for the credentials that a request would show now.
    async fn cached_result(&self, key: &str) -> Option<Json> {
        let entry = self.0.cache.get(key)?;
        if entry.audience == Audience::Public {
            return Some(entry.result);
        }
        // If the credentials cannot be got, the request says why.
        let bearer = self.0.transport.credentials().await.ok()?;
        if !entry.is_for(bearer) {
            self.0.cache.remove(key);
            return None;
        }
        Some(entry.result)
    }
}

/// The outcome of the cancellation of a task, which may come too late: from [`Client::cancel_task`].
///
/// ```
/// use mrtr_client::CancelOutcome;
///
/// fn told(outcome: CancelOutcome) -> &'static str {
///     match outcome {
///         CancelOutcome::Cancelled => "The report is cancelled.",
///         CancelOutcome::TooLate => "The report was done already.",
///         _ => "The server was asked to cancel the report.",
///     }
/// }
/// # assert!(told(CancelOutcome::TooLate).contains("done"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CancelOutcome {
    /// The task is cancelled: by this request, or by one before it.
    Cancelled,
    /// The task had ended before: it is completed or has failed, and stays so.
    TooLate,
    /// The server has heard of it, and the task was not seen to end yet. It may still complete.
    Requested,
}

impl CancelOutcome {
    fn of(status: TaskStatus) -> Self {
        match status {
            TaskStatus::Cancelled => Self::Cancelled,
            TaskStatus::Completed | TaskStatus::Failed => Self::TooLate,
            TaskStatus::Working | TaskStatus::InputRequired => Self::Requested,
        }
    }
}

/// The parameters of a tool or a prompt.
#[derive(Serialize)]
struct Named<'a> {
    name: &'a str,
    arguments: &'a RawValue,
}

/// Reads a result as the type that this call gives.
pub(super) fn read<R: Wire>(result: &Json, pending: PendingCall) -> Result<R, CallError> {
    R::read(result.as_raw(), pending.revision.lenient())
        .map_err(|source| CallErrorKind::BadResult { source }.of(Box::new(pending)))
}
