//! Extensions of a server: methods of their own, and calls that they take over.

use std::error::Error;
use std::fmt;
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use mrtr_flow::for_server::{LazyFlow, RoundJournal, internal_error, resolve_manual_questions};
use mrtr_flow::{Caller, Failure, FailureKind, Identity, Journal, ProtocolError, RunContext, RunReport};
use mrtr_schema::subscriptions::SubscriptionFilter;
use mrtr_schema::{CallToolResult, ClientCapabilities, Json, JsonObject, RawParams, Revision, ServerCapabilities};
use mrtr_state::{FlowId, FlowProgress, Sealer};
use serde_json::value::RawValue;

use crate::definition::extension_reply::ExtensionNotices;
use crate::definition::extension_reply::ExtensionReply;
use crate::definition::flow_output::{FlowOutput, internal_failure};
use crate::definition::output::Output;
use crate::definition::parts::Parts;
use crate::definition::parts::Shared;
use crate::definition::policy::{Operation, Standing};
use crate::definition::settings::TaskPolicy;
use crate::definition::tool::PreparedTool;
use crate::error::misuse;
use crate::protocol::gate;
use crate::support::fair::CallerKey;

/// Something that extends a server, such as tasks.
///
/// ```
/// use mrtr_schema::{Json, JsonObject, Revision};
/// use mrtr_server::{ProtocolError, Server};
/// use mrtr_server::extend::{Extension, ExtensionReply, ExtensionRequest};
///
/// /// Tells the time.
/// struct Time;
///
/// #[async_trait::async_trait]
/// impl Extension for Time {
///     fn name(&self) -> &'static str {
///         "com.example/time"
///     }
///
///     fn capability(&self, _: Revision) -> Option<JsonObject> {
///         Some(JsonObject::default())
///     }
///
///     fn owns(&self, method: &str, _: Revision) -> bool {
///         method == "com.example/time/now"
///     }
///
///     async fn handle(&self, _request: &ExtensionRequest<'_>) -> Result<ExtensionReply, ProtocolError> {
///         Ok(Json::from(serde_json::json!({ "resultType": "complete", "now": "noon" })).into())
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let server = Server::builder("clock", "1.0.0").extension(Time).build().unwrap();
/// # let params = serde_json::json!({});
/// let told = mrtr_server::testing::Client::new(&server).request("com.example/time/now", params).await;
/// assert_eq!(told.response()["result"]["now"], "noon");
/// # }
/// ```
#[async_trait]
pub trait Extension: Send + Sync + 'static {
    /// The name under which client and server declare it.
    fn name(&self) -> &'static str;

    /// The settings that the server declares for it, in a revision that has it.
    fn capability(&self, revision: Revision) -> Option<JsonObject>;

    /// Declares the extension in the server's capabilities, in a revision that has it: under its name among the
    /// extensions, unless the revision has another place for it.
    fn declare(&self, revision: Revision, capabilities: &mut ServerCapabilities) {
        if let Some(capability) = self.capability(revision) {
            capabilities.extensions.get_or_insert_default().insert(self.name().to_owned(), capability);
        }
    }

    /// Learns of the server once it is built. An error refuses to build it; the text names the remedy.
    fn attached(&self, _host: Host) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(())
    }

    /// Hears that the server is about to end. From now on the extension begins no more work of its own, and answers the
    /// requests that wait for something, and those that are still to come. The server may call this more than once.
    fn shutdown_begins(&self) {}

    /// Ends its work beside requests, or hands it over to other instances. The server calls this when the transport has
    /// answered the requests that were under way, and waits for it. The server may call it more than once.
    async fn shut_down(&self) {}

    /// Returns true if a method of this revision is the extension's own.
    fn owns(&self, _method: &str, _revision: Revision) -> bool {
        false
    }

    /// Answers one of its own methods.
    async fn handle(&self, request: &ExtensionRequest<'_>) -> Result<ExtensionReply, ProtocolError>;

    /// Tells a subscriber what it asked for, if it is allowed to hear it. An error refuses the whole subscription.
    fn listen(
        &self,
        _wanted: &SubscriptionFilter,
        _request: &ExtensionRequest<'_>,
    ) -> Result<Option<ExtensionNotices>, ProtocolError> {
        Ok(None)
    }

    /// Returns true if it asks what callers may do by itself, with [`Host::check`], when it answers this method: it
    /// knows what the request is about. For other methods the server asks before.
    fn asks_policy(&self, _method: &str) -> bool {
        false
    }

    /// Returns true if it runs tasks, so that tools may ask to run as tasks.
    fn runs_tasks(&self) -> bool {
        false
    }

    /// Returns true if it may want to answer a call of a tool. The server does not offer it other calls, which costs
    /// less.
    fn wants(&self, _call: &OfferedCall<'_>) -> bool {
        true
    }

    /// Gets the offer of each call of a tool that it wants, before the call runs, and may answer it.
    async fn take_over(&self, _call: &OfferedCall<'_>) -> Result<Option<Json>, ProtocolError> {
        Ok(None)
    }

    /// Returns true if a call could continue as a task. If no extension that runs tasks says so, the flow continues
    /// where it is.
    fn may_become_task(&self, _call: &OfferedCall<'_>) -> bool {
        true
    }

    /// Answers a call whose flow wants to continue as a task. The server offers no call of which
    /// [`may_become_task`](Self::may_become_task) is false, and none of a tool whose policy is [`TaskPolicy::Never`].
    async fn continue_as_task(&self, _call: &OfferedCall<'_>) -> Result<Option<Json>, ProtocolError> {
        Ok(None)
    }
}

