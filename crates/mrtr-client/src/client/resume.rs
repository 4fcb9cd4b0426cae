//! Saved calls, and calls that their caller drives by hand: resumed, followed, or sent for a single round.

use std::time::Duration;

use mrtr_schema::{CallToolResult, Json, JsonObject, Wire};
use tracing::Instrument;

use super::Client;
use super::drive::CallDriver;
use super::methods::read;
use crate::{Action, Call, CallError, CallErrorKind, CallOutcome, PendingCall, PendingTask};

/// One round of a call that is driven by hand.
///
/// ```
/// use mrtr_client::testing::Script;
/// use mrtr_client::{Client, RoundOutcome};
/// use mrtr_schema::roots::{ListRootsResult, Root};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = Script::new()
/// #     .result(json!({ "resultType": "input_required", "inputRequests": { "where": { "method": "roots/list" } } }))
/// #     .result(json!({ "resultType": "complete", "content": [] }));
/// # let client = Client::builder(server).build();
/// let mut round = client.call_tool_once("search", json!({})).await?;
/// let result = loop {
///     round = match round {
///         RoundOutcome::Complete(result) => break result,
///         RoundOutcome::Asked(mut pending) => {
///             pending.answer("where", &ListRootsResult::new([Root::new("file:///src")]))?;
///             client.advance(pending).await?
///         }
///         RoundOutcome::BackOff(pending, pause) | RoundOutcome::Task(pending, pause) => {
///             tokio::time::sleep(pause).await;
///             client.advance(pending).await?
///         }
///         _ => unreachable!("there are no others yet"),
///     };
/// };
/// assert!(result.as_str().contains("content"));
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum RoundOutcome {
    /// The call is done.
    Complete(Json),
    /// The server asks: answer with [`PendingCall::answer`], and then advance the call.
    Asked(PendingCall),
    /// The server is busy, or asks for a retry and for nothing else, or for a URL that it has just asked for: advance
    /// the call after this long.
    BackOff(PendingCall, Duration),
    /// The call has become a task, and the task has what was sent to it: advance the call after this long, which polls
    /// the task.
    Task(PendingCall, Duration),
}

impl Client {
    /// Resumes a saved call of a tool, runs it to its end, and returns what [`call_tool`](Self::call_tool) would have
    /// returned. For calls of other methods there is [`resume_as`](Self::resume_as).
    ///
    /// The call keeps the revision that it began in, and gets this client's handlers: this client may know what another
    /// one did not. It continues at the server that it began at: the client refuses it at another, unless
    /// [`PendingCall::trust_other_server`] says otherwise.
    ///
    /// ```
    /// use mrtr_client::testing::Script;
    /// use mrtr_client::{Client, PendingCall};
    /// use mrtr_schema::roots::Root;
    /// use serde_json::json;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = Script::new().result(json!({ "resultType": "input_required", "requestState": "sealed",
    ///     "inputRequests": { "where": { "method": "roots/list" } } }));
    /// let here = Client::builder(server).build();
    /// let error = here.call_tool("search", json!({})).await.unwrap_err();
    /// let saved = serde_json::to_string(&error.into_pending())?;
    ///
    /// // Next week, in another process.
    /// let pending: PendingCall = serde_json::from_str(&saved)?;
    /// let server = Script::new().result(json!({ "resultType": "complete", "content": [] }));
    /// let there = Client::builder(server.clone())
    ///     .on_roots(|_| async { Ok::<_, std::io::Error>(vec![Root::new("file:///src")]) })
    ///     .build();
    /// let result = there.resume(pending).await?;
    /// assert!(result.content.is_empty());
    /// assert!(server.sent()[0].as_str().contains(r#""requestState":"sealed""#));
    /// # Ok(()) }
    /// ```
    pub async fn resume(&self, pending: PendingCall) -> Result<CallToolResult, CallError> {
        // If only the id of a task is known, it is a tool's, as far as this client can know.
        if !matches!(pending.method(), "tools/call" | "tasks/get") {
            return Err(CallErrorKind::NotATool.of(Box::new(pending)));
        }
        self.resume_as(pending).await
    }

