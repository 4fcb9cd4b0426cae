//! Callers: states, sessions and tasks are their caller's alone.

use std::net::SocketAddr;

use mrtr_rmcp::Flows;
use mrtr_server::{Caller, Failure, Flow, Server, TaskPolicy, Tool};
use mrtr_tasks::{MemoryTaskStore, Tasks};
use rmcp::RoleClient;
use rmcp::model::{CallToolResponse, ErrorCode, GetTaskParams, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RunningService, ServiceError};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::person::{Person, call, text};
use crate::sites::{Lifecycle, serve, visit};

#[derive(Deserialize, JsonSchema)]
struct Word {
    word: String,
}

async fn whoami(flow: Flow) -> Result<String, Failure> {
    let Word { word } = flow.elicit("word", "A word?").await?;
    Ok(format!("{} says {word}", flow.principal().map_or("a stranger", Caller::subject)))
}

/// Believes what a header says; a real server checks a token.
pub(crate) fn by_header(extensions: &rmcp::model::Extensions) -> Option<Caller> {
    let header = extensions.get::<http::request::Parts>()?.headers.get("authorization")?;
    Some(Caller::new("https://id.example.com", header.to_str().ok()?.strip_prefix("Bearer ")?))
}

fn server() -> Flows {
    let server = Server::builder("gate", "1.0.0")
        .tool(Tool::new("whoami", whoami))
        .tool(Tool::new("whoami_later", whoami).tasks(TaskPolicy::IfPossible))
        .extension(Tasks::new(MemoryTaskStore::default()))
        .build()
        .expect("it is well made");
    Flows::new(server).caller(by_header)
}

