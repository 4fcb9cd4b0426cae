//! The hold of a question: from its first poll, wherever it is polled, until it is answered or withdrawn.

use std::collections::HashMap;
use std::future::{Future, pending, poll_fn, ready};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use mrtr_server::flow::Race2;
use mrtr_server::{Failure, Flow};
use serde_json::json;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep, timeout};

use crate::support::{Age, Approval, Effects, Log, Name, begin, client};

const MOMENT: Duration = Duration::from_millis(20);
const LONG: Duration = Duration::from_secs(5);

/// Polls something once, and keeps it.
async fn poll_once<F: Future + ?Sized>(mut future: Pin<&mut F>) {
    poll_fn(|cx| {
        let _ = future.as_mut().poll(cx);
        Poll::Ready(())
    })
    .await;
}

/// Waits, and finds nothing.
async fn slow_no() -> bool {
    sleep(LONG).await;
    false
}

/// Waits, and finds it.
async fn slow_yes() -> bool {
    sleep(LONG).await;
    true
}

/// Plays the first round of a handler, which must not have any effect but these, nor take all its time.
async fn first_round<H, F>(handler: H, asked: &[&str], effects: &[&str])
where
    H: Fn(Flow, Effects) -> F + Copy + Send + Sync + 'static,
    F: Future<Output = Result<String, Failure>> + Send + 'static,
{
    let (happened, before) = (Effects::default(), Instant::now());
    let seen = happened.clone();
    let client = client(move |flow| handler(flow, seen.clone())).declaring_extension("com.example/approval");
    begin(&client).await.expect_asked(asked);
    assert_eq!(happened.all(), effects);
    assert!(before.elapsed() < 4 * LONG, "it took {:?}", before.elapsed());
}

/// Plays a handler that is done in one round, with these effects.
async fn one_round<H, F>(handler: H, text: &str, effects: &[&str])
where
    H: Fn(Flow, Effects) -> F + Copy + Send + Sync + 'static,
    F: Future<Output = Result<String, Failure>> + Send + 'static,
{
    let happened = Effects::default();
    let seen = happened.clone();
    let client = client(move |flow| handler(flow, seen.clone())).declaring_extension("com.example/approval");
    assert_eq!(begin(&client).await.expect_text(), text);
    assert_eq!(happened.all(), effects);
}

#[tokio::test(start_paused = true)]
async fn a_visit_that_is_dropped_while_its_check_runs_is_asked_for_and_nothing_begins() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let pay = flow.elicit_url("pay", "Please pay", "https://example.com/pay").until(slow_no);
        timeout(MOMENT, pay.into_future()).await.ok();
        Ok(flow.step("ship", effects.work("ship")).await?)
    }
    let log = Log::start();
    first_round(handler, &["pay"], &[]).await;
    assert!(log.text().contains("dropped an open question"), "{}", log.text());
}

#[tokio::test(start_paused = true)]
async fn a_decision_that_is_dropped_while_its_check_runs_is_asked_for_and_nothing_begins() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let decided = || async {
            sleep(LONG).await;
            None
        };
        let sign_off = flow.ask::<Approval>("sign_off", HashMap::new()).until(decided);
        timeout(MOMENT, sign_off.into_future()).await.ok();
        Ok(flow.step("ship", effects.work("ship")).await?)
    }
    first_round(handler, &["sign_off"], &[]).await;
}

#[tokio::test(start_paused = true)]
async fn what_a_handler_returns_past_a_check_that_it_dropped_does_not_count() {
    async fn handler(flow: Flow, _: Effects) -> Result<String, Failure> {
        let pay = flow.elicit_url("pay", "Please pay", "https://example.com/pay").until(slow_no);
        timeout(MOMENT, pay.into_future()).await.ok();
        Ok("free of charge".into())
    }
    first_round(handler, &["pay"], &[]).await;
}

