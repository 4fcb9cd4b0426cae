//! Tools that run as tasks: from the beginning, by their flows, and after some rounds.

use std::time::Duration;

use anyhow::Result;
use mrtr_schema::ErrorCode;
use mrtr_server::{Builder, Failure, Flow, ProtocolError, TaskPolicy, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::questions::UserName;

pub(crate) fn offer(builder: Builder) -> Builder {
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