fn refused<T: std::fmt::Debug>(answered: Result<T, ServiceError>) -> rmcp::ErrorData {
    match answered {
        Err(ServiceError::McpError(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_flow_knows_its_caller_in_both_lifecycles() {
    let address = serve(server()).await;
    let person = Person::answering([("A word?", json!({ "word": "hi" }))]);
    for lifecycle in [Lifecycle::Discover, Lifecycle::Initialize] {
        for (token, name) in [(Some("ada"), "ada"), (Some("bob"), "bob"), (None, "a stranger")] {
            let client = visit(address, &person, lifecycle, token).await;
            let result = client.call_tool(call("whoami", json!({}))).await.expect("it is answered");
            assert_eq!(text(&result), format!("{name} says hi"), "{lifecycle:?}");
        }
    }
}

#[tokio::test]
async fn another_callers_state_does_not_open() {
    let address = serve(server()).await;
    let person = Person::answering([]);
    let ada = visit(address, &person, Lifecycle::Discover, Some("ada")).await;
    let asked = ada.call_tool_once(call("whoami", json!({}))).await.expect("it asks");
    let CallToolResponse::InputRequired(asked) = asked else { panic!("{asked:?}") };
    let mut retry = call("whoami", json!({}));
    retry.request_state = asked.request_state;
    let answers = json!({ "word": { "action": "accept", "content": { "word": "hi" } } });
    retry.input_responses = serde_json::from_value(answers).expect("they are answers");
    for other in [Some("bob"), None] {
        let other = visit(address, &person, Lifecycle::Discover, other).await;
        let error = refused(other.call_tool_once(retry.clone()).await);
        assert_eq!((error.code, &*error.message), (ErrorCode::INVALID_PARAMS, "The request state is not valid"));
    }
    let CallToolResponse::Complete(result) = ada.call_tool_once(retry).await.expect("it is answered") else {
        panic!("it is done")
    };
    assert_eq!(text(&result), "ada says hi");
}

#[tokio::test]
async fn another_callers_task_is_not_found() {
    let address = serve(server()).await;
    let person = Person::answering([]);
    let (ada, bob) = (
        visit(address, &person, Lifecycle::Discover, Some("ada")).await,
        visit(address, &person, Lifecycle::Discover, Some("bob")).await,
    );
    let created = ada.call_tool_once(call("whoami_later", json!({}))).await.expect("it is answered");
    let CallToolResponse::Task(created) = created else { panic!("{created:?}") };
    let id = created.task.task_id;
    assert_eq!(refused(bob.get_task(GetTaskParams::new(&id)).await).code, ErrorCode::INVALID_PARAMS);
    ada.get_task(GetTaskParams::new(&id)).await.expect("it is hers");
}

/// Another tenant of the same caller gets neither the state nor the task.
#[tokio::test]
async fn what_is_one_tenants_is_not_the_same_callers_of_another() {
    let tenant = |extensions: &rmcp::model::Extensions| {
        let header = extensions.get::<http::request::Parts>()?.headers.get("x-tenant")?;
        Some(header.to_str().ok()?.to_owned())
    };
    let address = serve(server().tenant(tenant)).await;
    let (acme, other) = (at(address, Some("acme")).await, [at(address, Some("other")).await, at(address, None).await]);
    let asked = acme.call_tool_once(call("whoami", json!({}))).await.expect("it asks");
    let CallToolResponse::InputRequired(asked) = asked else { panic!("{asked:?}") };
    let mut retry = call("whoami", json!({}));
    retry.request_state = asked.request_state;
    let created = acme.call_tool_once(call("whoami_later", json!({}))).await.expect("it is answered");
    let CallToolResponse::Task(created) = created else { panic!("{created:?}") };
    let id = created.task.task_id;
    for other in &other {
        assert_eq!(refused(other.call_tool_once(retry.clone()).await).message, "The request state is not valid");
        assert_eq!(refused(other.get_task(GetTaskParams::new(&id)).await).code, ErrorCode::INVALID_PARAMS);
    }
    let asked = acme.call_tool_once(retry).await.expect("it is hers");
    assert!(matches!(asked, CallToolResponse::InputRequired(_)), "it asks again: {asked:?}");
    acme.get_task(GetTaskParams::new(&id)).await.expect("it is hers");
}

/// A client of Ada's, on behalf of a tenant.
async fn at(address: SocketAddr, tenant: Option<&str>) -> RunningService<RoleClient, Person> {
    let mut config = StreamableHttpClientTransportConfig::with_uri(format!("http://{address}/mcp")).auth_header("ada");
    if let Some(tenant) = tenant {
        let header = (http::HeaderName::from_static("x-tenant"), tenant.parse().expect("it is a value"));
        config = config.custom_headers([header].into());
    }
    let transport = StreamableHttpClientTransport::from_config(config);
    let discover = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    Person::answering([]).serve_with_lifecycle(transport, discover).await.expect("it begins")
}

/// Sends a request of the legacy era by hand: rmcp's own client would not use the session of another.
async fn post(address: SocketAddr, token: &str, session: Option<&str>, message: Value) -> reqwest::Response {
    let mut request = reqwest::Client::new()
        .post(format!("http://{address}/mcp"))
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json")
        .bearer_auth(token)
        .body(message.to_string());
    if let Some(session) = session {
        request = request.header("mcp-session-id", session);
    }
    request.send().await.expect("it is sent").error_for_status().expect("it is taken")
}

#[tokio::test]
async fn a_session_is_its_callers_alone_though_another_shows_its_id() {
    let plain = Tool::new("plain", async |_: Flow| Ok::<_, Failure>("the secret"));
    let server = Server::builder("gate", "1.0.0").tool(plain).build().expect("it is well made");
    let address = serve(Flows::new(server).caller(by_header)).await;
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "by hand", "version": "1" } } });
    let opened = post(address, "ada", None, initialize).await;
    let session = opened.headers()["mcp-session-id"].to_str().expect("it is text").to_owned();
    // A session is not the property of the caller of a notification.
    post(address, "eve", Some(&session), json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "plain" } });
    for (token, is_hers) in [("ada", true), ("bob", false), ("eve", false), ("ada", true)] {
        let mut answer = post(address, token, Some(&session), call.clone()).await;
        let mut said = String::new();
        while !said.contains("\"id\":1") {
            let chunk = answer.chunk().await.expect("it comes").expect("it is answered");
            said.push_str(&String::from_utf8_lossy(&chunk));
        }
        assert_eq!(said.contains("the secret"), is_hers, "{token}: {said}");
        assert_eq!(said.contains("no such session"), !is_hers, "{token}: {said}");
    }
}
