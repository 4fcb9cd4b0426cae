//! The log of a round: its facts, and never what a person or a client said.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex, Once};

use mrtr_schema::Revision;
use mrtr_schema::prompts::PromptArgument;
use mrtr_server::handler::Completing;
use mrtr_server::testing::FixedClock;
use mrtr_server::{Caller, Failure, Flow, Prompt, ResourceTemplate, Server, Tool};
use mrtr_state::MemorySingleUse;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};

use crate::support::{Name, builder, client, client_declaring, greet};

/// Keeps every field of every span and event as text; or hears nothing, and may want any line.
#[derive(Clone)]
struct Log(Option<Arc<Mutex<String>>>);

impl Log {
    fn text(&self) -> String {
        self.0.as_ref().map_or_else(String::new, |text| text.lock().unwrap().clone())
    }

    fn write(&self, what: &str, record: impl FnOnce(&mut Line)) {
        let Some(text) = &self.0 else { return };
        let mut line = Line(what.to_owned());
        record(&mut line);
        let mut text = text.lock().unwrap();
        text.push_str(&line.0);
        text.push('\n');
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        write!(self.0, " {field}={value}").unwrap();
    }
}

impl Subscriber for Log {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, _: &Metadata<'_>) -> bool {
        self.0.is_some()
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.write(span.metadata().name(), |line| span.record(line));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        self.write("…", |line| values.record(line));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.write("event", |line| event.record(line));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Returns what the log has after `talk` was run.
pub(crate) fn logged(talk: impl Future<Output = ()>) -> String {
    // Tests run side by side, and tracing keeps for all of them whether a line is wanted at all. One subscriber that
    // stays, and never says no for good, keeps a test without a log from deciding that for this one.
    static ALWAYS: Once = Once::new();
    ALWAYS.call_once(|| tracing::subscriber::set_global_default(Log(None)).unwrap_or_default());
    let log = Log(Some(Arc::default()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tracing::subscriber::with_default(log.clone(), || runtime.block_on(talk));
    log.text()
}

#[derive(Deserialize, JsonSchema)]
struct Secret {
    #[expect(dead_code, reason = "only its name matters")]
    secret: String,
}

fn server() -> Server {
    let clock = FixedClock::default();
    let guard = MemorySingleUse::new(mrtr_flow::Clock::now(&clock));
    clock.advance(std::time::Duration::from_secs(1));
    let asks = async |flow: Flow, _: Secret| greet(flow).await;
    let broken = async |flow: Flow, _: Secret| {
        flow.elicit::<Name>("who", "Who?").await?;
        flow.step("break", async { Err::<(), Failure>("the step broke".into()) }).await?;
        Ok::<_, Failure>("never")
    };
    let completes = async |_: Flow, typing: Completing| Ok::<_, Failure>(vec![typing.value]);
    builder()
        .clock(clock)
        .tool(Tool::new("ask", asks))
        .tool(Tool::new("once", asks).single_use(guard))
        .tool(Tool::new("broken", broken))
        .prompt(Prompt::new("prompt", asks).complete("secret", completes))
        .resource_template(ResourceTemplate::new("t://{secret}", "template", asks))
        .build()
        .unwrap()
}

#[test]
fn a_round_is_a_span_with_its_facts() {
    let log = logged(async {
        let asked = client(&server()).call_tool("ask", json!({ "secret": "x" })).await;
        asked.accept("who", json!({ "name": "Ada" })).send().await.expect_text();
    });
    for fact in [
        "method=tools/call",
        "name=ask",
        "round=1",
        "round=2",
        r#"asked=["who"]"#,
        r#"answered=["who"]"#,
        "outcome=asked",
        "outcome=done",
        "state_bytes=",
        "flow=",
    ] {
        assert!(log.contains(fact), "{fact} is missing in\n{log}");
    }
    let flows: std::collections::BTreeSet<_> =
        log.split_whitespace().filter(|word| word.starts_with("flow=")).collect();
    assert_eq!(flows.len(), 1, "{log}");
}

/// Returns the keys that were answered, as the log has them, round by round.
fn answered(log: &str) -> Vec<&str> {
    log.lines().filter_map(|line| line.split_once("answered=")).map(|(_, keys)| keys.trim()).collect()
}

#[test]
fn what_was_answered_is_what_the_client_answered() {
    let handler = async |flow: Flow| {
        // This client cannot be asked the first, has done the second without being asked, and is asked for the rest.
        let roots = flow.roots("roots").optional().await;
        flow.elicit_url("visit", "Please go there", "https://example.com/").until(|| async { true }).await?;
        let (first, _) = flow.join((flow.elicit::<Name>("first", "Who?"), flow.elicit::<Name>("last", "Who?"))).await?;
        let maybe = flow.elicit::<Name>("maybe", "Who else?").optional().await;
        Ok::<_, Failure>(format!("{} {roots:?} {}", first.name, maybe.is_some()))
    };
    let server = builder().tool(Tool::new("tool", handler)).build().unwrap();
    let log = logged(async {
        let client = client_declaring(&server, &json!({ "elicitation": { "form": {}, "url": {} } }));
        let call = client.call_tool("tool", json!({})).await;
        call.expect_asked(&["first", "last"]);
        let call = call.accept("first", json!({ "name": "Ada" })).accept("last", json!({ "name": 7 })).send().await;
        call.expect_asked(&["last"]);
        let call = call.accept("last", json!({ "name": "Eve" })).accept("stranger", json!({})).send().await;
        call.expect_asked(&["maybe"]);
        assert_eq!(call.send().await.expect_text(), "Ada None false");
    });
    assert_eq!(answered(&log), ["[]", r#"["first"]"#, r#"["first", "last"]"#, r#"["first", "last"]"#], "{log}");
}

#[test]
fn a_refused_state_is_logged_once_with_its_reason() {
    let log = logged(async {
        let asked = client(&server()).call_tool("ask", json!({ "secret": "x" })).await;
        let eve = client(&server()).calling_as(Caller::new("issuer", "eve"));
        asked.as_client(&eve).send().await.expect_error();
    });
    let refused: Vec<_> = log.lines().filter(|line| line.contains("a request state was refused")).collect();
    let [refused] = refused[..] else { panic!("one line for one refusal, and not {refused:#?}") };
    for fact in ["reason=other_principal", "method=tools/call", "name=ask"] {
        assert!(refused.contains(fact), "{fact} is missing in {refused}");
    }
}

#[test]
fn a_full_store_for_single_use_is_logged_with_what_to_do_and_told_without_detail() {
    let log = logged(async {
        let clock = FixedClock::default();
        let guard = MemorySingleUse::new(mrtr_flow::Clock::now(&clock)).limit(1500);
        let server = builder().clock(clock.clone()).tool(Tool::new("once", greet).single_use(guard)).build().unwrap();
        let client = client(&server);
        let answered = async || client.call_tool("once", json!({})).await.accept("who", json!({ "name": "Ada" }));
        let first = answered().await;
        assert_eq!(first.clone().send().await.expect_text(), "Hello, Ada");
        for _ in 0..10 {
            answered().await.send().await;
        }
        let told = answered().await.send().await.expect_error();
        assert_eq!(told.code.as_i64(), -32603);
        assert_eq!(told.message, "The server has no room for this request now; try again later");
        assert_eq!(first.send().await.expect_text(), "Hello, Ada", "a reply that is kept is still given");
        // An hour later the others have expired, and with them their entries.
        clock.advance(std::time::Duration::from_mins(63));
        assert_eq!(answered().await.send().await.expect_text(), "Hello, Ada");
    });
    for fact in ["the store for single use is full", "of 1500 bytes", "raise its limit"] {
        assert!(log.contains(fact), "{fact} is missing in\n{log}");
    }
}

#[test]
fn a_handler_that_asks_where_nobody_may_is_named() {
    let log = logged(async {
        let asking = async |flow: Flow, _: Completing| greet(flow).await.map(|text| vec![text]);
        let prompt = Prompt::new("prompt", greet);
        let prompt = prompt.define(|prompt| prompt.arguments = Some(vec![PromptArgument::new("city")]));
        let server = builder().prompt(prompt.complete("city", asking)).build().unwrap();
        let reference = json!({ "type": "ref/prompt", "name": "prompt" });
        let params = json!({ "ref": reference, "argument": { "name": "city", "value": "" } });
        client(&server).request("completion/complete", params).await.expect_error();
    });
    assert!(log.contains("no question can be asked on `completion/complete` in 2026-07-28"), "{log}");
}

#[test]
fn an_unregistered_input_is_named() {
    struct Seat;
    impl mrtr_schema::NamespacedInput for Seat {
        const METHOD: mrtr_schema::Method = mrtr_schema::Method::from_static("com.example/seat");
        type Params = ();
        type Response = ();
    }
    let log = logged(async {
        let handler = async |flow: Flow| {
            flow.ask::<Seat>("seat", ()).await?;
            Ok::<_, Failure>("never")
        };
        let server = builder().tool(Tool::new("tool", handler)).build().unwrap();
        client(&server).call_tool("tool", json!({})).await.expect_tool_error();
    });
    assert!(log.contains("asks for `com.example/seat`, an input that is not registered"), "{log}");
}

/// Every text that goes in anywhere holds this word, and no line of the log does.
#[test]
fn no_answer_argument_uri_or_state_is_ever_logged() {
    const SECRET: &str = "s3cr3t";
    let states = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&states);
    let log = logged(async move {
        let arguments = json!({ "secret": SECRET });
        for revision in Revision::MODERN {
            let client = client(&server()).speaking(revision);
            for tool in ["ask", "once", "broken"] {
                let asked = client.call_tool(tool, arguments.clone()).await;
                seen.lock().unwrap().push(asked.state().unwrap().to_owned());
                let wrong = asked.accept("who", json!({ "name": 7, "other": SECRET })).send().await;
                let wrong = wrong.answer_raw("who", json!({ "action": SECRET })).answer_raw(SECRET, json!({}));
                let wrong = wrong.send().await;
                seen.lock().unwrap().push(wrong.state().unwrap().to_owned());
                let refused = wrong.clone().with_params(|params| params["arguments"]["more"] = json!(SECRET));
                refused.send().await.expect_error();
                wrong.clone().send_carrying(Some(SECRET)).await.expect_error();
                wrong.accept("who", json!({ "name": SECRET })).send().await;
            }
            let got = client.get_prompt("prompt", arguments.clone()).await;
            got.accept("who", json!({ "name": SECRET })).send().await;
            let read = client.read_resource(&format!("t://{SECRET}")).await;
            read.accept("who", json!({ "name": SECRET })).send().await;
            client.read_resource(&format!("nowhere://{SECRET}")).await;
            client.call_tool(SECRET, json!({})).await;
            client.call_tool("ask", json!({ "secret": [SECRET] })).await;
            client.request(SECRET, json!({ SECRET: SECRET })).await;
            let reference = json!({ "type": "ref/prompt", "name": "prompt" });
            let params = json!({ "ref": reference, "argument": { "name": "secret", "value": SECRET } });
            client.request("completion/complete", params).await;
        }
    });
    assert!(log.contains("outcome=done") && log.contains("the step broke"), "{log}");
    assert!(!log.contains(SECRET), "{log}");
    for state in states.lock().unwrap().iter() {
        assert!(!log.contains(state.as_str()));
    }
}
