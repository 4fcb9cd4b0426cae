//! Prompts: plain ones, and one that asks.

use std::convert::Infallible;

use mrtr_schema::ContentBlock;
use mrtr_schema::content::Role;
use mrtr_schema::prompts::PromptMessage;
use mrtr_server::handler::Completing;
use mrtr_server::{Builder, Failure, Flow, Prompt};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::samples::{embedded, picture};

pub(crate) fn offer(builder: Builder) -> Builder {
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
