//! A call that a server may make a task of. rmcp has the requests for it, and leaves the polling to its caller.

use std::time::Duration;

use anyhow::{Result, bail};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, DetailedTask, GetTaskParams, InputRequest, InputRequests, InputResponses,
    TaskPayload, UpdateTaskParams,
};
use serde_json::Value;

use super::{Client, of_error, of_tool};
use crate::peers::interop::outcome::Reply;

/// If the server makes no task of it, the call is made as any other.
pub(super) async fn call(client: &Client, params: CallToolRequestParams) -> Result<Reply> {
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