/// A request for one of an extension's own methods, or for its notifications to subscribers.
///
/// ```
/// use mrtr_server::ProtocolError;
/// use mrtr_server::extend::ExtensionRequest;
///
/// fn subject<'a>(request: &ExtensionRequest<'a>) -> Result<&'a str, ProtocolError> {
///     let caller = request.caller.ok_or_else(|| ProtocolError::invalid_params("who is asking?"))?;
///     Ok(caller.subject())
/// }
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ExtensionRequest<'a> {
    /// The method.
    pub method: &'a str,
    /// Its parameters.
    pub params: &'a RawParams<'a>,
    /// The revision of the request.
    pub revision: Revision,
    /// The capabilities that the client declared.
    pub capabilities: &'a ClientCapabilities,
    /// The caller who sent it.
    pub caller: Option<&'a Caller>,
    /// The tenant on whose behalf the caller sent it.
    pub tenant: Option<&'a str>,
    /// All that the transport knows of the sender.
    pub identity: &'a Identity,
}

/// A call of a tool, as the server offers it to extensions. Nothing of it is copied unless an extension takes it.
///
/// ```
/// use mrtr_server::TaskPolicy;
/// use mrtr_server::extend::{OfferedCall, ToolCall};
///
/// /// What an extension that runs tasks may make of it.
/// fn taken(call: &OfferedCall<'_>) -> Option<ToolCall> {
///     let wanted = call.tasks() != TaskPolicy::Never && call.task().is_some();
///     wanted.then(|| call.to_call())
/// }
/// ```
#[derive(Clone, Copy)]
pub struct OfferedCall<'a> {
    pub(crate) parts: &'a Arc<Parts>,
    pub(crate) tool: &'a PreparedTool,
    pub(crate) arguments: &'a Json,
    pub(crate) task: Option<&'a RawValue>,
    pub(crate) journal: &'a Journal,
    pub(crate) flow: &'a LazyFlow,
    pub(crate) revision: Revision,
    pub(crate) capabilities: &'a ClientCapabilities,
    pub(crate) identity: &'a Identity,
    pub(crate) account: Option<&'a CallerKey>,
}

impl<'a> OfferedCall<'a> {
    /// The tool.
    pub fn tool(&self) -> &'a str {
        self.tool.name()
    }

    /// The tool's policy for tasks: it says when calls run as tasks.
    pub fn tasks(&self) -> TaskPolicy {
        self.tool.settings.tasks
    }

    /// The arguments of the call.
    pub fn arguments(&self) -> &'a Json {
        self.arguments
    }

    /// The `task` of the request's parameters, if there is one.
    pub fn task(&self) -> Option<&'a RawValue> {
        self.task
    }

    /// The journal: all that the call's flow knows.
    pub fn journal(&self) -> &'a Journal {
        self.journal
    }

    /// The revision of the request.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The capabilities that the client declared.
    pub fn capabilities(&self) -> &'a ClientCapabilities {
        self.capabilities
    }

    /// The caller who sent it.
    pub fn caller(&self) -> Option<&'a Caller> {
        self.identity.caller()
    }

    /// The tenant on whose behalf the caller sent it.
    pub fn tenant(&self) -> Option<&'a str> {
        self.identity.tenant()
    }

    /// All that the transport knows of the sender.
    pub fn identity(&self) -> &'a Identity {
        self.identity
    }

    /// The account that the transport names. It tells apart callers that no issuer vouches for, for example by address.
    pub fn account(&self) -> Option<&'a CallerKey> {
        self.account
    }

    /// The flow that the call continues. There is none in its first round, which carries no state.
    pub fn resumed_flow(&self) -> Option<FlowId> {
        self.flow.known().filter(|progress| progress.round() > 1).map(|progress| progress.flow())
    }

    /// The call, to be run now, later or again.
    pub fn to_call(&self) -> ToolCall {
        let mut journal = self.journal.clone();
        // Of the answers that came early, a state would carry no more than this.
        journal.carry_unsealed(self.parts.shared.environment.limit().total() / 2, |_| false);
        ToolCall {
            host: Host::of(self.parts),
            tool: self.tool().to_owned(),
            arguments: self.arguments.clone(),
            task: self.task.and_then(|task| Json::from_raw(task).ok()),
            journal,
            flow_progress: self.flow.flow_progress(&self.parts.shared.environment),
            revision: self.revision,
            capabilities: self.capabilities.clone(),
            identity: self.identity.clone(),
            standing: Standing::Live,
        }
    }
}

