//! Handlers that ask by hand: what the server gives them, and what it has the client carry for them.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mrtr_schema::elicitation::{ElicitRequest, ElicitUrlParams, Url};
use mrtr_schema::roots::{ListRootsRequest, ListRootsResult};
use mrtr_server::handler::{IntoOutput, Output};
use mrtr_server::testing::Client;
use mrtr_server::{Failure, Flow, InputRequired, Server, StatePolicy, Tool};
use serde_json::json;

fn serve(tool: Tool) -> Server {
    Server::builder("by-hand", "1.0.0").tool(tool.state_policy(StatePolicy::WhenNeeded)).build().unwrap()
}

fn ask(key: &str) -> Result<Output, Failure> {
    InputRequired::new().ask(key, ListRootsRequest::new()).into_output()
}

fn no_roots() -> ListRootsResult {
    ListRootsResult::new([])
}

#[tokio::test]
async fn an_answer_that_came_without_a_state_is_carried_once_it_was_used() {
    let handler = |flow: Flow| async move {
        for key in ["first", "second"] {
            if flow.given(key).is_none() {
                return ask(key);
            }
        }
        "done".into_output()
    };
    let call = Client::new(&serve(Tool::new("count", handler))).call_tool("count", json!({})).await;
    call.expect_asked(&["first"]);
    assert_eq!(call.state(), None);
    let call = call.answer("first", &no_roots()).send().await;
    call.expect_asked(&["second"]);
    let call = call.answer("second", &no_roots()).send().await;
    assert_eq!(call.expect_text(), "done");
}

#[tokio::test]
async fn an_answer_that_came_without_a_state_goes_out_in_one_before_a_step_starts() {
    let started = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&started);
    let handler = move |flow: Flow| {
        let counter = Arc::clone(&counter);
        async move {
            if flow.given("roots").is_none() {
                return ask("roots");
            }
            flow.step("count", async { Ok::<_, Failure>(counter.fetch_add(1, Ordering::Relaxed)) }).await?;
            "done".into_output()
        }
    };
    let call = Client::new(&serve(Tool::new("count", handler))).call_tool("count", json!({})).await;
    let call = call.answer("roots", &no_roots()).send().await;
    call.expect_asked(&[]);
    assert_eq!(started.load(Ordering::Relaxed), 0);
    let call = call.send().await;
    assert_eq!(call.expect_text(), "done");
    assert_eq!(started.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn an_answer_that_came_without_a_state_does_not_count_after_a_step() {
    let handler = |flow: Flow| async move {
        flow.step("begin", async { Ok::<_, Failure>(()) }).await?;
        if flow.given("roots").is_none() { ask("roots") } else { "done".into_output() }
    };
    let client = Client::new(&serve(Tool::new("count", handler)));
    let params = json!({ "name": "count", "inputResponses": { "roots": { "roots": [] } } });
    let call = client.begin("tools/call", params.as_object().unwrap().clone()).await;
    call.expect_asked(&["roots"]);
    let call = call.answer("roots", &no_roots()).send().await;
    assert_eq!(call.expect_text(), "done");
}

#[tokio::test]
async fn a_url_asked_by_hand_goes_out_with_a_state() {
    let handler = |_: Flow| async {
        let params = ElicitUrlParams::new("Please connect your account", Url::new("https://example.com/connect")?);
        InputRequired::new().ask("connect", ElicitRequest::new(params)).into_output()
    };
    let call = Client::new(&serve(Tool::new("connect", handler))).call_tool("connect", json!({})).await;
    call.expect_asked(&["connect"]);
    assert!(call.state().is_some());
}

#[tokio::test]
async fn what_is_asked_again_by_hand_has_lost_its_answer() {
    let handler = |flow: Flow| async move {
        let round: u8 = flow.carried().unwrap_or_default();
        let (given, asked) = (flow.given("roots"), InputRequired::new().ask("roots", ListRootsRequest::new()));
        match (round, given) {
            (1, Some(_)) => asked.carry(&2)?.into_output(),
            (2, Some(_)) => "done".into_output(),
            (round, _) => asked.carry(&round.max(1))?.into_output(),
        }
    };
    let call = Client::new(&serve(Tool::new("count", handler))).call_tool("count", json!({})).await;
    let call = call.answer("roots", &no_roots()).send().await;
    call.expect_asked(&["roots"]);
    let call = call.send().await;
    call.expect_asked(&["roots"]);
    let call = call.answer("roots", &no_roots()).send().await;
    assert_eq!(call.expect_text(), "done");
}
