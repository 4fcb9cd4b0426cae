//! The size of a journal, the progress of a flow, and the ids that stay the same.

use mrtr_schema::CallToolResult;
use mrtr_schema::roots::ListRootsRequest;
use mrtr_schema::sampling::{CreateMessageParams, SamplingMessage};
use mrtr_schema::tools::InputSchema;
use mrtr_server::flow::SamplingTools;
use mrtr_server::handler::IntoOutput;
use mrtr_server::testing::{Client, Conversation};
use mrtr_server::{Failure, Flow, InputRequired, Server, StatePolicy};
use mrtr_state::Sealer;
use serde_json::json;

use crate::support::{Age, Effects, Log, Name, begin, call, client, expect_internal, tool};

/// A server whose states have 8 KiB.
fn small<M>(handler: impl mrtr_server::handler::IntoHandler<M>) -> Client {
    let sealer = Sealer::this_process_only().limit(8 * 1024);
    Client::new(&Server::builder("test", "1").sealer(sealer).tool(tool(handler)).build().unwrap())
}

#[tokio::test]
async fn a_step_that_is_too_much_is_named() {
    let log = Log::start();
    let client = small(async |flow: Flow| {
        flow.step("little", async { Ok::<_, Failure>("x".repeat(100)) }).await?;
        let _ = flow.step("much", async { Ok::<_, Failure>("x".repeat(10_000)) }).await;
        Ok::<_, Failure>("swallowed")
    });
    expect_internal(&begin(&client).await, &log, "step `much`");
}

#[tokio::test]
async fn a_step_that_is_too_much_beside_an_answer_is_the_handlers_mistake() {
    let client = small(async |flow: Flow| {
        flow.elicit::<Name>("name", "Who?").await?;
        flow.step("much", async { Ok::<_, Failure>("x".repeat(3000)) }).await?;
        flow.elicit::<Age>("age", "How old?").await?;
        Ok::<_, Failure>("never")
    });
    let asked = begin(&client).await;
    let log = Log::start();
    let call = asked.accept("name", json!({ "name": "x".repeat(3000) })).send().await;
    expect_internal(&call, &log, "step `much`");
}

#[tokio::test]
async fn an_answer_that_is_too_much_beside_a_step_is_the_clients_mistake() {
    let client = small(async |flow: Flow| {
        flow.step("much", async { Ok::<_, Failure>("x".repeat(3000)) }).await?;
        flow.elicit::<Name>("name", "Who?").await?;
        flow.elicit::<Age>("age", "How old?").await?;
        Ok::<_, Failure>("never")
    });
    let asked = begin(&client).await;
    expect_too_much(&asked.clone().accept("name", json!({ "name": "x".repeat(3000) })).send().await, "name");
    asked.accept("name", json!({ "name": "Ada" })).send().await.expect_asked(&["age"]);
}

/// Makes sure that the client is told which of its answers was too much.
#[track_caller]
fn expect_too_much(call: &Conversation, key: &str) {
    let error = call.expect_error();
    assert_eq!(error.code.as_i64(), -32602, "{}", error.message);
    assert!(error.message.contains(&format!("the answer to `{key}`")), "{}", error.message);
    let data: serde_json::Value = error.data.expect("it names the key").to().unwrap();
    assert_eq!(data["key"], key);
}

/// Each way on from an answer that needs room in a state, with a state and without.
#[tokio::test]
async fn an_answer_that_is_too_much_is_the_clients_mistake_and_is_named_before_anything_happens() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct On {
        on: String,
    }
    let effects = Effects::default();
    let happened = effects.clone();
    let client = small(move |flow: Flow, On { on }: On| {
        let effects = effects.clone();
        async move {
            if on == "by hand" {
                let key = if flow.given("name").is_some() { "age" } else { "name" };
                return InputRequired::new().ask(key, ListRootsRequest::new()).into_output();
            }
            flow.elicit::<Name>("name", "Who?").await?;
            match on.as_str() {
                "question" => {
                    flow.elicit::<Age>("age", "How old?").await?;
                }
                "step" => drop(flow.step("pay", effects.work("paid")).await?),
                _ => effects.happen(flow.idempotency_key("pay").await),
            }
            IntoOutput::<CallToolResult>::into_output("done")
        }
    });
    let answer = json!({ "name": "x".repeat(10_000) });
    for on in ["question", "step", "key", "by hand"] {
        let asked = client.call_tool("tool", json!({ "on": on })).await;
        asked.expect_asked(&["name"]);
        expect_too_much(&asked.clone().accept("name", &answer).send().await, "name");
        expect_too_much(&asked.accept("name", &answer).send_carrying(None).await, "name");
    }
    assert_eq!(happened.all(), Vec::<String>::new());
}

