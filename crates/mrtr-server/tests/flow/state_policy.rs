//! The state in replies: always, or when there is something to carry.

use std::collections::HashMap;

use mrtr_flow::Clock;
use mrtr_server::handler::IntoHandler;
use mrtr_server::testing::{Client, FixedClock, everything};
use mrtr_server::{Failure, Flow, InputRequired, StatePolicy, TaskPolicy, Tool};
use mrtr_state::MemorySingleUse;
use serde_json::json;

use crate::support::{Age, Approval, Name, begin, client_of, tool};

async fn plain(flow: Flow) -> Result<String, Failure> {
    Ok(flow.elicit::<Name>("name", "Who?").await?.name)
}

async fn when_needed<M>(handler: impl IntoHandler<M>) -> bool {
    carries(tool(handler).state_policy(StatePolicy::WhenNeeded)).await
}

async fn carries(tool: Tool) -> bool {
    let mut capabilities = everything();
    let approval = serde_json::from_value(json!({ "com.example/approval": {} })).unwrap();
    capabilities.extensions = Some(approval);
    let call = begin(&client_of(tool).declaring(capabilities)).await;
    let interim = call.interim().unwrap_or_else(|| panic!("the reply was {}", call.response()));
    interim.request_state().is_some()
}

#[tokio::test]
async fn a_plain_question_carries_a_state_always_or_not_at_all() {
    assert!(carries(tool(plain)).await, "by default");
    assert!(!when_needed(plain).await);
}

#[tokio::test]
async fn there_is_something_to_carry_after_an_answer() {
    let handler = async |flow: Flow| {
        let name = flow.elicit::<Name>("name", "Who?").await?.name;
        Ok::<_, Failure>(format!("{name} is {}", flow.elicit::<Age>("age", "How old?").await?.years))
    };
    let call = begin(&client_of(tool(handler).state_policy(StatePolicy::WhenNeeded))).await;
    assert_eq!(call.state(), None);
    let call = call.accept("name", json!({ "name": "Ada" })).send().await;
    call.expect_asked(&["age"]);
    assert!(call.state().is_some(), "the first answer goes with the second question");
    assert_eq!(call.accept("age", json!({ "years": 36 })).send().await.expect_text(), "Ada is 36");
}

#[tokio::test]
async fn a_state_goes_out_after_a_step_a_yield_point_or_a_key() {
    assert!(
        when_needed(async |flow: Flow| {
            flow.step("act", async { Ok::<_, Failure>(()) }).await?;
            plain(flow).await
        })
        .await
    );
    assert!(
        when_needed(async |flow: Flow| {
            let _ = flow.step("fail", async { Err::<(), _>("no") }).await;
            plain(flow).await
        })
        .await
    );
    assert!(
        when_needed(async |flow: Flow| {
            flow.yield_point(&1).await;
            plain(flow).await
        })
        .await
    );
    assert!(
        when_needed(async |flow: Flow| {
            flow.idempotency_key("key").await;
            plain(flow).await
        })
        .await
    );
    assert!(
        when_needed(async |flow: Flow| {
            flow.interaction_id("key");
            plain(flow).await
        })
        .await
    );
}

#[tokio::test]
async fn a_state_goes_out_with_pinned_optional_url_and_namespaced_questions() {
    assert!(when_needed(async |flow: Flow| Ok::<_, Failure>(flow.elicit::<Name>("n", "?").pinned().await?.name)).await);
    assert!(
        when_needed(async |flow: Flow| {
            Ok::<_, Failure>(format!("{:?}", flow.elicit::<Name>("n", "?").optional().await))
        })
        .await
    );
    assert!(when_needed(async |flow: Flow| flow.elicit_url("go", "Go", "https://example.com").await).await);
    assert!(
        when_needed(async |flow: Flow| {
            flow.elicit_url("go", "Go", "https://example.com").until(|| async { false }).await
        })
        .await
    );
    assert!(
        when_needed(async |flow: Flow| Ok::<_, Failure>(flow.ask::<Approval>("a", HashMap::new()).await?.to_string()))
            .await
    );
}

#[tokio::test]
async fn a_state_goes_out_when_the_tool_is_single_use_or_may_become_a_task() {
    let tool = || tool(plain).state_policy(StatePolicy::WhenNeeded);
    assert!(carries(tool().tasks(TaskPolicy::ByFlow)).await);
    let clock = FixedClock::default();
    assert!(carries(tool().single_use(MemorySingleUse::new(clock.now()))).await);
}

#[tokio::test]
async fn by_hand_a_state_goes_out_if_there_is_one() {
    let ask = || InputRequired::new().ask("roots", mrtr_schema::roots::ListRootsRequest::new());
    assert!(!when_needed(move |_: Flow| async move { Ok::<_, Failure>(ask()) }).await);
    assert!(when_needed(move |_: Flow| async move { Ok::<_, Failure>(ask().carry(&1)?) }).await);
}

#[tokio::test]
async fn a_state_lands_on_any_instance_that_shares_the_keys() {
    let key = mrtr_state::Key::new("k1", [7; 32]).unwrap();
    let sealer = mrtr_state::Sealer::new(mrtr_state::KeyRing::new(key), "tests").unwrap();
    let server = || mrtr_server::Server::builder("test", "1").sealer(sealer.clone()).tool(tool(plain)).build().unwrap();
    let call = begin(&Client::new(&server())).await.at(&server());
    assert_eq!(call.accept("name", json!({ "name": "Ada" })).send().await.expect_text(), "Ada");
}
