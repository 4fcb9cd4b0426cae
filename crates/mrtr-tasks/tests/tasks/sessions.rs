//! Clients of the legacy era: tasks are not offered to them, and what would become one goes on in place.

use mrtr_server::transport::{HeaderClaim, LegacyReply, Received};
use mrtr_server::{Context, Failure, Flow, Server, TaskPolicy, Tool};
use mrtr_tasks::{TaskOptions, Tasks};
use serde_json::{Value, json};

use crate::log::Log;
use crate::support::memory;

async fn long(flow: Flow) -> Result<&'static str, Failure> {
    flow.into_task().await;
    Ok("done")
}

fn server() -> Server {
    let tool = |name: &str, policy| Tool::new(name, long).tasks(policy);
    Server::builder("test", "1.0.0")
        .extension(Tasks::with_options(memory(), TaskOptions::default()))
        .tool(tool("always", TaskPolicy::Required))
        .tool(tool("possible", TaskPolicy::IfPossible))
        .tool(tool("by_flow", TaskPolicy::ByFlow))
        .tool(tool("never", TaskPolicy::Never))
        .build()
        .unwrap()
}

async fn send(server: &Server, session: Option<&str>, method: &str, params: Value) -> (Value, Option<String>) {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let received = Box::pin(server.receive(message.to_string().into(), Context::new())).await;
    let Received::Legacy(message) = received else { panic!("it says no version") };
    match message.answer(session, &HeaderClaim::Missing).await {
        LegacyReply::Opened { body, session } => {
            (serde_json::from_str(&body).unwrap(), Some(session.as_str().to_owned()))
        }
        LegacyReply::Message { body, .. } => (serde_json::from_str(&body).unwrap(), None),
        reply => panic!("{reply:?}"),
    }
}

#[tokio::test]
async fn a_session_has_no_tasks() {
    let log = Log::start();
    let server = server();
    let extensions = json!({ "io.modelcontextprotocol/tasks": {} });
    let params = json!({
        "protocolVersion": "2025-11-25",
        // It may say what it likes: there are none in this era.
        "capabilities": { "extensions": extensions, "tasks": {} },
        "clientInfo": { "name": "editor", "version": "1.0.0" },
    });
    let (opened, session) = send(&server, None, "initialize", params).await;
    let capabilities = &opened["result"]["capabilities"];
    assert_eq!((capabilities.get("tasks"), capabilities.get("extensions")), (None, None), "{opened}");
    let session = session.as_deref();

    let (listed, _) = send(&server, session, "tools/list", json!({})).await;
    let names: Vec<_> = listed["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["possible", "by_flow", "never"]);

    for tool in ["possible", "by_flow"] {
        let (called, _) = send(&server, session, "tools/call", json!({ "name": tool, "task": { "ttl": 1000 } })).await;
        assert_eq!(called["result"]["content"][0]["text"], "done", "it goes on in place: {called}");
        assert_eq!((called["result"].get("task"), called["result"].get("resultType")), (None, None));
    }
    let (refused, _) = send(&server, session, "tools/call", json!({ "name": "never" })).await;
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    let text = refused["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("The tool failed (reference "), "it is its author's mistake: {text}");
    assert!(log.text().contains("its policy is `TaskPolicy::Never`: give the tool `.tasks(TaskPolicy::ByFlow)`"));
    let (refused, _) = send(&server, session, "tools/call", json!({ "name": "always" })).await;
    assert_eq!(refused["error"]["code"], -32602);
    assert!(refused["error"]["message"].as_str().unwrap().contains("runs as a task only"), "{refused}");
    for method in ["tasks/get", "tasks/update", "tasks/cancel", "tasks/list", "tasks/result"] {
        let (unknown, _) = send(&server, session, method, json!({ "taskId": "x" })).await;
        assert_eq!(unknown["error"]["code"], -32601, "{method}");
    }
}
