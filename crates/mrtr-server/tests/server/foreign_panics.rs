//! Panics of code that is not the server's, place by place: each ends as one internal error, and the server answers the
//! next request as if nothing had happened.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use mrtr_flow::{Entries, Journal, JournalSink, Outcome, RunContext, SinkError, run};
use mrtr_schema::subscriptions::SubscriptionFilter;
use mrtr_schema::{Json, JsonObject, Revision, ServerCapabilities};
use mrtr_server::extend::{
    Extension, ExtensionMessage, ExtensionNotice, ExtensionNotices, ExtensionReply, ExtensionRequest, OfferedCall,
};
use mrtr_server::{Context, Failure, Flow, ProtocolError, Server, TaskPolicy, Tool};
use serde_json::{Value, json};

/// The place at which an extension panics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Nowhere,
    Owns,
    Declare,
    Handle,
    Listen,
    Wants,
    TakeOver,
    MayBecomeTask,
    ContinueAsTask,
    Stream,
    StreamAfterNotice,
    StreamWhenDropped,
    Notices,
}

struct Foreign(Place);

impl Foreign {
    fn at(&self, place: Place) {
        assert!(self.0 != place, "foreign code at {place:?}");
    }
}

#[async_trait]
impl Extension for Foreign {
    fn name(&self) -> &'static str {
        "com.example/foreign"
    }

    fn capability(&self, _: Revision) -> Option<JsonObject> {
        Some(JsonObject::default())
    }

    fn declare(&self, _: Revision, _: &mut ServerCapabilities) {
        self.at(Place::Declare);
    }

    fn owns(&self, method: &str, _: Revision) -> bool {
        self.at(Place::Owns);
        method == "com.example/foreign/it"
    }

    async fn handle(&self, _: &ExtensionRequest<'_>) -> Result<ExtensionReply, ProtocolError> {
        self.at(Place::Handle);
        let place = self.0;
        let notice = || ExtensionNotice { method: "com.example/foreign/told", params: json!({}).into() };
        let dropped = PanicsWhenDropped(place == Place::StreamWhenDropped);
        let messages = stream::iter(0..3).map(move |number| {
            let _held = &dropped;
            match number {
                0 if place != Place::StreamAfterNotice => {
                    assert!(place != Place::Stream, "foreign code in a stream");
                    ExtensionMessage::Notice(notice())
                }
                0 => ExtensionMessage::Notice(notice()),
                1 => {
                    assert!(place != Place::StreamAfterNotice, "foreign code in a stream, later");
                    ExtensionMessage::Result(Ok(Json::from(json!({ "resultType": "complete", "it": "done" }))))
                }
                _ => panic!("nothing is wanted after the result"),
            }
        });
        Ok(ExtensionReply::Stream(messages.boxed()))
    }

    fn listen(
        &self,
        _: &SubscriptionFilter,
        _: &ExtensionRequest<'_>,
    ) -> Result<Option<ExtensionNotices>, ProtocolError> {
        self.at(Place::Listen);
        let notices = match self.0 {
            Place::Notices => stream::once(async { panic!("foreign code in notices") }).boxed(),
            _ => stream::pending().boxed(),
        };
        Ok(Some(ExtensionNotices { acknowledged: SubscriptionFilter::new(), notices }))
    }

    fn runs_tasks(&self) -> bool {
        true
    }

    fn wants(&self, _: &OfferedCall<'_>) -> bool {
        self.at(Place::Wants);
        true
    }

    async fn take_over(&self, _: &OfferedCall<'_>) -> Result<Option<Json>, ProtocolError> {
        self.at(Place::TakeOver);
        Ok(None)
    }

    fn may_become_task(&self, _: &OfferedCall<'_>) -> bool {
        self.at(Place::MayBecomeTask);
        true
    }

    async fn continue_as_task(&self, _: &OfferedCall<'_>) -> Result<Option<Json>, ProtocolError> {
        self.at(Place::ContinueAsTask);
        Ok(None)
    }
}

struct PanicsWhenDropped(bool);

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        assert!(!self.0 || std::thread::panicking(), "foreign code in a drop");
    }
}

/// An error of a handler's own.
#[derive(Debug)]
struct Odd {
    in_display: bool,
    in_drop: bool,
}

impl fmt::Display for Odd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        assert!(!self.in_display, "foreign code in a message");
        f.write_str("odd")
    }
}

impl std::error::Error for Odd {}

