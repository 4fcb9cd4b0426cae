//! Steps that are given up: by a timeout of their own, by a handler that drops them, by the end of their run.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use mrtr_flow::{Journal, Outcome, RunContext, run};
use mrtr_server::flow::Retry;
use mrtr_server::testing::{Client, FixedClock};
use mrtr_server::{Failure, Flow, FlowError, Server};
use serde_json::json;
use tokio::task::yield_now;

use crate::support::{Effects, Log, Name, begin, call, client, tool};

/// A client of one tool on a clock that the test moves, with runs of ten seconds.
fn timed<H, F>(handler: H) -> (Client, FixedClock)
where
    H: Fn(Flow) -> F + Send + Sync + 'static,
    F: Future<Output = Result<String, Failure>> + Send + 'static,
{
    let clock = FixedClock::default();
    let server = Server::builder("test", "1").clock(clock.clone()).tool(tool(handler));
    (Client::new(&server.run_deadline(Duration::from_secs(10)).build().unwrap()), clock)
}

/// Moves the clock once this has happened so often.
async fn advance_after(clock: &FixedClock, seconds: u64, effects: &Effects, count: usize) {
    while effects.count() < count {
        yield_now().await;
    }
    // What waits has been polled once more by then, and its timer is set.
    for _ in 0..5 {
        yield_now().await;
    }
    clock.advance(Duration::from_secs(seconds));
}

#[tokio::test]
async fn a_step_that_took_too_long_took_too_long_in_every_later_run() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let work = || async {
            effects.happen("try");
            if effects.count() > 1 {
                std::future::pending::<()>().await;
            }
            Err::<String, _>("not yet")
        };
        // The time counts for all attempts together.
        let retry = Retry::times(5).after(Duration::from_secs(1));
        let fetched = flow.step_with("fetch", work).retry(retry).timeout(Duration::from_secs(5)).await;
        flow.elicit::<Name>("name", "Who?").await?;
        Ok(match fetched {
            Err(FlowError::TimedOut { step }) => format!("{step} took too long"),
            other => format!("{other:?}"),
        })
    }
    let effects = Effects::default();
    let seen = effects.clone();
    let (client, clock) = timed(move |flow| handler(flow, seen.clone()));
    let moving = async {
        advance_after(&clock, 1, &effects, 1).await;
        advance_after(&clock, 3, &effects, 2).await;
        for _ in 0..5 {
            yield_now().await;
        }
        clock.advance(Duration::from_secs(1));
    };
    let (call, ()) = tokio::join!(begin(&client), moving);
    call.expect_asked(&["name"]);
    let call = call.accept("name", json!({ "name": "Ada" })).send().await;
    assert_eq!(call.expect_text(), "fetch took too long");
    assert_eq!(effects.count(), 2);
}

/// Takes the cache if that is there before the network is: in the first run only.
async fn cached(flow: Flow, effects: Effects, runs: u32, network_first: bool) -> Result<String, Failure> {
    let network = async {
        effects.happen("network");
        yield_now().await;
        yield_now().await;
        Ok::<_, Failure>("network".to_owned())
    };
    let network = flow.step("network", network).into_future();
    let cache = flow.step("cache", effects.work("cache")).into_future();
    let took = if network_first {
        tokio::select! { biased; page = network => page, page = cache => page }
    } else {
        tokio::select! { biased; page = cache => page, page = network => page }
    }?;
    flow.elicit::<Name>("name", "Who?").await?;
    Ok(format!("{took} in run {runs}"))
}

#[tokio::test]
async fn a_step_that_its_handler_dropped_never_returns_whatever_order_it_is_polled_in() {
    for orders in [[true, true], [true, false]] {
        let (effects, runs) = (Effects::default(), Arc::new(AtomicU32::new(0)));
        let seen = effects.clone();
        let call = call(move |flow| {
            let run = runs.fetch_add(1, Ordering::Relaxed);
            cached(flow, seen.clone(), run, orders[run as usize])
        })
        .await;
        let call = call.accept("name", json!({ "name": "Ada" })).send().await;
        assert_eq!(call.expect_text(), "cache in run 1");
        assert_eq!(effects.all(), ["network", "cache"]);
    }
}

#[tokio::test]
async fn a_run_that_waits_for_a_dropped_step_alone_is_ended_and_names_it() {
    async fn handler(flow: Flow, first: bool, effects: Effects, idempotent: bool) -> Result<String, Failure> {
        let work = || async {
            effects.happen("started");
            std::future::pending::<()>().await;
            Ok::<_, Failure>("finished".to_owned())
        };
        let step = flow.step_with("work", work);
        let step = if idempotent { step.idempotent() } else { step }.into_future();
        if first {
            tokio::select! { biased; _ = step => {} () = std::future::ready(()) => {} }
        } else {
            effects.happen("waits");
            step.await?;
        }
        flow.elicit::<Name>("name", "Who?").await?;
        Ok("went on".into())
    }
    for idempotent in [false, true] {
        let (effects, runs) = (Effects::default(), AtomicU32::new(0));
        let seen = effects.clone();
        let (client, clock) =
            timed(move |flow| handler(flow, runs.fetch_add(1, Ordering::Relaxed) == 0, seen.clone(), idempotent));
        let call = begin(&client).await.accept("name", json!({ "name": "Ada" }));
        let (call, ()) = tokio::join!(call.send(), advance_after(&clock, 10, &effects, 2));
        assert!(call.expect_tool_error().contains("`work` was started and interrupted"), "{}", call.response());
        assert_eq!(effects.all(), ["started", "waits"]);
    }
}