/// The server refuses an answer that only just fits a state when it comes, and not a round later.
#[tokio::test]
async fn an_answer_that_leaves_no_room_for_the_rest_is_refused_at_once() {
    let client = small(async |flow: Flow| {
        flow.elicit::<Name>("name", "Who?").await?;
        flow.elicit::<Age>("age", "How old?").await?;
        Ok::<_, Failure>(flow.step("keep", async { Ok::<_, Failure>("kept".to_owned()) }).await?)
    });
    let asked = begin(&client).await;
    let large = asked.clone().accept("name", json!({ "name": "x".repeat(4000) }));
    expect_too_much(&large.clone().send().await, "name");
    expect_too_much(&large.send_carrying(None).await, "name");
    let asked = asked.accept("name", json!({ "name": "x".repeat(3600) })).send().await;
    asked.expect_asked(&["age"]);
    assert_eq!(asked.accept("age", json!({ "years": 36 })).send().await.expect_text(), "kept");
}

#[tokio::test]
async fn of_several_answers_the_one_that_was_too_much_is_named() {
    async fn handler(flow: Flow) -> Result<String, Failure> {
        let asks = (flow.elicit::<Name>("one", "Who?"), flow.elicit::<Name>("two", "And who?"));
        flow.join(asks).await?;
        flow.step("keep", async { Ok::<_, Failure>("x".repeat(500)) }).await?;
        flow.elicit::<Name>("three", "And who else?").await?;
        Ok(format!("{}", flow.elicit::<Age>("age", "How old?").await?.years))
    }
    let (half, little) = (json!({ "name": "x".repeat(3000) }), json!({ "name": "Ada" }));
    let asked = begin(&small(handler)).await;
    let both = asked.clone().accept("two", &half).accept("one", &half);
    expect_too_much(&both.clone().send().await, "two");
    expect_too_much(&both.send_carrying(None).await, "two");
    let asked = asked.accept("one", &half).accept("two", &little).send().await;
    asked.expect_asked(&["three"]);
    expect_too_much(&asked.clone().accept("three", &half).send().await, "three");
    let asked = asked.accept("three", &little).send().await;
    asked.expect_asked(&["age"]);
    assert_eq!(asked.accept("age", json!({ "years": 36 })).send().await.expect_text(), "36");
}

#[tokio::test]
async fn what_is_carried_by_hand_beside_an_answer_is_the_handlers_to_bound() {
    for (carried, answered, largest) in [(5000, 1000, "the state carried by hand"), (2000, 4500, "answer `name`")] {
        let client = small(move |flow: Flow| async move {
            let key = if flow.given("name").is_some() { "age" } else { "name" };
            Ok::<_, Failure>(InputRequired::new().ask(key, ListRootsRequest::new()).carry(&"x".repeat(carried))?)
        });
        let asked = begin(&client).await.accept("name", json!({ "name": "x".repeat(answered) }));
        let log = Log::start();
        expect_internal(&asked.send().await, &log, &format!("{largest} takes"));
    }
}

#[tokio::test]
async fn what_takes_most_room_beside_what_is_carried_by_hand_is_named() {
    for (how, largest) in [("step", "step `much`"), ("yield", "the progress")] {
        let client = small(move |flow: Flow| async move {
            let much = "x".repeat(3500);
            match how {
                "step" => drop(flow.step("much", async { Ok::<_, Failure>(much) }).await?),
                _ => flow.yield_point(&much).await,
            }
            Ok::<_, Failure>(InputRequired::new().carry(&"x".repeat(3000))?)
        });
        let log = Log::start();
        expect_internal(&begin(&client).await, &log, &format!("{largest} takes"));
    }
}

