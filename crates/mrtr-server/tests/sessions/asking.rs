//! Questions in a session: the effect of each answer, and the capabilities that a client must have declared.

use std::time::Duration;

use mrtr_schema::LoggingLevel;
use mrtr_schema::sampling::{CreateMessageParams, SamplingMessage};
use mrtr_server::extend::ShedAbove;
use mrtr_server::testing::FixedClock;
use mrtr_server::{Failure, Flow, Prompt, Resource, Tool};
use mrtr_state::MemorySingleUse;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::{Legacy, settle, text};
use crate::tools::{Name, Outside, both, builder, greet, perhaps};

async fn client_of(tool: Tool, outside: &Outside) -> Legacy {
    let server = builder(outside, &FixedClock::default()).tool(tool).build().unwrap();
    Legacy::open(&server, "2025-11-25").await
}

#[tokio::test]
async fn recorded_steps_are_not_repeated_and_the_handler_runs_again() {
    let outside = Outside::default();
    let client = client_of(Tool::new("greet", greet), &outside).await;
    let mut call = client.call("greet", json!({})).await;
    let one = call.question().await;
    assert!(outside.effects().is_empty());
    client.accept(&one, json!({ "name": "Ann" })).await;
    let other = call.question().await;
    assert_eq!(outside.effects(), ["greet Ann"]);
    client.accept(&other, json!({ "name": "Bob" })).await;
    assert_eq!(call.text().await, "Ann and Bob");
    assert_eq!((outside.effects(), outside.runs()), (vec!["greet Ann".to_owned(), "greet Bob".to_owned()], 3));
}

#[tokio::test]
async fn several_questions_of_a_run_go_out_together_and_the_next_run_waits_for_all() {
    let outside = Outside::default();
    let client = client_of(Tool::new("both", both), &outside).await;
    let mut call = client.call("both", json!({})).await;
    let (one, other) = (call.question().await, call.question().await);
    client.accept(&other, json!({ "name": "Bob" })).await;
    settle().await;
    assert_eq!(outside.runs(), 1, "one answer is missing");
    client.accept(&one, json!({ "name": "Ann" })).await;
    assert_eq!(call.text().await, "Ann and Bob");
    assert_eq!(outside.runs(), 2);
}

#[tokio::test]
async fn several_calls_of_a_session_do_not_meet() {
    let outside = Outside::default();
    let client = client_of(Tool::new("greet", greet), &outside).await;
    let (mut first, mut second) = (client.call("greet", json!({})).await, client.call("greet", json!({})).await);
    let (of_first, of_second) = (first.question().await, second.question().await);
    assert_ne!(of_first["id"], of_second["id"]);
    client.accept(&of_second, json!({ "name": "Cid" })).await;
    client.accept(&of_first, json!({ "name": "Ann" })).await;
    let (of_first, of_second) = (first.question().await, second.question().await);
    client.accept(&of_first, json!({ "name": "Bob" })).await;
    client.accept(&of_second, json!({ "name": "Dee" })).await;
    assert_eq!((first.text().await, second.text().await), ("Ann and Bob".to_owned(), "Cid and Dee".to_owned()));
}

#[tokio::test]
async fn an_answer_that_will_not_do_is_asked_for_again_with_the_reason_a_few_times() {
    let outside = Outside::default();
    let client = client_of(Tool::new("greet", greet), &outside).await;
    let mut call = client.call("greet", json!({})).await;
    let mut asked = call.question().await;
    for times in 1..=5 {
        client.accept(&asked, json!({ "name": 7 })).await;
        if times == 5 {
            break;
        }
        let again = call.question().await;
        let message = again["params"]["message"].as_str().unwrap();
        assert!(message.starts_with("Who are you?\n\n") && message.contains("name"), "{message}");
        assert_ne!(again["id"], asked["id"]);
        asked = again;
    }
    let text = call.error_text().await;
    assert!(text.starts_with("No answer to `one` was accepted"), "{text}");
    assert_eq!(outside.runs(), 1, "no run was needed to see it");
}

#[tokio::test]
async fn an_answer_of_another_kind_is_none() {
    let outside = Outside::default();
    let client = client_of(Tool::new("greet", greet), &outside).await;
    let mut call = client.call("greet", json!({})).await;
    let asked = call.question().await;
    client.answer(&asked, json!({ "roots": [] })).await;
    let asked = call.question().await;
    client.answer(&asked, json!("Ann")).await;
    let asked = call.question().await;
    client.accept(&asked, json!({ "name": "Ann" })).await;
    assert_eq!(call.question().await["params"]["message"], "And who else?");
}

