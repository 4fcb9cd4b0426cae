//! rmcp's client of the matrix: its `call_tool`, `get_prompt` and `read_resource` carry a request through its rounds.

mod handler;
mod task;

use std::sync::Arc;

use anyhow::Result;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ContentBlock, GetPromptRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResult, ResourceContents,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RunningService, ServiceError, ServiceExt};
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ErrorData, RoleClient};

use super::outcome::{Ended, Outcome, Reply};
use super::scenario::{Request, Scenario};
use super::{Era, Server};
use handler::Handler;

pub(super) async fn call(scenario: Scenario, era: Era, server: &Server) -> Result<Outcome> {
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
                return task::call(client, params).await;
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
