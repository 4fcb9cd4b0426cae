//! The clauses of the stateless workflow, one after the other.

use std::time::Duration;

use mrtr_schema::prompts::PromptArgument;
use mrtr_schema::roots::ListRootsResult;
use mrtr_schema::sampling::{CreateMessageParams, SamplingMessage, ToolChoice};
use mrtr_schema::tools::InputSchema;
use mrtr_schema::{InputRequest, LoggingLevel, RawMembers, RequestState, Revision};
use mrtr_server::testing::{Conversation, FixedClock};
use mrtr_server::{Caller, Failure, Flow, FlowError, Prompt, Resource, Server, StatePolicy, Tool};
use mrtr_state::{Binding, Key, KeyRing, MemorySingleUse, Payload, PayloadError, Sealer};
use serde_json::{Value, json};

use crate::support::{Name, builder, client, client_declaring, greet, name, serve, three_names};

/// A server that asks wherever one might.
fn asks_everywhere() -> Server {
    builder()
        .tool(Tool::new("tool", greet))
        .prompt(
            Prompt::new("prompt", greet)
                .define(|prompt| prompt.arguments = Some(vec![PromptArgument::new("who")]))
                .complete("who", async |flow: Flow, _| greet(flow).await.map(|who| vec![who])),
        )
        .resource(Resource::new("test://resource", "resource", greet))
        .build()
        .unwrap()
}

fn completion_of_who() -> Value {
    json!({ "ref": { "type": "ref/prompt", "name": "prompt" }, "argument": { "name": "who", "value": "" } })
}

#[tokio::test]
async fn sv_1_interim_results_come_on_the_methods_of_the_revision_and_nowhere_else() {
    let asking = [
        ("tools/call", json!({ "name": "tool" })),
        ("prompts/get", json!({ "name": "prompt" })),
        ("resources/read", json!({ "uri": "test://resource" })),
    ];
    for revision in Revision::MODERN {
        let client = client(&asks_everywhere()).speaking(revision);
        for (method, params) in &asking {
            client.request(method, params.clone()).await.expect_asked(&["who"]);
        }
        for method in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
            assert!(client.request(method, json!({})).await.interim().is_none(), "{method}");
        }
        let completing = client.request("completion/complete", completion_of_who()).await;
        if revision == Revision::Draft202602 {
            completing.expect_asked(&["who"]);
        } else {
            assert_eq!(completing.expect_error().code.as_i64(), -32603);
        }
    }
}

#[tokio::test]
async fn sv_2_an_interim_result_is_the_last_message_of_its_stream() {
    let server = serve(async |flow: Flow| {
        flow.log(LoggingLevel::Info, "looking").await;
        greet(flow).await
    });
    let call = client(&server).hearing_logs(LoggingLevel::Debug).call_tool("tool", json!({})).await;
    assert_eq!(call.notifications().len(), 1);
    call.expect_asked(&["who"]);
    let call = call.accept("who", name("Ada")).send().await;
    assert_eq!((call.notifications().len(), call.expect_text().as_str()), (1, "Hello, Ada"));
}

#[tokio::test]
async fn sv_3_every_round_may_land_on_an_instance_that_knows_nothing() {
    let instance = || serve(async |flow: Flow| three_names(&flow).await);
    let mut call = client(&instance()).call_tool("tool", json!({})).await;
    for (key, answer) in [("first", "Ada"), ("second", "Grace"), ("third", "Edsger")] {
        call.expect_asked(&[key]);
        call = call.accept(key, name(answer)).at(&instance()).send().await;
    }
    assert_eq!(call.expect_text(), "Ada, Grace, Edsger");
}