#[tokio::test]
async fn a_refusal_and_the_error_minus_one_are_declines() {
    for by_error in [false, true] {
        let client = client_of(Tool::new("greet", greet), &Outside::default()).await;
        let mut call = client.call("greet", json!({})).await;
        let asked = call.question().await;
        if by_error {
            client.fail(&asked, -1, "The user said no").await;
        } else {
            client.answer(&asked, json!({ "action": "decline" })).await;
        }
        assert_eq!(call.error_text().await, "`one` was declined");
    }
}

#[tokio::test]
async fn another_error_ends_the_call_and_names_the_question() {
    let outside = Outside::default();
    let client = client_of(Tool::new("both", both), &outside).await;
    let mut call = client.call("both", json!({})).await;
    let (one, other) = (call.question().await, call.question().await);
    client.fail(&one, -32603, "no window").await;
    let withdrawn = call.next().await.unwrap();
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], other["id"]);
    assert_eq!(call.error_text().await, "The client could not answer `one`: no window (-32603)");
    client.accept(&other, json!({ "name": "Bob" })).await;
    settle().await;
    assert_eq!(outside.runs(), 1, "a late answer changes nothing");
}

#[tokio::test]
async fn an_optional_question_is_skipped_on_either_error() {
    for code in [-1, -32603] {
        let client = client_of(Tool::new("perhaps", perhaps), &Outside::default()).await;
        let mut call = client.call("perhaps", json!({})).await;
        let asked = call.question().await;
        client.fail(&asked, code, "no").await;
        assert_eq!(call.text().await, "nobody");
    }
}

#[tokio::test]
async fn a_handler_that_checks_answers_itself_asks_again() {
    async fn strict(flow: Flow) -> Result<String, Failure> {
        let name: Name = flow
            .elicit("name", "Who are you?")
            .validate(|name: &Name| if name.name == "Ann" { Ok(()) } else { Err("Ann only") })
            .await?;
        Ok(name.name)
    }
    let client = client_of(Tool::new("strict", strict), &Outside::default()).await;
    let mut call = client.call("strict", json!({})).await;
    let asked = call.question().await;
    client.accept(&asked, json!({ "name": "Bob" })).await;
    let asked = call.question().await;
    assert_eq!(asked["params"]["message"], "Who are you?\n\nAnn only");
    client.accept(&asked, json!({ "name": "Ann" })).await;
    assert_eq!(call.text().await, "Ann");
}

#[tokio::test]
async fn a_question_that_is_not_answered_in_time_ends_the_call_or_is_skipped() {
    let (outside, clock) = (Outside::default(), FixedClock::default());
    let greet = Tool::new("greet", greet).question_timeout(Duration::from_secs(30));
    let server = builder(&outside, &clock).tool(greet).tool(Tool::new("perhaps", perhaps)).build().unwrap();
    let client = Legacy::open(&server, "2025-11-25").await;
    let (mut call, mut optional) = (client.call("greet", json!({})).await, client.call("perhaps", json!({})).await);
    let late = call.question().await;
    optional.question().await;
    clock.advance(Duration::from_secs(29));
    assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
    clock.advance(Duration::from_secs(1));
    let withdrawn = call.next().await.unwrap();
    assert_eq!(
        (&withdrawn["method"], &withdrawn["params"]["requestId"]),
        (&json!("notifications/cancelled"), &late["id"])
    );
    assert_eq!(call.error_text().await, "No answer to `one` came within 30s");
    client.accept(&late, json!({ "name": "Ann" })).await;
    settle().await;
    assert_eq!(outside.runs(), 1);
    // The other tool waits as long as the server says: ten minutes.
    clock.advance(Duration::from_mins(9));
    assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
    clock.advance(Duration::from_mins(1));
    assert_eq!(optional.next().await.unwrap()["method"], "notifications/cancelled");
    assert_eq!(optional.text().await, "nobody");
}

