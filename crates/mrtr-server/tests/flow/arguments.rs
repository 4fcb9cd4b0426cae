//! Arguments against a tool's schema, and what the list of tools says.

use mrtr_schema::tools::{InputSchema, ListToolsResult};
use mrtr_schema::{Revision, Wire};
use mrtr_server::testing::Client;
use mrtr_server::{BuildError, Failure, Flow, Server, Structured, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::support::Log;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Update {
    work_item: u64,
    #[schemars(range(min = 1, max = 5))]
    priority: Option<u8>,
    #[schemars(length(max = 4))]
    tag: Option<String>,
    kind: Option<Kind>,
}

#[derive(Debug, Deserialize, JsonSchema)]
enum Kind {
    Bug,
    #[serde(other)]
    Other,
}

async fn update(_: Flow, update: Update) -> Result<String, Failure> {
    Ok(format!("{} {:?} {:?} {:?}", update.work_item, update.priority, update.tag, update.kind))
}

fn client(tool: Tool) -> Client {
    Client::new(&Server::builder("test", "1").tool(tool).build().unwrap())
}

#[tokio::test]
async fn arguments_that_miss_the_schema_are_an_error_for_the_model() {
    let client = client(Tool::new("update", update));
    let wrong = [
        json!({}),
        json!({ "workItem": "7" }),
        json!({ "workItem": -1 }),
        json!({ "work_item": 7 }),
        json!({ "workItem": 7, "priority": 0 }),
        json!({ "workItem": 7, "priority": 6 }),
        json!({ "workItem": 7, "tag": "longer" }),
        json!({ "workItem": 7, "kind": "Feature" }),
    ];
    for arguments in wrong {
        let call = client.call_tool("update", arguments.clone()).await;
        assert!(call.expect_tool_error().starts_with("The arguments do not fit: "), "{arguments}");
    }
    let call = client.call_tool("update", json!({ "workItem": 7, "priority": 5, "tag": "ui", "kind": "Bug" })).await;
    assert_eq!(call.expect_text(), "7 Some(5) Some(\"ui\") Some(Bug)");
}

#[tokio::test]
async fn a_whole_number_with_a_point_is_the_integer_that_its_schema_takes_it_for() {
    let server = Server::builder("test", "1").tool(Tool::new("update", update)).build().unwrap();
    for (work_item, priority) in [("7.0", "5"), ("7", "5.0"), ("7e0", "50e-1")] {
        let arguments = format!(r#"{{"workItem": {work_item}, "priority": {priority}, "tag": "1.0"}}"#);
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"update","arguments":{arguments},"_meta":{meta}}}}}"#
        );
        let reply = server.handle(body.into(), mrtr_server::Context::new()).await.last().await.unwrap();
        assert!(reply.contains(r#"7 Some(5) Some(\"1.0\") None"#), "{arguments}: {reply}");
    }
    let call = Client::new(&server).call_tool("update", json!({ "workItem": 7.5 })).await;
    assert!(call.expect_tool_error().starts_with("The arguments do not fit: "));
}

#[tokio::test]
async fn a_schema_by_hand_is_checked_whatever_the_handler_reads() {
    let schema = r#"{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}"#;
    let anything = async |_: Flow, arguments: Map<String, Value>| Ok::<_, Failure>(Value::from(arguments).to_string());
    let client = client(Tool::new("free", anything).input_schema(InputSchema::parse(schema).unwrap()));
    for wrong in [json!({}), json!({ "city": 7 })] {
        client.call_tool("free", wrong).await.expect_tool_error();
    }
    assert_eq!(client.call_tool("free", json!({ "city": "Paris" })).await.expect_text(), r#"{"city":"Paris"}"#);
}

#[tokio::test]
async fn a_type_that_refuses_what_its_schema_by_hand_allows_is_the_servers_mistake() {
    #[derive(Deserialize, JsonSchema)]
    struct Book {
        isbn: u64,
    }
    let find = async |_: Flow, book: Book| Ok::<_, Failure>(book.isbn.to_string());
    let schema = r#"{"type": "object", "properties": {"isbn": {"type": "string"}}, "required": ["isbn"]}"#;
    let client = client(Tool::new("find", find).input_schema(InputSchema::parse(schema).unwrap()));
    let log = Log::start();
    let reason = "$.isbn: expected a whole number, got a string";
    assert_eq!(
        client.call_tool("find", json!({ "isbn": "978" })).await.expect_tool_error(),
        format!("The tool could not take these arguments, though they follow its schema: {reason}")
    );
    let text = log.text();
    for words in ["ERROR", "tool=find", reason, "correct the schema or the type"] {
        assert!(text.contains(words), "{text}, without {words:?}");
    }
    let log = Log::start();
    let told = client.call_tool("find", json!({ "isbn": 978 })).await.expect_tool_error();
    assert!(told.starts_with("The arguments do not fit: "), "{told}");
    assert_eq!(log.text(), "", "what breaks the schema is the caller's mistake");
}

#[tokio::test]
async fn arguments_must_be_an_object_and_may_be_left_out() {
    let greet = client(Tool::new("greet", async |_: Flow| Ok::<_, Failure>("hello")));
    for wrong in [json!([]), json!("x"), json!(7)] {
        assert_eq!(greet.call_tool("greet", wrong).await.expect_error().code.as_i64(), -32602);
    }
    let params = Map::from_iter([("name".to_owned(), json!("greet"))]);
    assert_eq!(greet.begin("tools/call", params).await.expect_text(), "hello");
}

#[tokio::test]
async fn a_tool_must_be_known_and_named() {
    let client = client(Tool::new("greet", async |_: Flow| Ok::<_, Failure>("hello")));
    let unknown = client.call_tool("gret", json!({})).await.expect_error();
    assert_eq!((unknown.code.as_i64(), &*unknown.message), (-32602, "Unknown tool: gret"));
    assert_eq!(client.begin("tools/call", Map::new()).await.expect_error().code.as_i64(), -32602);
    let params = Map::from_iter([("name".to_owned(), json!(7))]);
    assert_eq!(client.begin("tools/call", params).await.expect_error().code.as_i64(), -32602);
}

#[tokio::test]
async fn the_list_has_every_tool_with_its_schemas() {
    #[derive(Serialize, JsonSchema)]
    struct Weather {
        celsius: f64,
    }
    let weather = async |_: Flow| Ok::<_, Failure>(Structured(Weather { celsius: 21.5 }));
    let server = Server::builder("test", "1")
        .tool(Tool::new("update", update).description("Updates").title("Update"))
        .tool(Tool::new("weather", weather))
        .build()
        .unwrap();
    let client = Client::new(&server);
    let call = client.begin("tools/list", Map::new()).await;
    let text = call.response()["result"].to_string();
    let list = ListToolsResult::from_json(&text, Revision::V2026_07_28.strict()).unwrap();
    let names: Vec<_> = list.tools.iter().map(|tool| (&*tool.name, tool.output_schema.is_some())).collect();
    assert_eq!(names, [("update", false), ("weather", true)]);
    assert_eq!(list.tools[0].description.as_deref(), Some("Updates"));
    assert!(text.contains("workItem"));
    let call = client.call_tool("weather", json!({})).await;
    assert_eq!(call.response()["result"]["structuredContent"], json!({ "celsius": 21.5 }));
}

#[test]
fn two_tools_of_one_name_are_refused() {
    let tool = || Tool::new("greet", async |_: Flow| Ok::<_, Failure>("hello"));
    let built = Server::builder("test", "1").tool(tool()).tool(tool()).build();
    assert!(matches!(built, Err(BuildError::Duplicate { name, .. }) if name == "greet"));
}