#[tokio::test]
async fn sv_4_keys_are_unique_and_every_question_is_of_a_known_kind() {
    let server = serve(async |flow: Flow| {
        let sample = CreateMessageParams::new([SamplingMessage::user("Who is it?")], 100_u64);
        let asks = (flow.elicit::<Name>("form", "Who?"), flow.sample("model", sample), flow.roots("roots"));
        flow.join(asks).await?;
        Ok::<_, Failure>("never")
    });
    let asked = client(&server).call_tool("tool", json!({})).await;
    asked.expect_asked(&["form", "model", "roots"]);
    assert!(matches!(asked.question("form"), Some(InputRequest::Elicit(_))));
    assert!(matches!(asked.question("model"), Some(InputRequest::Sample(_))));
    assert!(matches!(asked.question("roots"), Some(InputRequest::Roots(_))));

    let twice = serve(async |flow: Flow| {
        let asks = (flow.elicit::<Name>("who", "Who?"), flow.elicit::<Name>("who", "Who else?"));
        flow.join(asks).await?;
        Ok::<_, Failure>("never")
    });
    assert!(client(&twice).call_tool("tool", json!({})).await.expect_tool_error().contains("reference"));
}

#[tokio::test]
async fn sv_5_a_state_that_was_touched_is_refused_with_one_message_for_every_reason() {
    let server = serve(greet);
    let asked = client(&server).call_tool("tool", json!({})).await;
    let state = asked.state().unwrap().to_owned();
    let mut messages = Vec::new();
    for touched in [format!("{state}-TAMPERED"), state[1..].to_owned(), state.to_uppercase(), "v1".into(), "é".into()]
    {
        let refused = asked.clone().accept("who", name("Ada")).send_carrying(Some(&touched)).await.expect_error();
        assert_eq!(refused.code.as_i64(), -32602);
        messages.push(refused.message);
    }
    let elsewhere = client(&server).calling_as(Caller::new("issuer", "eve"));
    let refused = asked.as_client(&elsewhere).accept("who", name("Ada")).send_carrying(Some(&state)).await;
    messages.push(refused.expect_error().message);
    messages.dedup();
    assert_eq!(messages.len(), 1, "{messages:?}");
}

#[tokio::test]
async fn sv_6_a_state_is_bound_to_its_principal_its_time_and_its_request() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Any {}
    let clock = FixedClock::default();
    let handler = async |flow: Flow, Any {}: Any| greet(flow).await;
    let server = builder()
        .clock(clock.clone())
        .tool(Tool::new("tool", handler))
        .tool(Tool::new("other", handler))
        .prompt(Prompt::new("tool", greet))
        .build()
        .unwrap();
    let ann = client(&server).calling_as(Caller::new("issuer", "ann"));
    let begin = async || ann.call_tool("tool", json!({ "of": 1 })).await.accept("who", name("Ada"));
    let refused = |call: Conversation| assert_eq!(call.expect_error().code.as_i64(), -32602);

    assert_eq!(begin().await.send().await.expect_text(), "Hello, Ada");
    refused(begin().await.as_client(&client(&server).calling_as(Caller::new("issuer", "bob"))).send().await);
    refused(begin().await.as_client(&client(&server)).send().await);
    refused(begin().await.with_params(|params| params["arguments"] = json!({ "of": 2 })).send().await);
    refused(begin().await.with_params(|params| params["name"] = json!("other")).send().await);
    let state = begin().await.state().unwrap().to_owned();
    refused(ann.request("prompts/get", json!({ "name": "tool", "requestState": state })).await);
    refused(begin().await.as_client(&ann.clone().speaking(Revision::Sep2322)).send().await);
    let late = begin().await;
    clock.advance(Duration::from_hours(2));
    refused(late.send().await);
}