#[tokio::test]
async fn what_a_client_did_not_declare_is_not_asked_and_named() {
    async fn roots(flow: Flow) -> Result<String, Failure> {
        Ok(flow.roots("roots").await?.len().to_string())
    }
    async fn sample(flow: Flow) -> Result<String, Failure> {
        flow.sample("capital", CreateMessageParams::new([SamplingMessage::user("?")], 10_u64)).await?;
        Ok("sampled".to_owned())
    }
    let outside = Outside::default();
    let server = builder(&outside, &FixedClock::default())
        .tool(Tool::new("greet", greet))
        .tool(Tool::new("roots", roots))
        .tool(Tool::new("sample", sample))
        .prompt(Prompt::new("greet", greet))
        .build()
        .unwrap();
    let client = Legacy::declaring(&server, "2025-11-25", &json!({})).await;
    for (tool, lacks) in [("greet", "elicitation.form"), ("roots", "roots"), ("sample", "sampling")] {
        let mut call = client.call(tool, json!({})).await;
        let text = call.error_text().await;
        assert_eq!(text, format!("The client did not declare a capability that this request needs: {lacks}"));
    }
    let refused = client.begin("prompts/get", json!({ "name": "greet" })).await.response().await;
    assert_eq!(refused["error"]["code"], -32602);
    // An empty capability means forms.
    let client = Legacy::declaring(&server, "2025-11-25", &json!({ "elicitation": {} })).await;
    assert_eq!(client.call("greet", json!({})).await.question().await["method"], "elicitation/create");
}

#[tokio::test]
async fn roots_and_models_are_asked_too() {
    async fn capital(flow: Flow) -> Result<String, Failure> {
        let roots = flow.roots("roots").await?;
        let params = CreateMessageParams::new([SamplingMessage::user("The capital of France?")], 10_u64);
        let said = flow.sample("capital", params).await?;
        Ok(format!("{} {}", roots.len(), said.model))
    }
    for version in ["2025-11-25", "2025-06-18"] {
        let server = builder(&Outside::default(), &FixedClock::default()).tool(Tool::new("capital", capital));
        let client = Legacy::open(&server.build().unwrap(), version).await;
        let mut call = client.call("capital", json!({})).await;
        let asked = call.question().await;
        assert_eq!(asked["method"], "roots/list");
        client.answer(&asked, json!({ "roots": [{ "uri": "file:///home" }] })).await;
        let asked = call.question().await;
        assert_eq!((&asked["method"], &asked["params"]["maxTokens"]), (&json!("sampling/createMessage"), &json!(10)));
        assert_eq!(asked["params"]["messages"][0]["content"]["text"], "The capital of France?", "one block: {asked}");
        let said = json!({ "role": "assistant", "content": { "type": "text", "text": "Paris" }, "model": "m" });
        client.answer(&asked, said).await;
        assert_eq!(call.text().await, "1 m");
        let mut call = client.call("capital", json!({})).await;
        let asked = call.question().await;
        client.fail(&asked, -1, "no").await;
        assert_eq!(call.error_text().await, "`roots` was declined");
    }
}

#[derive(Deserialize, JsonSchema)]
struct Tags {
    #[expect(dead_code, reason = "it is never read")]
    tags: Vec<Tag>,
}

#[derive(Deserialize, JsonSchema)]
enum Tag {
    Red,
    Green,
}

#[tokio::test]
async fn a_form_that_the_revision_cannot_say_is_refused_and_the_field_named() {
    async fn tag(flow: Flow) -> Result<String, Failure> {
        let _: Tags = flow.elicit("tags", "Which?").await?;
        Ok("tagged".to_owned())
    }
    let server = builder(&Outside::default(), &FixedClock::default()).tool(Tool::new("tag", tag)).build().unwrap();
    let newer = Legacy::open(&server, "2025-11-25").await;
    assert_eq!(newer.call("tag", json!({})).await.question().await["method"], "elicitation/create");
    let older = Legacy::open(&server, "2025-06-18").await;
    let text = older.call("tag", json!({})).await.error_text().await;
    assert!(text.contains("`tags`") && text.contains("2025-06-18"), "{text}");
}

#[tokio::test]
async fn prompts_and_resources_ask_as_well() {
    let server = builder(&Outside::default(), &FixedClock::default())
        .prompt(Prompt::new("perhaps", perhaps))
        .resource(Resource::new("test://perhaps", "perhaps", perhaps))
        .build()
        .unwrap();
    let client = Legacy::open(&server, "2025-11-25").await;
    let requests =
        [("prompts/get", json!({ "name": "perhaps" })), ("resources/read", json!({ "uri": "test://perhaps" }))];
    for (method, params) in requests {
        let mut call = client.begin(method, params).await;
        let asked = call.question().await;
        client.accept(&asked, json!({ "name": "Ann" })).await;
        let response = call.response().await;
        assert!(response["result"].to_string().contains("Ann"), "{response}");
    }
}