impl fmt::Debug for OfferedCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OfferedCall").field("tool", &self.tool()).finish_non_exhaustive()
    }
}

/// A call of a tool, with all that is needed to run it now, later or again.
///
/// ```
/// use mrtr_schema::Json;
/// use mrtr_server::Failure;
/// use mrtr_flow::Outcome;
/// use mrtr_server::extend::ToolCall;
///
/// /// What an extension may do with a call that it takes over.
/// async fn runs_it_as_a_task(call: &ToolCall) -> Result<bool, Failure> {
///     let ran = call.run(call.journal.clone(), |context| context.as_task(1 << 20)).await?;
///     Ok(matches!(ran.outcome, Outcome::Done(_)))
/// }
/// ```
#[derive(Clone)]
pub struct ToolCall {
    pub(crate) host: Host,
    /// The tool.
    pub tool: String,
    /// The arguments of the call.
    pub arguments: Json,
    /// The `task` of the request's parameters, if there is one.
    pub task: Option<Json>,
    /// The journal: all that the call's flow knows.
    pub journal: Journal,
    /// The call's flow and its round.
    pub flow_progress: FlowProgress,
    /// The revision of the request.
    pub revision: Revision,
    /// The capabilities that the client declared.
    pub capabilities: ClientCapabilities,
    /// The sender, with what it was granted then.
    pub identity: Identity,
    /// The standing of that identity. Unless it is live, the policy is asked before each run.
    pub standing: Standing,
}

impl ToolCall {
    /// Runs the tool over the journal. `adjust` changes the run's context to what the runner needs, such as that of a
    /// task with a sink.
    ///
    /// Fails if the server or the tool is gone.
    pub async fn run(
        &self,
        journal: Journal,
        adjust: impl FnOnce(RunContext) -> RunContext,
    ) -> Result<RunReport<CallToolResult>, Failure> {
        let server = self.host.server()?;
        let tool = server.tools.get(&self.tool).ok_or_else(|| misuse("the tool was removed"))?;
        if !self.standing.is_live() {
            // The caller asked when the task began; since then it may have lost what it was granted.
            let subject = ("tools/call", &*self.tool, Some(self.arguments.as_raw()));
            self.host.check(&self.identity, subject, self.standing, ProtocolError::not_allowed).await?;
        }
        let environment = Arc::clone(&server.shared.environment);
        let capabilities = Arc::new(self.capabilities.clone());
        let mut context = RunContext::new(environment, self.revision, self.flow_progress, capabilities);
        context.identity = self.identity.clone();
        context.strict = tool.settings.strict;
        let mut context = adjust(context);
        // The author's word on one tool counts more than that on all tools.
        context.deadline = tool.settings.run_deadline.unwrap_or(context.deadline);
        let ran = tool.run_over(&self.arguments, journal, context).await;
        Ok(resolve_manual_questions(ran, &server.shared.environment, Output::into_manual))
    }

    /// Turns a failure into what the caller gets: a result for the model, or an error. The rest goes to the log.
    pub fn failed(&self, failure: Failure) -> Result<CallToolResult, ProtocolError> {
        let failed = match failure.into_kind() {
            FailureKind::Tool(text) => CallToolResult::failed(text),
            FailureKind::Unanswered(error) => CallToolResult::unanswered(&error),
            FailureKind::Protocol(error) => return Err(error),
            FailureKind::Internal(error) => match self.host.server() {
                Ok(server) => internal_failure(&server.shared, &self.tool, error),
                Err(_) => Err(internal_error()),
            },
        };
        failed.map_err(ProtocolError::from)
    }
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall")
            .field("tool", &self.tool)
            .field("flow_progress", &self.flow_progress)
            .finish_non_exhaustive()
    }
}

