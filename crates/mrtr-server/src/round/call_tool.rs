//! `tools/call`: arguments checked, extensions asked, and a round played.

use std::sync::Arc;

use mrtr_schema::{CallToolResult, ClientCapabilities, ErrorObject, Json, JsonObject, ReadError};
use tracing::Instrument;

use super::{Concluded, Round, Watch, guarded};
use crate::descent::Descent;
use crate::dispatch::{Request, contained, invalid_params};
use crate::extension::{Host, ToolCall};
use crate::product::Product;
use crate::tool::PreparedTool;
use crate::{Failure, Journal, ProtocolError, Server, echo};

pub(crate) async fn call_tool(
    server: &Server,
    request: &Request<'_>,
    capabilities: &Arc<ClientCapabilities>,
) -> Result<String, ErrorObject> {
    let name = request.params.text("name").map_err(invalid_params)?;
    let name = name.ok_or_else(|| invalid_params(ReadError::missing("name")))?;
    let tool = server.0.tools.get(&*name);
    let unknown = || ProtocolError::invalid_params(format!("Unknown tool: {}", echo::name(&name))).into_object();
    let tool = tool.ok_or_else(unknown)?;
    let call = Call::read(server, tool, request, capabilities)?;
    if call.round.state.is_some() && tool.settings.guard.is_some() {
        return Box::pin(guarded::redeem(server, request)).await;
    }
    call.play(None).await
}

/// A call of a tool, taken apart.
pub(super) struct Call<'a> {
    pub(super) round: Round<'a>,
    tool: &'a PreparedTool,
    arguments: Json,
}

impl<'a> Call<'a> {
    pub(super) fn read(
        server: &'a Server,
        tool: &'a PreparedTool,
        request: &'a Request<'a>,
        capabilities: &'a Arc<ClientCapabilities>,
    ) -> Result<Self, ErrorObject> {
        let arguments = match request.params.get("arguments") {
            Some(raw) => JsonObject::from_raw(raw).map_err(|error| invalid_params(error.in_member("arguments")))?,
            None => JsonObject::default(),
        };
        if let Some(headers) = request.context.headers.as_ref().filter(|_| request.has_headers()) {
            tool.check_mirrored(&arguments, &headers.params)?;
        }
        let round = Round::new(server, request, tool.name(), &tool.settings, capabilities)?;
        Ok(Self { round, tool, arguments: arguments.into() })
    }

    pub(super) async fn play(&self, watch: Option<Watch>) -> Result<String, ErrorObject> {
        let round = &self.round;
        let prepared = round.prepare(watch)?;
        let descent = prepared.descent.clone();
        let span = round.span(&descent);
        async {
            if let Err(reason) = self.tool.check(self.arguments.as_raw()) {
                let unfit = CallToolResult::unfit(&reason)?;
                return round.complete(unfit, "unfit");
            }
            if let Some(taken) = self.offer(&prepared.journal, &descent).await? {
                round.concluded("taken_over");
                return Ok(taken);
            }
            match round.run(prepared, &self.tool.handler, &self.arguments, |_| {}).await? {
                Concluded::Result(result) => Ok(result),
                Concluded::IntoTask(journal) => self.continue_as_task(*journal, &descent).await,
            }
        }
        .instrument(span)
        .await
    }

    /// Offers the call to the extensions.
    async fn offer(&self, journal: &Journal, descent: &Descent) -> Result<Option<String>, ErrorObject> {
        let extensions = &self.round.server.0.extensions;
        if extensions.is_empty() {
            return Ok(None);
        }
        let call = self.tool_call(journal.clone(), descent);
        for extension in extensions {
            if let Some(taken) =
                contained(extension.name(), extension.take_over(&call)).await?.map_err(ProtocolError::into_object)?
            {
                return self.round.server.adopt(&taken, self.round.revision()).map(Some);
            }
        }
        Ok(None)
    }

    async fn continue_as_task(&self, journal: Journal, descent: &Descent) -> Result<String, ErrorObject> {
        let round = &self.round;
        let call = self.tool_call(journal, descent);
        for extension in &round.server.0.extensions {
            if let Some(taken) = contained(extension.name(), extension.continue_as_task(&call))
                .await?
                .map_err(ProtocolError::into_object)?
            {
                round.concluded("into_task");
                return round.server.adopt(&taken, round.revision());
            }
        }
        round.failed::<CallToolResult>(Failure::misuse(
            "the handler wants to become a task, and nothing here runs tasks",
        ))
    }

    fn tool_call(&self, journal: Journal, descent: &Descent) -> ToolCall {
        let Round { server, request, capabilities, .. } = &self.round;
        ToolCall {
            host: Host(Arc::downgrade(&server.0)),
            tool: self.tool.name().to_owned(),
            arguments: self.arguments.clone(),
            task: request.params.get("task").and_then(|task| Json::from_raw(task).ok()),
            journal,
            lineage: descent.lineage(&server.0.shared),
            revision: self.round.revision(),
            capabilities: ClientCapabilities::clone(capabilities),
            caller: request.context.caller.clone(),
            tenant: request.context.tenant.clone(),
        }
    }
}
