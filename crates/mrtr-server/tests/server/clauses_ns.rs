//! The clauses of namespaced inputs. The story they are for is in `approval.rs`.

use mrtr_schema::{InputRequest, Method, NamespacedInput, NamespacedInputRequest, Revision};
use mrtr_server::{Failure, Flow, FlowError, InputRequired, IntoOutput, Output, Server, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::{Name, builder, client, name};

/// A seat in a plane, picked on a plan that the client knows how to draw.
struct Seat;

#[derive(Serialize, Deserialize, JsonSchema)]
struct Plan {
    rows: u32,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Picked {
    row: u32,
}

impl NamespacedInput for Seat {
    const METHOD: Method = Method::from_static("com.example/seat");
    type Params = Plan;
    type Response = Picked;
}

async fn book(flow: Flow) -> Result<String, FlowError> {
    let asks = (flow.elicit::<Name>("who", "Who flies?"), flow.ask::<Seat>("seat", Plan { rows: 30 }));
    let (who, seat) = flow.join(asks).await?;
    Ok(format!("{} sits in row {}", who.name, seat.row))
}

fn airline() -> Server {
    builder().input::<Seat>().tool(Tool::new("tool", book)).build().unwrap()
}

#[tokio::test]
async fn ns_1_the_owner_of_a_method_defines_what_is_asked_and_answered() {
    let asked = client(&airline()).declaring_extension("com.example/seat").call_tool("tool", json!({})).await;
    let Some(InputRequest::Namespaced(request)) = asked.question("seat") else { panic!("{}", asked.response()) };
    assert_eq!((request.method.as_str(), request.params.unwrap().as_str()), ("com.example/seat", r#"{"rows":30}"#));
    assert!(asked.state().is_some());
    let done = asked.accept("who", name("Ada")).answer_raw("seat", json!({ "row": 7 })).send().await;
    assert_eq!(done.expect_text(), "Ada sits in row 7");
}

#[tokio::test]
async fn ns_1_an_answer_that_is_not_of_the_owners_type_is_asked_for_again() {
    let asked = client(&airline()).declaring_extension("com.example/seat").call_tool("tool", json!({})).await;
    let asked = asked.accept("who", name("Ada")).answer_raw("seat", json!({ "row": "window" })).send().await;
    asked.expect_asked(&["seat"]);
}

#[tokio::test]
async fn ns_2_only_a_client_that_declared_the_input_is_asked_for_it() {
    let call = client(&airline()).declaring_extension("com.example/meal").call_tool("tool", json!({})).await;
    let error = call.expect_error();
    assert_eq!(error.code.as_i64(), -32021);
    let data: serde_json::Value = error.data.unwrap().to().unwrap();
    assert_eq!(data, json!({ "requiredCapabilities": { "extensions": { "com.example/seat": {} } } }));
}

#[tokio::test]
async fn ns_2_an_optional_input_is_left_out_where_it_is_not_declared() {
    let handler = async |flow: Flow| {
        let seat = flow.ask::<Seat>("seat", Plan { rows: 30 }).optional().await;
        Ok::<_, Failure>(seat.map_or("any seat".to_owned(), |seat| format!("row {}", seat.row)))
    };
    let server = builder().input::<Seat>().tool(Tool::new("tool", handler)).build().unwrap();
    assert_eq!(client(&server).call_tool("tool", json!({})).await.expect_text(), "any seat");
    let asked = client(&server).declaring_extension("com.example/seat").call_tool("tool", json!({})).await;
    assert_eq!(asked.answer_raw("seat", json!({ "row": 3 })).send().await.expect_text(), "row 3");
}

#[tokio::test]
async fn ns_2_a_server_that_registered_nothing_never_asks_for_one() {
    let by_hand = async |_: Flow| -> Result<Output, Failure> {
        let request = NamespacedInputRequest::ask::<Seat>(&Plan { rows: 30 })?;
        InputRequired::new().ask("seat", request).into_output()
    };
    let server = builder().tool(Tool::new("flow", book)).tool(Tool::new("by hand", by_hand)).build().unwrap();
    for tool in ["flow", "by hand"] {
        let call = client(&server).declaring_extension("com.example/seat").call_tool(tool, json!({})).await;
        assert!(call.expect_tool_error().starts_with("The tool failed (reference "), "{tool}");
    }
}

#[tokio::test]
async fn ns_2_older_revisions_have_no_such_inputs() {
    for revision in [Revision::Draft202602, Revision::Sep2322] {
        let old = client(&airline()).declaring_extension("com.example/seat").speaking(revision);
        assert_eq!(old.call_tool("tool", json!({})).await.expect_error().code.as_i64(), -32602);
    }
}

#[tokio::test]
async fn ns_3_a_client_that_skips_a_member_is_asked_for_it_again_and_keeps_its_other_answers() {
    let asked = client(&airline()).declaring_extension("com.example/seat").call_tool("tool", json!({})).await;
    asked.expect_asked(&["who", "seat"]);
    let asked = asked.accept("who", name("Ada")).send().await;
    asked.expect_asked(&["seat"]);
    assert_eq!(asked.answer_raw("seat", json!({ "row": 7 })).send().await.expect_text(), "Ada sits in row 7");
}

#[tokio::test]
async fn ns_4_the_standard_methods_and_the_protocols_own_names_cannot_be_registered() {
    for method in ["elicitation/create", "roots/list", "io.modelcontextprotocol/seat", "com.mcp.example/seat"] {
        assert!(Method::new(method).is_err(), "{method}");
    }
}
