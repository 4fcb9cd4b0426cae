//! rmcp's client of the matrix: its `call_tool`, `get_prompt` and `read_resource` carry a request through its rounds.

#![expect(deprecated, reason = "rmcp discourages sampling and roots, which servers still ask for")]

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ClientConfig, ContentBlock,
    CreateMessageRequestParams, CreateMessageResult, DetailedTask, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationCapability, FormElicitationCapability, GetPromptRequestParams, GetTaskParams,
    Implementation, InputRequest, InputRequests, InputResponses, ListRootsResult, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResult, ResourceContents, Root, SamplingMessage, TaskPayload,
    UpdateTaskParams, UrlElicitationCapability,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RequestContext, RunningService, ServiceError, ServiceExt};
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde_json::Value;

use crate::conversation::{Answer, COMPLETION, Ended, MODEL, Outcome, Person, ROOT, Reply, Request, Scenario};
use crate::{Era, Server};

pub(crate) async fn call(scenario: Scenario, era: Era, server: &Server) -> Result<Outcome> {
    let ended = match server {
        Server::Http { url } => talk(StreamableHttpClientTransport::from_uri(url.as_str()), scenario, era).await?,
        Server::Stdio { command, arguments } => {
            let mut command = tokio::process::Command::new(command);
            command.args(arguments);
            talk(TokioChildProcess::new(command)?, scenario, era).await?
        }
    };
    Ok(Outcome::Ended(ended))
}

async fn talk<T, E, A>(transport: T, scenario: Scenario, era: Era) -> Result<Ended>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let handler = Arc::new(Handler::new(scenario, era));
    let client = match era {
        Era::Default => Arc::clone(&handler).serve(transport).await?,
        Era::Modern => {
            let modern = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
            Arc::clone(&handler).serve_with_lifecycle(transport, modern).await?
        }
        Era::Legacy => Arc::clone(&handler).serve_with_lifecycle(transport, ClientLifecycleMode::Initialize).await?,
    };
    let version = client.peer_info().map(|info| info.protocol_version.to_string());
    let reply = match request(&client, scenario).await {
        Ok(reply) => reply,
        Err(error) => match error.downcast()? {
            ServiceError::McpError(error) => of_error(error),
            error => return Err(error.into()),
        },
    };
    client.cancel().await?;
    Ok(Ended { version, asked: handler.person.asked(), reply })
}

type Client = RunningService<RoleClient, Arc<Handler>>;

async fn request(client: &Client, scenario: Scenario) -> Result<Reply> {
    match scenario.request() {
        Request::Tool { name, arguments } => {
            client.list_all_tools().await?;
            let params = CallToolRequestParams::new(name).with_arguments(arguments);
            if scenario == Scenario::Task {
                return call_as_task(client, params).await;
            }
            Ok(of_tool(&client.call_tool(params).await?))
        }
        Request::Prompt(name) => {
            let prompt = client.get_prompt(GetPromptRequestParams::new(name)).await?;
            Ok(Reply::result(prompt.messages.first().and_then(|message| text_of(&message.content)), false))
        }
        Request::Resource(uri) => {
            let ReadResourceResult { contents, .. } = client.read_resource(ReadResourceRequestParams::new(uri)).await?;
            let text = contents.into_iter().next().and_then(|contents| match contents {
                ResourceContents::TextResourceContents { text, .. } => Some(text),
                _ => None,
            });
            Ok(Reply::result(text, false))
        }
    }
}

fn of_tool(result: &CallToolResult) -> Reply {
    Reply::result(result.content.first().and_then(text_of), result.is_error.unwrap_or_default())
}

fn of_error(error: ErrorData) -> Reply {
    Reply::error(error.code.0, error.message.into_owned())
}

fn text_of(content: &ContentBlock) -> Option<String> {
    content.as_text().map(|content| content.text.clone())
}

pub(crate) struct Handler {
    pub(crate) person: Person,
    config: ClientConfig,
}

impl Handler {
    pub(crate) fn new(scenario: Scenario, era: Era) -> Self {
        let modes = ElicitationCapability::new()
            .with_form(FormElicitationCapability::new())
            .with_url(UrlElicitationCapability::new());
        let capabilities =
            ClientCapabilities::builder().enable_roots().enable_sampling().enable_elicitation_with(modes);
        let capabilities =
            if scenario == Scenario::Task { capabilities.enable_tasks().build() } else { capabilities.build() };
        let mut config = ClientConfig::new(capabilities, Implementation::new("interop", "1.0.0"));
        if era == Era::Legacy {
            config.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
        }
        Self { person: Person::new(scenario), config }
    }

    /// The answer to a form or a URL, wherever it was found.
    pub(crate) fn elicit(&self, request: &ElicitRequestParams) -> ElicitResult {
        match request {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                match self.person.fill(message, requested_schema.properties.keys()) {
                    Answer::Accept(content) => {
                        ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(content))
                    }
                    Answer::Decline => ElicitResult::new(ElicitationAction::Decline),
                    Answer::Cancel => ElicitResult::new(ElicitationAction::Cancel),
                }
            }
            ElicitRequestParams::UrlElicitationParams { url, .. } => {
                self.person.visit(url);
                ElicitResult::new(ElicitationAction::Accept)
            }
            _ => ElicitResult::new(ElicitationAction::Decline),
        }
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        self.config.clone()
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(self.elicit(&request))
    }

    async fn create_message(
        &self,
        request: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let text = request.messages.first().and_then(|message| message.content.first()?.as_text());
        self.person.prompt_model(text.map(|text| text.text.as_str()).unwrap_or_default());
        Ok(CreateMessageResult::new(SamplingMessage::assistant_text(COMPLETION), MODEL.to_owned())
            .with_stop_reason(CreateMessageResult::STOP_REASON_END_TURN))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        self.person.show_roots();
        Ok(ListRootsResult::new(vec![Root::new(ROOT)]))
    }
}

/// Asks for a task. The call is made as any other if the server makes no task of it.
async fn call_as_task(client: &Client, params: CallToolRequestParams) -> Result<Reply> {
    match client.call_tool_once(params.clone()).await? {
        CallToolResponse::Task(created) => Ok(wait_for(client, &created.task.task_id).await?.through_task(true)),
        CallToolResponse::Complete(result) => Ok(of_tool(&result).through_task(false)),
        _ => Ok(of_tool(&client.call_tool(params).await?).through_task(false)),
    }
}

async fn wait_for(client: &Client, id: &str) -> Result<Reply> {
    loop {
        let DetailedTask { task, payload, .. } = client.get_task(GetTaskParams::new(id)).await?.task;
        match payload {
            TaskPayload::InputRequired { input_requests } => {
                client.update_task(UpdateTaskParams::new(id, answers(client, &input_requests)?)).await?;
            }
            TaskPayload::Completed { result } => return Ok(of_tool(&serde_json::from_value(Value::Object(result))?)),
            TaskPayload::Failed { error } => return Ok(of_error(serde_json::from_value(Value::Object(error))?)),
            TaskPayload::Cancelled => bail!("the task was cancelled"),
            _ => {}
        }
        tokio::time::sleep(Duration::from_millis(task.poll_interval_ms.unwrap_or(50))).await;
    }
}

fn answers(client: &Client, requests: &InputRequests) -> Result<InputResponses> {
    let answer = |request: &InputRequest| match request {
        InputRequest::Elicitation(request) => Ok(serde_json::to_value(client.service().elicit(&request.params))?),
        _ => bail!("the task asks for more than a form"),
    };
    requests.iter().map(|(key, request)| Ok((key.clone(), answer(request)?))).collect()
}