#[tokio::test]
async fn sv_6_a_state_is_bound_to_its_tenant_its_deployment_and_its_kind() {
    let keys = || KeyRing::new(Key::new("shared", [3; 32]).unwrap());
    let sealer = |audience| Sealer::new(keys(), audience).unwrap();
    let clock = FixedClock::default();
    let serve = |audience| {
        let server = Server::builder("tracker", "1").sealer(sealer(audience)).clock(clock.clone());
        server.tool(Tool::new("tool", greet)).build().unwrap()
    };
    let (ours, elsewhere) = (serve("tracker-eu"), serve("tracker-us"));
    let of = |tenant: &str| client(&ours).in_context(|context| context.tenant(tenant));
    let begin = async || of("acme").call_tool("tool", json!({})).await.accept("who", name("Ada"));
    let refused = |call: Conversation| assert_eq!(call.expect_error().code.as_i64(), -32602);

    assert_eq!(begin().await.send().await.expect_text(), "Hello, Ada");
    refused(begin().await.as_client(&of("other")).send().await);
    refused(begin().await.as_client(&client(&ours)).send().await);
    let without = client(&ours).call_tool("tool", json!({})).await.accept("who", name("Ada"));
    refused(without.as_client(&of("acme")).send().await);

    refused(begin().await.at(&elsewhere).send().await);

    let params = RawMembers::parse(r#"{ "name": "tool", "arguments": {} }"#).unwrap();
    let binding = Binding::new(Revision::V2026_07_28, "tools/call", &params).unwrap().tenant("acme");
    let (sealer, now) = (sealer("tracker-eu"), mrtr_flow::Clock::now(&clock));
    let state = RequestState::new(begin().await.state().unwrap());
    let Flows(bytes) = sealer.open(&state, &binding, now).unwrap().into_payload();
    let own = sealer.seal(&Flows(bytes.clone()), &binding, now).unwrap();
    assert_eq!(begin().await.send_carrying(Some(own.untrusted_text())).await.expect_text(), "Hello, Ada");
    let foreign = sealer.seal(&Foreign(bytes), &binding, now).unwrap();
    refused(begin().await.send_carrying(Some(foreign.untrusted_text())).await);
}

/// Bytes as they are, under the name of this kind of payload.
macro_rules! payload {
    ($name:ident, $kind:literal) => {
        struct $name(Vec<u8>);

        impl Payload for $name {
            const KIND: &'static str = $kind;

            fn write(&self, out: &mut Vec<u8>) -> Result<(), PayloadError> {
                out.extend_from_slice(&self.0);
                Ok(())
            }

            fn read(bytes: &[u8]) -> Result<Self, PayloadError> {
                Ok(Self(bytes.to_vec()))
            }
        }
    };
}
payload!(Flows, "mrtr");
payload!(Foreign, "com.example/foreign");

#[tokio::test]
async fn sv_7_a_state_that_may_be_used_once_is_used_once() {
    let clock = FixedClock::default();
    let guard = MemorySingleUse::new(mrtr_flow::Clock::now(&clock));
    clock.advance(Duration::from_secs(1));
    let tool = Tool::new("tool", greet).single_use(guard);
    let server = builder().clock(clock).tool(tool).build().unwrap();
    let asked = client(&server).call_tool("tool", json!({})).await;
    assert_eq!(asked.clone().accept("who", name("Ada")).send().await.expect_text(), "Hello, Ada");
    assert_eq!(asked.clone().accept("who", name("Ada")).send().await.expect_text(), "Hello, Ada");
    assert_eq!(asked.accept("who", name("Eve")).send().await.expect_error().code.as_i64(), -32602);
}

#[tokio::test]
async fn sv_8_a_client_is_asked_only_what_it_declared() {
    let cases = [
        ("form", json!({ "elicitation": {} }), true),
        ("form", json!({ "elicitation": { "form": {} } }), true),
        ("form", json!({ "elicitation": { "url": {} } }), false),
        ("form", json!({ "sampling": {}, "roots": {} }), false),
        ("url", json!({ "elicitation": { "url": {} } }), true),
        ("url", json!({ "elicitation": {} }), false),
        ("sample", json!({ "sampling": {} }), true),
        ("sample", json!({ "elicitation": {} }), false),
        ("tools", json!({ "sampling": { "tools": {} } }), true),
        ("tools", json!({ "sampling": {} }), false),
        ("tools", json!({ "sampling": { "context": {} } }), false),
        ("tool choice", json!({ "sampling": { "tools": {} } }), true),
        ("tool choice", json!({ "sampling": {} }), false),
        ("tool choice", json!({ "sampling": { "context": {} } }), false),
        ("roots", json!({ "roots": {} }), true),
        ("roots", json!({}), false),
    ];
    let server = serve(async |flow: Flow, kind: Kind| {
        let sample = CreateMessageParams::new([SamplingMessage::user("Well?")], 100_u64);
        match kind.kind.as_str() {
            "form" => drop(flow.elicit::<Name>("question", "Who?").await?),
            "url" => flow.elicit_url("question", "Please go there", "https://example.com/there").await?,
            "sample" => drop(flow.sample("question", sample).await?),
            "roots" => drop(flow.roots("question").await?),
            "tool choice" => {
                let mut sample = sample;
                sample.tool_choice = Some(ToolChoice::new());
                drop(flow.sample("question", sample).await?);
            }
            _ => {
                let mut sample = sample;
                let weather = mrtr_schema::Tool::new("weather", InputSchema::parse(r#"{"type": "object"}"#)?);
                sample.tools = Some(vec![weather]);
                drop(flow.sample("question", sample).await?);
            }
        }
        Ok::<_, Failure>("done")
    });
    for (kind, declared, may) in cases {
        let call = client_declaring(&server, &declared).call_tool("tool", json!({ "kind": kind })).await;
        if may {
            assert_eq!(call.asked().len(), 1, "{kind} of {declared}: {}", call.response());
        } else {
            let error = call.expect_error();
            assert_eq!(error.code.as_i64(), -32021, "{kind} of {declared}");
            let data: Value = error.data.unwrap().to().unwrap();
            let sampling = &data["requiredCapabilities"]["sampling"];
            assert_eq!(sampling["tools"].is_object(), kind.starts_with("tool"), "{kind} of {declared}: {data}");
        }
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Kind {
    kind: String,
}

#[tokio::test]
async fn sv_8_capabilities_are_those_of_this_very_request() {
    let server = serve(greet);
    let asked = client(&server).call_tool("tool", json!({})).await;
    let mute = client_declaring(&server, &json!({}));
    assert_eq!(asked.clone().as_client(&mute).send().await.expect_error().code.as_i64(), -32021);
    // An answer that came all the same is an answer.
    assert_eq!(asked.as_client(&mute).accept("who", name("Ada")).send().await.expect_text(), "Hello, Ada");
}

#[tokio::test]
async fn sv_9_a_client_that_never_answers_is_asked_again_until_the_flow_is_too_old() {
    let mut call = client(&serve(greet)).call_tool("tool", json!({})).await;
    for _ in 0..31 {
        call.expect_asked(&["who"]);
        call = call.send().await;
    }
    call.expect_asked(&["who"]);
    assert!(call.send().await.expect_tool_error().contains("too long"));
}

#[tokio::test]
async fn sv_9_a_prompt_or_resource_that_is_never_answered_ends_with_an_error_that_is_not_the_servers() {
    let server = asks_everywhere();
    let begun = [("prompts/get", json!({ "name": "prompt" })), ("resources/read", json!({ "uri": "test://resource" }))];
    for (method, params) in begun {
        let mut call = client(&server).request(method, params).await;
        for _ in 0..31 {
            call = call.send().await;
        }
        call.expect_asked(&["who"]);
        let error = call.send().await.expect_error();
        assert_eq!(error.code.as_i64(), -2, "{method}");
        assert!(error.message.contains("too long") && error.message.contains("make it again"), "{}", error.message);
    }
}

#[tokio::test]
async fn sv_10_malformed_answers_are_an_error_and_change_nothing() {
    let asked = client(&serve(greet)).call_tool("tool", json!({})).await;
    let malformed = [
        json!(null),
        json!([]),
        json!("Ada"),
        json!(1),
        json!({ "who": null }),
        json!({ "who": "Ada" }),
        json!({ "who": [] }),
        json!({ "stranger": 1 }),
    ];
    for answers in malformed {
        let state = asked.state().unwrap().to_owned();
        let params = json!({ "name": "tool", "arguments": {}, "inputResponses": answers, "requestState": state });
        let error = client(&serve(greet)).request("tools/call", params).await.expect_error();
        assert_eq!(error.code.as_i64(), -32602, "{answers}");
    }
    assert_eq!(asked.accept("who", name("Ada")).send().await.expect_text(), "Hello, Ada");
}

#[tokio::test]
async fn sv_11_unexpected_keys_are_ignored() {
    for policy in [StatePolicy::Always, StatePolicy::WhenNeeded] {
        let server = builder().tool(Tool::new("tool", greet).state_policy(policy)).build().unwrap();
        let asked = client(&server).call_tool("tool", json!({})).await;
        let call = asked.accept("who", name("Ada")).accept("stranger", name("Eve")).answer_raw("", json!({})).send();
        assert_eq!(call.await.expect_text(), "Hello, Ada");
    }
}

/// This answer would count if it did not have to be asked for.
#[tokio::test]
async fn sv_11_an_answer_to_what_the_state_does_not_ask_counts_for_nothing() {
    let server = serve(async |flow: Flow| three_names(&flow).await);
    let asked = client(&server).call_tool("tool", json!({})).await;
    asked.expect_asked(&["first"]);
    let asked = asked.accept("first", name("Ada")).accept("second", name("Eve")).send().await;
    asked.expect_asked(&["second"]);
    let asked = asked.accept("first", name("Eve")).accept("second", name("Grace")).decline("third").send().await;
    asked.expect_asked(&["third"]);
    assert_eq!(asked.accept("third", name("Edsger")).send().await.expect_text(), "Ada, Grace, Edsger");
}

/// Three questions with a step between them, so that answers, a state and what was recorded all have to be carried.
async fn three_names_and_a_step(flow: Flow) -> Result<String, Failure> {
    let first = flow.elicit::<Name>("first", "The first name?").await?.name;
    let greeting = flow.step("greet", async { Ok::<_, Failure>(format!("Hello, {first}")) }).await?;
    let second = flow.elicit::<Name>("second", "The second name?").await?.name;
    Ok(format!("{greeting} and {second}"))
}

#[tokio::test]
async fn sv_11_answers_that_were_not_asked_for_take_no_room() {
    let large = json!({ "action": "accept", "content": { "name": "x".repeat(100_000) } });
    let small = json!({ "action": "accept", "content": { "name": "x".repeat(1000) } });
    let many: serde_json::Map<_, _> = (0..100).map(|number| (format!("stranger {number}"), small.clone())).collect();
    let unasked = [json!({ "stranger": large }), json!({ "x".repeat(100_000): {} }), Value::Object(many)];
    for policy in [StatePolicy::Always, StatePolicy::WhenNeeded] {
        let tool = Tool::new("tool", three_names_and_a_step).state_policy(policy);
        let asks_nothing = async |flow: Flow| flow.step("work", async { Ok::<_, Failure>("done".to_owned()) }).await;
        let asks_nothing = Tool::new("asks nothing", asks_nothing).state_policy(policy);
        let server = builder().tool(tool).tool(asks_nothing).build().unwrap();
        for unasked in &unasked {
            let call = json!({ "name": "asks nothing", "arguments": {}, "inputResponses": unasked });
            assert_eq!(client(&server).request("tools/call", call).await.expect_text(), "done");
            let with = |answers: Value| {
                let mut all = unasked.clone();
                all.as_object_mut().unwrap().extend(answers.as_object().unwrap().clone());
                all
            };
            let begin = json!({ "name": "tool", "arguments": {}, "inputResponses": unasked });
            client(&server).request("tools/call", begin).await.expect_asked(&["first"]);
            let ada = json!({ "first": { "action": "accept", "content": { "name": "Ada" } } });
            let begin = json!({ "name": "tool", "arguments": {}, "inputResponses": with(ada) });
            let carried = client(&server).request("tools/call", begin).await;
            assert!(carried.asked().is_empty() && carried.state().is_some(), "{}", carried.response());
            let asked = carried.send().await;
            asked.expect_asked(&["second"]);
            let answer = json!({ "second": { "action": "accept", "content": { "name": "Grace" } } });
            let mut answered = asked;
            for (key, answer) in with(answer).as_object().unwrap() {
                answered = answered.answer_raw(key, answer.clone());
            }
            assert_eq!(answered.send().await.expect_text(), "Hello, Ada and Grace");
        }
    }
}

#[tokio::test]
async fn sv_11_missing_answers_are_asked_for_again() {
    let server = serve(async |flow: Flow| {
        let (who, roots) = flow.join((flow.elicit::<Name>("who", "Who?"), flow.roots("roots"))).await?;
        Ok::<_, FlowError>(format!("{} and {} roots", who.name, roots.len()))
    });
    let asked = client(&server).call_tool("tool", json!({})).await;
    let asked = asked.accept("wrong_key", name("Ada")).send().await;
    asked.expect_asked(&["who", "roots"]);
    let asked = asked.accept("who", name("Ada")).send().await;
    asked.expect_asked(&["roots"]);
    let done = asked.answer("roots", &ListRootsResult::new([])).send().await;
    assert_eq!(done.expect_text(), "Ada and 0 roots");
}

#[tokio::test]
async fn sv_12_an_answer_that_the_new_version_no_longer_asks_for_is_no_hindrance() {
    let old = serve(async |flow: Flow| {
        let asks = (flow.elicit::<Name>("github", "GitHub?"), flow.elicit::<Name>("google", "Google?"));
        flow.join(asks).await?;
        Ok::<_, FlowError>("old".to_owned())
    });
    let new = serve(async |flow: Flow| {
        let asks = (flow.elicit::<Name>("github", "GitHub?"), flow.elicit::<Name>("microsoft", "Microsoft?"));
        let (github, microsoft) = flow.join(asks).await?;
        Ok::<_, FlowError>(format!("{} {}", github.name, microsoft.name))
    });
    let asked = client(&old).call_tool("tool", json!({})).await.accept("github", name("octo"));
    let asked = asked.accept("google", name("o@gmail")).at(&new).send().await;
    asked.expect_asked(&["microsoft"]);
    assert_eq!(asked.accept("microsoft", name("o@live")).send().await.expect_text(), "octo o@live");
}

#[tokio::test]
async fn sv_12_an_answer_that_came_before_its_question_goes_along_with_the_first_state() {
    let server = serve(async |flow: Flow| three_names(&flow).await);
    let params = json!({
        "name": "tool", "arguments": {},
        "inputResponses": { "second": { "action": "accept", "content": { "name": "Grace" } } },
    });
    let asked = client(&server).request("tools/call", params).await;
    asked.expect_asked(&["first"]);
    let asked = asked.accept("first", name("Ada")).send().await;
    asked.expect_asked(&["third"]);
    assert_eq!(asked.accept("third", name("Edsger")).send().await.expect_text(), "Ada, Grace, Edsger");
}

#[tokio::test]
async fn sv_14_a_handler_written_inline_keeps_working() {
    let server = serve(async |flow: Flow| {
        let Ok(Name { name }) = flow.elicit::<Name>("who", "Who are you?").await else {
            return Ok::<_, Failure>("Somebody who does not say".to_owned());
        };
        if name.len() < 3 {
            return Ok(format!("{} ({})", name, flow.elicit::<Name>("full", "In full?").await?.name));
        }
        Ok(name)
    });
    let begin = async || client(&server).call_tool("tool", json!({})).await;
    assert_eq!(begin().await.accept("who", name("Ada")).send().await.expect_text(), "Ada");
    let asked = begin().await.accept("who", name("A.")).send().await;
    assert_eq!(asked.accept("full", name("Ada")).send().await.expect_text(), "A. (Ada)");
    assert_eq!(begin().await.decline("who").send().await.expect_text(), "Somebody who does not say");
}
