//! Answers: those that count with a state, and the handling of those that will not do.

use mrtr_server::testing::Client;
use mrtr_server::{Failure, Flow, Server};
use mrtr_state::{Key, KeyRing, Sealer};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::support::{Age, Effects, Name, begin, call, client, tool};

async fn two(flow: Flow) -> Result<String, Failure> {
    let name = flow.elicit::<Name>("name", "Who?").await?.name;
    Ok(format!("{name} is {}", flow.elicit::<Age>("age", "How old?").await?.years))
}

#[tokio::test]
async fn only_answers_to_what_was_asked_count() {
    let call = call(two).await.accept("name", json!({ "name": "Ada" })).accept("age", json!({ "years": 1 }));
    let call = call.accept("stranger", json!({ "x": 1 })).send().await;
    call.expect_asked(&["age"]);
    let call = call.accept("age", json!({ "years": 36 })).accept("name", json!({ "name": "Eve" })).send().await;
    assert_eq!(call.expect_text(), "Ada is 36", "an answer that is not asked for changes nothing");
}

#[tokio::test]
async fn an_answer_of_the_wrong_kind_is_asked_for_again() {
    for wrong in [
        json!({}),
        json!({ "roots": [] }),
        json!({ "action": "perhaps" }),
        json!({ "action": "accept" }),
        json!({ "action": "accept", "content": {} }),
        json!({ "action": "accept", "content": { "name": 7 } }),
        json!({ "action": "accept", "content": { "name": ["Ada"] } }),
    ] {
        let call = call(two).await.answer_raw("name", wrong.clone()).send().await;
        call.expect_asked(&["name"]);
        let call = call.accept("name", json!({ "name": "Ada" })).send().await;
        call.expect_asked(&["age"]);
    }
}

#[tokio::test]
async fn an_answer_that_misses_the_schema_is_asked_for_again_with_the_reason() {
    #[derive(Deserialize, JsonSchema)]
    struct Percent {
        #[schemars(range(min = 0, max = 100))]
        percent: i64,
    }
    let call = call(async |flow: Flow| {
        Ok::<_, Failure>(flow.elicit::<Percent>("percent", "How much?").await?.percent.to_string())
    })
    .await;
    let call = call.accept("percent", json!({ "percent": 101 })).send().await;
    let asked = serde_json::to_string(&call.question("percent").unwrap()).unwrap();
    assert!(asked.contains("How much?\\n\\n") && asked.contains("100"), "{asked}");
    assert_eq!(call.accept("percent", json!({ "percent": 100 })).send().await.expect_text(), "100");
}

#[tokio::test]
async fn unknown_properties_of_a_form_are_ignored() {
    let call = call(two).await.accept("name", json!({ "name": "Ada", "title": "Countess" })).send().await;
    call.expect_asked(&["age"]);
}

#[tokio::test]
async fn an_answer_is_kept_when_the_client_leaves_the_next_question_open() {
    let call = call(two).await.accept("name", json!({ "name": "Ada" })).send().await;
    let call = call.send().await.send().await;
    call.expect_asked(&["age"]);
    assert_eq!(call.accept("age", json!({ "years": 36 })).send().await.expect_text(), "Ada is 36");
}

#[tokio::test]
async fn input_responses_must_be_a_map_of_objects() {
    for wrong in
        [json!([]), json!("x"), json!(7), json!({ "name": "Ada" }), json!({ "name": null }), json!({ "x": [] })]
    {
        let call = call(two).await;
        let state = call.state().unwrap().to_owned();
        let params = json!({ "name": "tool", "arguments": {}, "requestState": state, "inputResponses": wrong });
        let call = client(two).begin("tools/call", params.as_object().unwrap().clone()).await;
        assert_eq!(call.expect_error().code.as_i64(), -32602, "{wrong}");
    }
}

/// Several versions of one tool, on servers that open each other's states.
fn deployment() -> impl Fn(mrtr_server::Tool) -> Server {
    let sealer = Sealer::new(KeyRing::new(Key::new("k1", [7; 32]).unwrap()), "tests").unwrap();
    move |tool| Server::builder("test", "1.0.0").sealer(sealer.clone()).tool(tool).build().unwrap()
}

