//! Steps that a handler began and keeps while the flow asks: the log names them at once if nothing polls them, and only
//! then.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use mrtr_server::{Failure, Flow};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::support::{Effects, Log, Name, begin, call, client, expect_internal};

/// Polls something once, and keeps it.
async fn poll_once<F: Future + ?Sized>(mut future: Pin<&mut F>) {
    poll_fn(|cx| {
        let _ = future.as_mut().poll(cx);
        Poll::Ready(())
    })
    .await;
}

/// Takes effect after so long.
async fn after(time: Duration, effects: &Effects) -> Result<(), Failure> {
    effects.happen("begun");
    sleep(time).await;
    effects.happen("done");
    Ok(())
}

const MOMENT: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_secs(30);

#[tokio::test(start_paused = true)]
async fn a_step_that_is_kept_by_reference_while_the_flow_asks_is_named_within_seconds() {
    async fn handler(flow: Flow, effects: Effects, how: u8) -> Result<String, Failure> {
        let mut charge = flow.step("charge", after(MOMENT, &effects)).into_future();
        poll_once(charge.as_mut()).await;
        let name = match how {
            0 => flow.elicit::<Name>("name", "Who?").await?,
            1 => flow.join((flow.elicit::<Name>("name", "Who?"),)).await?.0,
            // The question is open first, in another branch.
            _ => {
                let beside = flow.branch(async {
                    let mut more = pin!(flow.step("more", after(LONG, &effects)).into_future());
                    poll_once(more.as_mut()).await;
                    more.await
                });
                flow.join((flow.elicit::<Name>("name", "Who?"), beside)).await?.0
            }
        };
        charge.await?;
        Ok(name.name)
    }
    for how in 0..3 {
        let (log, effects, before) = (Log::start(), Effects::default(), Instant::now());
        let seen = effects.clone();
        let call = call(move |flow| handler(flow, seen.clone(), how)).await;
        expect_internal(&call, &log, "the step `charge` was begun and is not polled while the flow asks `name`");
        assert!(log.text().contains("`flow.join`"), "{}", log.text());
        let took = before.elapsed();
        if how < 2 {
            assert_eq!((effects.all(), took), (vec!["begun".to_owned()], MOMENT + Duration::from_secs(1)), "{how}");
        } else {
            // What is polled goes on to its end.
            assert_eq!(effects.all(), ["begun", "begun", "done"]);
            assert_eq!(took, LONG);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_that_was_not_woken_may_be_kept_for_as_long_as_it_takes() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let asked = flow.elicit::<Name>("name", "Who?");
        let kept = flow.branch(async {
            let mut charge = flow.step("charge", after(LONG, &effects)).into_future();
            poll_once(charge.as_mut()).await;
            sleep(LONG / 2).await;
            charge.await
        });
        flow.join((asked, kept)).await?.1?;
        Ok("charged".into())
    }
    let effects = Effects::default();
    let seen = effects.clone();
    call(move |flow| handler(flow, seen.clone())).await.expect_asked(&["name"]);
    assert_eq!(effects.all(), ["begun", "done"]);
}

/// The step is polled by reference, beside a tick, in a loop; a question is open in another member.
#[tokio::test(start_paused = true)]
async fn a_loop_that_shows_progress_beside_its_step_is_no_mistake() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let asked = flow.elicit::<Name>("name", "Who?");
        let copied = flow.branch(async {
            let mut copy = flow.step("copy", after(LONG, &effects)).into_future();
            loop {
                tokio::select! {
                    copied = &mut copy => break copied,
                    () = sleep(Duration::from_millis(700)) => flow.progress(1, None, "copying").await,
                }
            }
        });
        let (name, copied) = flow.join((asked, copied)).await?;
        copied?;
        Ok(name.name)
    }
    let effects = Effects::default();
    let seen = effects.clone();
    let call = call(move |flow| handler(flow, seen.clone())).await;
    call.expect_asked(&["name"]);
    assert_eq!(call.accept("name", json!({ "name": "Ada" })).send().await.expect_text(), "Ada");
    assert_eq!(effects.all(), ["begun", "done"]);
}

/// A set of futures polls only those of its members that were woken.
#[tokio::test(start_paused = true)]
async fn steps_in_a_set_of_futures_are_no_mistake() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let (flow, effects) = (&flow, &effects);
        let steps: FuturesUnordered<_> = (1..=20)
            .map(|number| async move {
                let time = Duration::from_millis(333 * number);
                flow.step(number, after(time, effects)).await.is_ok()
            })
            .collect();
        let (steps, name) = tokio::join!(steps.count(), flow.elicit::<Name>("name", "Who?").into_future());
        Ok(format!("{} {steps}", name?.name))
    }
    let effects = Effects::default();
    let seen = effects.clone();
    let call = call(move |flow| handler(flow, seen.clone())).await;
    call.expect_asked(&["name"]);
    assert_eq!(effects.count(), 40, "each was begun before the question, and done");
    assert_eq!(call.accept("name", json!({ "name": "Ada" })).send().await.expect_text(), "Ada 20");
}

