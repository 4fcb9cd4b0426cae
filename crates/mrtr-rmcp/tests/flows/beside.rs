//! Flows beside a handler of rmcp's own.

use mrtr_rmcp::Flows;
use mrtr_server::{Failure, Flow, Prompt, Resource, Server, Tool as FlowTool};
use mrtr_tasks::{MemoryTaskStore, Tasks};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorCode, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, Implementation, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ResourceContents, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::{RequestContext, ServiceError};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::person::{Person, call, text};
use crate::sites::{ALL, Lifecycle, connect};

/// Two tools, one of which is a flow's too, two pages of them, a prompt and a resource, all by hand.
#[derive(Clone)]
struct Calculator;

impl ServerHandler for Calculator {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_prompts().enable_resources().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("calculator", "7.0.0"))
            .with_instructions("Count on it")
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool = |name: &'static str| Tool::new(name, name, std::sync::Arc::default());
        Ok(match request.and_then(|request| request.cursor).as_deref() {
            None => ListToolsResult {
                next_cursor: Some("2".into()),
                ..ListToolsResult::with_all_items(vec![tool("add"), tool("greet")])
            },
            Some("2") => ListToolsResult::with_all_items(vec![tool("subtract")]),
            Some(other) => return Err(ErrorData::invalid_params(other.to_owned(), None)),
        })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match &*request.name {
            "add" => Ok(CallToolResult::success(vec![ContentBlock::text("4")]).into()),
            name => Err(ErrorData::invalid_params(format!("the calculator has no {name}"), None)),
        }
    }

    async fn get_prompt(
        &self,
        _: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        Ok(GetPromptResult::new(Vec::new()).with_description("by hand").into())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Ok(ReadResourceResult::new(vec![ResourceContents::text("by hand", request.uri)]).into())
    }
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

fn handler() -> Flows<Calculator> {
    let greet = async |flow: Flow| {
        let Name { name } = flow.elicit("name", "Who are you?").await?;
        Ok::<_, Failure>(format!("Hello, {name}"))
    };
    let hello = async |_: Flow| Ok::<_, Failure>("by a flow");
    let server = Server::builder("greeter", "1.0.0")
        .tool(FlowTool::new("greet", greet))
        .tool(FlowTool::new("wave", hello))
        .page_size(std::num::NonZeroUsize::MIN)
        .prompt(Prompt::new("hello", hello))
        .resource(Resource::new("greetings://hello", "hello", hello))
        .build()
        .expect("it is well made");
    Flows::new(server).beside(Calculator)
}

#[tokio::test]
async fn both_are_called_and_what_both_have_is_the_flows() {
    for site in ALL {
        let person = Person::answering([("Who are you?", json!({ "name": "Ada" }))]);
        let client = connect(handler(), &person, site).await;
        let info = client.peer_info().expect("it has begun");
        assert_eq!(info.instructions.as_deref(), Some("Count on it"), "{site:?}");
        let greeted = client.call_tool(call("greet", json!({}))).await.expect("it is answered");
        assert_eq!(text(&greeted), "Hello, Ada", "{site:?}");
        let sum = client.call_tool(call("add", json!({}))).await.expect("it is answered");
        assert_eq!(text(&sum), "4", "{site:?}");
        let Err(ServiceError::McpError(error)) = client.call_tool(call("divide", json!({}))).await else { panic!() };
        assert_eq!((error.code, &*error.message), (ErrorCode::INVALID_PARAMS, "the calculator has no divide"));

        for (name, expected) in [("hello", "by a flow"), ("other", "by hand")] {
            let prompt = client.get_prompt(GetPromptRequestParams::new(name)).await.expect("it is answered");
            assert!(format!("{prompt:?}").contains(expected), "{site:?}: {prompt:?}");
        }
        for (uri, expected) in [("greetings://hello", "by a flow"), ("sums://2+2", "by hand")] {
            let read = client.read_resource(ReadResourceRequestParams::new(uri)).await.expect("it is answered");
            assert!(format!("{read:?}").contains(expected), "{site:?}: {read:?}");
        }
    }
}

