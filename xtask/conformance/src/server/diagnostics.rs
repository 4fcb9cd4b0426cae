//! Tools by which the suite looks at the server itself: headers, schemas, capabilities, logs, changed lists.

use std::convert::Infallible;

use anyhow::Result;
use async_trait::async_trait;
use http::header::AUTHORIZATION;
use http::request::Parts;
use mrtr_http::{Authenticator, Challenge, Identity};
use mrtr_schema::LoggingLevel;
use mrtr_schema::tools::InputSchema;
use mrtr_server::flow::FlowChanges;
use mrtr_server::{Builder, Caller, Failure, Flow, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::questions::{UserName, capital_of_france};

pub(crate) fn offer(builder: Builder) -> Result<Builder> {
    let contact = Tool::new("json_schema_2020_12_tool", contact)
        .description("Takes arguments by a schema that uses what JSON Schema 2020-12 has")
        .input_schema(InputSchema::parse(include_str!("contact.schema.json"))?);
    Ok(builder
        .tool(contact)
        .tool(Tool::new("test_custom_header", custom_header).description("Takes an argument that a header repeats"))
        .tool(Tool::new("test_missing_capability", missing_capability).description("Needs a client with a model"))
        .tool(Tool::new("test_streaming_elicitation", streaming_elicitation).description("Asks while it is watched"))
        .tool(Tool::new("test_logging_tool", logging).description("Logs"))
        .tool(Tool::new("test_trigger_tool_change", tool_change).description("Says that the tools have changed"))
        .tool(Tool::new("test_trigger_prompt_change", prompt_change).description("Says that the prompts have changed")))
}

async fn contact(_: Flow, contact: Map<String, Value>) -> Result<String, Infallible> {
    Ok(format!("{} members fit the schema", contact.len()))
}

#[derive(Deserialize, JsonSchema)]
struct Mirrored {
    /// What the header `Mcp-Param-Value` says too
    #[schemars(extend("x-mcp-header" = "Value"))]
    value: String,
}

async fn custom_header(_: Flow, mirrored: Mirrored) -> Result<String, Infallible> {
    Ok(mirrored.value)
}

async fn missing_capability(flow: Flow) -> Result<String, Failure> {
    let answer = flow.sample("capital_question", capital_of_france()).await?;
    Ok(answer.text().unwrap_or_default())
}

async fn streaming_elicitation(flow: Flow) -> Result<String, Failure> {
    flow.progress(0, Some(1), "about to ask").await;
    let user: UserName = flow.elicit("user_name", "What is your name?").await?;
    Ok(format!("Hello, {}!", user.name))
}

async fn logging(flow: Flow) -> Result<&'static str, Infallible> {
    flow.log(LoggingLevel::Info, "halfway").await;
    Ok("Logged, if anybody wanted to know")
}

async fn tool_change(flow: Flow) -> Result<&'static str, Infallible> {
    flow.changes().tools_changed();
    Ok("Subscribers have been told")
}

async fn prompt_change(flow: Flow) -> Result<&'static str, Infallible> {
    flow.changes().prompts_changed();
    Ok("Subscribers have been told")
}

/// Believes every bearer token, and takes a request without one as anonymous.
#[derive(Debug)]
pub(crate) struct BearerPrincipals;

#[async_trait]
impl Authenticator for BearerPrincipals {
    async fn authenticate(&self, head: &Parts) -> Result<Identity, Challenge> {
        let Some(value) = head.headers.get(AUTHORIZATION) else { return Ok(Identity::anonymous()) };
        let token = value.to_str().ok().and_then(|value| value.strip_prefix("Bearer "));
        let name = token.ok_or(Challenge::new("Bearer"))?;
        Ok(Identity::of(Caller::new("conformance", name)))
    }
}
