//! Visits to a URL: consent, completion, and the id by which both sides know the visit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mrtr_schema::elicitation::ElicitParams;
use mrtr_schema::{InputRequest, Revision};
use mrtr_server::testing::{Client, Conversation};
use mrtr_server::{Failure, Flow};
use serde_json::json;

use crate::support::{Age, Effects, Log, Name, begin, call, client};

/// A handler that connects an account, with what it asked of the outside, and whether the account is connected.
fn connecting() -> (Client, Effects, Arc<AtomicBool>) {
    async fn handler(flow: Flow, checks: Effects, connected: Arc<AtomicBool>) -> Result<String, Failure> {
        let id = flow.interaction_id("connect");
        let url = format!("https://example.com/connect?id={id}");
        let done = || async {
            checks.happen(&id);
            connected.load(Ordering::Relaxed)
        };
        flow.elicit_url("connect", "Please connect", url).until(done).await?;
        let name = flow.elicit::<Name>("name", "Who?").await?;
        Ok(format!("{} is connected", name.name))
    }
    let (checks, connected) = (Effects::default(), Arc::new(AtomicBool::new(false)));
    let (seen, flag) = (checks.clone(), Arc::clone(&connected));
    (client(move |flow| handler(flow, seen.clone(), Arc::clone(&flag))), checks, connected)
}

fn url(call: &Conversation) -> String {
    let Some(InputRequest::Elicit(request)) = call.question("connect") else { panic!("{}", call.response()) };
    let ElicitParams::Url(params) = request.params else { panic!("{}", call.response()) };
    params.url.as_str().to_owned()
}

#[tokio::test]
async fn an_accept_is_consent_and_the_flow_goes_on_when_it_is_done() {
    let (client, checks, connected) = connecting();
    let call = begin(&client).await;
    let first = url(&call);
    let call = call.consent("connect").send().await;
    call.expect_asked(&["connect"]);
    assert_eq!(url(&call), first, "the URL stays the same");
    connected.store(true, Ordering::Relaxed);
    let call = call.consent("connect").send().await;
    call.expect_asked(&["name"]);
    assert_eq!(checks.count(), 3, "it is asked in every run");
    let ids = checks.all();
    assert!(ids.iter().all(|id| first.ends_with(id.as_str())), "{ids:?} {first}");
    connected.store(false, Ordering::Relaxed);
    assert_eq!(call.accept("name", json!({ "name": "Ada" })).send().await.expect_text(), "Ada is connected");
    assert_eq!(checks.count(), 3, "it was done once, and stays so");
}

#[tokio::test]
async fn it_is_done_also_if_the_client_never_says_so() {
    let (client, _, connected) = connecting();
    let call = begin(&client).await;
    connected.store(true, Ordering::Relaxed);
    call.send().await.expect_asked(&["name"]);
}

#[tokio::test]
async fn a_refusal_is_an_error_unless_it_is_done_all_the_same() {
    let (client, _, connected) = connecting();
    let call = begin(&client).await;
    assert_eq!(call.clone().decline("connect").send().await.expect_tool_error(), "`connect` was declined");
    assert_eq!(call.clone().cancel("connect").send().await.expect_tool_error(), "`connect` was cancelled");
    connected.store(true, Ordering::Relaxed);
    call.decline("connect").send().await.expect_asked(&["name"]);
}

#[tokio::test]
async fn another_flow_has_another_id() {
    let (client, ..) = connecting();
    assert_ne!(url(&begin(&client).await), url(&begin(&client).await));
}

#[tokio::test]
async fn older_revisions_name_the_visit_by_the_same_id_in_every_round() {
    let (client, checks, _) = connecting();
    let call = begin(&client.speaking(Revision::Sep2322)).await;
    let id =
        |call: &Conversation| call.response()["result"]["inputRequests"]["connect"]["params"]["elicitationId"].clone();
    let first = id(&call);
    assert_eq!(first, json!(checks.all()[0]));
    assert_eq!(id(&call.consent("connect").send().await), first);
}

#[tokio::test]
async fn consent_alone_is_enough_where_nothing_says_when_it_is_done() {
    let call = call(async |flow: Flow| {
        flow.elicit_url("go", "Go", "https://example.com").await?;
        Ok::<_, Failure>("gone")
    })
    .await;
    let wrong = call.clone().answer_raw("go", json!({ "roots": [] })).send().await;
    wrong.expect_asked(&["go"]);
    assert_eq!(call.clone().consent("go").send().await.expect_text(), "gone");
    assert!(call.decline("go").send().await.expect_tool_error().contains("declined"));
}

/// The check takes many polls, of which a run that only gathers questions would grant two.
#[tokio::test]
async fn a_visit_is_asked_for_beside_other_questions() {
    let call = call(async |flow: Flow| {
        let slow = || async {
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            false
        };
        let visit = flow.elicit_url("go", "Go", "https://example.com").until(slow);
        flow.join((visit, flow.elicit::<Age>("age", "How old?"))).await?;
        Ok::<_, Failure>("gone")
    })
    .await;
    let mut asked = call.asked();
    asked.sort();
    assert_eq!(asked, ["age", "go"]);
}

#[tokio::test]
async fn a_visit_that_the_handler_drops_is_asked_for_all_the_same_and_nothing_after_it() {
    let log = Log::start();
    let call = call(async |flow: Flow| {
        let visit = flow.elicit_url("go", "Go", "https://example.com").until(async || false);
        tokio::select! { biased; _ = visit.into_future() => {} () = std::future::ready(()) => {} }
        Ok::<_, Failure>(flow.elicit::<Name>("name", "Who?").await?.name)
    });
    call.await.expect_asked(&["go"]);
    assert!(log.text().contains("dropped an open question"), "{}", log.text());
}