/// Nothing polls the check any more: it will never say anything.
#[tokio::test(start_paused = true)]
async fn a_question_that_is_kept_by_reference_while_its_check_runs_is_asked() {
    async fn url(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let mut pay =
            pin!(flow.elicit_url("pay", "Please pay", "https://example.com/pay").until(slow_no).into_future());
        tokio::select! { _ = &mut pay => {} () = sleep(MOMENT) => {} }
        Ok(flow.step("ship", effects.work("ship")).await?)
    }
    async fn decision(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let decided = || async { slow_no().await.then_some(1) };
        let sign_off = flow.ask::<Approval>("pay", HashMap::new()).until(decided);
        let mut sign_off = pin!(sign_off.into_future());
        tokio::select! { _ = &mut sign_off => {} () = sleep(MOMENT) => {} }
        Ok(flow.step("ship", effects.work("ship")).await?)
    }
    first_round(url, &["pay"], &[]).await;
    first_round(decision, &["pay"], &[]).await;
}

#[tokio::test(start_paused = true)]
async fn a_check_that_is_kept_by_reference_while_nothing_waits_for_it_may_still_say_yes() {
    async fn handler(flow: Flow, _: Effects) -> Result<String, Failure> {
        let pay = flow.elicit_url("pay", "Please pay", "https://example.com/pay").until(slow_yes);
        let mut pay = pin!(pay.into_future());
        poll_once(pay.as_mut()).await;
        sleep(2 * LONG).await;
        pay.await?;
        Ok("paid".into())
    }
    one_round(handler, "paid", &[]).await;
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_a_check_begins_in_the_same_run_when_it_says_yes() {
    async fn handler(flow: Flow, effects: Effects, how: u8) -> Result<String, Failure> {
        let done = || async {
            sleep(LONG).await;
            effects.happen("paid");
            true
        };
        let pay = flow.elicit_url("pay", "Please pay", "https://example.com/pay").until(done);
        let ship = async {
            match how {
                0 => Ok(flow.step("ship", effects.work("ship")).await?),
                1 => Ok(flow.join((flow.step("ship", effects.work("ship")),)).await?.0),
                2 => {
                    flow.idempotency_key("ship").await;
                    Ok::<_, Failure>(effects.work("ship").await?)
                }
                3 => {
                    flow.yield_point(&1).await;
                    Ok(effects.work("ship").await?)
                }
                _ => {
                    let ship = flow.branch(async { flow.step("ship", effects.work("ship")).await });
                    Ok(flow.join((ship,)).await?.0?)
                }
            }
        };
        let (paid, shipped) = tokio::join!(pay.into_future(), ship);
        paid?;
        shipped
    }
    for how in 0..5 {
        let happened = Effects::default();
        let seen = happened.clone();
        let client = client(move |flow| handler(flow, seen.clone(), how));
        assert_eq!(begin(&client).await.expect_text(), "ship", "{how}");
        assert_eq!(happened.all(), ["paid", "ship"], "{how}");
    }
}

/// A set of futures polls only those of its members that were woken.
#[tokio::test(start_paused = true)]
async fn all_that_waits_for_a_check_is_woken_when_it_says_yes() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let pay = flow.elicit_url("pay", "Please pay", "https://example.com/pay").until(slow_yes);
        let ship = |name| flow.step(name, effects.work(name)).into_future();
        let ships: FuturesUnordered<_> = ["left", "right"].map(ship).into_iter().collect();
        let (paid, shipped) = tokio::join!(pay.into_future(), ships.count());
        paid?;
        Ok(format!("{shipped} shipped"))
    }
    one_round(handler, "2 shipped", &["left", "right"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_is_dropped_while_its_check_runs_stands() {
    async fn handler(flow: Flow, effects: Effects, slow: Arc<AtomicBool>) -> Result<String, Failure> {
        let done = || async {
            if slow.load(Ordering::Relaxed) {
                sleep(LONG).await;
            }
            false
        };
        let pay = flow.elicit_url("pay", "Please pay", "https://example.com/pay").until(done);
        timeout(MOMENT, pay.into_future()).await.ok();
        Ok(flow.step("ship", effects.work("ship")).await?)
    }
    let (happened, slow) = (Effects::default(), Arc::new(AtomicBool::new(false)));
    let (seen, flag) = (happened.clone(), Arc::clone(&slow));
    let client = client(move |flow| handler(flow, seen.clone(), Arc::clone(&flag)));
    let call = begin(&client).await;
    slow.store(true, Ordering::Relaxed);
    assert_eq!(call.decline("pay").send().await.expect_tool_error(), "`pay` was declined");
    assert_eq!(happened.count(), 0);
}

/// The question of the member that won was first polled when another was passed over already.
#[tokio::test]
async fn a_race_forgives_no_question_that_its_winner_passed_over() {
    async fn handler(flow: Flow, effects: Effects, other: bool) -> Result<String, Failure> {
        let drops = flow.branch(async {
            if other {
                tokio::select! {
                    biased; _ = flow.elicit::<Age>("other", "?").into_future() => {} () = ready(()) => {}
                }
            }
            pending::<()>().await;
        });
        let passes = flow.branch(async {
            tokio::select! {
                biased;
                confirmed = flow.elicit::<Name>("confirm", "Delete it?").into_future() => confirmed.is_ok(),
                () = ready(()) => false,
            }
        });
        let raced = flow.race((drops, passes)).await?;
        let deleted = flow.step("delete", effects.work("deleted")).await?;
        Ok(format!("{deleted} {}", matches!(raced, Race2::Second(true))))
    }
    for other in [true, false] {
        let happened = Effects::default();
        let seen = happened.clone();
        let call = crate::support::call(move |flow| handler(flow, seen.clone(), other)).await;
        call.expect_asked(&["confirm"]);
        assert_eq!(happened.count(), 0);
        let call = call.accept("confirm", json!({ "name": "yes" })).send().await;
        // Who won was recorded before the question was answered.
        assert_eq!(call.expect_text(), "deleted true");
        assert_eq!(happened.count(), 1);
    }
}

#[tokio::test]
async fn one_question_in_two_members_holds_both() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let name = flow.elicit::<Name>("name", "Who?").into_future().map(|name| name.is_ok()).shared();
        let waits = flow.branch(name.clone());
        let goes_on = flow.branch(async {
            tokio::select! { biased; _ = name.clone() => {} () = ready(()) => {} }
            flow.step("ship", effects.work("ship")).await
        });
        let beside = flow.branch(async { flow.step("beside", effects.work("beside")).await });
        let (_, shipped, beside) = flow.join((waits, goes_on, beside)).await?;
        beside?;
        Ok(shipped?)
    }
    first_round(handler, &["name"], &["beside"]).await;
}

