//! NS-5: a tool waits for another person's decision, and its caller can see who decides, and until when.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mrtr_schema::elicitation::ElicitParams;
use mrtr_schema::{InputRequest, Method, NamespacedInput};
use mrtr_server::testing::{Conversation, FixedClock};
use mrtr_server::{Failure, Flow, FlowError, Server, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::{builder, client, client_declaring};

struct Approval;

#[derive(Serialize, Deserialize, JsonSchema)]
struct Pending {
    what: String,
    approver: String,
    until: String,
    /// By which the approver's side knows the request.
    id: String,
}

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct Decision {
    approved: bool,
    by: String,
}

impl NamespacedInput for Approval {
    const METHOD: Method = Method::from_static("com.example/approval");
    type Params = Pending;
    type Response = Decision;
}

/// A desk at which approvers decide: somewhere else altogether.
#[derive(Clone, Default)]
struct Desk(Arc<Mutex<HashMap<String, Decision>>>);

impl Desk {
    fn decide(&self, id: &str, approved: bool) {
        self.0.lock().unwrap().insert(id.to_owned(), Decision { approved, by: "Grace".into() });
    }

    #[expect(clippy::unused_async, reason = "a real desk is asked over the network")]
    async fn decision(&self, id: &str) -> Option<Decision> {
        self.0.lock().unwrap().get(id).cloned()
    }
}

async fn deploy(flow: Flow) -> Result<String, Failure> {
    let desk = flow.state::<Desk>();
    let id = flow.interaction_id("sign_off");
    let pending = Pending {
        what: "deploy to production".into(),
        approver: "release managers".into(),
        until: "2026-07-29T12:00:00Z".into(),
        id: id.clone(),
    };
    let asking = flow.ask::<Approval>("sign_off", pending).valid_for(Duration::from_hours(24));
    let Decision { approved, by } = match asking.until(|| desk.decision(&id)).await {
        Ok(decision) => decision,
        Err(FlowError::Declined { .. }) => return Ok("Not deployed: nobody will ask for approval".into()),
        Err(error) => return Err(error.into()),
    };
    if !approved {
        return Ok(format!("Not deployed: {by} said no"));
    }
    let deployed = flow.step("deploy", async { Ok::<_, Failure>("v2".to_owned()) }).await?;
    Ok(format!("Deployed {deployed}, approved by {by}"))
}

fn server(desk: &Desk, clock: &FixedClock) -> Server {
    builder()
        .clock(clock.clone())
        .state(desk.clone())
        .input_by_url::<Approval>(|pending, id| {
            let message = format!("{} must approve: {}", pending.approver, pending.what);
            (message, format!("https://approvals.example.com/{id}"))
        })
        .tool(Tool::new("deploy", deploy))
        .build()
        .unwrap()
}

/// The parameters that the client can show while it waits.
fn pending(call: &Conversation) -> Value {
    match call.question("sign_off") {
        Some(InputRequest::Namespaced(request)) => request.params.unwrap().to().unwrap(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn ns_5_the_client_sees_what_is_pending_with_whom_and_until_when() {
    let (desk, clock) = (Desk::default(), FixedClock::default());
    let knowing = client(&server(&desk, &clock)).declaring_extension("com.example/approval");
    let waiting = knowing.call_tool("deploy", json!({})).await;
    let shown = pending(&waiting);
    assert_eq!(
        (&shown["what"], &shown["approver"], &shown["until"]),
        (&json!("deploy to production"), &json!("release managers"), &json!("2026-07-29T12:00:00Z"))
    );

    // It asks again, hours later and elsewhere, and nothing has changed, also if it claims to decide itself.
    clock.advance(Duration::from_hours(20));
    let waiting = waiting.answer_raw("sign_off", json!({ "approved": true, "by": "me" }));
    let waiting = waiting.at(&server(&desk, &clock)).send().await;
    assert_eq!(pending(&waiting), shown);

    desk.decide(shown["id"].as_str().unwrap(), true);
    assert_eq!(waiting.send().await.expect_text(), "Deployed v2, approved by Grace");
}

#[tokio::test]
async fn ns_5_a_refusal_is_a_decision_too() {
    let (desk, clock) = (Desk::default(), FixedClock::default());
    let knowing = client(&server(&desk, &clock)).declaring_extension("com.example/approval");
    let waiting = knowing.call_tool("deploy", json!({})).await;
    desk.decide(pending(&waiting)["id"].as_str().unwrap(), false);
    assert_eq!(waiting.send().await.expect_text(), "Not deployed: Grace said no");
}

/// The message and the page for a client that does not know approvals.
fn page(call: &Conversation) -> (String, String) {
    match call.question("sign_off") {
        Some(InputRequest::Elicit(request)) => match request.params {
            ElicitParams::Url(params) => (params.message, params.url.as_str().to_owned()),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn ns_2_without_the_extension_the_approval_becomes_a_url() {
    let (desk, clock) = (Desk::default(), FixedClock::default());
    let plain = client_declaring(&server(&desk, &clock), &json!({ "elicitation": { "url": {} } }));
    let waiting = plain.call_tool("deploy", json!({})).await;
    let (message, url) = page(&waiting);
    assert_eq!(message, "release managers must approve: deploy to production");
    let id = url.strip_prefix("https://approvals.example.com/").unwrap().to_owned();

    // Consent to go there is not the decision.
    let waiting = waiting.consent("sign_off").send().await;
    assert_eq!(page(&waiting).1, url);
    desk.decide(&id, true);
    assert_eq!(waiting.consent("sign_off").send().await.expect_text(), "Deployed v2, approved by Grace");
}

#[tokio::test]
async fn el_5_who_declines_to_visit_the_page_is_not_asked_again() {
    let (desk, clock) = (Desk::default(), FixedClock::default());
    let plain = client_declaring(&server(&desk, &clock), &json!({ "elicitation": { "url": {} } }));
    let waiting = plain.call_tool("deploy", json!({})).await;
    let id = page(&waiting).1.rsplit('/').next().unwrap().to_owned();
    let declined = waiting.clone().decline("sign_off").send().await;
    assert_eq!(declined.expect_text(), "Not deployed: nobody will ask for approval");
    assert!(waiting.clone().cancel("sign_off").send().await.expect_tool_error().contains("cancelled"));
    desk.decide(&id, true);
    assert_eq!(waiting.decline("sign_off").send().await.expect_text(), "Deployed v2, approved by Grace");
}

#[tokio::test]
async fn ns_2_without_either_the_error_names_what_is_missing() {
    let (desk, clock) = (Desk::default(), FixedClock::default());
    for declared in [json!({}), json!({ "elicitation": {} }), json!({ "elicitation": { "form": {} }, "roots": {} })] {
        let call = client_declaring(&server(&desk, &clock), &declared).call_tool("deploy", json!({})).await;
        let error = call.expect_error();
        assert_eq!(error.code.as_i64(), -32021);
        let data: Value = error.data.unwrap().to().unwrap();
        assert_eq!(data, json!({ "requiredCapabilities": { "extensions": { "com.example/approval": {} } } }));
    }
}

#[tokio::test]
async fn ns_2_an_input_without_a_page_has_no_fallback() {
    let server =
        builder().state(Desk::default()).input::<Approval>().tool(Tool::new("deploy", deploy)).build().unwrap();
    let plain = client_declaring(&server, &json!({ "elicitation": { "url": {} } }));
    assert_eq!(plain.call_tool("deploy", json!({})).await.expect_error().code.as_i64(), -32021);
}

#[tokio::test]
async fn ns_2_where_the_revision_has_no_such_inputs_the_approval_is_a_url() {
    let (desk, clock) = (Desk::default(), FixedClock::default());
    for revision in [mrtr_schema::Revision::Draft202602, mrtr_schema::Revision::Sep2322] {
        let old = client(&server(&desk, &clock)).declaring_extension("com.example/approval").speaking(revision);
        let waiting = old.call_tool("deploy", json!({})).await;
        desk.decide(page(&waiting).1.rsplit('/').next().unwrap(), true);
        assert_eq!(waiting.consent("sign_off").send().await.expect_text(), "Deployed v2, approved by Grace");
    }
}