/// A step that spends tokio's budget is woken again and again without getting on.
#[tokio::test]
async fn a_step_that_waits_for_tokios_budget_is_no_mistake() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let spends = async {
            let (send, mut receive) = tokio::sync::mpsc::unbounded_channel();
            for number in 0..100_000 {
                send.send(number).map_err(|error| error.to_string())?;
            }
            for _ in 0..100_000 {
                receive.recv().await;
            }
            effects.happen("done");
            Ok::<_, Failure>(())
        };
        let (spent, name) =
            tokio::join!(flow.step("spend", spends).into_future(), flow.elicit::<Name>("name", "Who?").into_future());
        spent?;
        Ok(name?.name)
    }
    let effects = Effects::default();
    let seen = effects.clone();
    begin(&client(move |flow| handler(flow, seen.clone()))).await.expect_asked(&["name"]);
    assert_eq!(effects.all(), ["done"]);
}

/// Gives way once, and wakes the task that polls it by reference.
async fn give_way() {
    let mut was_polled = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut was_polled, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_step_that_wakes_itself_by_reference_goes_on_alone_and_beside_another() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let alone = async {
            give_way().await;
            effects.happen("alone");
            Ok::<_, Failure>(())
        };
        flow.step("alone", alone).await?;
        let (send, receive) = tokio::sync::oneshot::channel();
        let waits = async {
            receive.await.map_err(|_| "nobody sends")?;
            effects.happen("waits");
            Ok::<_, Failure>(())
        };
        let sends = async {
            give_way().await;
            send.send(()).map_err(|()| "nobody waits")?;
            effects.happen("sends");
            Ok::<_, Failure>(())
        };
        flow.join((flow.step("waits", waits), flow.step("sends", sends))).await?;
        Ok("done".into())
    }
    let effects = Effects::default();
    let seen = effects.clone();
    assert_eq!(call(move |flow| handler(flow, seen.clone())).await.expect_text(), "done");
    assert_eq!(effects.all(), ["alone", "sends", "waits"]);
}

#[tokio::test(start_paused = true)]
async fn a_step_that_is_kept_while_nothing_is_asked_is_no_mistake() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let mut charge = flow.step("charge", after(MOMENT, &effects)).into_future();
        poll_once(charge.as_mut()).await;
        sleep(LONG).await;
        charge.await?;
        Ok("charged".into())
    }
    let effects = Effects::default();
    let seen = effects.clone();
    assert_eq!(call(move |flow| handler(flow, seen.clone())).await.expect_text(), "charged");
}

const PATIENCE: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn each_step_that_is_kept_while_the_flow_asks_is_given_up_in_its_own_time() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let mut one = flow.step("one", after(MOMENT, &effects)).into_future();
        let mut two = flow.step("two", after(MOMENT * 2, &effects)).into_future();
        poll_once(one.as_mut()).await;
        poll_once(two.as_mut()).await;
        let name = flow.elicit::<Name>("name", "Who?").await?.name;
        one.await?;
        two.await?;
        Ok(name)
    }
    let (log, effects, before) = (Log::start(), Effects::default(), Instant::now());
    let seen = effects.clone();
    let call = call(move |flow| handler(flow, seen.clone())).await;
    expect_internal(&call, &log, "is not polled while the flow asks `name`");
    assert_eq!(before.elapsed(), MOMENT * 2 + PATIENCE, "the one did not wait for the other");
}

/// Two questions are asked one after the other, neither of them for as long as a step may be kept.
#[tokio::test(start_paused = true)]
async fn the_time_for_which_a_step_may_be_kept_begins_anew_with_each_question() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let mut charge = flow.step("charge", after(MOMENT, &effects)).into_future();
        poll_once(charge.as_mut()).await;
        let given_up = flow.branch(sleep(PATIENCE / 2));
        flow.race((flow.elicit::<Name>("early", "Who?"), given_up)).await?;
        sleep(LONG).await;
        let charged = flow.branch(async {
            sleep(PATIENCE / 2).await;
            charge.await
        });
        let (name, charged) = flow.join((flow.elicit::<Name>("name", "Who?"), charged)).await?;
        charged?;
        Ok(name.name)
    }
    let effects = Effects::default();
    let seen = effects.clone();
    call(move |flow| handler(flow, seen.clone())).await.expect_asked(&["name"]);
    assert_eq!(effects.all(), ["begun", "done"]);
}

/// The time that another step still takes is time in which the handler could get back to this one.
#[tokio::test(start_paused = true)]
async fn a_step_that_was_given_up_does_nothing_more_when_it_is_polled_after_all() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let mut charge = flow.step("charge", after(MOMENT, &effects)).into_future();
        poll_once(charge.as_mut()).await;
        let late = flow.branch(async {
            sleep(PATIENCE * 2).await;
            effects.happen("polled again");
            charge.await
        });
        let more = flow.branch(async {
            let mut more = pin!(flow.step("more", sleep_well(LONG)).into_future());
            poll_once(more.as_mut()).await;
            more.await
        });
        let (name, ..) = flow.join((flow.elicit::<Name>("name", "Who?"), late, more)).await?;
        Ok(name.name)
    }
    async fn sleep_well(time: Duration) -> Result<(), Failure> {
        sleep(time).await;
        Ok(())
    }
    let (log, effects) = (Log::start(), Effects::default());
    let seen = effects.clone();
    let call = call(move |flow| handler(flow, seen.clone())).await;
    expect_internal(&call, &log, "the step `charge` was begun and is not polled while the flow asks `name`");
    assert_eq!(effects.all(), ["begun", "polled again"]);
}
