//! Tools for the suite's scenarios of 2025-11-25, in which a server asks by requests of its own.

use std::borrow::Cow;
use std::time::Duration;

use mrtr_schema::LoggingLevel;
use mrtr_schema::sampling::{CreateMessageParams, SamplingMessage};
use mrtr_server::flow::Answered;
use mrtr_server::{Builder, Failure, Flow, Tool};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value};

pub(crate) fn offer(builder: Builder) -> Builder {
    builder
        .tool(Tool::new("test_tool_with_logging", logging).description("Logs three times"))
        .tool(Tool::new("test_sampling", sampling).description("Asks a model"))
        .tool(Tool::new("test_elicitation", elicitation).description("Asks a person who they are"))
        .tool(Tool::new("test_elicitation_sep1034_defaults", defaults).description("Asks with defaults"))
        .tool(Tool::new("test_elicitation_sep1330_enums", enums).description("Asks with selects of each kind"))
}

async fn logging(flow: Flow) -> Result<&'static str, Failure> {
    flow.log(LoggingLevel::Info, "Tool execution started").await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    flow.log(LoggingLevel::Info, "Tool processing data").await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    flow.log(LoggingLevel::Info, "Tool execution completed").await;
    Ok("Logged three times")
}

#[derive(Deserialize, JsonSchema)]
struct Prompt {
    prompt: String,
}

async fn sampling(flow: Flow, prompt: Prompt) -> Result<String, Failure> {
    let params = CreateMessageParams::new([SamplingMessage::user(prompt.prompt)], 100_u64);
    let answer = flow.sample("answer", params).await?;
    Ok(format!("LLM response: {}", answer.text().unwrap_or_default()))
}

#[derive(Deserialize, JsonSchema)]
struct Message {
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct User {
    /// User's response
    username: String,
    /// User's email address
    email: String,
}

async fn elicitation(flow: Flow, message: Message) -> Result<String, Failure> {
    let user: User = flow.elicit("user", message.message).await?;
    Ok(format!("User response: {}, {}", user.username, user.email))
}

async fn defaults(flow: Flow) -> Result<String, Failure> {
    Ok(completed(flow.elicit::<Defaults>("form", "Please review and update the form").answer().await))
}

async fn enums(flow: Flow) -> Result<String, Failure> {
    Ok(completed(flow.elicit::<Enums>("form", "Please choose").answer().await))
}

fn completed<T: Into<Map<String, Value>>>(answer: Answered<T>) -> String {
    let (action, content) = match answer {
        Answered::Accepted(content) => ("accept", content.into()),
        Answered::Declined => ("decline", Map::new()),
        Answered::Cancelled => ("cancel", Map::new()),
    };
    format!("Elicitation completed: action={action}, content={}", Value::Object(content))
}

/// A form that is exactly this, whose answer is taken as it comes.
macro_rules! form {
    ($name:ident, $schema:tt) => {
        #[derive(Deserialize)]
        struct $name(Map<String, Value>);

        impl From<$name> for Map<String, Value> {
            fn from(answer: $name) -> Self {
                answer.0
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    };
}

form!(Defaults, {
    "type": "object",
    "properties": {
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
        "verified": { "type": "boolean", "default": true }
    }
});

form!(Enums, {
    "type": "object",
    "properties": {
        "untitledSingle": { "type": "string", "enum": ["option1", "option2", "option3"] },
        "titledSingle": { "type": "string", "oneOf": [
            { "const": "value1", "title": "First Option" },
            { "const": "value2", "title": "Second Option" },
            { "const": "value3", "title": "Third Option" }
        ] },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"]
        },
        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": ["option1", "option2", "option3"] } },
        "titledMulti": { "type": "array", "items": { "anyOf": [
            { "const": "value1", "title": "First Choice" },
            { "const": "value2", "title": "Second Choice" },
            { "const": "value3", "title": "Third Choice" }
        ] } }
    }
});