#[tokio::test]
async fn a_run_that_waits_for_another_step_beside_a_dropped_one_names_that_step() {
    async fn handler(flow: Flow, first: bool, effects: Effects) -> Result<String, Failure> {
        let dropped = flow.step("dropped", std::future::pending::<Result<u8, Failure>>()).into_future();
        if first {
            tokio::select! { biased; _ = dropped => {} () = std::future::ready(()) => {} }
        } else {
            let work = async {
                effects.happen("works");
                std::future::pending::<Result<u8, Failure>>().await
            };
            let (dropped, work) = tokio::join!(dropped, flow.step("work", work).into_future());
            return Ok(format!("{dropped:?} and {work:?}"));
        }
        Ok(flow.elicit::<Name>("name", "Who?").await?.name)
    }
    let (effects, runs) = (Effects::default(), AtomicU32::new(0));
    let seen = effects.clone();
    let (client, clock) = timed(move |flow| handler(flow, runs.fetch_add(1, Ordering::Relaxed) == 0, seen.clone()));
    let call = begin(&client).await.accept("name", json!({ "name": "Ada" }));
    let (call, ()) = tokio::join!(call.send(), advance_after(&clock, 10, &effects, 1));
    assert_eq!(call.expect_tool_error(), "The run did not end within 10s: it was waiting for step `work`");
}

#[tokio::test]
async fn a_step_that_the_end_of_its_run_cut_off_is_in_doubt_and_begins_again_only_if_idempotent() {
    async fn handler(flow: Flow, effects: &Effects, idempotent: bool) -> Result<String, Failure> {
        let work = || async {
            effects.happen("begun");
            if effects.count() == 1 {
                std::future::pending::<()>().await;
            }
            Ok::<_, Failure>("done".to_owned())
        };
        let step = flow.step_with("work", work);
        Ok(if idempotent { step.idempotent() } else { step }.await?)
    }
    for idempotent in [false, true] {
        let effects = Effects::default();
        let short = RunContext::for_tests().deadline(Duration::from_millis(1));
        let ran = run(async |flow| handler(flow, &effects, idempotent).await, Journal::default(), short).await;
        assert!(matches!(ran.outcome, Outcome::Failed(_)), "{:?}", ran.outcome);
        let again =
            run(async |flow| handler(flow, &effects, idempotent).await, ran.journal, RunContext::for_tests()).await;
        match again.outcome {
            Outcome::Done(done) => assert_eq!((done.as_str(), idempotent, effects.count()), ("done", true, 2)),
            Outcome::Failed(failure) => {
                assert!(!idempotent && format!("{failure:?}").contains("interrupted"), "{failure:?}");
                assert_eq!(effects.count(), 1);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_step_that_was_given_up_and_is_not_named_any_more_holds_nothing_up() {
    async fn handler(flow: Flow, first: bool) -> Result<String, Failure> {
        if first {
            let work = std::future::pending::<Result<u8, Failure>>();
            tokio::select! { biased; _ = flow.step("work", work).into_future() => {} () = std::future::ready(()) => {} }
        }
        Ok(flow.elicit::<Name>("name", "Who?").await?.name)
    }
    let runs = AtomicU32::new(0);
    let client = client(move |flow| handler(flow, runs.fetch_add(1, Ordering::Relaxed) == 0));
    let call = begin(&client).await.accept("name", json!({ "name": "Ada" })).send().await;
    assert_eq!(call.expect_text(), "Ada");
}

/// The runner gives up then, and the handler makes no mistake.
#[tokio::test]
async fn what_goes_with_a_call_that_was_dropped_is_not_held_against_its_handler() {
    let client = client(async |flow: Flow| {
        let step = flow.step("wait", std::future::pending::<Result<u8, Failure>>());
        flow.join((flow.roots("roots"), step)).await?;
        Ok::<_, Failure>("never")
    });
    let log = Log::start();
    assert!(begin(&client).now_or_never().is_none(), "it waits for its step");
    assert!(!log.text().contains("the handler dropped"), "{}", log.text());
}

/// The first of them ends at once, so that the other is never begun: a later run may poll it first.
#[tokio::test]
async fn a_step_that_select_never_began_beside_one_that_ended_is_warned_of() {
    async fn handler(flow: Flow, effects: Effects, how: u8) -> Result<String, Failure> {
        let (one, two) = (flow.step("one", effects.work("one")), flow.step("two", effects.work("two")));
        match how {
            0 => Ok(tokio::select! { biased; one = one.into_future() => one, two = two.into_future() => two }?),
            1 => {
                flow.race((one, two)).await?;
                Ok("raced".into())
            }
            2 => Ok(flow.join((one, two)).await?.0),
            _ => {
                one.await?;
                Ok(two.await?)
            }
        }
    }
    for how in 0..4 {
        let (log, effects) = (Log::start(), Effects::default());
        let seen = effects.clone();
        call(move |flow| handler(flow, seen.clone(), how)).await.expect_text();
        let warned = log.text().contains("created and never begun");
        assert_eq!(warned, how == 0, "{how}: {}", log.text());
        for said in ["step=two", "beside=one", "`flow.race`"] {
            assert!(!warned || log.text().contains(said), "{said}: {}", log.text());
        }
    }
}