#[tokio::test]
async fn a_new_version_keeps_the_answers_that_it_still_wants() {
    async fn old(flow: Flow) -> Result<String, Failure> {
        let (github, google) =
            flow.join((flow.elicit::<Name>("github", "GitHub?"), flow.elicit::<Name>("google", "Google?"))).await?;
        Ok(format!("{} {}", github.name, google.name))
    }
    async fn new(flow: Flow) -> Result<String, Failure> {
        let (github, microsoft) = flow
            .join((flow.elicit::<Name>("github", "GitHub?"), flow.elicit::<Name>("microsoft", "Microsoft?")))
            .await?;
        Ok(format!("{} {}", github.name, microsoft.name))
    }
    let server = deployment();
    let call = begin(&Client::new(&server(tool(old)))).await.at(&server(tool(new)));
    let call = call.accept("github", json!({ "name": "ada" })).accept("google", json!({ "name": "al" })).send().await;
    call.expect_asked(&["microsoft"]);
    assert_eq!(call.accept("microsoft", json!({ "name": "lovelace" })).send().await.expect_text(), "ada lovelace");
}

#[tokio::test]
async fn an_answer_that_no_version_reads_for_a_while_is_not_lost() {
    async fn silent(flow: Flow) -> Result<String, Failure> {
        Ok(flow.elicit::<Age>("pause", "Wait?").await?.years.to_string())
    }
    let server = deployment();
    let (usual, other) = (server(tool(two)), server(tool(silent)));
    let call = begin(&Client::new(&usual)).await.accept("name", json!({ "name": "Ada" })).at(&other).send().await;
    call.expect_asked(&["pause"]);
    call.at(&usual).send().await.expect_asked(&["age"]);
}

#[tokio::test]
async fn an_old_answer_is_kept_if_it_still_follows_a_changed_schema() {
    #[derive(Deserialize, JsonSchema)]
    struct Short {
        #[schemars(length(max = 3))]
        name: String,
    }
    async fn stricter(flow: Flow) -> Result<String, Failure> {
        let name = flow.elicit::<Short>("name", "Who, in short?").await?.name;
        Ok(format!("{name} is {}", flow.elicit::<Age>("age", "How old?").await?.years))
    }
    let server = deployment();
    for (name, asked) in [("Ada", "age"), ("Augusta", "name")] {
        let call = begin(&Client::new(&server(tool(two)))).await.accept("name", json!({ "name": name })).send().await;
        call.expect_asked(&["age"]);
        call.at(&server(tool(stricter))).send().await.expect_asked(&[asked]);
    }
}

#[tokio::test]
async fn a_state_is_for_the_same_call_and_whoever_made_it() {
    let call = call(two).await.accept("name", json!({ "name": "Ada" }));
    let state = call.state().unwrap().to_owned();
    let flipped = format!("{}{}", &state[..state.len() - 1], if state.ends_with('A') { 'B' } else { 'A' });
    let attempts = [
        call.clone().with_params(|params| drop(params.insert("arguments".into(), json!({ "x": 1 })))).send().await,
        call.clone().send_carrying(Some(&flipped)).await,
        call.clone().send_carrying(Some("")).await,
        call.clone().at(&deployment()(tool(two))).send().await,
    ];
    for attempt in attempts {
        let error = attempt.expect_error();
        assert_eq!((error.code.as_i64(), &*error.message), (-32602, "The request state is not valid"));
    }
}

#[tokio::test]
async fn a_client_that_answers_badly_for_ever_is_told_that_it_took_too_long() {
    let effects = Effects::default();
    let seen = effects.clone();
    let mut call = call(move |flow: Flow| {
        let effects = seen.clone();
        async move {
            flow.step("once", effects.work("once")).await?;
            two(flow).await
        }
    })
    .await;
    for _ in 1..32 {
        call.expect_asked(&["name"]);
        call = call.answer_raw("name", json!({})).send().await;
    }
    call.expect_asked(&["name"]);
    assert!(call.send().await.expect_tool_error().contains("too long"));
    assert_eq!(effects.all(), ["once"]);
}
