//! Mistakes of a server's author with tasks: the log says what to do, and no client is left waiting.

use async_trait::async_trait;
use mrtr_schema::{JsonObject, Revision};
use mrtr_server::extend::{Extension, ExtensionReply, ExtensionRequest};
use mrtr_server::testing::Client;
use mrtr_server::{Failure, Flow, ProtocolError, Server, TaskPolicy, Tool};
use mrtr_tasks::{TaskOptions, Tasks};

use crate::log::Log;
use crate::support::{PATIENCE, Site, call, memory, within};
use serde_json::json;

async fn long(flow: Flow) -> Result<&'static str, Failure> {
    flow.into_task().await;
    Ok("done")
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_never_runs_as_a_task_does_not_become_one() {
    for tool in [Tool::new("tool", long), Tool::new("tool", long).tasks(TaskPolicy::Never)] {
        let site = Site::of(tool);
        let follows_tasks = site.client();
        let follows_none = Client::new(&site.server);
        for client in [follows_tasks, follows_none] {
            let log = Log::start();
            let said = within(PATIENCE, client.call_tool("tool", json!({}))).await;
            let text = said.expect_tool_error();
            let reference = text.strip_prefix("The tool failed (reference ").unwrap_or_else(|| panic!("{text}"));
            let log = log.text();
            let remedy = "tool `tool` calls `into_task`, and its policy is `TaskPolicy::Never`: \
                          give the tool `.tasks(TaskPolicy::ByFlow)`";
            assert!(log.contains(reference.trim_end_matches(')')) && log.contains(remedy), "{log}");
        }
        assert_eq!(site.tasks.view(None, 10).await.unwrap(), [], "no task was made that nothing would run");
    }
}

/// An extension that says yes by default to whatever the server asks it about tasks, and runs none.
struct Beside;

#[async_trait]
impl Extension for Beside {
    fn name(&self) -> &'static str {
        "com.example/beside"
    }

    fn capability(&self, _: Revision) -> Option<JsonObject> {
        None
    }

    async fn handle(&self, _: &ExtensionRequest<'_>) -> Result<ExtensionReply, ProtocolError> {
        Err(ProtocolError::invalid_params("it has no methods"))
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_follows_no_tasks_gets_none_whatever_else_the_server_has() {
    let tasks = Tasks::with_options(memory(), TaskOptions::default());
    let tool = Tool::new("tool", long).tasks(TaskPolicy::ByFlow);
    let server = Server::builder("test", "1").extension(Beside).extension(tasks.clone()).tool(tool).build().unwrap();
    let called = within(PATIENCE, Client::new(&server).call_tool("tool", json!({}))).await;
    assert_eq!(called.expect_text(), "done", "the flow continues where it is");
    for revision in crate::support::OLDER {
        let params = json!({ "name": "tool", "arguments": {} });
        let params = params.as_object().unwrap().clone();
        let called = within(PATIENCE, Client::new(&server).speaking(revision).begin("tools/call", params)).await;
        assert_eq!(called.expect_text(), "done", "{revision}: the client did not ask for a task");
    }
    assert_eq!(tasks.view(None, 10).await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn one_value_of_tasks_is_refused_by_a_second_server() {
    let tasks = Tasks::with_options(memory(), TaskOptions::default());
    let server = |says: &'static str, tasks: &Tasks| {
        let tool =
            Tool::new("tool", move |_: Flow| async move { Ok::<_, Failure>(says) }).tasks(TaskPolicy::IfPossible);
        Server::builder("test", "1").extension(tasks.clone()).tool(tool).build()
    };
    let first = server("from the first", &tasks).unwrap();
    assert_eq!(
        server("from the second", &tasks).unwrap_err().to_string(),
        "extension `io.modelcontextprotocol/tasks`: one value of `Tasks` serves one server, and this one has another \
         already: give each server a `Tasks::with_options` of its own; they may share a store"
    );
    let site = Site { server: first, tasks, store: memory() };
    let created = call(&site.client(), Revision::V2026_07_28, json!({})).await;
    assert_eq!(created["result"]["resultType"], "task", "the first server has its tasks still: {created}");
}