impl Drop for Odd {
    fn drop(&mut self) {
        assert!(!self.in_drop, "foreign code in a drop");
    }
}

fn message(method: &str, params: &Value) -> String {
    let mut params = params.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
    });
    json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }).to_string()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// The last message of a reply; the test fails if a panic comes out with it.
fn reply(server: &Server, method: &str, params: &Value) -> Value {
    let replied = catch_unwind(AssertUnwindSafe(|| {
        runtime().block_on(async { server.handle(message(method, params).into(), Context::new()).await.last().await })
    }));
    let text = replied.unwrap_or_else(|_| panic!("a panic left the server")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[track_caller]
fn expect_internal(reply: &Value, place: &str) {
    assert_eq!((&reply["error"]["code"], &reply["id"]), (&json!(-32603), &json!(7)), "{place}: {reply}");
    assert!(!reply.to_string().contains("foreign"), "{place} tells what is the operator's to know: {reply}");
}

fn server(place: Place) -> Server {
    let hello = async |_: Flow| Ok::<_, Failure>("hello");
    let task = async |flow: Flow| {
        flow.into_task().await;
        Ok::<_, Failure>("never")
    };
    let fails = |in_display, in_drop| move |_: Flow| async move { Err::<String, Odd>(Odd { in_display, in_drop }) };
    let builder = Server::builder("test", "1").extension(Foreign(place));
    builder
        .tool(Tool::new("hello", hello))
        .tool(Tool::new("task", task).tasks(TaskPolicy::ByFlow))
        .tool(Tool::new("display", fails(true, false)))
        .tool(Tool::new("drop", fails(false, true)))
        .tool(Tool::new("both", fails(true, true)))
        .prompt(mrtr_server::Prompt::new("both", fails(true, true)))
        .build()
        .unwrap()
}

#[test]
fn an_extension_that_panics_anywhere_is_one_internal_error() {
    let call = |tool: &str| ("tools/call", json!({ "name": tool }));
    let own = || ("com.example/foreign/it", json!({}));
    let listen = || ("subscriptions/listen", json!({ "notifications": {} }));
    let rows = [
        (Place::Owns, own()),
        (Place::Declare, ("server/discover", json!({}))),
        (Place::Handle, own()),
        (Place::Listen, listen()),
        (Place::Notices, listen()),
        (Place::Wants, call("hello")),
        (Place::TakeOver, call("hello")),
        (Place::MayBecomeTask, call("task")),
        (Place::ContinueAsTask, call("task")),
        (Place::Stream, own()),
        (Place::StreamAfterNotice, own()),
    ];
    for (place, (method, params)) in rows {
        let server = server(place);
        expect_internal(&reply(&server, method, &params), &format!("{place:?}"));
        // Whatever else it has goes on.
        let tools = reply(&server, "tools/list", &json!({}));
        assert!(tools["result"]["tools"].is_array(), "after {place:?}: {tools}");
    }
    let told = reply(&server(Place::StreamWhenDropped), own().0, &json!({}));
    assert_eq!(told["result"]["it"], "done", "its result was told before the stream was dropped: {told}");
    let hello = reply(&server(Place::Nowhere), "tools/call", &json!({ "name": "hello" }));
    assert_eq!(hello["result"]["content"][0]["text"], "hello", "{hello}");
}

#[test]
fn an_error_that_panics_when_it_is_read_or_dropped_is_one_internal_error() {
    let server = server(Place::Nowhere);
    for tool in ["display", "drop", "both"] {
        expect_internal(&reply(&server, "tools/call", &json!({ "name": tool })), tool);
    }
    expect_internal(&reply(&server, "prompts/get", &json!({ "name": "both" })), "a prompt");
    let hello = reply(&server, "tools/call", &json!({ "name": "hello" }));
    assert_eq!(hello["result"]["content"][0]["text"], "hello", "{hello}");
}

/// A step's error is read when it is recorded.
#[test]
fn an_error_of_a_step_that_panics_ends_the_run() {
    let handler = |in_display, in_drop| {
        async move |flow: Flow| {
            let _ = flow.step("odd", async { Err::<(), Odd>(Odd { in_display, in_drop }) }).await;
            Ok::<_, Failure>("swallowed")
        }
    };
    for (in_display, in_drop) in [(true, false), (false, true), (true, true)] {
        let ran = runtime().block_on(run(handler(in_display, in_drop), Journal::default(), RunContext::for_tests()));
        let Outcome::Failed(failure) = ran.outcome else { panic!("{in_display} {in_drop}: {:?}", ran.outcome) };
        assert!(format!("{failure:?}").contains("step `odd` panicked"), "{failure:?}");
    }
}

struct Counts(&'static str);

impl Counts {
    fn at(&self, name: &str) {
        assert!(name != self.0, "foreign code that counts {name}");
    }
}

impl Recorder for Counts {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        self.at(key.name());
        Counter::noop()
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        self.at(key.name());
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        self.at(key.name());
        Histogram::noop()
    }
}

#[test]
fn a_recorder_of_metrics_that_panics_is_one_internal_error() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Name {
        name: String,
    }
    let asks = async |flow: Flow| Ok::<_, Failure>(flow.elicit::<Name>("name", "Who?").await?.name);
    let server = Server::builder("test", "1").tool(Tool::new("asks", asks)).build().unwrap();
    let first = json!({ "name": "asks" });
    let asked = reply(&server, "tools/call", &first);
    let answer = json!({ "name": { "action": "accept", "content": { "name": "Ada" } } });
    let retry = json!({ "name": "asks", "requestState": asked["result"]["requestState"], "inputResponses": answer });
    let forged = json!({ "name": "asks", "requestState": "mrtr1x.process.AAAA" });
    for (name, params) in [
        ("mrtr_rounds_total", &first),
        ("mrtr_asks_total", &first),
        ("mrtr_state_bytes", &first),
        ("mrtr_answers_total", &retry),
        ("mrtr_rounds_total", &retry),
        ("mrtr_refusals_total", &forged),
    ] {
        let recorder = Counts(name);
        let replied = metrics::with_local_recorder(&recorder, || reply(&server, "tools/call", params));
        expect_internal(&replied, name);
    }
    assert_eq!(reply(&server, "tools/call", &retry)["result"]["content"][0]["text"], "Ada");
}

struct PanickingSink(&'static str);

#[async_trait]
impl JournalSink for PanickingSink {
    async fn record(&self, entries: &Entries) -> Result<(), SinkError> {
        for entry in entries.iter() {
            assert!(format!("{:?}", entry.kind()) != self.0, "foreign code that keeps entries");
        }
        Ok(())
    }
}

#[test]
fn a_sink_that_panics_ends_the_run_as_one_that_fails() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Name {
        name: String,
    }
    let handler = async |flow: Flow| {
        flow.step("work", async { Ok::<_, Failure>(1) }).await?;
        Ok::<_, Failure>(flow.elicit::<Name>("name", "Who?").await?.name)
    };
    for kind in ["StepStarted", "StepFinished", "QuestionOpened"] {
        let context = RunContext::for_tests().sink(Arc::new(PanickingSink(kind)));
        let ran = catch_unwind(AssertUnwindSafe(|| runtime().block_on(run(handler, Journal::default(), context))));
        let ran = ran.unwrap_or_else(|_| panic!("a panic left the run"));
        let Outcome::Failed(failure) = ran.outcome else { panic!("{kind}: {:?}", ran.outcome) };
        assert!(format!("{failure:?}").contains("-32603"), "{kind}: {failure:?}");
    }
}

/// A handler goes on without the step, which must not have failed unnoticed.
#[test]
fn a_step_that_panics_when_it_is_dropped_does_not_let_the_call_succeed() {
    async fn waits() -> Result<(), Failure> {
        let _held = PanicsWhenDropped(true);
        std::future::pending().await
    }
    let by_select = async |flow: Flow| {
        tokio::select! {
            biased;
            _ = flow.step("odd", waits()) => {}
            () = tokio::task::yield_now() => {}
        }
        Ok::<_, Failure>("swallowed")
    };
    let check = async |flow: Flow| {
        let visit = flow.elicit_url("odd", "Go", "https://example.com").until(|| async {
            let _ = waits().await;
            true
        });
        tokio::select! {
            biased;
            _ = visit => {}
            () = tokio::task::yield_now() => {}
        }
        Ok::<_, Failure>("swallowed")
    };
    let server = Server::builder("test", "1")
        .tool(Tool::new("step", by_select))
        .tool(Tool::new("check", check))
        .build()
        .unwrap();
    for tool in ["step", "check"] {
        let told = reply(&server, "tools/call", &json!({ "name": tool }));
        let text = told["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.starts_with("The tool failed (reference "), "{tool}: {told}");
    }
}
