//! Steps: done once, recorded as they ended, tried again, interrupted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mrtr_server::flow::Retry;
use mrtr_server::testing::{Client, FixedClock};
use mrtr_server::{Failure, Flow, Server, ToolError};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;

use crate::support::{Age, Effects, Log, Name, begin, call, expect_internal, tool};

#[tokio::test]
async fn a_recorded_step_is_not_repeated() {
    let effects = Effects::default();
    let seen = effects.clone();
    let call = call(move |flow: Flow| {
        let effects = seen.clone();
        async move {
            let first = flow.step("first", effects.work("first")).await?;
            let name = flow.elicit::<Name>("name", "Who?").await?.name;
            let second = flow.step("second", effects.work("second")).await?;
            Ok::<_, Failure>(format!("{first} {name} {second} {}", flow.elicit::<Age>("age", "?").await?.years))
        }
    })
    .await;
    let call = call.accept("name", json!({ "name": "Ada" })).send().await;
    assert_eq!(call.accept("age", json!({ "years": 3 })).send().await.expect_text(), "first Ada second 3");
    assert_eq!(effects.all(), ["first", "second"]);
}

#[tokio::test]
async fn a_failed_step_fails_the_same_way_in_every_run() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let told = flow.step("told", async { Err::<(), _>(ToolError::new("no such bug")) }).await.unwrap_err();
        let kept = flow.step("kept", async {
            effects.happen("kept");
            Err::<(), Failure>(anyhow::anyhow!("inner").context("outer").into())
        });
        let kept = kept.await.unwrap_err();
        effects.happen(format!("{told:?} / {kept:?}"));
        flow.elicit::<Name>("name", "Who?").await?;
        Err(kept.into())
    }
    let log = Log::start();
    let effects = Effects::default();
    let seen = effects.clone();
    let call = call(move |flow| handler(flow, seen.clone())).await;
    let call = call.accept("name", json!({ "name": "Ada" })).send().await;
    expect_internal(&call, &log, "outer: inner");
    let all = effects.all();
    assert_eq!((all.len(), &*all[0]), (3, "kept"), "the step failed once: {all:?}");
    assert_eq!(all[1], all[2]);
    assert!(all[1].contains("no such bug") && all[1].contains("outer: inner"), "{all:?}");
}

#[tokio::test]
async fn the_failure_of_a_step_goes_through_the_door_it_came_for() {
    let told = call(async |flow: Flow| {
        Ok::<_, Failure>(flow.step("told", async { Err::<String, _>(ToolError::new("no such bug")) }).await?)
    });
    assert_eq!(told.await.expect_tool_error(), "no such bug");
    let log = Log::start();
    let kept = call(async |flow: Flow| Ok::<_, Failure>(flow.step("kept", async { Err::<String, _>("oops") }).await?));
    expect_internal(&kept.await, &log, "oops");
}

/// A step that fails so often, tried again twice, on a clock that the test moves.
async fn retried(failures: usize) -> (String, Vec<String>) {
    async fn handler(flow: Flow, failures: usize, effects: Effects) -> Result<String, Failure> {
        let work = || async {
            effects.happen("try");
            if effects.count() <= failures { Err("not yet") } else { Ok(effects.count()) }
        };
        let policy = Retry::times(2).after(Duration::from_secs(10));
        let done = flow.step_with("work", work).retry(policy).await;
        flow.elicit::<Name>("name", "Who?").await?;
        Ok(format!("{done:?}"))
    }
    let (clock, effects) = (FixedClock::default(), Effects::default());
    let seen = effects.clone();
    let tool = tool(move |flow| handler(flow, failures, seen.clone()));
    let server = Server::builder("test", "1").clock(clock.clone()).tool(tool).build().unwrap();
    let client = Client::new(&server);
    let moving = async {
        for (pause, tries) in [(10, 1), (20, 2)] {
            while effects.count() < tries {
                tokio::task::yield_now().await;
            }
            clock.advance(Duration::from_secs(pause - 1));
            for _ in 0..5 {
                tokio::task::yield_now().await;
            }
            assert_eq!(effects.count(), tries, "it waits for the whole pause");
            clock.advance(Duration::from_secs(1));
            if tries > failures {
                break;
            }
        }
    };
    let (call, ()) = tokio::join!(begin(&client), moving);
    call.expect_asked(&["name"]);
    (call.accept("name", json!({ "name": "Ada" })).send().await.expect_text(), effects.all())
}

#[tokio::test]
async fn a_step_is_tried_again_after_pauses_that_double() {
    let (done, tries) = retried(2).await;
    assert_eq!((&*done, tries.len()), ("Ok(3)", 3));
}

#[tokio::test]
async fn the_last_failure_of_a_step_is_the_one_recorded() {
    let (done, tries) = retried(9).await;
    assert!(done.contains("not yet"), "{done}");
    assert_eq!(tries.len(), 3, "and a later run does not try again");
}

#[derive(Serialize)]
struct OneWay(u8);

impl<'de> Deserialize<'de> for OneWay {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(serde::de::Error::custom("it cannot come back"))
    }
}

#[tokio::test]
async fn an_outcome_that_cannot_be_read_back_is_found_at_once() {
    let log = Log::start();
    let call = call(async |flow: Flow| {
        let _ = flow.step("odd", async { Ok::<_, Failure>(OneWay(1)) }).await.ok();
        Ok::<_, Failure>("swallowed")
    });
    expect_internal(&call.await, &log, "the recorded outcome of step `odd` cannot be read");
}

#[tokio::test]
async fn an_outcome_of_another_type_is_an_error_that_names_the_step() {
    let log = Log::start();
    let first = Arc::new(AtomicBool::new(true));
    let call = call(move |flow: Flow| {
        let first = first.swap(false, Ordering::Relaxed);
        async move {
            if first {
                flow.step("count", async { Ok::<_, Failure>("seven".to_owned()) }).await?;
            } else {
                let _ = flow.step("count", async { Ok::<_, Failure>(7) }).await;
            }
            flow.elicit::<Name>("name", "Who?").await?;
            Ok::<_, Failure>("swallowed")
        }
    });
    expect_internal(&call.await.send().await, &log, "the recorded outcome of step `count` cannot be read");
}
