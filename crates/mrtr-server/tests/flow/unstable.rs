//! Flows that differ from run to run: the warnings in the log, and the refusals of a strict tool.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::time::Duration;

use mrtr_schema::roots::ListRootsRequest;
use mrtr_schema::sampling::{CreateMessageParams, SamplingMessage};
use mrtr_schema::{Method, NamespacedInput};
use mrtr_server::handler::{IntoOutput, Output};
use mrtr_server::testing::Client;
use mrtr_server::{Failure, Flow, InputRequired, Server, StatePolicy, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::timeout;

use crate::support::{Age, Log, Name, begin, call, client_of, tool};

/// The time that a reply may take that must come.
const PATIENCE: Duration = Duration::from_secs(20);

/// A loop over files in an order that changes from run to run, whose questions are named by number.
fn by_number(strict: bool) -> Client {
    async fn handler(flow: Flow, files: [&'static str; 2]) -> Result<String, Failure> {
        let mut named = Vec::new();
        for (number, file) in files.iter().enumerate() {
            let name = flow.scope(number).elicit::<Name>("name", format!("A name for {file}?")).await?;
            named.push(format!("{file} = {}", name.name));
        }
        Ok(named.join(", "))
    }
    let runs = AtomicU32::new(0);
    let tool = Tool::new("tool", move |flow| {
        let mut files = ["a.txt", "b.txt"];
        files.rotate_left((runs.fetch_add(1, Ordering::Relaxed) % 2) as usize);
        handler(flow, files)
    });
    client_of(if strict { tool.strict() } else { tool })
}

#[tokio::test]
async fn an_answer_that_lands_on_another_wording_is_warned_of() {
    let log = Log::start();
    let call = begin(&by_number(false)).await.accept("0/name", json!({ "name": "Ada" })).send().await;
    call.expect_asked(&["1/name"]);
    let text = log.text();
    let warned = text.lines().find(|line| line.contains("another wording of its question")).expect(&text);
    assert!(warned.starts_with("WARN") && warned.contains("key=0/name"), "{warned}");
    let digest = |field| warned.split(field).nth(1).and_then(|rest| rest.split(' ').next()).unwrap().to_owned();
    assert_ne!(digest(" answered="), digest(" asked="), "{warned}");
}

#[tokio::test]
async fn a_strict_tool_refuses_an_answer_to_another_wording_and_says_what_to_do() {
    let call = begin(&by_number(true)).await.accept("0/name", json!({ "name": "Ada" })).send().await;
    let told = call.expect_tool_error();
    assert_eq!(told, "The question `0/name` changed after it was answered; make the call again");
}

#[tokio::test]
async fn a_flow_that_is_the_same_in_every_run_is_not_warned_of_and_strict_lets_it_through() {
    async fn handler(flow: Flow) -> Result<String, Failure> {
        let name = flow.elicit::<Name>("name", "Who?").validate(|name: &Name| match name.name.as_str() {
            "" => Err("A name, please"),
            _ => Ok(()),
        });
        let (name, roots) = flow.join((name, flow.roots("roots"))).await?;
        Ok(format!("{} {} {}", name.name, roots.len(), flow.elicit::<Age>("age", "How old?").await?.years))
    }
    let log = Log::start();
    let call = begin(&client_of(tool(handler).strict())).await;
    let call = call.accept("name", json!({ "name": "" })).answer_raw("roots", json!({ "roots": [] })).send().await;
    let call = call.accept("name", json!({ "name": "Ada" })).send().await;
    let call = call.accept("age", json!({ "years": 36 })).send().await;
    assert_eq!(call.expect_text(), "Ada 0 36");
    assert_eq!(log.text(), "");
}

/// An input that is asked with a map.
struct Door;

#[derive(Serialize, Deserialize, JsonSchema)]
struct Chosen {
    door: u8,
}

impl NamespacedInput for Door {
    const METHOD: Method = Method::from_static("com.example/door");
    type Params = HashMap<String, u8>;
    type Response = Chosen;
}

#[tokio::test]
async fn a_map_is_the_same_wording_in_whatever_order_a_run_has_it() {
    async fn handler(flow: Flow) -> Result<String, Failure> {
        let doors: HashMap<String, u8> = (0..50).map(|door| (format!("door {door}"), door)).collect();
        let chosen = flow.ask::<Door>("door", doors).await?;
        flow.elicit::<Name>("name", "Who?").await?;
        Ok(chosen.door.to_string())
    }
    let log = Log::start();
    let server = Server::builder("test", "1").input::<Door>().tool(tool(handler).strict()).build().unwrap();
    let client = Client::new(&server).declaring_extension("com.example/door");
    let call = begin(&client).await.answer_raw("door", json!({ "door": 7 })).send().await;
    call.expect_asked(&["name"]);
    assert_eq!(log.text(), "");
}

/// Asks one kind of question, in other words in every run.
fn reworded(kind: &'static str, strict: bool) -> Client {
    async fn handler(flow: Flow, kind: &str, run: u8) -> Result<String, Failure> {
        let doors = HashMap::from([("door".to_owned(), run)]);
        let ended = match kind {
            "model" => {
                let question = CreateMessageParams::new([SamplingMessage::user(format!("{run}?"))], 100_u64);
                flow.sample("it", question).await.map(|_| ())
            }
            "input" => flow.ask::<Door>("it", doors).await.map(|_| ()),
            "decision" => flow.ask::<Door>("it", doors).until(async || None).await.map(|_| ()),
            _ => flow.elicit_url("it", "Go", format!("https://example.com/{run}")).until(async || false).await,
        };
        Ok(ended.map(|()| "answered".to_owned())?)
    }
    let runs = AtomicU8::new(0);
    let tool = tool(move |flow| handler(flow, kind, runs.fetch_add(1, Ordering::Relaxed)));
    let tool = if strict { tool.strict() } else { tool };
    let server = Server::builder("test", "1").input::<Door>().tool(tool).build().unwrap();
    Client::new(&server).declaring_extension("com.example/door")
}

#[tokio::test]
async fn the_wording_of_every_kind_of_question_is_kept_with_its_answer() {
    let text = json!({ "type": "text", "text": "That one" });
    let kinds = [
        ("model", json!({ "role": "assistant", "model": "m", "content": text }), true),
        ("input", json!({ "door": 7 }), true),
        ("decision", json!({ "door": 7 }), false),
        ("visit", json!({ "action": "accept" }), false),
    ];
    for (kind, answer, is_enough) in kinds {
        let log = Log::start();
        let answered =
            async |strict| begin(&reworded(kind, strict)).await.answer_raw("it", answer.clone()).send().await;
        let call = timeout(PATIENCE, answered(false)).await.expect("a reply");
        if is_enough {
            assert_eq!(call.expect_text(), "answered", "{kind}");
        } else {
            call.expect_asked(&["it"]);
        }
        assert!(log.text().contains("another wording of its question"), "{kind}: {}", log.text());
        let call = timeout(PATIENCE, answered(true)).await.expect("a reply");
        assert!(call.expect_tool_error().contains("`it` changed after it was answered"), "{kind}");
    }
}

#[tokio::test]
async fn a_name_that_differs_between_rounds_is_warned_of_from_both_sides() {
    let runs = Arc::new(AtomicU32::new(0));
    let call = call(move |flow: Flow| {
        let run = runs.fetch_add(1, Ordering::Relaxed);
        async move {
            let (name, _) = flow.join((flow.elicit::<Name>(format!("name{run}"), "Who?"), flow.roots("roots"))).await?;
            Ok::<_, Failure>(name.name)
        }
    })
    .await;
    call.expect_asked(&["name0", "roots"]);
    let log = Log::start();
    let call = call.accept("name0", json!({ "name": "Ada" })).send().await;
    call.expect_asked(&["name1", "roots"]);
    let text = log.text();
    assert!(
        text.contains("WARN message=the client answered questions of the round before that this run did not ask"),
        "{text}"
    );
    assert!(text.contains(r#"keys=["name0"]"#), "{text}");
    let log = Log::start();
    let call = call.answer_raw("roots", json!({ "roots": [] })).send().await;
    call.expect_asked(&["name2"]);
    let text = log.text();
    assert!(
        text.contains("the round before asked questions that this run did not ask") && text.contains(r#"["name1"]"#),
        "{text}"
    );
}

#[tokio::test]
async fn what_a_client_makes_up_is_counted_in_the_log_and_not_quoted() {
    let call = call(async |flow: Flow| Ok::<_, Failure>(flow.elicit::<Name>("name", "Who?").await?.name)).await;
    let log = Log::start();
    let mut call = call.accept("name", json!({ "name": "Ada" }));
    for number in 0..100 {
        call = call.answer_raw(&format!("made up {number}"), json!({}));
    }
    assert_eq!(call.clone().send().await.expect_text(), "Ada");
    let text = log.text();
    assert!(text.contains("answers=100") && text.contains("did not ask for") && !text.contains("made up"), "{text}");
    // Without a state, an answer that is read was asked for.
    let log = Log::start();
    assert_eq!(call.send_carrying(None).await.expect_text(), "Ada");
    assert!(log.text().contains("answers=100"), "{}", log.text());
}

/// Only a state says to which wording an answer was given.
#[tokio::test]
async fn for_a_strict_tool_an_answer_without_a_state_never_counts() {
    async fn asks(flow: Flow) -> Result<String, Failure> {
        Ok(flow.elicit::<Name>("name", "Delete 3 files?").await?.name)
    }
    async fn by_hand(flow: Flow) -> Result<Output, Failure> {
        match flow.given("name") {
            Some(_) => "given".into_output(),
            None => InputRequired::new().ask("name", ListRootsRequest::new()).into_output(),
        }
    }
    for tool in [tool(asks), tool(by_hand)] {
        let client = client_of(tool.strict().state_policy(StatePolicy::WhenNeeded));
        let asked = begin(&client).await.accept("name", json!({ "name": "Ada" }));
        let again = asked.clone().send_carrying(None).await;
        again.expect_asked(&["name"]);
        assert!(again.state().is_some(), "without one, no answer would ever count");
        asked.send().await.expect_text();
    }
}