/// A task has room of its own. On the way there, answers that came without a state need one.
#[tokio::test]
async fn what_is_too_much_for_a_state_may_go_on_as_a_task() {
    let client = small(async |flow: Flow| {
        flow.elicit::<Name>("name", "Who?").await?;
        flow.into_task().await;
        Ok::<_, Failure>("never")
    });
    let asked = begin(&client).await.accept("name", json!({ "name": "x".repeat(10_000) }));
    let log = Log::start();
    expect_internal(&asked.clone().send().await, &log, "nothing on the server runs tasks");
    expect_too_much(&asked.send_carrying(None).await, "name");
}

/// Nothing has to be carried after the last answer, so it may be an image.
#[tokio::test]
async fn a_last_answer_may_be_larger_than_any_state() {
    let handler = async |flow: Flow| Ok::<_, Failure>(flow.elicit::<Name>("name", "Who?").await?.name);
    let large = "x".repeat(10_000);
    let asked = begin(&small(handler)).await.accept("name", json!({ "name": large }));
    assert_eq!(asked.clone().send().await.expect_text(), large);
    assert_eq!(asked.send_carrying(None).await.expect_text(), large);
}

#[tokio::test]
async fn progress_that_is_too_much_is_named() {
    let log = Log::start();
    let client = small(async |flow: Flow| {
        flow.yield_point(&"x".repeat(10_000)).await;
        Ok::<_, Failure>("swallowed")
    });
    expect_internal(&begin(&client).await, &log, "`progress`");
}

#[tokio::test]
async fn what_is_replaced_takes_no_room() {
    let client = small(async |flow: Flow| {
        for page in 0..1000 {
            flow.yield_point(&format!("page {page}")).await;
        }
        let wrong = |name: &Name| if name.name.len() > 3 { Err("too long") } else { Ok(()) };
        Ok::<_, Failure>(flow.elicit::<Name>("name", "Who?").validate(wrong).await?.name)
    });
    let mut call = begin(&client).await;
    for _ in 0..10 {
        call = call.accept("name", json!({ "name": "x".repeat(3000) })).send().await;
        call.expect_asked(&["name"]);
    }
    assert_eq!(call.accept("name", json!({ "name": "Ada" })).send().await.expect_text(), "Ada");
}

#[tokio::test]
async fn a_flow_resumes_from_its_last_yield_point() {
    let seen = Effects::default();
    let starts = seen.clone();
    let call = call(move |flow: Flow| {
        let seen = seen.clone();
        async move {
            let start: u32 = flow.resumed_from().unwrap_or(0);
            seen.happen(start.to_string());
            for page in start..start + 3 {
                flow.yield_point(&(page + 1)).await;
            }
            assert_eq!(flow.resumed_from::<u32>().unwrap_or(0), start, "an earlier run's, not this one's");
            assert_eq!(flow.resumed_from::<Vec<String>>(), None, "what does not fit is none");
            flow.elicit::<Name>("name", "Who?").await?;
            Ok::<_, Failure>("done")
        }
    })
    .await;
    let call = call.send().await;
    call.expect_asked(&["name"]);
    assert_eq!(call.accept("name", json!({ "name": "Ada" })).send().await.expect_text(), "done");
    assert_eq!(starts.all(), ["0", "3", "6"]);
}

/// A flow that tells its keys and ids in every run.
fn telling() -> (Client, Effects) {
    let told = Effects::default();
    let seen = told.clone();
    let client = client(move |flow: Flow| {
        let told = seen.clone();
        async move {
            told.happen(flow.idempotency_key("charge").await);
            told.happen(flow.idempotency_key("refund").await);
            told.happen(flow.interaction_id("visit"));
            told.happen(flow.interaction_id("other"));
            told.happen(flow.scope("s").interaction_id("visit"));
            flow.elicit::<Name>("name", "Who?").await?;
            Ok::<_, Failure>("done")
        }
    });
    (client, told)
}