#[tokio::test]
async fn answers_and_states_in_the_call_itself_mean_nothing() {
    let client = client_of(Tool::new("greet", greet), &Outside::default()).await;
    let answer = json!({ "one": { "action": "accept", "content": { "name": "Eve" } } });
    let params = json!({ "name": "greet", "arguments": {}, "inputResponses": answer, "requestState": "mrtr1.x.y" });
    let mut call = client.begin("tools/call", params).await;
    assert_eq!(call.question().await["params"]["message"], "Who are you?");
}

#[tokio::test]
async fn a_yield_point_records_and_goes_on() {
    async fn index(flow: Flow) -> Result<String, Failure> {
        flow.state::<Outside>().ran();
        for file in flow.resumed_from::<u32>().unwrap_or(0)..5 {
            flow.yield_point(&(file + 1)).await;
        }
        Ok("indexed".to_owned())
    }
    let outside = Outside::default();
    let server = builder(&outside, &FixedClock::default()).shedder(ShedAbove(0)).tool(Tool::new("index", index));
    let client = Legacy::open(&server.build().unwrap(), "2025-11-25").await;
    assert_eq!(client.call("index", json!({})).await.text().await, "indexed");
    assert_eq!(outside.runs(), 1, "it was not put down");
}

#[tokio::test]
async fn what_wants_to_become_a_task_is_refused_where_nothing_runs_tasks() {
    async fn long(flow: Flow) -> Result<String, Failure> {
        flow.into_task().await;
        Ok("done".to_owned())
    }
    let client = client_of(Tool::new("long", long), &Outside::default()).await;
    let text = client.call("long", json!({})).await.error_text().await;
    assert!(text.starts_with("The tool failed (reference "), "its author learns from the log what to do: {text}");
}

#[tokio::test]
async fn single_use_is_by_the_call() {
    let outside = Outside::default();
    let store = MemorySingleUse::new(std::time::SystemTime::UNIX_EPOCH.into());
    let client = client_of(Tool::new("greet", greet).single_use(store), &outside).await;
    let mut call = client.call("greet", json!({})).await;
    let asked = call.question().await;
    client.accept(&asked, json!({ "name": "Ann" })).await;
    client.accept(&asked, json!({ "name": "Eve" })).await;
    let asked = call.question().await;
    client.accept(&asked, json!({ "name": "Bob" })).await;
    client.accept(&asked, json!({ "name": "Eve" })).await;
    assert_eq!(call.text().await, "Ann and Bob");
    assert_eq!(outside.effects(), ["greet Ann", "greet Bob"]);
}

#[tokio::test]
async fn progress_and_logs_come_on_the_stream_of_the_call() {
    async fn work(flow: Flow) -> Result<String, Failure> {
        flow.progress(1, Some(2), "half").await;
        flow.log(LoggingLevel::Debug, "quietly").await;
        flow.log(LoggingLevel::Info, "said").await;
        flow.log(LoggingLevel::Error, "loudly").await;
        Ok("done".to_owned())
    }
    let client = client_of(Tool::new("work", work), &Outside::default()).await;
    let params = json!({ "name": "work", "_meta": { "progressToken": "t" } });
    let heard = async |client: &Legacy, params: Value| {
        let mut call = client.begin("tools/call", params).await;
        let mut heard = Vec::new();
        while let Some(message) = call.next().await {
            let what = message["method"].as_str().map_or_else(|| text(&message), ToOwned::to_owned);
            heard.push(format!("{what}{}", message["params"]["data"].as_str().unwrap_or_default()));
        }
        heard
    };
    let all = ["notifications/progress", "notifications/messagesaid", "notifications/messageloudly", "done"];
    assert_eq!(heard(&client, params).await, all);
    assert_eq!(client.request("logging/setLevel", json!({ "level": "error" })).await["result"], json!({}));
    let plain = json!({ "name": "work" });
    assert_eq!(heard(&client, plain).await, ["notifications/messageloudly", "done"]);
    let refused = client.request("logging/setLevel", json!({ "level": "loud" })).await;
    assert_eq!(refused["error"]["code"], -32602);
}
