//! The deadline of a run: whatever a handler waits for, its run ends, and says what it was.

use std::future::{Future, pending};
use std::time::Duration;

use futures_util::FutureExt;
use mrtr_flow::DEFAULT_RUN_DEADLINE;
use mrtr_server::testing::{Client, FixedClock};
use mrtr_server::{Failure, Flow, Server, Tool};
use mrtr_state::{Lifetimes, MemorySingleUse};
use serde_json::json;
use tokio::task::yield_now;

use crate::support::{Approval, Effects, Log, Name, begin, call, expect_internal};

/// Calls the one tool, and moves the clock by so much whenever nothing else happens.
async fn call_for<H, F>(handler: H, tool: impl FnOnce(Tool) -> Tool, seconds: u64) -> (String, String)
where
    H: Fn(Flow) -> F + Send + Sync + 'static,
    F: Future<Output = Result<String, Failure>> + Send + 'static,
{
    let (log, clock) = (Log::start(), FixedClock::default());
    let tool = tool(Tool::new("tool", handler));
    let server = Server::builder("test", "1").clock(clock.clone()).input::<Approval>().tool(tool);
    let client = Client::new(&server.run_deadline(Duration::from_secs(100)).build().unwrap());
    let moving = async {
        for _ in 0..20 {
            yield_now().await;
        }
        clock.advance(Duration::from_secs(seconds - 1));
        for _ in 0..20 {
            yield_now().await;
        }
        assert!(!log.text().contains("exceeded its time limit"), "{}", log.text());
        clock.advance(Duration::from_secs(1));
    };
    let (call, ()) = tokio::join!(begin(&client), moving);
    (call.expect_tool_error(), log.text())
}

#[tokio::test]
async fn a_run_that_waits_for_ever_is_ended_and_says_what_for() {
    async fn step(flow: Flow) -> Result<String, Failure> {
        Ok(flow.step("fetch", pending::<Result<String, Failure>>()).await?)
    }
    async fn until(flow: Flow) -> Result<String, Failure> {
        flow.elicit_url("go", "Go", "https://example.com").until(pending::<bool>).await?;
        Ok("gone".into())
    }
    async fn two(flow: Flow) -> Result<String, Failure> {
        let one = flow.elicit_url("one", "Go", "https://example.com").until(async || false);
        flow.join((one, flow.elicit_url("two", "Go", "https://example.com").until(pending::<bool>))).await?;
        Ok("gone".into())
    }
    async fn outside(_: Flow) -> Result<String, Failure> {
        pending().await
    }
    let (told, logged) = call_for(step, |tool| tool, 100).await;
    assert_eq!(told, "The run did not end within 100s: it was waiting for step `fetch`");
    assert!(logged.contains("fetch"), "{logged}");
    assert_eq!(logged.matches("exceeded its time limit").count(), 1, "{logged}");
    let (told, _) = call_for(until, |tool| tool, 100).await;
    assert_eq!(told, "The run did not end within 100s: it was waiting for `until` of `go`");
    let (told, _) = call_for(two, |tool| tool, 100).await;
    assert_eq!(told, "The run did not end within 100s: it was waiting for `until` of `two`");
    let (told, _) = call_for(outside, |tool| tool, 100).await;
    assert_eq!(told, "The run did not end within 100s: it was waiting for something outside its steps");
}

#[tokio::test]
async fn a_step_beside_an_open_question_holds_the_reply_up_no_longer_than_that() {
    async fn handler(flow: Flow) -> Result<String, Failure> {
        let step = flow.step("fetch", pending::<Result<String, Failure>>());
        let (name, _) = flow.join((flow.elicit::<Name>("name", "Who?"), step)).await?;
        Ok(name.name)
    }
    let (told, _) = call_for(handler, |tool| tool, 100).await;
    assert!(told.contains("step `fetch`"), "{told}");
}

#[tokio::test]
async fn a_tool_may_take_longer_or_shorter_than_the_server_says() {
    async fn handler(_: Flow) -> Result<String, Failure> {
        pending().await
    }
    let (told, _) = call_for(handler, |tool| tool.run_deadline(Duration::from_secs(7)), 7).await;
    assert!(told.contains("within 7s"), "{told}");
    assert_eq!(DEFAULT_RUN_DEADLINE, Duration::from_mins(10));
}

