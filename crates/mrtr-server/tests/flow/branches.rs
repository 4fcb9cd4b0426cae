//! The branches of a run: nothing but a question begins where one is open, and members of a join go on beside it.

use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::task::Poll;

use futures_util::FutureExt;
use mrtr_server::{Failure, Flow};
use serde_json::json;
use tokio::task::yield_now;

use crate::support::{Age, Effects, Name, call};

/// Polls something once, and keeps it.
async fn poll_once<F: Future + ?Sized>(mut future: Pin<&mut F>) {
    poll_fn(|cx| {
        let _ = future.as_mut().poll(cx);
        Poll::Ready(())
    })
    .await;
}

/// Ten steps in a row, the first of which takes its time.
async fn ten_steps(flow: &Flow, effects: &Effects) -> Result<(), Failure> {
    for step in 0..10 {
        let work = async {
            effects.happen(format!("begun {step}"));
            yield_now().await;
            effects.work(&format!("done {step}")).await
        };
        flow.step(step, work).await?;
    }
    Ok(())
}

/// Plays a handler whose first round asks `name` and must not have any effect but these.
async fn asks_name_after<H, F>(handler: H, effects: &[&str])
where
    H: Fn(Flow, Effects) -> F + Copy + Send + Sync + 'static,
    F: Future<Output = Result<String, Failure>> + Send + 'static,
{
    let happened = Effects::default();
    let seen = happened.clone();
    let call = call(move |flow| handler(flow, seen.clone())).await;
    call.expect_asked(&["name"]);
    assert_eq!(happened.all(), effects);
}

#[tokio::test]
async fn a_step_made_above_a_question_does_not_begin_below_it() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let delete = flow.step("delete", effects.work("delete"));
        let mut confirm = pin!(flow.elicit::<Name>("name", "Delete it?").into_future());
        tokio::select! {
            biased;
            _ = &mut confirm => {}
            () = std::future::ready(()) => {}
        }
        Ok(delete.await?)
    }
    asks_name_after(handler, &[]).await;
}

#[tokio::test]
async fn nothing_begins_after_a_question_that_is_kept_and_not_awaited() {
    async fn handler(flow: Flow, effects: Effects, how: u8) -> Result<String, Failure> {
        let mut confirm = pin!(flow.elicit::<Name>("name", "Delete it?").into_future());
        poll_once(confirm.as_mut()).await;
        match how {
            0 => drop(flow.step("delete", effects.work("delete")).await),
            1 => drop(flow.idempotency_key("delete").await),
            2 => flow.yield_point(&1).await,
            3 => flow.into_task().await,
            _ => drop(flow.join((flow.step("delete", effects.work("delete")),)).await),
        }
        effects.happen("went on");
        Ok("went on".into())
    }
    for how in 0..5 {
        let happened = Effects::default();
        let seen = happened.clone();
        let call = call(move |flow| handler(flow, seen.clone(), how)).await;
        call.expect_asked(&["name"]);
        assert_eq!(happened.count(), 0, "{how}");
    }
}

#[tokio::test]
async fn a_join_that_is_polled_by_hand_holds_the_code_around_it() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let mut join = pin!(flow.join((flow.elicit::<Name>("name", "Who?"), flow.step("a", effects.work("a")))));
        poll_once(join.as_mut()).await;
        Ok(flow.step("outside", effects.work("outside")).await?)
    }
    asks_name_after(handler, &["a"]).await;
}

#[tokio::test]
async fn a_panic_that_is_caught_around_a_question_does_not_lead_past_it() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let joined =
            async { tokio::join!(flow.elicit::<Name>("name", "Who?").into_future(), async { panic!("beside it") }).0 };
        let caught = AssertUnwindSafe(joined).catch_unwind().await;
        effects.happen(format!("caught: {}", caught.is_err()));
        Ok(flow.step("delete", effects.work("delete")).await?)
    }
    asks_name_after(handler, &["caught: true"]).await;
}

#[tokio::test]
async fn a_branch_of_ten_steps_runs_beside_a_question() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let steps = flow.branch(ten_steps(&flow, &effects));
        let (name, steps) = flow.join((flow.elicit::<Name>("name", "Who?"), steps)).await?;
        steps?;
        Ok(name.name)
    }
    let happened = Effects::default();
    let seen = happened.clone();
    let call = call(move |flow| handler(flow, seen.clone())).await;
    call.expect_asked(&["name"]);
    assert_eq!(happened.count(), 20, "each was begun and done");
    assert_eq!(call.accept("name", json!({ "name": "Ada" })).send().await.expect_text(), "Ada");
    assert_eq!(happened.count(), 20, "and none of them again");
}

#[tokio::test]
async fn in_a_plain_join_a_step_that_has_begun_is_finished_and_no_other_begins() {
    async fn steps_first(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let (steps, name) = tokio::join!(ten_steps(&flow, &effects), flow.elicit::<Name>("name", "?").into_future());
        steps?;
        Ok(name?.name)
    }
    async fn question_first(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let (name, steps) = tokio::join!(flow.elicit::<Name>("name", "?").into_future(), ten_steps(&flow, &effects));
        steps?;
        Ok(name?.name)
    }
    asks_name_after(steps_first, &["begun 0", "done 0"]).await;
    asks_name_after(question_first, &[]).await;
}

