//! A state that is sent many times at once counts once, whichever connections the copies come over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use mrtr_rmcp::Flows;
use mrtr_server::{Failure, Flow, Server, Tool};
use mrtr_state::MemorySingleUse;
use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use rmcp::service::ServiceError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::task::JoinSet;

use crate::person::{Person, call, text};
use crate::sites::{Lifecycle, Way, connect, serve, visit};

#[derive(Deserialize, JsonSchema)]
struct Confirmed {
    yes: bool,
}

#[derive(Default)]
struct Charges(AtomicU32);

async fn pay(flow: Flow) -> Result<String, Failure> {
    let Confirmed { yes } = flow.elicit("confirm", "Shall 100 euros be paid?").await?;
    if !yes {
        return Ok("nothing is paid".to_owned());
    }
    let charges = flow.state::<Arc<Charges>>();
    let charge = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        Ok::<_, Failure>(charges.0.fetch_add(1, Ordering::SeqCst) + 1)
    };
    Ok(format!("paid, receipt {}", flow.step("charge", charge).await?))
}

fn shop(charges: &Arc<Charges>) -> Flows {
    let store = MemorySingleUse::new(SystemTime::now().into());
    let server = Server::builder("shop", "1.0.0")
        .state(Arc::clone(charges))
        .tool(Tool::new("pay", pay).single_use(store))
        .build()
        .expect("it is well made");
    Flows::new(server)
}

/// The call with the state and an answer, as its client would send it.
fn answered(asked: CallToolResponse, yes: bool) -> CallToolRequestParams {
    let CallToolResponse::InputRequired(asked) = asked else { panic!("{asked:?}") };
    let mut retry = call("pay", json!({}));
    retry.request_state = asked.request_state;
    let answers = json!({ "confirm": { "action": "accept", "content": { "yes": yes } } });
    retry.input_responses = serde_json::from_value(answers).expect("they are answers");
    retry
}

#[tokio::test]
async fn twenty_copies_at_once_charge_once() {
    for way in [Way::Streams, Way::Http] {
        let charges = Arc::default();
        let client = connect(shop(&charges), &Person::answering([]), (Lifecycle::Discover, way)).await;
        let client = Arc::new(client);
        let retry = answered(client.call_tool_once(call("pay", json!({}))).await.expect("it asks"), true);
        let mut copies = JoinSet::new();
        for _ in 0..20 {
            let (client, retry) = (Arc::clone(&client), retry.clone());
            copies.spawn(async move { client.call_tool_once(retry).await });
        }
        for reply in copies.join_all().await {
            let CallToolResponse::Complete(reply) = reply.expect("it is answered") else { panic!("it is done") };
            assert_eq!(text(&reply), "paid, receipt 1", "{way:?}");
        }
        assert_eq!(charges.0.load(Ordering::SeqCst), 1, "{way:?}");

        let other = client
            .call_tool_once({
                let mut retry = retry;
                retry.input_responses = None;
                retry
            })
            .await;
        let Err(ServiceError::McpError(ErrorData { message, .. })) = other else { panic!("{other:?}") };
        assert_eq!(message, "The request state is not valid", "{way:?}: with other answers");
    }
}

#[tokio::test]
async fn a_copy_over_another_connection_gets_the_reply_that_there_was() {
    let charges = Arc::default();
    let address = serve(shop(&charges)).await;
    let person = Person::answering([]);
    let (here, there) = (
        visit(address, &person, Lifecycle::Discover, None).await,
        visit(address, &person, Lifecycle::Discover, None).await,
    );
    let retry = answered(here.call_tool_once(call("pay", json!({}))).await.expect("it asks"), true);
    for client in [&here, &there] {
        let CallToolResponse::Complete(reply) = client.call_tool_once(retry.clone()).await.expect("it is answered")
        else {
            panic!("it is done")
        };
        assert_eq!(text(&reply), "paid, receipt 1");
    }
    assert_eq!(charges.0.load(Ordering::SeqCst), 1);
}

/// In a session the call itself is what is used once: the client has no state that it could copy.
#[tokio::test]
async fn in_a_session_each_call_charges_once() {
    let charges = Arc::default();
    let person = Person::answering([("Shall 100 euros be paid?", json!({ "yes": true }))]);
    let client = connect(shop(&charges), &person, (Lifecycle::Initialize, Way::Http)).await;
    for receipt in 1..=3 {
        let result = client.call_tool(call("pay", json!({}))).await.expect("it is answered");
        assert_eq!(text(&result), format!("paid, receipt {receipt}"));
    }
    assert_eq!(charges.0.load(Ordering::SeqCst), 3);
}