#[tokio::test]
async fn keys_and_ids_are_the_same_in_every_round_and_nowhere_else() {
    let (client, told) = telling();
    let call = begin(&client).await.send().await;
    call.accept("name", json!({ "name": "Ada" })).send().await.expect_text();
    begin(&client).await.expect_asked(&["name"]);
    let all = told.all();
    let (rounds, other) = all.split_at(15);
    assert_eq!(rounds[..5], rounds[5..10]);
    assert_eq!(rounds[..5], rounds[10..]);
    let mut different: Vec<_> = rounds[..5].iter().chain(other).collect();
    different.sort();
    different.dedup();
    assert_eq!(different.len(), 10, "{different:?}");
    assert!(different.iter().all(|id| id.len() == 32), "{different:?}");
}

#[tokio::test]
async fn a_flow_knows_who_asks_and_in_which_round() {
    let tool = tool(async |flow: Flow| {
        let before = (flow.round(), flow.principal().map(|caller| caller.subject().to_owned()), flow.revision());
        flow.elicit::<Name>("name", "Who?").await?;
        assert!(flow.capabilities().elicits_forms());
        Ok::<_, Failure>(format!("{before:?}"))
    });
    let server = Server::builder("test", "1").tool(tool.state_policy(StatePolicy::Always)).build().unwrap();
    let ann = Client::new(&server).calling_as(mrtr_server::Caller::new("https://id.example.com", "ann"));
    let call = begin(&ann).await.accept("name", json!({ "name": "Ada" }));
    let stolen = call.clone().as_client(&Client::new(&server)).send().await;
    assert_eq!(stolen.expect_error().code.as_i64(), -32602);
    assert_eq!(call.send().await.expect_text(), "(2, Some(\"ann\"), V2026_07_28)");
}

#[tokio::test]
async fn a_key_tells_scopes_and_names_apart_wherever_the_slash_is() {
    let call = call(async |flow: Flow| {
        let keys = [
            flow.scope("a").idempotency_key("b/c").await,
            flow.scope("a/b").idempotency_key("c").await,
            flow.scope("a").scope("b").idempotency_key("c").await,
            flow.idempotency_key("a/b/c").await,
            flow.scope("1:a").idempotency_key("b").await,
            flow.scope("").idempotency_key("b").await,
            flow.idempotency_key("/b").await,
        ];
        let ids = [flow.scope("a").interaction_id("b/c"), flow.scope("a/b").interaction_id("c")];
        let different: std::collections::HashSet<_> = keys.iter().chain(&ids).collect();
        Ok::<_, Failure>(different.len().to_string())
    });
    assert_eq!(call.await.expect_text(), "9");
}

#[tokio::test]
async fn a_question_is_told_apart_wherever_the_slash_is() {
    async fn handler(flow: Flow) -> Result<String, Failure> {
        let (a, ab, nested) = (flow.scope("a"), flow.scope("a/b"), flow.scope("a"));
        let nested = nested.scope("b");
        let asked = (
            a.elicit::<Name>("b/c", "1?"),
            ab.elicit::<Name>("c", "1?"),
            nested.elicit::<Name>("c", "1?"),
            flow.elicit::<Name>("a/b/c", "1?"),
            flow.elicit::<Name>("plain", "1?"),
        );
        flow.join(asked).await?;
        Ok("asked".into())
    }
    let call = call(handler).await;
    let asked: std::collections::HashSet<_> = call.asked().into_iter().collect();
    assert_eq!(asked.len(), 5, "{asked:?}");
    let same: Vec<_> = asked.iter().filter(|key| ["plain", "a/b/c"].contains(&key.as_str())).collect();
    assert_eq!(same.len(), 2, "names without a slash are what they were: {asked:?}");
}