#[tokio::test]
async fn a_key_is_given_inside_a_step_that_has_begun() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let charge = async {
            yield_now().await;
            effects.happen(flow.idempotency_key("charge").await);
            Ok::<_, Failure>(())
        };
        let (charged, name) =
            tokio::join!(flow.step("charge", charge).into_future(), flow.elicit::<Name>("name", "Who?").into_future());
        charged?;
        Ok(name?.name)
    }
    let happened = Effects::default();
    let seen = happened.clone();
    call(move |flow| handler(flow, seen.clone())).await.expect_asked(&["name"]);
    assert_eq!(happened.count(), 1, "the key was given though the question was open by then");
}

#[tokio::test]
async fn a_task_waits_for_an_open_question_in_whichever_branch_it_is() {
    async fn handler(flow: Flow) -> Result<String, Failure> {
        let task = flow.branch(flow.into_task());
        let (name, ()) = flow.join((flow.elicit::<Name>("name", "Who?"), task)).await?;
        Ok(name.name)
    }
    call(handler).await.expect_asked(&["name"]);
}

#[tokio::test]
async fn a_join_that_begins_where_a_question_is_open_begins_nothing_but_questions() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let inner = flow.branch(async {
            let mut name = pin!(flow.elicit::<Name>("name", "Who?").into_future());
            poll_once(name.as_mut()).await;
            let steps = flow.step("inner", effects.work("inner"));
            flow.join((steps, flow.elicit::<Age>("age", "How old?"))).await
        });
        let beside = flow.branch(async { flow.step("beside", effects.work("beside")).await });
        let (inner, beside) = flow.join((inner, beside)).await?;
        inner?;
        Ok(beside?)
    }
    let happened = Effects::default();
    let seen = happened.clone();
    let call = call(move |flow| handler(flow, seen.clone())).await;
    call.expect_asked(&["name", "age"]);
    assert_eq!(happened.all(), ["beside"]);
}

#[tokio::test]
async fn join_all_asks_and_does_any_number_of_things_in_one_round() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let names = flow.join_all((0..3).map(|who| flow.elicit::<Name>(format!("name{who}"), "Who?"))).await?;
        let done = flow.join_all((0..3).map(|step| flow.step(step, effects.work("did")))).await?;
        let none: Vec<String> = flow.join_all(Vec::<mrtr_server::flow::Branch<'_, String>>::new()).await?;
        let names: Vec<_> = names.into_iter().map(|name| name.name).collect();
        Ok(format!("{} {} {}", names.join(" "), done.len(), none.len()))
    }
    let happened = Effects::default();
    let seen = happened.clone();
    let call = call(move |flow| handler(flow, seen.clone())).await;
    call.expect_asked(&["name0", "name1", "name2"]);
    let call = call.accept("name0", json!({ "name": "Ada" })).accept("name2", json!({ "name": "Eve" })).send().await;
    call.expect_asked(&["name1"]);
    assert_eq!(happened.count(), 0);
    assert_eq!(call.accept("name1", json!({ "name": "Bob" })).send().await.expect_text(), "Ada Bob Eve 3 0");
    assert_eq!(happened.count(), 3);
}

#[tokio::test]
async fn a_member_that_fails_leaves_the_others_of_join_all_to_their_end() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let joined = flow.join_all((0..3).map(|step| {
            let effects = effects.clone();
            flow.step(step, async move {
                if step == 0 {
                    return Err("no");
                }
                yield_now().await;
                effects.happen("did");
                Ok(step)
            })
        }));
        Ok(format!("{:?}", joined.await.is_err()))
    }
    let happened = Effects::default();
    let seen = happened.clone();
    assert_eq!(call(move |flow| handler(flow, seen.clone())).await.expect_text(), "true");
    assert_eq!(happened.count(), 2);
}

#[tokio::test]
async fn a_question_is_optional_only_if_every_place_that_asks_it_says_so() {
    async fn handler(flow: Flow, optional_first: bool, effects: Effects) -> Result<String, Failure> {
        let optional = flow.branch(async {
            if flow.elicit::<Name>("name", "Who?").optional().await.is_none() {
                effects.happen("went on without it");
            }
        });
        let required = flow.branch(async { flow.elicit::<Name>("name", "Who?").await });
        let required = if optional_first {
            flow.join((optional, required)).await?.1
        } else {
            flow.join((required, optional)).await?.0
        };
        Ok(required?.name)
    }
    for optional_first in [true, false] {
        let effects = Effects::default();
        let seen = effects.clone();
        let asked = call(move |flow| handler(flow, optional_first, seen.clone())).await.send().await;
        asked.expect_asked(&["name"]);
        let call = asked.accept("name", json!({ "name": "Ada" })).send().await;
        assert_eq!(call.expect_text(), "Ada");
        assert_eq!(effects.all(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn what_was_left_out_where_it_was_optional_is_asked_for_where_it_is_not() {
    let call = call(async |flow: Flow| {
        let first = flow.elicit::<Name>("name", "Who?").optional().await.is_some();
        let name = flow.elicit::<Name>("name", "Who?").await?;
        Ok::<_, Failure>(format!("{first} {}", name.name))
    });
    let asked = call.await.send().await;
    asked.expect_asked(&["name"]);
    assert_eq!(asked.accept("name", json!({ "name": "Ada" })).send().await.expect_text(), "true Ada");
}
