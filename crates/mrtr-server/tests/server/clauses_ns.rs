//! The clauses of namespaced inputs. The story they are for is in `approval.rs`.

use mrtr_schema::namespaced::NamespacedInputRequest;
use mrtr_schema::{InputRequest, Method, NamespacedInput, Revision};
use mrtr_server::handler::{IntoOutput, Output};
use mrtr_server::{BuildError, Failure, Flow, FlowError, InputRequired, Server, Tool};
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
    #[schemars(range(min = 1, max = 30))]
    row: u32,
    #[serde(default)]
    #[schemars(regex(pattern = "^[a-z ]*$"), length(max = 20))]
    wish: String,
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

/// Serde would take this answer, and the owner's schema does not.
#[tokio::test]
async fn ns_1_an_answer_that_the_owners_schema_refuses_is_asked_for_again_with_the_reason() {
    let refused = [
        (json!({ "row": 31 }), "$.row: 31 is greater than the maximum of 30"),
        (json!({ "row": 0 }), "$.row: 0 is less than the minimum of 1"),
        (json!({ "row": 7, "wish": "W1NDOW" }), "$.wish: \"W1NDOW\" does not match \"^[a-z ]*$\""),
        (json!({ "row": 7, "wish": "x".repeat(21) }), "is longer than 20 characters"),
        (json!({ "wish": "window" }), "\"row\" is a required property"),
    ];
    for (answer, reason) in refused {
        let asked = client(&airline()).declaring_extension("com.example/seat").call_tool("tool", json!({})).await;
        let asked = asked.accept("who", name("Ada")).answer_raw("seat", answer).send().await;
        asked.expect_asked(&["seat"]);
        let Some(InputRequest::Namespaced(request)) = asked.question("seat") else { panic!("{}", asked.response()) };
        assert!(request.reason().is_some_and(|told| told.contains(reason)), "{}", asked.response());
        let done = asked.answer_raw("seat", json!({ "row": 7, "wish": "window" })).send().await;
        assert_eq!(done.expect_text(), "Ada sits in row 7");
    }
}

#[tokio::test]
async fn ns_1_an_optional_answer_is_held_against_its_schema_too_and_a_check_of_the_handlers_own_gives_its_reason() {
    let handler = async |flow: Flow| {
        let seat = flow.ask::<Seat>("seat", Plan { rows: 30 }).optional().await;
        let other = flow.ask::<Seat>("other", Plan { rows: 30 });
        let other = other.validate(|other| if other.row == 13 { Err("no row 13") } else { Ok(()) }).answer().await;
        let mrtr_server::flow::Answered::Accepted(other) = other else { return Ok("no seat".to_owned()) };
        Ok::<_, Failure>(format!("rows {:?} and {}", seat.map(|seat| seat.row), other.row))
    };
    let server = builder().input::<Seat>().tool(Tool::new("tool", handler)).build().unwrap();
    let asked = client(&server).declaring_extension("com.example/seat").call_tool("tool", json!({})).await;
    let asked = asked.answer_raw("seat", json!({ "row": 31 })).send().await;
    asked.expect_asked(&["seat"]);
    // To JSON Schema this is an integer.
    let asked = asked.answer_raw("seat", json!({ "row": 30.0 })).send().await;
    let asked = asked.answer_raw("other", json!({ "row": 13 })).send().await;
    assert_eq!(asked.response()["result"]["inputRequests"]["other"]["reason"], "no row 13");
    let done = asked.answer_raw("other", json!({ "row": 12 })).send().await;
    assert_eq!(done.expect_text(), "rows Some(30) and 12");
}

/// A type whose schema cannot be checked against: the author of the tool is to blame, and no client is asked.
#[test]
fn ns_1_an_input_whose_answers_cannot_be_checked_is_not_asked_for() {
    struct Meal;

    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Dish {
        #[schemars(regex(pattern = "(unclosed"))]
        name: String,
    }

    impl NamespacedInput for Meal {
        const METHOD: Method = Method::from_static("com.example/meal");
        type Params = Plan;
        type Response = Dish;
    }

    let handler = async |flow: Flow| Ok::<_, Failure>(flow.ask::<Meal>("meal", Plan { rows: 30 }).await?.name);
    let built = builder().input::<Meal>().tool(Tool::new("tool", handler)).build();
    assert!(matches!(built, Err(BuildError::Input { method, .. }) if method == "com.example/meal"));
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

async fn book_by_hand(flow: Flow) -> Result<Output, Failure> {
    if flow.given("seat").is_some() {
        return "booked".into_output();
    }
    let request = NamespacedInputRequest::ask::<Seat>(&Plan { rows: 30 })?;
    InputRequired::new().ask("seat", request).into_output()
}

#[tokio::test]
async fn ns_2_a_server_that_registered_nothing_never_asks_for_one() {
    let server = builder().tool(Tool::new("flow", book)).tool(Tool::new("by hand", book_by_hand)).build().unwrap();
    for tool in ["flow", "by hand"] {
        let call = client(&server).declaring_extension("com.example/seat").call_tool(tool, json!({})).await;
        assert!(call.expect_tool_error().starts_with("The tool failed (reference "), "{tool}");
    }
}

#[tokio::test]
async fn ns_2_one_that_is_registered_may_be_asked_for_by_hand() {
    let server = builder().input::<Seat>().tool(Tool::new("tool", book_by_hand)).build().unwrap();
    let asked = client(&server).declaring_extension("com.example/seat").call_tool("tool", json!({})).await;
    asked.expect_asked(&["seat"]);
    assert_eq!(asked.answer_raw("seat", json!({ "row": 7 })).send().await.expect_text(), "booked");
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
