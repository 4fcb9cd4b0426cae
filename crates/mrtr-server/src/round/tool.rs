//! `tools/call`: arguments checked, extensions asked, and a round played.

use std::sync::Arc;

use mrtr_flow::for_server::echo;
use mrtr_flow::{Failure, Journal, ProtocolError};
use mrtr_schema::{CallToolResult, ErrorObject, Json, JsonObject};
use tracing::Instrument;

use super::request::Request;
use super::{Round, RoundEnd, single_use};
use crate::definition::extension::OfferedCall;
use crate::definition::flow_output::FlowOutput;
use crate::definition::parts::Parts;
use crate::definition::settings::TaskPolicy;
use crate::definition::tool::PreparedTool;
use crate::error::invalid_params;
use crate::error::misuse;
use crate::support::contained::contained;

/// Answers a call of a tool.
pub(crate) async fn answer_call(parts: &Arc<Parts>, request: &Request<'_>) -> Result<String, ErrorObject> {
    let name = request.required_name()?;
    let place = parts.tools.get_index_of(name).ok_or_else(|| unknown(name))?;
    let tool = &parts.tools[place];
    // A state for single use leaves here, before anything else of the request is read: the task that uses it up reads
    // the rest.
    if tool.settings.guard.is_some() && request.brings_state() {
        return Box::pin(single_use::run_single_use(parts, place, request)).await;
    }
    ToolRound::open(parts, tool, request)?.run_round().await
}

#[cold]
pub(crate) fn unknown(name: &str) -> ErrorObject {
    ProtocolError::invalid_params(format!("Unknown tool: {}", echo::name(name))).into_object()
}

/// The round of a tool.
pub(super) struct ToolRound<'a> {
    parts: &'a Arc<Parts>,
    pub(super) round: Box<Round<'a>>,
    tool: &'a PreparedTool,
    arguments: Json,
}

impl<'a> ToolRound<'a> {
    /// Reads the arguments, and opens the round.
    pub(super) fn open(
        parts: &'a Arc<Parts>,
        tool: &'a PreparedTool,
        request: &'a Request<'a>,
    ) -> Result<Self, ErrorObject> {
        let arguments = match request.params.get("arguments") {
            Some(raw) => JsonObject::from_raw(raw).map_err(|error| invalid_params(error.in_member("arguments")))?,
            None => JsonObject::default(),
        };
        if let Some(mirrored) = request.context.mirrored.as_ref().filter(|_| request.has_headers()) {
            tool.check_mirrored(&arguments, mirrored)?;
        }
        let round = Round::open(parts, request, tool.name(), &tool.settings)?;
        Ok(Self { parts, round, tool, arguments: arguments.into() })
    }

    /// Runs the round: here, as an extension takes it over, or as a task.
    pub(super) async fn run_round(mut self) -> Result<String, ErrorObject> {
        let span = self.round.span();
        async {
            if let Err(reason) = self.tool.check(self.arguments.as_raw()) {
                let unfit = CallToolResult::invalid_arguments(&reason)?;
                return self.round.complete(unfit, "unfit");
            }
            if !self.parts.extensions.is_empty() {
                if let Some(taken) = self.offer().await? {
                    self.round.concluded("taken_over");
                    return Ok(taken);
                }
                self.round.goes_on_in_place = self.goes_on_in_place();
            }
            match self.round.run_handler(&self.tool.handler, &self.arguments, |_| {}).await? {
                RoundEnd::Result(result) => Ok(result),
                RoundEnd::IntoTask(journal) => self.continue_as_task(&journal).await,
            }
        }
        .instrument(span)
        .await
    }

    /// Offers the call to the extensions.
    async fn offer(&self) -> Result<Option<String>, ErrorObject> {
        let (extensions, call) = (&self.parts.extensions, self.offered(&self.round.journal));
        for extension in extensions.iter().filter(|extension| extension.wants(&call)) {
            if let Some(taken) =
                contained(extension.name(), extension.take_over(&call)).await?.map_err(ProtocolError::into_object)?
            {
                return self.parts.results.adopt(&taken, self.round.revision()).map(Some);
            }
        }
        Ok(None)
    }

    /// Returns true if `into_task` does not make this call a task, and its flow continues in the round: an extension
    /// here runs tasks, but this client cannot have one.
    fn goes_on_in_place(&self) -> bool {
        // A tool that never becomes a task must not call `into_task`: the author learns of it with any client.
        if self.tool.settings.tasks == TaskPolicy::Never || !self.parts.runs_tasks() {
            return false;
        }
        if self.is_in_session() {
            return true;
        }
        // Other extensions say yes by default, and cannot speak for those that run tasks.
        let call = self.offered(&self.round.journal);
        let mut runners = self.parts.extensions.iter().filter(|extension| extension.runs_tasks());
        !runners.any(|extension| extension.may_become_task(&call))
    }

    /// Returns true if the call came in a session, whose client cannot follow a task.
    fn is_in_session(&self) -> bool {
        self.round.request.context.live().is_some()
    }

    async fn continue_as_task(&self, journal: &Journal) -> Result<String, ErrorObject> {
        let round = &self.round;
        if self.tool.settings.tasks == TaskPolicy::Never || self.is_in_session() {
            return round.failed::<CallToolResult>(self.cannot_become_task());
        }
        let call = self.offered(journal);
        for extension in self.parts.extensions.iter().filter(|extension| extension.may_become_task(&call)) {
            if let Some(taken) = contained(extension.name(), extension.continue_as_task(&call))
                .await?
                .map_err(ProtocolError::into_object)?
            {
                round.concluded("into_task");
                return self.parts.results.adopt(&taken, round.revision());
            }
        }
        round.failed::<CallToolResult>(self.cannot_become_task())
    }

    /// The failure of a handler that calls `into_task` where its author has not provided for it.
    fn cannot_become_task(&self) -> Failure {
        let name = self.tool.name();
        misuse(match (self.tool.settings.tasks, self.parts.runs_tasks()) {
            (TaskPolicy::Never, true) => format!(
                "tool `{name}` calls `into_task`, and its policy is `TaskPolicy::Never`: \
                 give the tool `.tasks(TaskPolicy::ByFlow)`"
            ),
            (TaskPolicy::Never, false) => format!(
                "tool `{name}` calls `into_task`, and nothing on the server runs tasks: \
                 give the builder `.extension(Tasks::new(…))`, and the tool `.tasks(TaskPolicy::ByFlow)`"
            ),
            _ => format!(
                "tool `{name}` calls `into_task`, and nothing on the server runs tasks: \
                 give the builder `.extension(Tasks::new(…))`"
            ),
        })
    }

    fn offered<'c>(&'c self, journal: &'c Journal) -> OfferedCall<'c> {
        let request = self.round.request;
        OfferedCall {
            parts: self.parts,
            tool: self.tool,
            arguments: &self.arguments,
            task: request.params.get("task"),
            journal,
            flow: &self.round.lazy_flow,
            revision: self.round.revision(),
            capabilities: &request.capabilities,
            identity: &request.context.identity,
            account: request.context.account.as_deref(),
        }
    }
}