#[tokio::test]
async fn a_join_that_began_before_a_question_of_the_body_is_held_by_it() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let (send, go) = tokio::sync::oneshot::channel::<()>();
        let told = flow.branch(async {
            go.await.ok();
            flow.step("ship", effects.work("ship")).await
        });
        let mut join = pin!(flow.join((told,)));
        poll_once(join.as_mut()).await;
        let mut name = pin!(flow.elicit::<Name>("name", "Who?").into_future());
        poll_once(name.as_mut()).await;
        send.send(()).unwrap();
        Ok(join.await?.0?)
    }
    first_round(handler, &["name"], &[]).await;
}

/// Members of a join answer for what they tell one another.
#[tokio::test]
async fn members_of_one_join_do_not_hold_each_other() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let (send, go) = tokio::sync::oneshot::channel::<()>();
        let asks = flow.branch(async {
            let mut name = pin!(flow.elicit::<Name>("name", "Who?").into_future());
            poll_once(name.as_mut()).await;
            send.send(()).unwrap();
            name.await
        });
        let told = flow.branch(async {
            go.await.ok();
            flow.step("beside", effects.work("beside")).await
        });
        let (name, beside) = flow.join((asks, told)).await?;
        beside?;
        Ok(name?.name)
    }
    first_round(handler, &["name"], &["beside"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_join_that_began_while_a_check_ran_goes_on_after_it_beside_its_own_question() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let pay = flow.elicit_url("pay", "Please pay", "https://example.com/pay").until(slow_yes);
        let joined = flow.join((flow.step("ship", effects.work("ship")), flow.elicit::<Name>("name", "Who?")));
        let (paid, joined) = tokio::join!(pay.into_future(), joined);
        paid?;
        Ok(joined?.0)
    }
    first_round(handler, &["name"], &["ship"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_check_that_lost_a_race_holds_nothing() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let pay = flow.elicit_url("pay", "Please pay", "https://example.com/pay").until(slow_no);
        let found = async {
            yield_now().await;
            effects.work("found").await
        };
        flow.race((pay, flow.step("look_up", found))).await?;
        Ok(flow.step("ship", effects.work("ship")).await?)
    }
    one_round(handler, "ship", &["found", "ship"]).await;
}

/// The question lost where it was polled first, and is awaited elsewhere: there it holds the branch around it.
#[tokio::test(start_paused = true)]
async fn a_check_that_outlives_its_race_holds_the_branch_that_awaits_it() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let mut pay =
            pin!(flow.elicit_url("pay", "Please pay", "https://example.com/pay").until(slow_no).into_future());
        flow.race((flow.branch(async { (&mut pay).await.is_ok() }), flow.branch(yield_now()))).await?;
        let ship = flow.step("ship", effects.work("ship"));
        let (paid, shipped) = tokio::join!(pay, ship.into_future());
        paid?;
        Ok(shipped?)
    }
    first_round(handler, &["pay"], &[]).await;
}

