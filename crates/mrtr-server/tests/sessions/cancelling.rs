//! Calls that are cancelled, and sessions and servers that end.

use mrtr_server::testing::FixedClock;
use mrtr_server::{Failure, Flow, Tool};
use serde_json::json;

use crate::client::{Legacy, settle, until};
use crate::tools::{Name, Outside, builder, greet};

/// Does something that takes long, and something after it.
async fn slow(flow: Flow) -> Result<String, Failure> {
    let outside = flow.state::<Outside>();
    flow.step("wait", outside.wait()).await?;
    flow.step("after", outside.does("after")).await?;
    Ok("done".to_owned())
}

async fn client(outside: &Outside) -> Legacy {
    let tools = builder(outside, &FixedClock::default()).tool(Tool::new("greet", greet)).tool(Tool::new("slow", slow));
    Legacy::open(&tools.build().unwrap(), "2025-11-25").await
}

#[tokio::test]
async fn a_cancelled_call_has_no_response_and_its_question_is_taken_back() {
    let outside = Outside::default();
    let client = client(&outside).await;
    let mut call = client.call("greet", json!({})).await;
    let asked = call.question().await;
    client.cancel(call.id).await;
    let withdrawn = call.next().await.unwrap();
    assert_eq!(
        (&withdrawn["method"], &withdrawn["params"]["requestId"]),
        (&json!("notifications/cancelled"), &asked["id"])
    );
    assert_eq!(call.next().await, None);
    client.accept(&asked, json!({ "name": "Ann" })).await;
    settle().await;
    assert_eq!((outside.runs(), outside.effects().len()), (1, 0), "a late answer is dropped");
    client.cancel(call.id).await;
    client.cancel(4711).await;
}

#[tokio::test]
async fn a_cancelled_run_finishes_its_step_and_begins_no_other() {
    let outside = Outside::default();
    let client = client(&outside).await;
    let id = 1;
    let calling = client.call("slow", json!({}));
    let cancelling = async {
        outside.reached().await;
        client.cancel(id).await;
        outside.open();
    };
    let (mut call, ()) = tokio::join!(calling, cancelling);
    assert_eq!((call.id, call.next().await), (id, None));
    assert!(outside.effects().is_empty());
}

#[tokio::test]
async fn a_lost_connection_cancels_nothing() {
    let outside = Outside::default();
    let client = client(&outside).await;
    let calling = client.call("slow", json!({}));
    tokio::select! {
        _ = calling => panic!("it waits"),
        () = outside.reached() => {}
    }
    outside.open();
    until("the rest is done", || outside.effects() == ["after"]).await;
}

#[tokio::test]
async fn a_session_that_is_ended_takes_its_calls_along() {
    let outside = Outside::default();
    let client = client(&outside).await;
    let mut call = client.call("greet", json!({})).await;
    let _asked = call.question().await;
    assert!(client.end());
    assert_eq!(call.next().await, None);
    assert!(!client.end(), "it has ended");
    until("its call has ended", || client.server.detached() == 0).await;
    assert_eq!(client.server.sessions().open(), 0);
}

#[tokio::test]
async fn a_server_that_stops_waits_for_no_answer() {
    let outside = Outside::default();
    let client = client(&outside).await;
    let mut call = client.call("greet", json!({})).await;
    call.question().await;
    client.server.changes().end_subscriptions();
    assert_eq!(call.next().await.unwrap()["method"], "notifications/cancelled");
    let text = call.error_text().await;
    assert!(text.contains("shutting down"), "{text}");
}

#[tokio::test]
async fn a_server_that_is_gone_takes_its_sessions_along() {
    async fn ask(flow: Flow) -> Result<String, Failure> {
        let name: Name = flow.elicit("name", "Who?").await?;
        Ok(name.name)
    }
    let server = builder(&Outside::default(), &FixedClock::default()).tool(Tool::new("ask", ask)).build().unwrap();
    let client = Legacy::open(&server, "2025-11-25").await;
    let mut call = client.call("ask", json!({})).await;
    call.question().await;
    drop((client, server));
    assert_eq!(call.next().await, None);
}
