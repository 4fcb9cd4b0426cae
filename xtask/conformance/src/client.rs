//! A client for the official conformance suite: it does what its scenario wants to see.
//!
//! The suite is run by `cargo xtask conformance`. It starts this once a scenario, with the URL of a server of its own.

use anyhow::{Context, Result, bail};
use clap::Parser;
use mrtr_client::{Client, FormRequest, QuestionContext};
use mrtr_http::HttpTransport;
use mrtr_schema::JsonObject;
use mrtr_schema::content::{Role, TextContent};
use mrtr_schema::roots::Root;
use mrtr_schema::sampling::{CreateMessageParams, CreateMessageResult, SamplingContent};
use serde::Deserialize;
use serde_json::json;

/// Plays one scenario of the official conformance suite.
#[derive(Parser)]
struct Options {
    /// The server's URL
    url: String,
    /// The scenario
    #[arg(long, env = "MCP_CONFORMANCE_SCENARIO")]
    scenario: String,
    /// The scenario's context, as JSON
    #[arg(long, env = "MCP_CONFORMANCE_CONTEXT")]
    context: Option<String>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let options = Options::parse();
    let client = Client::builder(HttpTransport::new(&options.url)?)
        .info("mrtr-conformance", env!("CARGO_PKG_VERSION"))
        .on_elicit(confirm)
        .on_sample(say_yes)
        .on_roots(roots)
        .build();
    match options.scenario.as_str() {
        "tools_call" => add_numbers(&client).await,
        "request-metadata" | "json-schema-ref-no-deref" => list_tools(&client).await,
        "http-standard-headers" => use_everything(&client).await,
        "http-custom-headers" => call_as_told(&client, &options).await,
        "http-invalid-tool-headers" => call_every_tool(&client).await,
        "json-schema-2020-12-preservation" => send_schema_back(&client).await,
        "sep-2322-client-request-state" => go_round(&client).await,
        other => bail!("`{other}` is not among the scenarios that this client plays"),
    }
}

async fn confirm(form: FormRequest) -> Result<mrtr_schema::elicitation::ElicitResult> {
    Ok(form.accept(&json!({ "confirmed": true }))?)
}

async fn say_yes(_: CreateMessageParams, _: QuestionContext) -> Result<CreateMessageResult> {
    Ok(CreateMessageResult::new(Role::Assistant, SamplingContent::Text(TextContent::new("Yes")), "none"))
}

async fn roots(_: QuestionContext) -> Result<Vec<Root>> {
    Ok(vec![Root::new("file:///project")])
}

async fn add_numbers(client: &Client) -> Result<()> {
    client.list_tools().await?;
    client.call_tool("add_numbers", json!({ "a": 5, "b": 3 })).await?;
    Ok(())
}

async fn list_tools(client: &Client) -> Result<()> {
    client.list_tools().await?;
    Ok(())
}

async fn use_everything(client: &Client) -> Result<()> {
    client.discover().await?;
    for tool in client.list_tools().await? {
        client.call_tool(&tool.name, json!({})).await?;
    }
    for resource in client.list_resources().await? {
        client.read_resource(&resource.uri).await?;
    }
    for prompt in client.list_prompts().await? {
        client.get_prompt(&prompt.name, json!({})).await?;
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    tool_calls: Vec<ToolCall>,
}

#[derive(Deserialize)]
struct ToolCall {
    name: String,
    arguments: JsonObject,
}

/// Lists the tools first: the list says which arguments are mirrored in headers.
async fn call_as_told(client: &Client, options: &Options) -> Result<()> {
    let told = options.context.as_ref().context("the scenario does not say what to call")?;
    let told: Told = serde_json::from_str(told)?;
    client.list_tools().await?;
    for ToolCall { name, arguments } in told.tool_calls {
        client.call_tool(&name, arguments).await?;
    }
    Ok(())
}

/// Calls every tool that is left in the list: the client has removed tools with wrong annotations.
async fn call_every_tool(client: &Client) -> Result<()> {
    for tool in client.list_tools().await? {
        client.call_tool(&tool.name, json!({ "region": "us-west1" })).await?;
    }
    Ok(())
}

async fn send_schema_back(client: &Client) -> Result<()> {
    let tools = client.list_tools().await?;
    let tool = tools.iter().find(|tool| tool.name == "json_schema_2020_12_tool");
    let schema = tool.context("the tool with the schema is missing")?.input_schema.as_object();
    client.call_tool("json_schema_echo", json!({ "schema": schema })).await?;
    Ok(())
}

/// Makes all calls at once, so that anything that leaks from one call into another shows.
async fn go_round(client: &Client) -> Result<()> {
    tokio::try_join!(
        client.call_tool("test_mrtr_echo_state", json!({})),
        client.call_tool("test_mrtr_no_state", json!({})),
        client.call_tool("test_mrtr_unrelated", json!({})),
        client.call_tool("test_mrtr_no_result_type", json!({})),
    )?;
    Ok(())
}
