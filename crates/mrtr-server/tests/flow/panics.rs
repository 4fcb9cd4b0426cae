//! Panics: wherever one comes from, the caller gets one clear internal error, and the server goes on.

use std::panic::AssertUnwindSafe;

use async_trait::async_trait;
use futures_util::FutureExt;
use mrtr_server::extend::{Middleware, RequestInfo};
use mrtr_server::testing::Client;
use mrtr_server::{Failure, Flow, ProtocolError, Server};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::json;
use tokio::task::yield_now;

use crate::support::{Approval, Effects, Log, Name, begin, call, expect_internal, tool};

#[tokio::test]
async fn a_panic_inside_a_step_ends_the_run_also_if_the_handler_catches_it() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let step = flow.step("work", async {
            assert!(effects.count() > 0, "half-way");
            Ok::<_, Failure>(())
        });
        let caught = AssertUnwindSafe(step.into_future()).catch_unwind().await;
        effects.happen(format!("went on: {}", caught.is_err()));
        flow.step("next", effects.work("next")).await?;
        Ok("swallowed".into())
    }
    let (log, effects) = (Log::start(), Effects::default());
    let seen = effects.clone();
    expect_internal(&call(move |flow| handler(flow, seen.clone())).await, &log, "step `work` panicked: half-way");
    assert_eq!(effects.count(), 0);
}

#[tokio::test]
async fn a_panic_inside_until_ends_the_run_also_if_the_handler_catches_it() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let visit = flow.elicit_url("go", "Go", "https://example.com").until(|| async { panic!("no idea") });
        let _ = AssertUnwindSafe(visit.into_future()).catch_unwind().await;
        Ok(flow.step("next", effects.work("next")).await?)
    }
    let (log, effects) = (Log::start(), Effects::default());
    let seen = effects.clone();
    expect_internal(&call(move |flow| handler(flow, seen.clone())).await, &log, "`until` of `go` panicked: no idea");
    assert_eq!(effects.count(), 0);
}

#[tokio::test]
async fn a_panic_of_the_closure_itself_does_not_lead_past_the_question_either() {
    async fn at_once(flow: Flow) -> Result<String, Failure> {
        let decided = || -> std::future::Ready<Option<u8>> { panic!("at once") };
        let _ = AssertUnwindSafe(flow.ask::<Approval>("sign_off", [].into()).until(decided).into_future())
            .catch_unwind()
            .await;
        Ok("swallowed".into())
    }
    let log = Log::start();
    expect_internal(&call(at_once).await, &log, "`until` of `sign_off` panicked: at once");
}

#[tokio::test]
async fn past_an_open_question_that_a_panic_took_along_nothing_more_is_asked() {
    async fn handler(flow: Flow) -> Result<String, Failure> {
        let panics = async {
            yield_now().await;
            panic!("beside a question")
        };
        let both = async { tokio::join!(flow.elicit::<Name>("name", "Who?").into_future(), panics) };
        let _ = AssertUnwindSafe(both).catch_unwind().await;
        Ok(flow.elicit::<Name>("other", "Who else?").await?.name)
    }
    call(handler).await.expect_asked(&["name"]);
}

#[tokio::test]
async fn a_panic_in_a_check_of_an_answer_does_not_lead_past_the_question() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let ask = flow.elicit::<Name>("name", "Who?").validate(|_| -> Result<(), String> { panic!("in the check") });
        let _ = AssertUnwindSafe(ask.into_future()).catch_unwind().await;
        Ok(flow.step("next", effects.work("next")).await?)
    }
    let (log, effects) = (Log::start(), Effects::default());
    let seen = effects.clone();
    let call = call(move |flow| handler(flow, seen.clone())).await;
    let call = call.accept("name", json!({ "name": "Ada" })).send().await;
    expect_internal(&call, &log, "the question `name` panicked: in the check");
    assert_eq!(effects.count(), 0);
}

/// Panics when it is read, and when it is written.
#[derive(JsonSchema)]
struct Bomb;

impl<'de> Deserialize<'de> for Bomb {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        panic!("while it was read")
    }
}

impl Serialize for Bomb {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("while it was written")
    }
}

#[tokio::test]
async fn an_outcome_that_panics_when_it_is_written_ends_the_run() {
    let log = Log::start();
    let call = call(async |flow: Flow| {
        let step = flow.step("odd", async { Ok::<_, Failure>(Bomb) });
        let _ = AssertUnwindSafe(step.into_future()).catch_unwind().await;
        Ok::<_, Failure>("swallowed")
    });
    expect_internal(&call.await, &log, "step `odd` panicked: while it was written");
}

struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "in a drop");
    }
}

#[tokio::test]
async fn a_handler_that_panics_when_it_is_dropped_is_answered() {
    async fn parked(flow: Flow) -> Result<String, Failure> {
        let _held = PanicsWhenDropped;
        Ok(flow.elicit::<Name>("name", "Who?").await?.name)
    }
    async fn returned(_: Flow) -> Result<String, Failure> {
        let _held = PanicsWhenDropped;
        Ok("done".into())
    }
    async fn step(flow: Flow) -> Result<String, Failure> {
        let work = async {
            let _held = PanicsWhenDropped;
            Ok::<_, Failure>("done".to_owned())
        };
        Ok(flow.step("work", work).await?)
    }
    let log = Log::start();
    expect_internal(&call(parked).await, &log, "the handler panicked when its run ended: in a drop");
    expect_internal(&call(returned).await, &log, "the handler panicked: in a drop");
    expect_internal(&call(step).await, &log, "step `work` panicked: in a drop");
}

/// A panic carries a payload that panics when it is dropped.
#[tokio::test]
async fn a_panic_whose_payload_panics_is_answered() {
    let log = Log::start();
    let call =
        call(|_: Flow| -> std::future::Ready<Result<String, Failure>> { std::panic::panic_any(PanicsWhenDropped) });
    expect_internal(&call.await, &log, "the handler panicked: no message");
}

#[tokio::test]
async fn middleware_that_panics_is_answered_and_the_next_request_too() {
    #[derive(Debug)]
    struct Panics(Effects);

    #[async_trait]
    impl Middleware for Panics {
        async fn before(&self, _: &RequestInfo<'_>) -> Result<(), ProtocolError> {
            self.0.happen("asked");
            assert!(self.0.count() > 1, "before");
            Ok(())
        }
    }
    let (log, effects) = (Log::start(), Effects::default());
    let hello = tool(async |_: Flow| Ok::<_, Failure>("hello"));
    let server = Server::builder("test", "1").tool(hello).middleware(Panics(effects)).build().unwrap();
    let client = Client::new(&server);
    let call = begin(&client).await;
    assert_eq!(call.response()["error"]["code"], -32603, "{}", call.response());
    assert!(log.text().contains("code that the application added to the server panicked"), "{}", log.text());
    assert_eq!(begin(&client).await.expect_text(), "hello");
}