    /// Resumes a saved call of any method, as [`resume`](Self::resume) does, and returns its result as this type: that
    /// of the method, or [`Json`] for the result as it came.
    ///
    /// ```
    /// use mrtr_client::{CallErrorKind, Client};
    /// use mrtr_client::testing::Script;
    /// use mrtr_schema::JsonObject;
    /// use mrtr_schema::prompts::GetPromptResult;
    /// use serde_json::json;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let client = Client::builder(Script::new().result(json!({ "messages": [] }))).build();
    /// let pending = client.prepare("prompts/get", JsonObject::parse(r#"{"name": "review"}"#)?);
    /// let error = client.resume(pending).await.unwrap_err();
    /// assert!(matches!(error.kind, CallErrorKind::NotATool), "nothing was sent");
    /// let prompt: GetPromptResult = client.resume_as(error.into_pending().unwrap()).await?;
    /// assert!(prompt.messages.is_empty());
    /// # Ok(()) }
    /// ```
    pub async fn resume_as<R: Wire>(&self, pending: PendingCall) -> Result<R, CallError> {
        let mut pending = self.check_server(pending)?;
        pending.skipped.clear();
        let completed = self.drive(pending, None).await?;
        read(&completed.result, completed.pending)
    }

    /// Resumes a call as [`resume_as`](Self::resume_as) does, until the given future is done: then the client stops,
    /// and returns the call as it is, with every answer that was given, in
    /// [`CallErrorKind::Interrupted`](crate::CallErrorKind::Interrupted).
    ///
    /// A request that is under way is cancelled at its server, which may have done part of it. A task keeps running
    /// there.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use mrtr_client::testing::Script;
    /// use mrtr_client::{CallErrorKind, Client};
    /// use mrtr_schema::roots::Root;
    /// use mrtr_schema::{Json, JsonObject};
    /// use serde_json::json;
    /// use tokio::sync::Notify;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = Script::new().result(json!({ "resultType": "input_required", "requestState": "sealed",
    ///     "inputRequests": { "where": { "method": "roots/list" } } }));
    /// let stop = Arc::new(Notify::new());
    /// let pressed = Arc::clone(&stop);
    /// let client = Client::builder(server)
    ///     .on_roots(move |_| {
    ///         // The person presses Ctrl-C as soon as they are asked.
    ///         pressed.notify_one();
    ///         std::future::pending::<Result<Vec<Root>, std::io::Error>>()
    ///     })
    ///     .build();
    /// let call = client.prepare("tools/call", JsonObject::parse(r#"{"name": "search"}"#)?);
    /// let error = client.resume_until::<Json>(call, stop.notified()).await.unwrap_err();
    /// assert!(matches!(error.kind, CallErrorKind::Interrupted));
    /// assert_eq!(error.into_pending().unwrap().unanswered().collect::<Vec<_>>(), ["where"]);
    /// # Ok(()) }
    /// ```
    pub async fn resume_until<R: Wire>(
        &self,
        pending: PendingCall,
        stop: impl Future<Output = ()>,
    ) -> Result<R, CallError> {
        let mut pending = self.check_server(pending)?;
        pending.skipped.clear();
        let completed = self.drive_until(pending, stop).await?;
        read(&completed.result, completed.pending)
    }