#[tokio::test]
async fn a_call_on_the_flow_inside_until_is_an_error_that_names_it() {
    async fn handler(flow: Flow, which: u8) -> Result<String, Failure> {
        let inside = || async {
            match which {
                0 => drop(flow.elicit::<Name>("name", "Who?").await),
                1 => drop(flow.step("inner", async { Ok::<_, Failure>(1) }).await),
                2 => drop(flow.idempotency_key("key").await),
                3 => flow.yield_point(&1).await,
                4 => flow.into_task().await,
                _ => drop(flow.join((flow.roots("roots"), flow.roots("more"))).await),
            }
            true
        };
        flow.elicit_url("go", "Go", "https://example.com").until(inside).await?;
        Ok("swallowed".into())
    }
    for which in 0..6 {
        let log = Log::start();
        expect_internal(&call(move |flow| handler(flow, which)).await, &log, "was used inside `until` of `go`");
    }
}

#[tokio::test]
async fn a_call_on_the_flow_inside_validate_is_an_error_that_names_it() {
    async fn handler(flow: Flow, effects: Effects, which: u8) -> Result<String, Failure> {
        let flow = std::sync::Arc::new(flow);
        let inner = std::sync::Arc::clone(&flow);
        let ask = flow.elicit::<Name>("name", "Who?").validate(move |_| {
            match which {
                0 => drop(inner.step("inner", effects.work("did")).into_future().now_or_never()),
                1 => drop(inner.idempotency_key("key").now_or_never()),
                _ => drop(inner.elicit::<Name>("other", "Who?").into_future().now_or_never()),
            }
            Ok::<_, String>(())
        });
        ask.await?;
        Ok("swallowed".into())
    }
    for which in 0..3 {
        let (log, effects) = (Log::start(), Effects::default());
        let seen = effects.clone();
        let call = call(move |flow| handler(flow, seen.clone(), which)).await;
        let call = call.accept("name", json!({ "name": "Ada" })).send().await;
        expect_internal(&call, &log, "was used inside `validate` of `name`");
        assert_eq!(effects.count(), 0);
    }
}

#[tokio::test]
async fn a_call_on_the_flow_inside_until_of_an_input_is_an_error_that_names_it() {
    async fn approval(flow: Flow) -> Result<String, Failure> {
        let decided = || async { flow.step("inner", async { Ok::<_, Failure>(1_u8) }).await.ok() };
        Ok(flow.ask::<Approval>("sign_off", [].into()).until(decided).await?.to_string())
    }
    let log = Log::start();
    expect_internal(&call(approval).await, &log, "step `inner` was used inside `until` of `sign_off`");
}

#[tokio::test]
async fn a_question_inside_until_does_not_lock_a_single_use_token() {
    async fn handler(flow: Flow) -> Result<String, Failure> {
        let name = flow.elicit::<Name>("name", "Who?").await?;
        let asks = || async { flow.elicit::<Name>("inner", "Who?").await.is_ok() };
        flow.elicit_url("go", "Go", "https://example.com").until(asks).await?;
        Ok(name.name)
    }
    let (log, clock) = (Log::start(), FixedClock::default());
    let store = MemorySingleUse::new(mrtr_flow::Clock::now(&clock));
    let tool = Tool::new("tool", handler).single_use(store);
    let server = Server::builder("test", "1").clock(clock.clone()).tool(tool).build().unwrap();
    let call = begin(&Client::new(&server)).await.accept("name", json!({ "name": "Ada" })).send().await;
    expect_internal(&call, &log, "question `inner` was used inside `until` of `go`");
    assert_eq!(server.detached(), 0);
}

#[tokio::test]
async fn a_state_is_as_good_after_a_long_step_as_after_a_short_one() {
    async fn handler(flow: Flow, clock: FixedClock, effects: Effects) -> Result<String, Failure> {
        let slow = async {
            clock.advance(Duration::from_secs(90));
            effects.work("slow").await
        };
        flow.step("slow", slow).await?;
        Ok(flow.elicit::<Name>("name", "Who?").await?.name)
    }
    let (clock, effects) = (FixedClock::default(), Effects::default());
    let (hand, seen) = (clock.clone(), effects.clone());
    let minute = Lifetimes { round: Duration::from_mins(1), ..Lifetimes::default() };
    let tool = Tool::new("tool", move |flow| handler(flow, hand.clone(), seen.clone())).lifetimes(minute);
    let server = Server::builder("test", "1").clock(clock.clone()).tool(tool).build().unwrap();
    let call = begin(&Client::new(&server)).await;
    clock.advance(Duration::from_secs(59));
    let call = call.accept("name", json!({ "name": "Ada" })).send().await;
    assert_eq!(call.expect_text(), "Ada");
    assert_eq!(effects.count(), 1);
}