/// Polls a step in a branch that a question holds, and sends it to another branch, which is free.
async fn send_held_step(
    flow: &Flow,
    effects: &Effects,
    question: impl Future<Output: Send> + Send,
) -> Result<String, Failure> {
    let mut ship = flow.step("ship", effects.work("ship")).into_future();
    let (send, receive) = tokio::sync::oneshot::channel();
    let asks = flow.branch(async {
        let mut question = pin!(question);
        poll_once(question.as_mut()).await;
        poll_once(ship.as_mut()).await;
        send.send(ship).ok();
        question.await;
    });
    let takes = flow.branch(async {
        let ship = receive.await.map_err(|_| "nothing was sent")?;
        Ok::<_, Failure>(ship.await?)
    });
    flow.join((asks, takes)).await?.1
}

#[tokio::test(start_paused = true)]
async fn a_step_that_was_held_where_it_was_made_waits_where_it_is_sent() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        send_held_step(&flow, &effects, flow.elicit::<Name>("name", "Who?").into_future()).await
    }
    first_round(handler, &["name"], &[]).await;
}

#[tokio::test(start_paused = true)]
async fn a_step_that_was_held_where_it_was_made_begins_where_it_is_sent_once_the_check_says_yes() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let pay = flow.elicit_url("pay", "Please pay", "https://example.com/pay").until(slow_yes);
        send_held_step(&flow, &effects, pay.into_future()).await
    }
    one_round(handler, "ship", &["ship"]).await;
}

/// Nothing else happens in the run by then that would have the handler polled once more.
#[tokio::test]
async fn a_step_that_was_held_begins_in_the_run_in_which_a_race_takes_the_question_back() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let decides = flow.branch(async {
            let mut polls = 0;
            let third_poll = poll_fn(|_| {
                polls += 1;
                if polls < 3 { Poll::Pending } else { Poll::Ready(()) }
            });
            let mut race =
                pin!(flow.race((flow.elicit::<Age>("age", "How old?"), flow.branch(third_poll))).into_future());
            assert!(futures_util::poll!(&mut race).is_pending());
            // Polled before the race, in this order each time.
            let (shipped, raced) = futures_util::join!(flow.step("ship", effects.work("ship")).into_future(), race);
            raced?;
            Ok::<_, Failure>(shipped?)
        });
        flow.join((flow.elicit::<Name>("name", "Who?"), decides)).await?.1
    }
    first_round(handler, &["name"], &["ship"]).await;
}
