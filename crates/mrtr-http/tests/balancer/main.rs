//! Two server processes behind a balancer that once does not keep to a session: whatever message that happens to, and
//! whatever becomes of it, nothing is charged twice.

#![allow(clippy::unwrap_used, reason = "a panic is the report")]

mod instance;
mod proxy;
#[path = "../support/mod.rs"]
mod support;

use std::sync::Arc;

use mrtr_client::{CallError, CallErrorKind, FormRequest};
use mrtr_schema::CallToolResult;
use mrtr_schema::elicitation::ElicitResult;
use serde_json::json;
use tokio::sync::Notify;

use instance::{Fleet, Kind};
use proxy::{Balancer, Fault};
use support::{until, within};

const FAULTS: [Fault; 8] = [
    Fault::Elsewhere,
    Fault::Status(400),
    Fault::Status(401),
    Fault::Status(404),
    Fault::Status(500),
    Fault::Status(502),
    Fault::Status(503),
    Fault::Reset,
];

fn text(result: &CallToolResult) -> String {
    serde_json::to_value(result).unwrap()["content"][0]["text"].as_str().unwrap().to_owned()
}

async fn give(form: FormRequest) -> ElicitResult {
    form.accept(&json!({ "address": "here" })).unwrap()
}

/// Returns true if a call has failed, and its error says that it may have had effects and is over.
fn is_in_doubt(error: &CallError) -> bool {
    let is_said = error.to_string().contains("may have had effects");
    is_said && matches!(error.kind, CallErrorKind::InDoubt { .. }) && error.pending().is_none()
}

#[tokio::test]
async fn a_pong_that_is_lost_ends_nothing() {
    let fleet = Fleet::start(Kind::Pinging, "pong");
    let balancer = Balancer::start(fleet.addresses).await;
    for (number, fault) in FAULTS.into_iter().enumerate() {
        let order = format!("order-{number}");
        let client = balancer.client().build();
        balancer.fault("answer", fault);
        let call = client.call_tool("pay", json!({ "order": order }));
        let finishing = async {
            until("a pong that is lost", || balancer.has_struck()).await;
            balancer.finish().await;
        };
        let (result, ()) = within("the end of the call", async { tokio::join!(call, finishing) }).await;
        assert_eq!(text(&result.unwrap()), format!("paid {order}"), "{fault:?}");
        assert_eq!((fleet.charges(&order), balancer.count("tools/call")), (1, number + 1), "{fault:?}");
    }
}

#[tokio::test]
async fn an_answer_that_is_lost_never_has_the_call_made_again() {
    let fleet = Fleet::start(Kind::Ours, "answer");
    let balancer = Balancer::start(fleet.addresses).await;
    for (number, fault) in FAULTS.into_iter().enumerate() {
        let order = format!("order-{number}");
        let limits = mrtr_client::Limits { exchange: std::time::Duration::from_secs(3), ..Default::default() };
        let client = balancer.client().limits(limits).on_elicit(give).build();
        balancer.fault("answer", fault);
        let paid = within("the end of the call", client.call_tool("pay", json!({ "order": order }))).await;
        match paid {
            // It was sent again, and came through.
            Ok(result) => {
                assert!(matches!(fault, Fault::Status(503) | Fault::Reset), "{fault:?}");
                assert_eq!(text(&result), format!("paid {order}"));
            }
            Err(error) => assert!(is_in_doubt(&error), "{fault:?}"),
        }
        assert_eq!((fleet.charges(&order), balancer.count("tools/call")), (1, number + 1), "{fault:?}");
    }
}

#[tokio::test]
async fn a_stream_that_is_resumed_elsewhere_never_has_the_call_made_again() {
    let fleet = Fleet::start(Kind::Ours, "resumed");
    let balancer = Balancer::start(fleet.addresses).await;
    for (number, fault) in FAULTS.into_iter().enumerate() {
        let order = format!("order-{number}");
        let client = balancer.client().on_elicit(give).build();
        balancer.cut_next_stream();
        balancer.fault("GET", fault);
        let paid = within("the end of the call", client.call_tool("pay", json!({ "order": order }))).await;
        match paid {
            // It was resumed at the second attempt.
            Ok(result) => assert_eq!(text(&result), format!("paid {order}"), "{fault:?}"),
            Err(error) => assert!(is_in_doubt(&error), "{fault:?}"),
        }
        until("a GET that is lost", || balancer.has_struck()).await;
        assert_eq!((fleet.charges(&order), balancer.count("tools/call")), (1, number + 1), "{fault:?}");
    }
}

#[tokio::test]
async fn what_else_a_session_sends_does_not_touch_a_call_that_is_under_way() {
    let fleet = Fleet::start(Kind::Ours, "beside");
    let balancer = Balancer::start(fleet.addresses).await;
    // The last time there is no fault, so that the session ends with its call.
    for (number, fault) in FAULTS.into_iter().map(Some).chain([None]).enumerate() {
        let (order, (asked, go_on)) = (format!("order-{number}"), (Arc::new(Notify::new()), Arc::new(Notify::new())));
        let (ask, answer) = (Arc::clone(&asked), Arc::clone(&go_on));
        let client = balancer.client().on_elicit(move |form| {
            ask.notify_one();
            let answer = Arc::clone(&answer);
            async move {
                answer.notified().await;
                give(form).await
            }
        });
        let client = client.build();
        let paying = client.clone();
        let arguments = json!({ "order": order });
        let call = tokio::spawn(async move { paying.call_tool("pay", arguments).await });
        within("a question", asked.notified()).await;

        // A second call of the same session: it has not run where it was refused, and alone is sent again.
        if let Some(fault) = fault {
            balancer.fault("tools/call", fault);
        }
        let second = within("the second call", client.call_tool("hello", json!({}))).await;
        let is_through = matches!(fault, None | Some(Fault::Elsewhere | Fault::Status(404)));
        assert_eq!(second.is_ok(), is_through, "{fault:?}: {second:?}");
        if let Some(fault) = fault {
            balancer.fault("DELETE", fault);
        }
        client.close().await;
        go_on.notify_one();
        let paid = within("the end of the call", call).await.unwrap();
        match (fault, &paid) {
            (Some(_), Ok(_)) | (None, Err(CallError { kind: CallErrorKind::InDoubt { .. }, .. })) => {}
            (fault, paid) => panic!("{fault:?}: {paid:?}"),
        }
        assert_eq!(fleet.charges(&order), 1, "{fault:?}");
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_is_not_made_again_though_its_server_does_not_hear_of_it() {
    let fleet = Fleet::start(Kind::Ours, "dropped");
    let balancer = Balancer::start(fleet.addresses).await;
    for (number, fault) in FAULTS.into_iter().enumerate() {
        let order = format!("order-{number}");
        let (asked, is_asked) = tokio::sync::mpsc::unbounded_channel();
        let client = balancer.client().on_elicit(move |_| {
            asked.send(()).unwrap();
            std::future::pending::<ElicitResult>()
        });
        let (client, mut is_asked) = (client.build(), is_asked);
        balancer.fault("notifications/cancelled", fault);
        let call = client.call_tool("pay", json!({ "order": order }));
        tokio::select! {
            ended = call => panic!("it waits for its answer: {ended:?}"),
            asked = within("a question", is_asked.recv()) => asked.unwrap(),
        }
        until("a cancellation", || balancer.has_struck()).await;
        assert_eq!(text(&client.call_tool("hello", json!({})).await.unwrap()), "Hello", "{fault:?}");
        assert_eq!(fleet.charges(&order), 1, "{fault:?}");
    }
}