#[tokio::test]
async fn the_list_has_each_tool_once_over_pages_of_both() {
    for site in ALL {
        let client = connect(handler(), &Person::answering([]), site).await;
        let tools = client.list_all_tools().await.expect("they are listed");
        let names: Vec<_> = tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, ["greet", "wave", "add", "subtract"], "{site:?}");
        let greet = &tools[0];
        assert!(greet.description.is_none() && greet.input_schema.contains_key("type"), "the flow's: {greet:?}");

        let cursor = PaginatedRequestParams::default().with_cursor(Some("nowhere".into()));
        let Err(ServiceError::McpError(error)) = client.list_tools(Some(cursor)).await else { panic!("{site:?}") };
        assert_eq!(error.code, ErrorCode::INVALID_PARAMS, "{site:?}");
    }
}

/// A handler that has prompts and nothing else.
#[derive(Clone)]
struct Prompter;

impl ServerHandler for Prompter {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_prompts().build())
    }
}

#[tokio::test]
async fn a_client_is_told_what_either_can_do() {
    let flows = || {
        let wave = FlowTool::new("wave", async |_: Flow| Ok::<_, Failure>("by a flow"));
        let tasks = Tasks::new(MemoryTaskStore::default());
        let server = Server::builder("greeter", "1.0.0").tool(wave).extension(tasks);
        Flows::new(server.build().expect("it is well made")).beside(Prompter)
    };
    for site in ALL {
        let client = connect(flows(), &Person::answering([]), site).await;
        let can = client.peer_info().expect("it has begun").capabilities.clone();
        assert!(can.tools.is_some(), "{site:?}: the flows'");
        assert!(can.prompts.is_some(), "{site:?}: the handler's");
        let has_tasks = can.extensions.is_some_and(|all| all.contains_key("io.modelcontextprotocol/tasks"));
        assert_eq!(has_tasks, site.0 == Lifecycle::Discover, "{site:?}: of the flows, for clients that can have them");
    }
}

fn refused<T: std::fmt::Debug>(answered: Result<T, ServiceError>) -> ErrorData {
    match answered {
        Err(ServiceError::McpError(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// A handler of rmcp's own without tools, prompts or resources: rmcp answers that it has no such methods.
#[derive(Clone)]
struct Bare;

impl ServerHandler for Bare {}

#[tokio::test]
async fn what_neither_has_is_unknown_and_not_its_method() {
    let hello = async |_: Flow| Ok::<_, Failure>("by a flow");
    let flows = || {
        let server = Server::builder("greeter", "1.0.0")
            .tool(FlowTool::new("wave", hello))
            .prompt(Prompt::new("hello", hello))
            .resource(Resource::new("greetings://hello", "hello", hello));
        Flows::new(server.build().expect("it is well made")).beside(Bare)
    };
    for site in ALL {
        let client = connect(flows(), &Person::answering([]), site).await;
        let tool = refused(client.call_tool(call("nix", json!({}))).await);
        assert_eq!((tool.code, &*tool.message), (ErrorCode::INVALID_PARAMS, "Unknown tool: nix"), "{site:?}");
        let prompt = refused(client.get_prompt(GetPromptRequestParams::new("nix")).await);
        assert_eq!((prompt.code, &*prompt.message), (ErrorCode::INVALID_PARAMS, "Unknown prompt: nix"), "{site:?}");
        let resource = refused(client.read_resource(ReadResourceRequestParams::new("hr://nix")).await);
        assert_eq!(&*resource.message, "Resource not found", "{site:?}");
        let known = client.get_prompt(GetPromptRequestParams::new("hello")).await.expect("it is answered");
        assert!(format!("{known:?}").contains("by a flow"), "{site:?}: {known:?}");
    }
}

#[tokio::test]
async fn replies_of_flows_name_the_server_that_the_client_met() {
    for site in ALL {
        let person = Person::answering([("Who are you?", json!({ "name": "Ada" }))]);
        let client = connect(handler(), &person, site).await;
        let met = client.peer_info().expect("it has begun").server_info.clone().expect("it is named");
        assert_eq!((&*met.name, &*met.version), ("calculator", "7.0.0"), "{site:?}");
        let results = [
            serde_json::to_value(client.call_tool(call("greet", json!({}))).await.expect("it is answered")),
            serde_json::to_value(
                client.get_prompt(GetPromptRequestParams::new("hello")).await.expect("it is answered"),
            ),
            serde_json::to_value(client.list_tools(None).await.expect("they are listed")),
        ];
        for result in results {
            let named = result.expect("it is JSON")["_meta"]["io.modelcontextprotocol/serverInfo"]["name"].take();
            // In sessions, results do not name their server.
            let expected = if site.0 == Lifecycle::Discover { json!("calculator") } else { json!(null) };
            assert_eq!(named, expected, "{site:?}");
        }
    }
}
