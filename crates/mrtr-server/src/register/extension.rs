//! What others add to a server: methods of their own, and calls that they take over.

use std::fmt;
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use mrtr_schema::subscriptions::SubscriptionFilter;
use mrtr_schema::{CallToolResult, ClientCapabilities, Json, JsonObject, RawParams, Revision};
use mrtr_state::{FlowProgress, Sealer};

use crate::engine::RunReport;
use crate::engine::context::RunContext;
use crate::engine::journal::Journal;
use crate::error::{Failure, FailureKind, ProtocolError, internal_error};
use crate::register::context::Context;
use crate::register::flow_output::{FlowOutput, internal_failure};
use crate::register::notices::ExtensionNotices;
use crate::register::parts::Parts;
use crate::support::caller::Caller;

/// Something that extends a server, such as tasks.
///
/// ```
/// use mrtr_schema::{ClientCapabilities, Json, JsonObject, RawParams, Revision};
/// use mrtr_server::{Context, ProtocolError, Server};
/// use mrtr_server::extend::Extension;
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
///     async fn handle(
///         &self,
///         _method: &str,
///         _params: &RawParams<'_>,
///         _context: &Context<'_>,
///         _capabilities: &ClientCapabilities,
///     ) -> Result<Json, ProtocolError> {
///         Ok(serde_json::json!({ "resultType": "complete", "now": "noon" }).into())
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

    /// What the server says of it, in a revision that has it.
    fn capability(&self, revision: Revision) -> Option<JsonObject>;

    /// Is told of the server once it is built.
    fn attached(&self, _host: Host) {}

    /// Whether a method of this revision is its own.
    fn owns(&self, _method: &str, _revision: Revision) -> bool {
        false
    }

    /// Answers one of its own methods.
    async fn handle(
        &self,
        method: &str,
        params: &RawParams<'_>,
        context: &Context<'_>,
        capabilities: &ClientCapabilities,
    ) -> Result<Json, ProtocolError>;

    /// Tells a subscriber what it asked for, if it is allowed to hear it.
    fn listen(
        &self,
        _wanted: &SubscriptionFilter,
        _context: &Context<'_>,
        _capabilities: &ClientCapabilities,
    ) -> Option<ExtensionNotices> {
        None
    }

    /// Is offered each call of a tool before it runs, and may answer it.
    async fn take_over(&self, _call: &ToolCall) -> Result<Option<Json>, ProtocolError> {
        Ok(None)
    }

    /// Answers a call whose flow wants to go on as a task.
    async fn continue_as_task(&self, _call: &ToolCall) -> Result<Option<Json>, ProtocolError> {
        Ok(None)
    }
}

/// A call of a tool, with all that is needed to run it now, later or again.
///
/// ```
/// use mrtr_schema::Json;
/// use mrtr_server::Failure;
/// use mrtr_server::extend::{Outcome, ToolCall};
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
    /// What it is called with.
    pub arguments: Json,
    /// The `task` of the request's parameters, if there is one.
    pub task: Option<Json>,
    /// What its flow knows.
    pub journal: Journal,
    /// Which flow it is.
    pub flow_progress: FlowProgress,
    /// The revision of the request.
    pub revision: Revision,
    /// What the client declared.
    pub capabilities: ClientCapabilities,
    /// Who sent it.
    pub caller: Option<Caller>,
    /// On whose behalf.
    pub tenant: Option<String>,
}

impl ToolCall {
    /// Runs the tool over the journal. `adjust` makes the run what the runner wants: a task, with a sink.
    ///
    /// Fails if the server or the tool is gone.
    pub async fn run(
        &self,
        journal: Journal,
        adjust: impl FnOnce(RunContext) -> RunContext,
    ) -> Result<RunReport<CallToolResult>, Failure> {
        let server = self.host.server()?;
        let tool = server.tools.get(&self.tool).ok_or_else(|| Failure::misuse("the tool is gone"))?;
        let mut context = RunContext::new(Arc::clone(&server.shared), self.revision, self.flow_progress.into());
        context.capabilities = Arc::new(self.capabilities.clone());
        context.caller = self.caller.clone();
        Ok(tool.run(&self.arguments, journal, adjust(context)).await.resolve_manual_questions(&server.shared.inputs))
    }

    /// What the caller gets of a failure: a result for the model, or an error. The rest goes to the log.
    pub fn failed(&self, Failure(kind): Failure) -> Result<CallToolResult, ProtocolError> {
        let failed = match kind {
            FailureKind::Tool(text) => CallToolResult::failed(text),
            FailureKind::Unanswered(error) => CallToolResult::unanswered(&error),
            FailureKind::Protocol(error) => return Err(error),
            FailureKind::Internal(error) => match self.host.server() {
                Ok(server) => internal_failure(&server.shared, &self.tool, &*error),
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

/// The server, as an extension sees it: it does not keep it alive.
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

    /// A call that was kept, to be run again: of the published revision, from no caller in particular, by a client that
    /// declared nothing, unless its members are set to what they were.
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
            caller: None,
            tenant: None,
        }
    }

    fn server(&self) -> Result<Arc<Parts>, Failure> {
        self.0.upgrade().ok_or_else(|| Failure::misuse("the server is gone"))
    }

    /// What the server seals with, while there is a server.
    pub fn sealer(&self) -> Option<Sealer> {
        self.0.upgrade().map(|server| server.shared.sealer.clone())
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Host")
    }
}
