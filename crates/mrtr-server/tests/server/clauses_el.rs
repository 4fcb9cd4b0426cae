//! The clauses of elicitation that a server keeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mrtr_schema::{ElicitParams, InputRequest};
use mrtr_server::testing::Conversation;
use mrtr_server::{Answered, Failure, Flow, Server};
use serde_json::json;

use crate::support::{Name, client, name, serve};

fn connects(done: &Arc<AtomicBool>) -> Server {
    let done = Arc::clone(done);
    serve(move |flow: Flow| {
        let done = Arc::clone(&done);
        async move {
            let url = format!("https://example.com/connect?id={}", flow.interaction_id("connect"));
            let asking = flow.elicit_url("connect", "Please connect your account", url);
            asking.until(|| async { done.load(Ordering::Relaxed) }).await?;
            Ok::<_, Failure>("connected")
        }
    })
}

fn url(asked: &Conversation) -> String {
    match asked.question("connect") {
        Some(InputRequest::Elicit(request)) => match request.params {
            ElicitParams::Url(params) => params.url.as_str().to_owned(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn el_2_what_a_url_holds_of_a_request_is_a_random_id_that_stays_the_same() {
    let server = connects(&Arc::default());
    let asked = client(&server).call_tool("tool", json!({})).await;
    let first = url(&asked);
    assert_eq!(url(&asked.consent("connect").send().await), first);
    let other = client(&server).call_tool("tool", json!({})).await;
    assert_ne!(url(&other), first);
    assert_eq!(first.rsplit('=').next().unwrap().len(), 32);
}

#[tokio::test]
async fn el_4_an_accept_of_a_url_is_consent_and_not_completion() {
    let done = Arc::default();
    let asked = client(&connects(&done)).call_tool("tool", json!({})).await;
    let asked = asked.consent("connect").send().await;
    asked.expect_asked(&["connect"]);
    done.store(true, Ordering::Relaxed);
    assert_eq!(asked.consent("connect").send().await.expect_text(), "connected");
}

#[tokio::test]
async fn el_5_content_that_does_not_follow_the_form_is_asked_for_again() {
    let server = serve(async |flow: Flow| Ok::<_, Failure>(flow.elicit::<Name>("who", "Who?").await?.name));
    let mut asked = client(&server).call_tool("tool", json!({})).await;
    for content in [json!({}), json!({ "name": 7 }), json!({ "name": null }), json!({ "nom": "Ada" })] {
        asked = asked.accept("who", content).send().await;
        asked.expect_asked(&["who"]);
    }
    let content = json!({ "name": "Ada", "more": "than was asked" });
    assert_eq!(asked.accept("who", content).send().await.expect_text(), "Ada");
}

#[tokio::test]
async fn el_5_declining_and_cancelling_are_told_apart() {
    let server = serve(async |flow: Flow| {
        Ok::<_, Failure>(match flow.elicit::<Name>("who", "Who?").answer().await {
            Answered::Accepted(name) => name.name,
            Answered::Declined => "declined".to_owned(),
            Answered::Cancelled => "cancelled".to_owned(),
        })
    });
    let begin = async || client(&server).call_tool("tool", json!({})).await;
    assert_eq!(begin().await.accept("who", name("Ada")).send().await.expect_text(), "Ada");
    assert_eq!(begin().await.decline("who").send().await.expect_text(), "declined");
    assert_eq!(begin().await.cancel("who").send().await.expect_text(), "cancelled");
}
