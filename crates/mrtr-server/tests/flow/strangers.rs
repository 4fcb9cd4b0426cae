//! A flow in the wrong hands: a spawned task, another thread, and the rest of a run that has ended.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mrtr_flow::{Journal, RunContext, run};
use mrtr_server::{Failure, Flow, FlowError};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::support::{Effects, Log, Name, call, expect_internal};

/// The time that a reply may take that must come.
const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_spawned_task_that_asks_or_does_ends_the_run_with_an_error_that_says_so() {
    async fn handler(flow: Flow, how: u8, effects: Effects) -> Result<String, Failure> {
        let flow = Arc::new(flow);
        let spawned = tokio::spawn({
            let flow = Arc::clone(&flow);
            async move {
                let ended = match how {
                    0 => flow.elicit::<Name>("name", "Who?").await.map(drop),
                    1 => flow.step("act", effects.work("act")).await.map(drop),
                    2 => flow.join((flow.roots("a"), flow.roots("b"))).await.map(drop),
                    _ => flow.elicit_url("go", "Go", "https://example.com").until(|| async { true }).await,
                };
                assert_eq!(ended, Err(FlowError::Closed));
            }
        });
        spawned.await?;
        // It is told at once, and the run ends whatever the handler does.
        pending::<()>().await;
        Ok("went on".into())
    }
    for how in 0..4 {
        let (log, effects) = (Log::start(), Effects::default());
        let seen = effects.clone();
        let call = timeout(PATIENCE, call(move |flow| handler(flow, how, seen.clone()))).await.expect("a reply");
        expect_internal(&call, &log, "was used outside the handler's own code");
        assert_eq!(effects.count(), 0);
    }
}

#[tokio::test]
async fn a_call_that_cannot_give_an_error_panics_in_the_task_that_made_it() {
    async fn handler(flow: Flow, how: u8) -> Result<String, Failure> {
        let flow = Arc::new(flow);
        let spawned = tokio::spawn(async move {
            match how {
                0 => drop(flow.elicit::<Name>("name", "Who?").answer().await),
                1 => drop(flow.elicit::<Name>("name", "Who?").optional().await),
                2 => drop(flow.idempotency_key("key").await),
                3 => flow.yield_point(&1).await,
                _ => flow.into_task().await,
            }
        });
        assert!(spawned.await.unwrap_err().is_panic());
        Ok("the run has failed".into())
    }
    for how in 0..5 {
        let log = Log::start();
        let call = timeout(PATIENCE, call(move |flow| handler(flow, how))).await.expect("a reply");
        expect_internal(&call, &log, "was used outside the handler's own code");
    }
}

#[tokio::test]
async fn when_its_run_has_ended_a_flow_is_closed() {
    let later = Arc::new(Mutex::new(None));
    let kept = Arc::clone(&later);
    let call = call(move |flow: Flow| {
        *kept.lock().unwrap() = Some(Arc::new(flow));
        std::future::ready(Ok::<_, Failure>("done"))
    });
    assert_eq!(call.await.expect_text(), "done");
    let flow = later.lock().unwrap().take().unwrap();
    let effects = Effects::default();
    assert_eq!(flow.step("act", effects.work("act")).await, Err(FlowError::Closed));
    assert_eq!(flow.elicit::<Name>("name", "Who?").await.unwrap_err(), FlowError::Closed);
    assert_eq!(flow.race((flow.roots("a"), flow.roots("b"))).await.unwrap_err(), FlowError::Closed);
    let key = tokio::spawn(async move { flow.idempotency_key("key").await });
    assert!(key.await.unwrap_err().is_panic());
    assert_eq!(effects.count(), 0);
}

#[tokio::test]
async fn a_step_that_a_handler_lets_out_of_its_hands_ends_before_the_reply() {
    async fn handler(flow: Flow, go: oneshot::Receiver<()>, effects: Effects) -> Result<String, Failure> {
        let flow = Arc::new(flow);
        let mut stepping = Box::pin({
            let flow = Arc::clone(&flow);
            async move {
                let work = async {
                    go.await.ok();
                    effects.work("act").await
                };
                flow.step("act", work).await
            }
        });
        // Begun here, and then given away.
        tokio::select! { biased; _ = &mut stepping => {} () = std::future::ready(()) => {} }
        tokio::spawn(stepping);
        Ok("done".into())
    }
    let (effects, (send, go)) = (Effects::default(), oneshot::channel());
    let (seen, go) = (effects.clone(), Mutex::new(Some(go)));
    let calling = call(move |flow| handler(flow, go.lock().unwrap().take().unwrap(), seen.clone()));
    let (call, ()) = tokio::join!(timeout(PATIENCE, calling), async { send.send(()).unwrap() });
    assert_eq!(call.expect("a reply").expect_text(), "done");
    assert_eq!(effects.all(), ["act"], "it happened before the reply");
}

#[tokio::test]
async fn a_race_that_a_handler_lets_out_of_its_hands_is_won_by_no_member() {
    async fn handler(flow: Flow, go: oneshot::Receiver<()>, effects: Effects) -> Result<String, Failure> {
        let flow = Arc::new(flow);
        let mut racing = Box::pin({
            let flow = Arc::clone(&flow);
            async move {
                let work = async {
                    go.await.ok();
                    effects.work("act").await
                };
                flow.race((flow.step("act", work), flow.step("never", pending::<Result<(), Failure>>()))).await
            }
        });
        // Begun here, and then given away.
        tokio::select! { biased; _ = &mut racing => {} () = std::future::ready(()) => {} }
        let spawned = tokio::spawn(racing);
        Ok(format!("{:?}", spawned.await?))
    }
    let (effects, (send, go)) = (Effects::default(), oneshot::channel());
    let (seen, go) = (effects.clone(), Mutex::new(Some(go)));
    let calling = call(move |flow| handler(flow, go.lock().unwrap().take().unwrap(), seen.clone()));
    let (call, ()) = tokio::join!(timeout(PATIENCE, calling), async { send.send(()).unwrap() });
    assert_eq!(call.expect("a reply").expect_text(), "Err(Closed)");
    assert_eq!(effects.all(), ["act"], "what was begun is finished");
}

#[tokio::test]
async fn a_flow_is_not_used_by_the_handler_of_another_run() {
    for how in 0..2 {
        let (log, effects) = (Log::start(), Effects::default());
        let seen = effects.clone();
        let call = call(move |outer: Flow| {
            let effects = seen.clone();
            async move {
                let inner = async |_: Flow| match how {
                    0 => Ok::<_, Failure>(outer.elicit::<Name>("name", "Who?").await?.name),
                    _ => Ok(outer.step("act", effects.work("act")).await?),
                };
                let ran = run(inner, Journal::default(), RunContext::for_tests()).await;
                Ok::<_, Failure>(format!("{:?}", ran.outcome))
            }
        });
        expect_internal(
            &timeout(PATIENCE, call).await.expect("a reply"),
            &log,
            "was used outside the handler's own code",
        );
        assert_eq!(effects.count(), 0);
    }
}
