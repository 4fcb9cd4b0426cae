//! Tools for the suite's scenarios of 2025-11-25, in which a server asks by requests of its own, and those that run as tasks.

use std::borrow::Cow;
use std::time::Duration;

use anyhow::Result;
use mrtr_schema::sampling::{CreateMessageParams, SamplingMessage};
use mrtr_schema::{ErrorCode, LoggingLevel};
use mrtr_server::flow::Answered;
use mrtr_server::{Builder, Failure, Flow, ProtocolError, TaskPolicy, Tool, ToolError};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::questions::UserName;

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

pub(crate) fn offer_tasks(builder: Builder) -> Builder {
    builder
        .tool(Tool::new("greet", greet).description("Greets, and never as a task"))
        .tool(
            Tool::new("slow_compute", slow_compute)
                .description("Computes for some seconds")
                .tasks(TaskPolicy::IfPossible),
        )
        .tool(Tool::new("failing_job", failing_job).description("Fails, as a task only").tasks(TaskPolicy::Required))
        .tool(
            Tool::new("protocol_error_job", protocol_error_job)
                .description("Ends in a JSON-RPC error")
                .tasks(TaskPolicy::IfPossible),
        )
        .tool(
            Tool::new("confirm_delete", confirm_delete)
                .description("Deletes a file once that is confirmed")
                .tasks(TaskPolicy::IfPossible),
        )
        .tool(
            Tool::new("multi_input", multi_input)
                .description("Asks two things beside each other")
                .tasks(TaskPolicy::IfPossible),
        )
        .tool(
            Tool::new("test_tool_with_task", ask_then_task)
                .description("Asks in a round, and goes on as a task")
                .tasks(TaskPolicy::ByFlow),
        )
}

#[derive(Deserialize, JsonSchema)]
struct Greeted {
    name: String,
}

async fn greet(_: Flow, greeted: Greeted) -> Result<String, Failure> {
    Ok(format!("Hello, {}!", greeted.name))
}

#[derive(Deserialize, JsonSchema)]
struct Computation {
    seconds: f64,
    #[serde(default)]
    label: String,
}

async fn slow_compute(flow: Flow, computation: Computation) -> Result<String, Failure> {
    let Computation { seconds, label } = computation;
    let time = Duration::try_from_secs_f64(seconds).map_err(|_| ToolError::new("no such time"))?;
    let compute = async {
        tokio::select! {
            () = tokio::time::sleep(time) => Ok(format!("Computed {label} in {seconds} s")),
            reason = flow.cancelled() => Err(Failure::from(ToolError::new(format!("stopped: {reason:?}")))),
        }
    };
    Ok(flow.step("compute", compute).await?)
}

async fn failing_job(flow: Flow) -> Result<String, Failure> {
    let work = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        Err::<String, Failure>(ToolError::new("The job failed, as it always does").into())
    };
    Ok(flow.step("work", work).await?)
}

async fn protocol_error_job(_: Flow) -> Result<String, Failure> {
    Err(ProtocolError::new(ErrorCode::INTERNAL_ERROR, "The job ended in an error").into())
}

#[derive(Deserialize, JsonSchema)]
struct File {
    filename: String,
}

#[derive(Deserialize, JsonSchema)]
struct Confirmed {
    confirm: bool,
}

async fn confirm_delete(flow: Flow, file: File) -> Result<String, Failure> {
    let filename = file.filename;
    let Confirmed { confirm } = flow.elicit("confirm", format!("Delete {filename}?")).await?;
    Ok(if confirm { format!("Deleted {filename}") } else { format!("Kept {filename}") })
}

async fn multi_input(flow: Flow) -> Result<String, Failure> {
    let name = flow.elicit::<UserName>("name", "What is your name?");
    let confirmed = flow.elicit::<Confirmed>("confirm", "Go on?");
    let (user, Confirmed { confirm }) = flow.join((name, confirmed)).await?;
    Ok(format!("{} said {}", user.name, if confirm { "yes" } else { "no" }))
}

async fn ask_then_task(flow: Flow) -> Result<String, Failure> {
    let user: UserName = flow.elicit("user_name", "What is your name?").await?;
    flow.into_task().await;
    let greeting = flow.step("greet", async { Ok::<_, Failure>(format!("Hello, {}!", user.name)) }).await?;
    Ok(greeting)
}