/// The server, as an extension sees it. This does not keep the server alive.
///
/// ```
/// use mrtr_server::Sealer;
/// use mrtr_server::extend::Host;
///
/// /// What an extension that hands out ids of its own may want.
/// fn sealer(host: &Host) -> Option<Sealer> {
///     host.sealer()
/// }
/// ```
#[derive(Clone)]
pub struct Host(Weak<Parts>);

impl Host {
    pub(crate) fn of(parts: &Arc<Parts>) -> Self {
        Self(Arc::downgrade(parts))
    }

    /// A call that an extension kept, to be run again. It is of the published revision, from no caller in particular,
    /// by a client that declared nothing, until the extension sets its members to what they were.
    pub fn call(&self, tool: impl Into<String>, arguments: Json, flow_progress: FlowProgress) -> ToolCall {
        ToolCall {
            host: self.clone(),
            tool: tool.into(),
            arguments,
            task: None,
            journal: Journal::default(),
            flow_progress,
            revision: Revision::default(),
            capabilities: ClientCapabilities::default(),
            identity: Identity::anonymous(),
            standing: Standing::Recorded,
        }
    }

    fn server(&self) -> Result<Arc<Parts>, Failure> {
        self.0.upgrade().ok_or_else(|| misuse("the server was dropped"))
    }

    /// The server's tools, each with its policy for tasks, while the server exists.
    pub fn tools(&self) -> Option<Vec<(String, TaskPolicy)>> {
        let server = self.0.upgrade()?;
        Some(server.tools.iter().map(|(name, tool)| (name.clone(), tool.settings.tasks)).collect())
    }

    /// Holds back the handlers of plain calls that begin from now on, for work that must be alone in its process.
    ///
    /// Returns `None` if one of them runs, if they are held back already, or if the server is gone.
    pub fn hold_calls(&self) -> Option<CallHold> {
        let shared = Arc::clone(&self.0.upgrade()?.shared);
        shared.load.hold().then(|| CallHold(shared))
    }

    /// Asks what a caller may do with a tool, in the middle of an extension's own method: as the second gate does, by
    /// scopes and policy. `arguments` are those of the call, if they are at hand.
    ///
    /// Returns the error for the caller if it may not. A tool that is hidden from it answers with `unknown`.
    pub async fn check(
        &self,
        identity: &Identity,
        (method, tool, arguments): (&str, &str, Option<&RawValue>),
        standing: Standing,
        unknown: impl FnOnce() -> ProtocolError,
    ) -> Result<(), ProtocolError> {
        let Some(parts) = self.0.upgrade().filter(|parts| parts.access.is_asked) else { return Ok(()) };
        let scopes = parts.tools.get(tool).map(|tool| &*tool.settings.scopes).unwrap_or_default();
        let operation = Operation { method, name: Some(tool), arguments, scopes, standing, is_listed: false };
        let decision = parts.access.decide(identity, &operation).await;
        gate::refuse(decision, method, Some(tool), || unknown().into_object()).map_err(ProtocolError::from)
    }

    /// The sealer of the server's states, while the server exists.
    pub fn sealer(&self) -> Option<Sealer> {
        self.0.upgrade().map(|server| server.shared.sealer.clone())
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Host")
    }
}

/// Holds back the handlers of plain calls until it is dropped.
///
/// ```
/// use mrtr_server::extend::Host;
///
/// /// Does something with nothing beside it, for as long as no call comes.
/// async fn alone(host: &Host, work: impl Future<Output = ()>) {
///     let Some(hold) = host.hold_calls() else { return };
///     tokio::select! {
///         () = work => {}
///         () = hold.is_wanted() => {}
///     }
/// }
/// ```
pub struct CallHold(Arc<Shared>);

impl CallHold {
    /// Waits until a handler is held back.
    pub async fn is_wanted(&self) {
        tokio::task::coop::consume_budget().await;
        self.0.load.is_wanted().await;
    }
}

impl Drop for CallHold {
    fn drop(&mut self) {
        self.0.load.release();
    }
}

impl fmt::Debug for CallHold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallHold")
    }
}
