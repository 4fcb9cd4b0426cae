//! `tools/call`: arguments checked, extensions asked, and a round played.

use std::sync::Arc;

use mrtr_flow::for_server::{LazyFlow, echo};
use mrtr_flow::{Journal, ProtocolError};
use mrtr_schema::{CallToolResult, ErrorObject, Json, JsonObject};
use tracing::Instrument;

use super::request::Request;
use super::{Opening, ReservationContext, Round, RoundEnd, single_use};
use crate::error::invalid_params;
use crate::error::misuse;
use crate::definition::contained::contained;
use crate::definition::extension::OfferedCall;
use crate::definition::flow_output::FlowOutput;
use crate::definition::parts::Parts;
use crate::definition::settings::TaskPolicy;
use crate::definition::tool::PreparedTool;

pub(crate) async fn call(parts: &Arc<Parts>, request: &Request<'_>) -> Result<String, ErrorObject> {
    let name = request.required_name()?;
    let place = parts.tools.get_index_of(name).ok_or_else(|| unknown(name))?;
    let tool = &parts.tools[place];
    // Before anything else of it is read: the task that uses the state up reads it.
    if tool.settings.guard.is_some() && request.brings_state() {
        return Box::pin(single_use::run_single_use(parts, place, request)).await;
    }
    let call = ToolRound::read(parts, tool, request)?;
    call.run(call.round.open()?, None).await
}

#[cold]
fn unknown(name: &str) -> ErrorObject {
    ProtocolError::invalid_params(format!("Unknown tool: {}", echo::name(name))).into_object()
}

/// A call of a tool, taken apart.
pub(super) struct ToolRound<'a> {
    parts: &'a Arc<Parts>,
    pub(super) round: Round<'a>,
    tool: &'a PreparedTool,
    arguments: Json,
}

impl<'a> ToolRound<'a> {
    pub(super) fn read(
        parts: &'a Arc<Parts>,
        tool: &'a PreparedTool,
        request: &'a Request<'a>,
    ) -> Result<Self, ErrorObject> {
        let arguments = match request.params.get("arguments") {
            Some(raw) => JsonObject::from_raw(raw).map_err(|error| invalid_params(error.in_member("arguments")))?,
            None => JsonObject::default(),
        };
        if let Some(headers) = request.context.headers.as_ref().filter(|_| request.has_headers()) {
            tool.check_mirrored(&arguments, &headers.params)?;
        }
        let round = Round::new(parts, request, tool.name(), &tool.settings)?;
        Ok(Self { parts, round, tool, arguments: arguments.into() })
    }

    pub(super) async fn run(
        &self,
        opening: Opening<'_>,
        watch: Option<ReservationContext>,
    ) -> Result<String, ErrorObject> {
        let round = &self.round;
        let mut prepared = round.prepare(opening, watch)?;
        let lazy_flow = prepared.lazy_flow.clone();
        let span = round.span(&lazy_flow);
        async {
            if let Err(reason) = self.tool.check(self.arguments.as_raw()) {
                let unfit = CallToolResult::invalid_arguments(&reason)?;
                return round.complete(unfit, "unfit");
            }
            if let Some(taken) = self.offer(&prepared.journal, &lazy_flow).await? {
                round.concluded("taken_over");
                return Ok(taken);
            }
            prepared.context.goes_on_in_place = self.goes_on_in_place(&prepared.journal, &lazy_flow);
            match round.run(prepared, &self.tool.handler, &self.arguments, |_| {}).await? {
                RoundEnd::Result(result) => Ok(result),
                RoundEnd::IntoTask(journal) => self.continue_as_task(*journal, &lazy_flow).await,
            }
        }
        .instrument(span)
        .await
    }

    /// Offers the call to the extensions.
    async fn offer(&self, journal: &Journal, lazy_flow: &LazyFlow) -> Result<Option<String>, ErrorObject> {
        let extensions = &self.parts.extensions;
        if extensions.is_empty() {
            return Ok(None);
        }
        let call = self.offered(journal, lazy_flow);
        for extension in extensions.iter().filter(|extension| extension.wants(&call)) {
            if let Some(taken) =
                contained(extension.name(), extension.take_over(&call)).await?.map_err(ProtocolError::into_object)?
            {
                return self.parts.identity.adopt(&taken, self.round.revision()).map(Some);
            }
        }
        Ok(None)
    }

    /// Whether its flow goes on where it is though it would become a task: something here runs tasks, and this client
    /// cannot have one.
    fn goes_on_in_place(&self, journal: &Journal, lazy_flow: &LazyFlow) -> bool {
        let extensions = &self.parts.extensions;
        if self.tool.settings.tasks == TaskPolicy::Never || extensions.is_empty() {
            return false;
        }
        if self.round.request.context.live().is_some() {
            return extensions.iter().any(|extension| extension.runs_tasks());
        }
        let call = self.offered(journal, lazy_flow);
        !extensions.iter().any(|extension| extension.may_become_task(&call))
    }

    async fn continue_as_task(&self, journal: Journal, lazy_flow: &LazyFlow) -> Result<String, ErrorObject> {
        let round = &self.round;
        let call = self.offered(&journal, lazy_flow);
        for extension in &self.parts.extensions {
            if let Some(taken) = contained(extension.name(), extension.continue_as_task(&call))
                .await?
                .map_err(ProtocolError::into_object)?
            {
                round.concluded("into_task");
                return self.parts.identity.adopt(&taken, round.revision());
            }
        }
        round.failed::<CallToolResult>(misuse("the handler wants to become a task, and nothing here runs tasks"))
    }

    fn offered<'c>(&'c self, journal: &'c Journal, flow: &'c LazyFlow) -> OfferedCall<'c> {
        let request = self.round.request;
        OfferedCall {
            parts: self.parts,
            tool: self.tool,
            arguments: &self.arguments,
            task: request.params.get("task"),
            journal,
            flow,
            revision: self.round.revision(),
            capabilities: &request.capabilities,
            caller: request.context.caller.as_ref(),
            tenant: request.context.tenant.as_deref(),
            account: request.context.named_account(),
        }
    }
}
