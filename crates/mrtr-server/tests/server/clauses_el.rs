//! The clauses of elicitation that a server keeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mrtr_schema::elicitation::ElicitParams;
use mrtr_schema::{ErrorCode, InputRequest, Revision};
use mrtr_server::flow::Answered;
use mrtr_server::testing::Conversation;
use mrtr_server::{Failure, Flow, FlowError, Prompt, Resource, Server, Tool};
use serde_json::{Value, json};

use crate::logs::logged;
use crate::support::{Name, builder, client, greet, name, serve};

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

/// A form that demands more than the type it is read as.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Account {
    #[schemars(length(min = 3, max = 8))]
    name: String,
    #[schemars(range(min = 18, max = 120))]
    age: i64,
    #[schemars(extend("format" = "email"))]
    mail: Option<String>,
}

/// Only the check against the form can tell: serde would take this content, and the form does not.
#[tokio::test]
async fn el_5_content_that_the_type_would_take_and_the_form_does_not_is_asked_for_again() {
    let server = serve(async |flow: Flow| {
        let account: Account = flow.elicit("account", "Who?").await?;
        Ok::<_, Failure>(format!("{}, {}, {}", account.name, account.age, account.mail.unwrap_or_default()))
    });
    let mut asked = client(&server).call_tool("tool", json!({})).await;
    for content in [
        json!({ "name": "Al", "age": 36 }),
        json!({ "name": "Augusta Ada", "age": 36 }),
        json!({ "name": "Ada", "age": 17 }),
        json!({ "name": "Ada", "age": 121 }),
        json!({ "name": "Ada", "age": 36, "mail": "ada" }),
        json!({ "name": "Ada", "age": 17, "more": "than was asked" }),
    ] {
        asked = asked.accept("account", &content).send().await;
        assert_eq!(asked.asked(), ["account"], "{content}: {}", asked.response());
    }
    let content = json!({ "name": "Ada", "age": 36, "mail": "ada@example.com" });
    assert_eq!(asked.accept("account", content).send().await.expect_text(), "Ada, 36, ada@example.com");
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

/// Returns the error's code, its data and its message. They tell the question that a person refused, and how.
fn refused(call: &Conversation) -> (i64, Value, String) {
    let error = call.expect_error();
    (error.code.as_i64(), error.data.unwrap().to().unwrap(), error.message)
}

#[tokio::test]
async fn el_5_a_person_who_declines_or_cancels_is_no_fault_of_the_server() {
    let server = builder()
        .prompt(Prompt::new("prompt", greet))
        .resource(Resource::new("test://resource", "resource", greet))
        .build()
        .unwrap();
    for revision in Revision::MODERN {
        let client = client(&server).speaking(revision);
        for (method, params) in
            [("prompts/get", json!({ "name": "prompt" })), ("resources/read", json!({ "uri": "test://resource" }))]
        {
            let asked = client.request(method, params).await;
            let (code, data, message) = refused(&asked.clone().decline("who").send().await);
            assert_eq!((code, data), (-1, json!({ "key": "who", "action": "decline" })), "{revision} {method}");
            assert_eq!(message, "The user declined to answer `who`");
            let (code, data, message) = refused(&asked.cancel("who").send().await);
            assert_eq!((code, data), (-1, json!({ "key": "who", "action": "cancel" })), "{revision} {method}");
            assert_eq!(message, "The user cancelled `who` without an answer");
        }
    }
}

#[tokio::test]
async fn el_5_a_refusal_stays_one_under_the_errors_of_a_handler() {
    #[derive(Debug, thiserror::Error)]
    #[error("nobody said who they are")]
    struct Nameless(#[source] FlowError);

    let by_thiserror =
        async |flow: Flow| flow.elicit::<Name>("who", "Who?").await.map(|who| who.name).map_err(Nameless);
    let by_anyhow = async |flow: Flow| {
        let asked = flow.elicit::<Name>("who", "Who?").await;
        anyhow::Context::context(asked, "nobody said who they are").map(|who| who.name)
    };
    let server = builder()
        .prompt(Prompt::new("thiserror", by_thiserror))
        .prompt(Prompt::new("anyhow", by_anyhow))
        .build()
        .unwrap();
    for prompt in ["thiserror", "anyhow"] {
        let asked = client(&server).get_prompt(prompt, json!({})).await;
        let error = asked.decline("who").send().await.expect_error();
        assert_eq!(error.code, ErrorCode::USER_DECLINED, "{prompt}");
    }
}

#[tokio::test]
async fn el_5_a_tool_tells_the_model_what_was_declined() {
    let server = builder().tool(Tool::new("tool", greet)).build().unwrap();
    let asked = client(&server).call_tool("tool", json!({})).await;
    assert_eq!(asked.clone().decline("who").send().await.expect_tool_error(), "`who` was declined");
    assert_eq!(asked.cancel("who").send().await.expect_tool_error(), "`who` was cancelled");
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Marked {
    #[schemars(extend("format" = "password"))]
    #[expect(dead_code, reason = "it is never asked for")]
    word: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Named {
    user: String,
    #[serde(default)]
    #[expect(dead_code, reason = "only its name matters")]
    api_key: String,
}

#[test]
fn el_1_a_form_never_asks_for_what_is_marked_as_a_secret() {
    let server = serve(async |flow: Flow| {
        flow.elicit::<Marked>("login", "Who are you?").await?;
        Ok::<_, Failure>("never")
    });
    let log = logged(async {
        let call = client(&server).call_tool("tool", json!({})).await;
        assert!(call.expect_tool_error().contains("reference"), "{}", call.response());
    });
    assert!(log.contains("field `word`") && log.contains("a form must not ask for secrets"), "{log}");
}

#[test]
fn el_1_a_field_that_is_named_like_a_secret_is_warned_of_once() {
    let server = serve(async |flow: Flow| Ok::<_, Failure>(flow.elicit::<Named>("login", "Who are you?").await?.user));
    let log = logged(async {
        for _ in 0..3 {
            let asked = client(&server).call_tool("tool", json!({})).await;
            let done = asked.accept("login", json!({ "user": "Ada", "apiKey": "s3cr3t" })).send().await;
            assert_eq!(done.expect_text(), "Ada");
        }
    });
    let warned: Vec<_> = log.lines().filter(|line| line.contains("looks like a secret")).collect();
    assert!(matches!(warned[..], [line] if line.contains("field=apiKey")), "{log}");
    assert!(!log.contains("field=user") && !log.contains("s3cr3t"), "{log}");
}
