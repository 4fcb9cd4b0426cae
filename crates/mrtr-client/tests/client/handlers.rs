//! Handlers: each kind of question reaches its own, and the capabilities follow from them.

use mrtr_client::testing::Script;
use mrtr_client::{CallErrorKind, Client, QuestionContext};
use mrtr_schema::content::{Role, TextContent};
use mrtr_schema::roots::Root;
use mrtr_schema::sampling::{CreateMessageParams, CreateMessageResult, SamplingContent, SamplingMessage};
use mrtr_schema::{Method, NamespacedInput};
use mrtr_server::{Failure, Flow, Server, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::common::{InMemory, Login, asks_roots, complete, text};

struct Approval;

#[derive(Serialize, Deserialize, JsonSchema)]
struct Pending {
    approver: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Decision {
    approved: bool,
}

impl NamespacedInput for Approval {
    const METHOD: Method = Method::from_static("com.example/approval");
    type Params = Pending;
    type Response = Decision;
}

/// Asks for everything at once.
async fn survey(flow: Flow) -> Result<String, Failure> {
    let question = CreateMessageParams::new([SamplingMessage::user("What is the capital of France?")], 100_u64);
    let pending = Pending { approver: "Ada".to_owned() };
    let all = (
        flow.elicit::<Login>("login", "Who are you?"),
        flow.sample("capital", question),
        flow.roots("roots"),
        flow.ask::<Approval>("sign_off", pending),
    );
    let (login, capital, roots, decision) = flow.join(all).await?;
    let capital = capital.text().unwrap_or_default();
    Ok(format!("{} {capital} {} {}", login.name, roots.len(), decision.approved))
}

#[tokio::test]
async fn every_kind_of_question_is_answered_in_one_round() {
    let server =
        Server::builder("survey", "1.0.0").input::<Approval>().tool(Tool::new("survey", survey)).build().unwrap();
    let transport = InMemory::new(server);
    let client = Client::builder(transport.clone())
        .on_elicit(|form| async move { form.accept(&json!({ "name": "Ada" })) })
        .on_sample(|params, context: QuestionContext| async move {
            assert_eq!((params.messages.len(), &*context.key), (1, "capital"));
            let content = SamplingContent::Text(TextContent::new("Paris"));
            Ok::<_, String>(CreateMessageResult::new(Role::Assistant, content, "a-model"))
        })
        .on_roots(|context| async move {
            assert_eq!((&*context.server, context.name.as_deref(), context.round), ("in memory", Some("survey"), 1));
            Ok::<_, String>(vec![Root::new("file:///src")])
        })
        .on_input::<Approval, _, _, _>(|pending: Pending, _| async move {
            Ok::<_, String>(Decision { approved: pending.approver == "Ada" })
        })
        .build();
    assert_eq!(text(&client.call_tool("survey", json!({})).await.unwrap()), "Ada Paris 1 true");
    assert_eq!(transport.sent().len(), 2);
}

#[test]
fn a_client_declares_what_it_has_handlers_for() {
    let builder = || Client::builder(Script::new());
    let none = builder().build();
    assert!(none.capabilities().elicitation.is_none() && none.capabilities().roots.is_none());
    assert!(!none.capabilities().samples());

    let forms = builder().on_elicit(|form| async move { form.decline() }).build();
    assert!(forms.capabilities().elicits_forms() && !forms.capabilities().elicits_urls());

    let urls = builder().on_url(|request| async move { request.decline() }).build();
    assert!(urls.capabilities().elicits_urls() && !urls.capabilities().elicits_forms());

    let own = builder().on_input::<Approval, _, _, _>(|_, _| async { Err::<Decision, _>("no") }).build();
    assert!(own.capabilities().knows(&Approval::METHOD));
}

#[tokio::test]
async fn a_question_says_which_call_and_round_it_belongs_to() {
    let script = Script::new()
        .result(asks_roots("a", None))
        .result(asks_roots("b", None))
        .result(complete("done"))
        .result(asks_roots("c", None));
    let client = Client::builder(script)
        .on_roots(|context| async move {
            match &*context.key {
                "a" => assert_eq!((context.call, context.round, &*context.method), (1, 1, "tools/call")),
                "b" => assert_eq!((context.call, context.round), (1, 2)),
                _ => return Err(format!("call {} round {}", context.call, context.round)),
            }
            Ok(Vec::new())
        })
        .build();
    client.call_tool("t", json!({})).await.unwrap();
    let error = client.call_tool("t", json!({})).await.unwrap_err();
    let CallErrorKind::NotAnswered { source, .. } = error.kind else { panic!() };
    assert_eq!(source.to_string(), "call 2 round 1");
}