/// A step that an older version recorded under a name with a slash is not done again.
#[tokio::test]
async fn a_step_that_an_older_version_recorded_is_found_wherever_the_slash_is() {
    use mrtr_flow::{Journal, Outcome, RunContext, run};
    // As `docs/STATE_FORMAT.md` writes an outcome: length, kind, length of the name, name, JSON.
    let recorded = |name: &str| {
        let length = u8::try_from(2 + name.len() + 1).unwrap();
        let kind = mrtr_flow::EntryKind::StepFinished as u8;
        [&[length, kind, u8::try_from(name.len()).unwrap()], name.as_bytes(), b"7"].concat()
    };
    let journal = Journal::from_bytes([recorded("files/a"), recorded("0/files/b")].concat()).unwrap();
    let handler = async |flow: Flow| {
        let one: u8 = flow.step("files/a", async { Ok::<_, Failure>(1) }).await?;
        let two: u8 = flow.scope(0).step("files/b", async { Ok::<_, Failure>(1) }).await?;
        let other: u8 = flow.scope("files").step("c", async { Ok::<_, Failure>(1) }).await?;
        Ok::<_, Failure>([one, two, other])
    };
    let ran = run(handler, journal, RunContext::for_tests()).await;
    assert!(matches!(ran.outcome, Outcome::Done([7, 7, 1])), "{ran:?}");
}

/// A type that looks closer than its form, and quotes what it read.
#[derive(serde::Deserialize)]
#[serde(try_from = "Name")]
struct Even(String);

impl TryFrom<Name> for Even {
    type Error = String;

    fn try_from(Name { name }: Name) -> Result<Self, String> {
        if name.len() % 2 == 0 { Ok(Self(name)) } else { Err(format!("{name} is odd")) }
    }
}

impl schemars::JsonSchema for Even {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Even".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Name::json_schema(generator)
    }
}

#[tokio::test]
async fn a_question_that_is_put_again_does_not_repeat_all_that_was_answered() {
    let client = client(async |flow: Flow| Ok::<_, Failure>(flow.elicit::<Even>("name", "Who?").await?.0));
    let asked = begin(&client).await.accept("name", json!({ "name": "x".repeat(20_001) })).send().await;
    asked.expect_asked(&["name"]);
    let again = serde_json::to_value(asked.question("name").unwrap()).unwrap();
    let message = again["params"]["message"].as_str().unwrap();
    assert!(message.contains("xxxx") && message.ends_with('…') && message.len() < 1100, "{} bytes", message.len());
    assert_eq!(asked.accept("name", json!({ "name": "Adam" })).send().await.expect_text(), "Adam");
}

#[tokio::test]
async fn what_a_handler_quotes_of_the_client_is_cut_in_the_log() {
    let log = Log::start();
    let fails = client(async |_: Flow, Name { name }: Name| Err::<String, Failure>(format!("no table {name}").into()));
    let dropped = client(async |flow: Flow, Name { name }: Name| {
        tokio::select! {
            biased;
            _ = flow.elicit::<Age>("age", "How old?") => Ok::<_, Failure>("never"),
            () = std::future::ready(()) => panic!("no table {name}"),
        }
    });
    let by_model = client(async |flow: Flow, Name { name }: Name| {
        let schema = InputSchema::parse(r#"{"type": "object"}"#)?;
        let failing = async |_| Err(format!("no table {name}").into());
        let tools = SamplingTools::new().tool(mrtr_schema::Tool::new("table", schema), failing);
        let question = CreateMessageParams::new([SamplingMessage::user("Which table?")], 100_u64);
        Ok::<_, Failure>(flow.sample_with_tools("ask", question, &tools).await?.text().unwrap_or_default())
    });
    let argument = json!({ "name": "x".repeat(100_000) });
    fails.call_tool("tool", argument.clone()).await.expect_tool_error();
    dropped.call_tool("tool", argument.clone()).await.expect_asked(&["age"]);
    let using = json!({ "type": "tool_use", "id": "1", "name": "table", "input": {} });
    let turn = json!({ "role": "assistant", "model": "m", "stopReason": "toolUse", "content": [using] });
    by_model.call_tool("tool", argument).await.answer_raw("ask.1", turn).send().await.expect_asked(&["ask.2"]);
    let log = log.text();
    assert_eq!(log.lines().filter(|line| line.contains("no table xxxx")).count(), 3, "{} bytes", log.len());
    assert!(log.lines().all(|line| line.len() < 4096), "{} bytes", log.len());
}
