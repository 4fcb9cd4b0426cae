//! Tools that ask nothing: content of every kind, prompts and resources, and tools by which the suite looks at the
//! server itself.

use std::convert::Infallible;
use std::time::Duration;

use anyhow::Result;
use async_trait::async_trait;
use http::header::AUTHORIZATION;
use mrtr_http::{Authenticator, Challenge, Identity, RequestHead};
use mrtr_schema::content::{
    AudioContent, BlobResourceContents, EmbeddedResource, ImageContent, ResourceContents, Role, TextResourceContents,
};
use mrtr_schema::prompts::PromptMessage;
use mrtr_schema::tools::InputSchema;
use mrtr_schema::{ContentBlock, LoggingLevel};
use mrtr_server::flow::FlowChanges;
use mrtr_server::handler::Completing;
use mrtr_server::{Builder, Caller, Failure, Flow, Prompt, Resource, ResourceTemplate, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::questions::{UserName, capital_of_france};

pub(crate) fn offer(builder: Builder) -> Builder {
    builder
        .tool(Tool::new("test_simple_text", simple_text).description("Gives text"))
        .tool(Tool::new("test_image_content", image).description("Gives a picture"))
        .tool(Tool::new("test_audio_content", audio).description("Gives a sound"))
        .tool(Tool::new("test_embedded_resource", resource).description("Gives a resource"))
        .tool(Tool::new("test_multiple_content_types", mixed).description("Gives text, a picture and a resource"))
        .tool(Tool::new("test_error_handling", error).description("Fails"))
        .tool(Tool::new("test_tool_with_progress", progress).description("Tells how far it has come"))
}

async fn simple_text(_: Flow) -> Result<&'static str, Infallible> {
    Ok("This is a simple text response for testing.")
}

async fn image(_: Flow) -> Result<ImageContent, Infallible> {
    Ok(picture())
}

async fn audio(_: Flow) -> Result<AudioContent, Infallible> {
    Ok(AudioContent::new(SILENCE, "audio/wav"))
}

async fn resource(_: Flow) -> Result<EmbeddedResource, Infallible> {
    Ok(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."))
}

async fn mixed(_: Flow) -> Result<Vec<ContentBlock>, Infallible> {
    let data = r#"{"test":"data","value":123}"#;
    Ok(vec![
        ContentBlock::text("Multiple content types test:"),
        ContentBlock::Image(picture()),
        ContentBlock::Resource(embedded("test://mixed-content-resource", "application/json", data)),
    ])
}

async fn error(_: Flow) -> Result<String, ToolError> {
    Err(ToolError::new("This tool intentionally returns an error for testing"))
}

async fn progress(flow: Flow) -> Result<&'static str, Infallible> {
    for done in [0, 50, 100] {
        flow.progress(done, Some(100), "").await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok("All of it is done")
}

pub(crate) fn offer_prompts(builder: Builder) -> Builder {
    let with_arguments = Prompt::new("test_prompt_with_arguments", with_arguments).complete("arg1", words);
    builder
        .prompt(Prompt::new("test_simple_prompt", simple).description("Says something"))
        .prompt(with_arguments.description("Repeats its arguments"))
        .prompt(Prompt::new("test_prompt_with_embedded_resource", with_resource).description("Shows a resource"))
        .prompt(Prompt::new("test_prompt_with_image", with_image).description("Shows a picture"))
        .prompt(Prompt::new("test_input_required_result_prompt", with_question).description("Asks for its context"))
}

async fn simple(_: Flow) -> Result<&'static str, Infallible> {
    Ok("This is a simple prompt for testing.")
}

#[derive(Deserialize, JsonSchema)]
struct Two {
    /// First test argument
    arg1: String,
    /// Second test argument
    arg2: String,
}

async fn with_arguments(_: Flow, Two { arg1, arg2 }: Two) -> Result<String, Infallible> {
    Ok(format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"))
}

async fn words(_: Flow, typing: Completing) -> Result<Vec<String>, Infallible> {
    let words = ["paris", "park", "party"].into_iter();
    Ok(words.filter(|word| word.starts_with(&typing.value)).map(str::to_owned).collect())
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Shown {
    /// URI of the resource to embed
    resource_uri: String,
}

async fn with_resource(_: Flow, shown: Shown) -> Result<Vec<PromptMessage>, Infallible> {
    let resource = embedded(&shown.resource_uri, "text/plain", "Embedded resource content for testing.");
    Ok(vec![user(ContentBlock::Resource(resource)), says("Please process the embedded resource above.")])
}

async fn with_image(_: Flow) -> Result<Vec<PromptMessage>, Infallible> {
    Ok(vec![user(ContentBlock::Image(picture())), says("Please analyze the image above.")])
}

#[derive(Deserialize, JsonSchema)]
struct UserContext {
    context: String,
}

async fn with_question(flow: Flow) -> Result<String, Failure> {
    let user: UserContext = flow.elicit("user_context", "What context should the prompt use?").await?;
    Ok(format!("Use this context: {}", user.context))
}

fn user(content: ContentBlock) -> PromptMessage {
    PromptMessage::new(Role::User, content)
}

fn says(text: &str) -> PromptMessage {
    user(ContentBlock::text(text))
}

pub(crate) fn offer_resources(builder: Builder) -> Builder {
    builder
        .resource(Resource::new("test://static-text", "static text", text).mime_type("text/plain"))
        .resource(Resource::new("test://static-binary", "static picture", bytes).mime_type("image/png"))
        .resource(Resource::new("test://input-required", "greeting", greeting).mime_type("text/plain"))
        .resource_template(
            ResourceTemplate::new("test://template/{id}/data", "data", data).mime_type("application/json"),
        )
}

async fn text(_: Flow) -> Result<&'static str, Infallible> {
    Ok("This is the content of the static text resource.")
}

async fn bytes(_: Flow) -> Result<ResourceContents, Infallible> {
    // Without a URI, the URI is that of the resource.
    Ok(ResourceContents::Blob(BlobResourceContents::new("", PIXEL)))
}

async fn greeting(flow: Flow) -> Result<String, Failure> {
    let user: UserName = flow.elicit("user_name", "What is your name?").await?;
    Ok(format!("Hello, {}!", user.name))
}

#[derive(Deserialize, JsonSchema)]
struct Data {
    id: String,
}

async fn data(_: Flow, Data { id }: Data) -> Result<String, Infallible> {
    let text = format!("Data for ID: {id}");
    Ok(json!({ "id": id, "templateTest": true, "data": text }).to_string())
}

/// A PNG of one red pixel.
pub(crate) const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC";

/// A WAV of a millisecond.
pub(crate) const SILENCE: &str = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA==";

pub(crate) fn picture() -> ImageContent {
    ImageContent::new(PIXEL, "image/png")
}

/// A resource of text, as part of a result.
pub(crate) fn embedded(uri: &str, mime_type: &str, text: &str) -> EmbeddedResource {
    let mut contents = TextResourceContents::new(uri, text);
    contents.mime_type = Some(mime_type.to_owned());
    EmbeddedResource::new(ResourceContents::Text(contents))
}

pub(crate) fn offer_diagnostics(builder: Builder) -> Result<Builder> {
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
    async fn authenticate(&self, head: &RequestHead<'_>) -> Result<Identity, Challenge> {
        let Some(value) = head.headers.get(AUTHORIZATION) else { return Ok(Identity::anonymous()) };
        let token = value.to_str().ok().and_then(|value| value.strip_prefix("Bearer "));
        let name = token.ok_or(Challenge::bearer())?;
        Ok(Identity::of(Caller::new("conformance", name)))
    }
}
