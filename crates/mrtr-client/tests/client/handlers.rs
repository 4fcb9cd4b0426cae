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

/// Panics when it is dropped.
struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "dropped");
    }
}

#[tokio::test]
async fn a_handler_that_panics_ends_the_call_which_is_kept_with_its_answers() {
    let roots = json!({ "method": "roots/list" });
    let form = json!({ "method": "elicitation/create", "params": { "message": "Name?",
        "requestedSchema": { "type": "object", "properties": { "name": { "type": "string" } } } } });
    let asks = json!({ "resultType": "input_required", "requestState": "sealed",
        "inputRequests": { "login": form, "where": roots } });
    let script = Script::new().result(&asks).result(&asks).result(&asks);
    let client = |script: &Script| {
        Client::builder(script.clone()).on_elicit(|form| async move { form.accept(&json!({ "name": "Ada" })) })
    };
    let panics_at_once =
        client(&script).on_roots(|_| -> std::future::Ready<Result<Vec<Root>, String>> { panic!("at once") }).build();
    let panics_later = client(&script)
        .on_roots(|_| async {
            tokio::task::yield_now().await;
            let roots: Vec<Root> = Vec::new();
            assert!(!roots.is_empty(), "later {}", 7);
            Ok::<_, String>(roots)
        })
        .build();
    for (client, message) in [(panics_at_once, "at once"), (panics_later, "later 7")] {
        let error = client.call_tool("t", json!({})).await.unwrap_err();
        assert!(matches!(&error.kind, CallErrorKind::NotAnswered { key, .. } if key == "where"), "{error}");
        assert_eq!(error.to_string(), format!("`where` was not answered: the handler panicked: {message}"));
        let saved = serde_json::to_string(error.pending().unwrap()).unwrap();
        assert!(saved.contains("Ada"), "{saved}");
    }
    // The other question fails, and this handler is dropped while it waits.
    let panics_when_dropped = Client::builder(script)
        .on_elicit(|form| async move {
            tokio::task::yield_now().await;
            drop(form);
            Err::<mrtr_schema::elicitation::ElicitResult, _>("no screen")
        })
        .on_roots(|_| async {
            let _guard = PanicsWhenDropped;
            std::future::pending::<Result<Vec<Root>, String>>().await
        })
        .build();
    let error = panics_when_dropped.call_tool("t", json!({})).await.unwrap_err();
    assert_eq!(error.to_string(), "`login` was not answered: no screen");
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