    /// Resumes a saved task, follows it to its end, and returns the result that its call would have returned.
    ///
    /// ```
    /// use mrtr_client::testing::Script;
    /// use mrtr_client::{Client, PendingTask};
    /// use mrtr_schema::Revision;
    /// use serde_json::json;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), mrtr_client::CallError> {
    /// let server = Script::new().result(json!({ "resultType": "complete", "taskId": "task-1", "status": "completed",
    ///     "createdAt": "2026-08-01T12:00:00Z", "lastUpdatedAt": "2026-08-01T12:00:05Z", "ttlMs": null,
    ///     "result": { "resultType": "complete", "content": [] } }));
    /// let client = Client::builder(server).build();
    /// let result = client.follow(PendingTask::new(Revision::V2026_07_28, "task-1")).await?;
    /// assert!(result.as_str().contains("content"));
    /// # Ok(()) }
    /// ```
    pub async fn follow(&self, task: PendingTask) -> Result<Json, CallError> {
        let mut pending = PendingCall::from(task);
        // If a task names no server, only its id is known, and the caller says whose it is.
        pending.server.get_or_insert_with(|| self.0.server.to_string());
        self.resume_as(pending).await
    }

    /// Returns the call, if it is for this client's server: its state and its answers are not for other servers.
    pub(super) fn check_server(&self, mut pending: PendingCall) -> Result<PendingCall, CallError> {
        if pending.was_held() {
            return Err(CallErrorKind::HeldByServer.of(Box::new(pending)));
        }
        let here = &*self.0.server;
        match &pending.server {
            Some(server) if server == here => {}
            None if !pending.has_begun() => pending.server = Some(here.to_owned()),
            _ => {
                let (began_at, here) = (pending.server.clone(), here.to_owned());
                return Err(CallErrorKind::OtherServer { began_at, here }.of(Box::new(pending)));
            }
        }
        Ok(pending)
    }

    /// Sends a call, or continues one, for a single round; [`RoundOutcome`] has an example.
    ///
    /// The client hands out questions, and does not answer them: the caller does, now or next week. While some are
    /// open, nothing is sent. In a session of the legacy era nothing can be handed out, since the server holds the
    /// call: if it asks there, the error is [`CallErrorKind::HeldByServer`](crate::CallErrorKind::HeldByServer).
    pub async fn advance(&self, pending: PendingCall) -> Result<RoundOutcome, CallError> {
        let pending = self.check_server(pending)?;
        let mut driver = CallDriver::new(self, pending);
        driver.is_by_hand = true;
        let span = driver.span();
        let sent = async {
            while let Action::Send(outgoing) = driver.call.action() {
                driver.send(outgoing).await?;
            }
            Ok(())
        };
        let sent = sent.instrument(span).await;
        let CallDriver { reporter, call, .. } = driver;
        reporter.close();
        sent?;
        RoundOutcome::of(call, self)
    }

    /// Creates a call of a method with these parameters, and does not send it: for [`advance`](Self::advance) and
    /// [`resume`](Self::resume).
    ///
    /// ```
    /// use mrtr_client::Client;
    /// use mrtr_client::testing::Script;
    /// use mrtr_schema::JsonObject;
    ///
    /// let client = Client::builder(Script::new()).build();
    /// let call = client.prepare("resources/read", JsonObject::parse(r#"{"uri": "docs://guide"}"#)?);
    /// assert_eq!(call.name().as_deref(), Some("docs://guide"));
    /// # Ok::<(), mrtr_schema::ReadError>(())
    /// ```
    pub fn prepare(&self, method: &str, params: JsonObject) -> PendingCall {
        let mut pending = PendingCall::new(self.revision(), method, params);
        pending.server = Some(self.0.server.to_string());
        pending
    }
}

impl RoundOutcome {
    /// Reads the outcome of a single round from the call.
    fn of(call: Call, client: &Client) -> Result<Self, CallError> {
        let (action, polls_next, was_task_refused) = (call.action(), call.polls_next(), call.was_task_refused());
        match (action, call.end()) {
            (Action::Done, (Some(CallOutcome::Complete(result)), _)) => Ok(Self::Complete(result)),
            (Action::Wait(pause), (_, pending)) if polls_next => Ok(Self::Task(pending, pause)),
            (Action::Wait(pause), (_, pending)) => Ok(Self::BackOff(pending, pause)),
            (Action::Gather(_), (_, pending)) => Ok(Self::Asked(pending)),
            (_, (outcome, pending)) => Err(client.failed(outcome, pending, was_task_refused)),
        }
    }
}
