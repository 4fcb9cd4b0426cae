//! Calls that become tasks, followed by rmcp's client by hand.

use std::time::Duration;

use mrtr_rmcp::Flows;
use mrtr_server::{Failure, Flow, Server, TaskPolicy, Tool};
use mrtr_tasks::{MemoryTaskStore, Tasks};
use rmcp::model::{
    CallToolResponse, CancelTaskParams, DetailedTask, ErrorCode, GetTaskParams, TaskPayload, TaskStatus,
    UpdateTaskParams,
};
use rmcp::service::{Peer, ServiceError};
use rmcp::{RoleClient, ServerHandler};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::person::{Person, call, text};
use crate::sites::{ALL, Lifecycle, PATIENCE, Way, connect};

#[derive(Deserialize, JsonSchema)]
struct Echo {
    input: String,
}

async fn echo(flow: Flow) -> Result<String, Failure> {
    let Echo { input } = flow.elicit("echo_input", "What shall be echoed?").await?;
    Ok(format!("Echo: {input}"))
}

fn server() -> Flows {
    let server = Server::builder("echo", "1.0.0")
        .tool(Tool::new("echo", echo).tasks(TaskPolicy::IfPossible))
        .extension(Tasks::new(MemoryTaskStore::default()))
        .build()
        .expect("it is well made");
    Flows::new(server)
}

/// Polls a task until it has this status.
async fn until(client: &Peer<RoleClient>, id: &str, status: TaskStatus) -> DetailedTask {
    let polling = async {
        loop {
            let task = client.get_task(GetTaskParams::new(id)).await.expect("it is there").task;
            if task.status() == status {
                return task;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, polling).await.expect("it comes to that")
}

async fn begin(client: &Peer<RoleClient>) -> String {
    let created = client.call_tool_once(call("echo", json!({}))).await.expect("it is answered");
    let CallToolResponse::Task(created) = created else { panic!("{created:?}") };
    created.task.task_id
}

#[tokio::test]
async fn a_task_asks_and_is_answered_and_done() {
    for way in [Way::Streams, Way::Http] {
        let client = connect(server(), &Person::answering([]), (Lifecycle::Discover, way)).await;
        assert!(client.peer_info().expect("it has begun").capabilities.supports_tasks(), "{way:?}");
        let id = begin(client.peer()).await;
        let waiting = until(client.peer(), &id, TaskStatus::InputRequired).await;
        let TaskPayload::InputRequired { input_requests } = waiting.payload else { panic!("{waiting:?}") };
        let key = input_requests.keys().next().expect("it asks").clone();
        let answer = json!({ &key: { "action": "accept", "content": { "input": "Hello" } } });
        let answer = serde_json::from_value(answer).expect("they are answers");
        client.update_task(UpdateTaskParams::new(&id, answer)).await.expect("it is taken");
        let done = until(client.peer(), &id, TaskStatus::Completed).await;
        let TaskPayload::Completed { result } = done.payload else { panic!("{done:?}") };
        assert_eq!(result["content"][0]["text"], "Echo: Hello", "{way:?}");
    }
}

#[tokio::test]
async fn a_task_is_cancelled_and_others_are_not_found() {
    let client = connect(server(), &Person::answering([]), (Lifecycle::Discover, Way::Http)).await;
    let id = begin(client.peer()).await;
    client.cancel_task(CancelTaskParams::new(&id)).await.expect("it is taken");
    until(client.peer(), &id, TaskStatus::Cancelled).await;
    let other = client.get_task(GetTaskParams::new("task-of-another")).await;
    let Err(ServiceError::McpError(error)) = other else { panic!("{other:?}") };
    assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
}

/// Knows nothing of tasks.
#[derive(Clone)]
struct Beside;

impl ServerHandler for Beside {}

#[tokio::test]
async fn a_handler_beside_that_knows_no_task_hides_no_reason() {
    let client = connect(server().beside(Beside), &Person::answering([]), (Lifecycle::Discover, Way::Http)).await;
    let (get, cancel) = (GetTaskParams::new("no-task"), CancelTaskParams::new("no-task"));
    let errors = [client.get_task(get).await.map(drop), client.cancel_task(cancel).await.map(drop)];
    for refused in errors {
        let Err(ServiceError::McpError(error)) = refused else { panic!("{refused:?}") };
        assert_eq!(error.code, ErrorCode::INVALID_PARAMS, "{error:?}");
    }
}

#[tokio::test]
async fn who_cannot_follow_tasks_gets_rounds_or_is_asked_in_its_session() {
    let person = Person::answering([("What shall be echoed?", json!({ "input": "Hello" }))]);
    for site in ALL {
        let person = match site.0 {
            Lifecycle::Discover => person.clone().without_tasks(),
            Lifecycle::Initialize => person.clone(),
        };
        let client = connect(server(), &person, site).await;
        let declared = client.peer_info().expect("it has begun").capabilities.supports_tasks();
        assert_eq!(declared, site.0 == Lifecycle::Discover, "{site:?}: a session has none");
        let result = client.call_tool(call("echo", json!({}))).await.expect("it is answered");
        assert_eq!(text(&result), "Echo: Hello", "{site:?}");
    }
}
