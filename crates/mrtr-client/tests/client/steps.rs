//! Calls driven by hand: one round at a time.

use std::time::Duration;

use mrtr_client::testing::Script;
use mrtr_client::{Client, RoundOutcome};
use mrtr_schema::roots::ListRootsResult;
use serde_json::{Value, json};

use super::common::{asks_roots, calls, complete, state_only};

#[tokio::test]
async fn each_round_is_handed_out() {
    let script = Script::new().result(state_only("one")).result(asks_roots("r", Some("two"))).result(complete("done"));
    let client = Client::builder(script.clone()).build();
    let RoundOutcome::BackOff(pending, pause) = client.call_tool_once("t", json!({})).await.unwrap() else {
        panic!("it was put off")
    };
    assert!(pause <= Duration::from_millis(100));
    let RoundOutcome::Asked(pending) = client.advance(pending).await.unwrap() else { panic!("it asks") };
    let RoundOutcome::Asked(mut pending) = client.advance(pending).await.unwrap() else {
        panic!("it is not answered yet")
    };
    assert_eq!(script.sent().len(), 2);
    pending.answer("r", &ListRootsResult::new([])).unwrap();
    let RoundOutcome::Complete(result) = client.advance(pending).await.unwrap() else { panic!("it is done") };
    assert!(result.as_str().contains("done"));
    let states: Vec<_> = calls(&script).iter().map(|(_, params)| params["requestState"].clone()).collect();
    assert_eq!(states, [Value::Null, "one".into(), "two".into()]);
}

#[tokio::test]
async fn prompts_and_resources_have_rounds_too() {
    let script = Script::new().result(asks_roots("p", None)).result(asks_roots("r", None));
    let client = Client::builder(script.clone()).build();
    let RoundOutcome::Asked(prompt) = client.get_prompt_once("review", json!({})).await.unwrap() else {
        panic!("it asks")
    };
    let RoundOutcome::Asked(read) = client.read_resource_once("docs://a").await.unwrap() else { panic!("it asks") };
    assert_eq!((prompt.method(), prompt.name().as_deref()), ("prompts/get", Some("review")));
    assert_eq!((read.method(), read.name().as_deref()), ("resources/read", Some("docs://a")));
}
