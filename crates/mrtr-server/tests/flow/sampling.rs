//! Asking a model, alone and with tools.

use mrtr_schema::Tool;
use mrtr_schema::sampling::{CreateMessageParams, SamplingMessage};
use mrtr_schema::tools::InputSchema;
use mrtr_server::flow::SamplingTools;
use mrtr_server::testing::Client;
use mrtr_server::{Failure, Flow, ToolError};
use serde_json::{Value, json};

use crate::support::{Effects, begin, call, client};

fn question() -> CreateMessageParams {
    CreateMessageParams::new([SamplingMessage::user("What is the weather in Paris?")], 100_u64)
}

fn says(text: &str) -> Value {
    json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": text } })
}

fn uses(uses: &[(&str, &str)]) -> Value {
    let content = uses.iter().map(|(id, name)| json!({ "type": "tool_use", "id": id, "name": name, "input": {} }));
    json!({ "role": "assistant", "model": "m", "stopReason": "toolUse", "content": content.collect::<Vec<_>>() })
}

#[tokio::test]
async fn a_model_is_asked_and_its_answer_checked() {
    let call = call(async |flow: Flow| {
        let answer = flow.sample("weather", question()).await?;
        Ok::<_, Failure>(answer.text().unwrap_or_default())
    })
    .await;
    call.expect_asked(&["weather"]);
    let call = call.answer_raw("weather", json!({ "action": "decline" })).send().await;
    call.expect_asked(&["weather"]);
    assert_eq!(call.answer_raw("weather", says("Sunny")).send().await.expect_text(), "Sunny");
}

/// A model with a tool that works, one that fails for the model to read, and one that fails otherwise.
fn with_tools(turns: u32, effects: &Effects) -> Client {
    async fn handler(flow: Flow, turns: u32, effects: Effects) -> Result<String, Failure> {
        let schema = || InputSchema::parse(r#"{"type": "object"}"#).unwrap();
        let tools = SamplingTools::new()
            .turns(turns)
            .tool(Tool::new("weather", schema()), async |_| {
                effects.happen("weather");
                Ok("sunny".into())
            })
            .tool(Tool::new("broken", schema()), async |_| Err(ToolError::new("no such city").into()))
            .tool(Tool::new("secret", schema()), async |_| Err("the password is hunter2".into()));
        let answer = flow.sample_with_tools("ask", question(), &tools).await?;
        Ok(answer.text().unwrap_or_default())
    }
    let effects = effects.clone();
    client(move |flow| handler(flow, turns, effects.clone()))
}

#[tokio::test]
async fn each_turn_is_a_question_and_its_tools_are_a_step() {
    let effects = Effects::default();
    let call = begin(&with_tools(5, &effects)).await;
    call.expect_asked(&["ask.1"]);
    let asked = serde_json::to_value(call.question("ask.1").unwrap()).unwrap();
    assert_eq!(asked["params"]["tools"][0]["name"], "weather");
    let turn = uses(&[("1", "weather"), ("2", "broken"), ("3", "secret"), ("4", "missing")]);
    let call = call.answer_raw("ask.1", turn).send().await;
    call.expect_asked(&["ask.2"]);
    assert_eq!(effects.all(), ["weather"]);
    let asked = serde_json::to_value(call.question("ask.2").unwrap()).unwrap();
    let results = &asked["params"]["messages"][2]["content"];
    let texts: Vec<_> = (0..4).map(|at| &results[at]["content"][0]["text"]).collect();
    assert_eq!(texts, ["sunny", "no such city", "The tool failed", "There is no tool `missing`"]);
    let failed: Vec<_> = (0..4).map(|at| results[at]["isError"] == true).collect();
    assert_eq!(failed, [false, true, true, true]);
    assert!(!call.response().to_string().contains("hunter2"));
    let call = call.answer_raw("ask.2", uses(&[("5", "weather")])).send().await;
    call.expect_asked(&["ask.3"]);
    assert_eq!(call.answer_raw("ask.3", says("Sunny")).send().await.expect_text(), "Sunny");
    assert_eq!(effects.all(), ["weather", "weather"], "the tools of each turn ran once");
}

#[tokio::test]
async fn the_last_turn_calls_no_tools() {
    let effects = Effects::default();
    let call = begin(&with_tools(2, &effects)).await;
    let call = call.answer_raw("ask.1", uses(&[("1", "weather")])).send().await;
    let call = call.answer_raw("ask.2", uses(&[("2", "weather")])).send().await;
    assert!(call.expect_tool_error().contains("still calling tools after 2 turns"));
    assert_eq!(effects.count(), 1, "nobody would read what the tool gave");
}

#[tokio::test]
async fn an_answer_that_cannot_be_continued_is_asked_for_again() {
    let effects = Effects::default();
    let call = begin(&with_tools(5, &effects)).await;
    let call = call.answer_raw("ask.1", uses(&[("1", "weather"), ("1", "weather")])).send().await;
    call.expect_asked(&["ask.1"]);
    let result = json!([{ "type": "tool_result", "toolUseId": "1", "content": [] }]);
    let call = call.answer_raw("ask.1", json!({ "role": "assistant", "model": "m", "content": result })).send().await;
    call.expect_asked(&["ask.1"]);
    assert_eq!(effects.count(), 0);
    assert_eq!(call.answer_raw("ask.1", says("Sunny")).send().await.expect_text(), "Sunny");
}

#[tokio::test]
async fn a_model_that_is_given_no_number_of_turns_has_ten() {
    let mut call = call(async |flow: Flow| {
        let weather = Tool::new("weather", InputSchema::parse(r#"{"type": "object"}"#)?);
        let tools = SamplingTools::new().tool(weather, async |_| Ok("sunny".into()));
        let answer = flow.sample_with_tools("ask", question(), &tools).await?;
        Ok::<_, Failure>(answer.text().unwrap_or_default())
    })
    .await;
    for turn in 1..=10 {
        let key = format!("ask.{turn}");
        call.expect_asked(&[&key]);
        call = call.answer_raw(&key, uses(&[("1", "weather")])).send().await;
    }
    assert!(call.expect_tool_error().contains("still calling tools after 10 turns"));
}
