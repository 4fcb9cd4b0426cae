//! rmcp's server of the matrix. It asks by results in the modern era; in the other, where rmcp takes such results for
//! an error, it puts the same questions by requests of its own and goes on with the answers.

#![expect(deprecated, reason = "rmcp discourages sampling and roots, which the matrix has all the same")]

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::Result;
use axum::Router;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationSchema, GetPromptRequestParams, GetPromptResponse, GetPromptResult, GetTaskParams,
    GetTaskResult, InputRequest, InputRequests, InputRequiredResult, InputResponses, ListPromptsResult,
    ListResourcesResult, PaginatedRequestParams, Prompt, PromptMessage, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, RequestStateCodec, Resource, ResourceContents, Role, ServerCapabilities,
    ServerConfig, UpdateTaskParams,
};
use rmcp::service::{Peer, RequestContext};
use rmcp::task_manager::TaskManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt, tool_handler};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::conversation::{LANGUAGE, NOTEBOOK};
use crate::rmcp_tracker::invalid;
use crate::{Place, SECRET};

pub(crate) async fn serve(place: &Place) -> Result<()> {
    let server = Arc::new(Server::new()?);
    match place {
        Place::Http { port } => {
            let config = StreamableHttpServerConfig::default();
            let sessions = Arc::new(LocalSessionManager::default());
            let service = StreamableHttpService::new(move || Ok(Arc::clone(&server)), sessions, config);
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).await?;
            axum::serve(listener, Router::new().route_service("/mcp", service)).await?;
        }
        Place::Stdio => {
            server.serve(rmcp::transport::stdio()).await?.waiting().await?;
        }
    }
    Ok(())
}

pub(crate) struct Server {
    pub(crate) codec: RequestStateCodec,
    pub(crate) tasks: TaskManager,
    tools: ToolRouter<Self>,
}

impl Server {
    fn new() -> Result<Self> {
        Ok(Self { codec: RequestStateCodec::try_new(SECRET)?, tasks: TaskManager::new(), tools: Self::tool_router() })
    }
}

#[tool_handler(router = self.tools)]
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_prompts().enable_resources();
        ServerConfig::new(capabilities.enable_tasks().build())
    }

    async fn call_tool(
        &self,
        mut request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        loop {
            match self.tools.call(ToolCallContext::new(self, request.clone(), context.clone())).await? {
                CallToolResponse::InputRequired(asked) if !is_modern(&context) => {
                    request.input_responses = ask_by_requests(&context.peer, asked.input_requests).await?;
                    request.request_state = asked.request_state;
                }
                response => return Ok(response),
            }
        }
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(vec![Prompt::new("review", Some("Reviews code"), None)]))
    }

    async fn get_prompt(
        &self,
        mut request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        loop {
            match review(&request.name, request.input_responses.take())? {
                GetPromptResponse::InputRequired(asked) if !is_modern(&context) => {
                    request.input_responses = ask_by_requests(&context.peer, asked.input_requests).await?;
                }
                response => return Ok(response),
            }
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(vec![Resource::new(NOTES, "secret")]))
    }

    async fn read_resource(
        &self,
        mut request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        loop {
            match notes(&request.uri, request.input_responses.take())? {
                ReadResourceResponse::InputRequired(asked) if !is_modern(&context) => {
                    request.input_responses = ask_by_requests(&context.peer, asked.input_requests).await?;
                }
                response => return Ok(response),
            }
        }
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.tasks.get_task(&request.task_id).map(GetTaskResult::new)
    }

    async fn update_task(&self, request: UpdateTaskParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.tasks.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(&self, request: CancelTaskParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.tasks.cancel_task(&request.task_id)
    }
}

fn review(name: &str, answers: Option<InputResponses>) -> Result<GetPromptResponse, ErrorData> {
    if name != "review" {
        return Err(invalid("there is no such prompt"));
    }
    let Some(answer) = answers.and_then(|mut answers| answers.remove("language")) else {
        return Ok(ask([("language", form(LANGUAGE, text_field("language")))], None).into());
    };
    let language: String = accepted(answer, "language")?;
    let message = PromptMessage::new_text(Role::User, format!("Review this {language}"));
    Ok(GetPromptResult::new(vec![message]).into())
}

fn notes(uri: &str, answers: Option<InputResponses>) -> Result<ReadResourceResponse, ErrorData> {
    if uri != NOTES {
        return Err(ErrorData::resource_not_found("there is no such resource", None));
    }
    let Some(answer) = answers.and_then(|mut answers| answers.remove("pin")) else {
        return Ok(ask([("pin", form(NOTEBOOK, text_field("notebook")))], None).into());
    };
    let notebook: String = accepted(answer, "notebook")?;
    Ok(ReadResourceResult::new(vec![ResourceContents::text(format!("The notes of {notebook}"), uri)]).into())
}

const NOTES: &str = "notes://secret";

pub(crate) fn ask<const N: usize>(questions: [(&str, InputRequest); N], state: Option<String>) -> InputRequiredResult {
    let questions = questions.into_iter().map(|(key, question)| (key.to_owned(), question));
    InputRequiredResult::new(Some(questions.collect()), state)
}

pub(crate) fn form(message: &str, requested_schema: ElicitationSchema) -> InputRequest {
    InputRequest::Elicitation(ElicitRequest::new(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message.to_owned(),
        requested_schema,
    }))
}

pub(crate) fn text_field(name: &str) -> ElicitationSchema {
    ElicitationSchema::builder().required_string(name).build_unchecked()
}

/// A field of a form that the person has filled in.
pub(crate) fn accepted<T: DeserializeOwned>(answer: Value, field: &str) -> Result<T, ErrorData> {
    let ElicitResult { action, content, .. } = serde_json::from_value(answer).map_err(invalid)?;
    if action != ElicitationAction::Accept {
        return Err(invalid("the person did not answer"));
    }
    let value = content.as_ref().and_then(|content| content.get(field)).cloned();
    serde_json::from_value(value.unwrap_or_default()).map_err(invalid)
}

pub(crate) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// Asks one question after the other, while the request of the client waits.
pub(crate) async fn ask_by_requests(
    client: &Peer<RoleServer>,
    questions: Option<InputRequests>,
) -> Result<Option<InputResponses>, ErrorData> {
    let mut answers = InputResponses::new();
    for (key, question) in questions.unwrap_or_default() {
        let answer = match question {
            InputRequest::Elicitation(request) => {
                serde_json::to_value(client.create_elicitation(request.params).await.map_err(invalid)?)
            }
            InputRequest::CreateMessage(request) => {
                serde_json::to_value(client.create_message(request.params).await.map_err(invalid)?)
            }
            InputRequest::ListRoots(_) => serde_json::to_value(client.list_roots().await.map_err(invalid)?),
            _ => return Err(invalid("there is no request for this question")),
        };
        answers.insert(key, answer.map_err(invalid)?);
    }
    Ok(Some(answers))
}
