//! Questions by hand, for handlers that keep their own account.

use mrtr_schema::elicitation::ElicitResult;
use mrtr_schema::roots::ListRootsRequest;
use mrtr_schema::{InputRequest, InputResponse, Revision, Wire};
use mrtr_server::handler::{IntoOutput, Output};
use mrtr_server::{Failure, Flow, InputRequired, StatePolicy};
use serde_json::json;

use crate::support::{Effects, Log, Name, begin, call, client_of, expect_internal, tool};

fn form(message: &str) -> InputRequest {
    let request = json!({
        "method": "elicitation/create",
        "params": { "mode": "form", "message": message, "requestedSchema": { "type": "object", "properties": {} } },
    });
    InputRequest::from_json(&request.to_string(), Revision::V2026_07_28.strict()).unwrap()
}

fn is_declined(answer: &InputResponse) -> bool {
    let text = serde_json::to_string(answer).unwrap();
    ElicitResult::from_json(&text, Revision::V2026_07_28.lenient())
        .is_ok_and(|result| result == ElicitResult::decline())
}

/// Counts the rounds in the state that the client carries, and is done when the answer is a refusal.
async fn counting(flow: Flow) -> Result<Output, Failure> {
    let round = flow.carried::<u32>().unwrap_or(0) + 1;
    match flow.given("go_on") {
        Some(answer) if is_declined(&answer) => format!("{round} rounds").into_output(),
        _ => InputRequired::new().ask("go_on", form("Once more?")).carry(&round)?.into_output(),
    }
}

#[tokio::test]
async fn what_is_carried_comes_back_and_so_do_the_answers() {
    let call = call(counting).await;
    call.expect_asked(&["go_on"]);
    let call = call.accept("go_on", json!({})).send().await.accept("go_on", json!({})).send().await;
    call.expect_asked(&["go_on"]);
    assert_eq!(call.decline("go_on").send().await.expect_text(), "4 rounds");
}

#[tokio::test]
async fn what_is_asked_again_has_no_answer_yet() {
    let seen = Effects::default();
    let given = seen.clone();
    let call = call(move |flow: Flow| {
        seen.happen(flow.given("roots").is_some().to_string());
        async move { Ok::<_, Failure>(InputRequired::new().ask("roots", ListRootsRequest::new())) }
    })
    .await;
    let call = call.answer_raw("roots", json!({ "roots": [] })).send().await;
    call.send().await.expect_asked(&["roots"]);
    assert_eq!(given.all(), ["false", "true", "false"]);
}

#[tokio::test]
async fn a_reply_must_ask_or_carry_something() {
    for policy in [StatePolicy::Always, StatePolicy::WhenNeeded] {
        let log = Log::start();
        let tool = tool(async |_: Flow| Ok::<_, Failure>(InputRequired::new())).state_policy(policy);
        expect_internal(&begin(&client_of(tool)).await, &log, "with neither a question nor a state");
    }
    let carries = call(async |flow: Flow| match flow.carried::<u8>() {
        Some(round) => round.to_string().into_output(),
        None => InputRequired::new().carry(&7)?.into_output(),
    });
    let call = carries.await;
    call.expect_asked(&[]);
    assert_eq!(call.send().await.expect_text(), "7");
}

#[tokio::test]
async fn answers_without_a_state_follow_the_same_rules_as_ever() {
    async fn handler(flow: Flow, effects: Effects) -> Result<Output, Failure> {
        if flow.given("roots").is_none() {
            return InputRequired::new().ask("roots", ListRootsRequest::new()).into_output();
        }
        flow.step("act", effects.work("act")).await?;
        if flow.given("late").is_some() { "late".into_output() } else { "done".into_output() }
    }
    let effects = Effects::default();
    let seen = effects.clone();
    let client = client_of(tool(move |flow| handler(flow, seen.clone())));
    let call = begin(&client).await.answer_raw("roots", json!({ "roots": [] })).answer_raw("late", json!({}));
    let call = call.send_carrying(None).await;
    call.expect_asked(&[]);
    assert_eq!(effects.count(), 0, "the answers are carried before the step runs");
    assert_eq!(call.send().await.expect_text(), "done", "and what was not asked for is not there");
    assert_eq!(effects.count(), 1);
}

#[tokio::test]
async fn both_roads_may_meet() {
    let call = call(async |flow: Flow| {
        if flow.given("roots").is_none() {
            return InputRequired::new().ask("roots", ListRootsRequest::new()).into_output();
        }
        flow.elicit::<Name>("name", "Who?").await?.name.into_output()
    })
    .await;
    let call = call.answer_raw("roots", json!({ "roots": [] })).send().await;
    call.expect_asked(&["name"]);
    assert_eq!(call.accept("name", json!({ "name": "Ada" })).send().await.expect_text(), "Ada");
}

/// An answer by hand is kept under its key as any other is.
#[tokio::test]
async fn the_keys_of_questions_by_hand_are_names_too() {
    for key in ["", "a\nb", "pay\u{200b}", "pay\u{202e}", "pay\u{fdd0}", &"x".repeat(129)] {
        let (log, asked) = (Log::start(), key.to_owned());
        let call = call(move |_: Flow| {
            let questions = InputRequired::new().ask("roots", ListRootsRequest::new());
            let questions = questions.ask(asked.clone(), ListRootsRequest::new());
            async move { Ok::<_, Failure>(questions) }
        });
        expect_internal(&call.await, &log, &format!("{key:?} cannot name a question"));
    }
}
