//! An open question ends the run: nothing steps past it, and what runs beside it is gathered or finished.

use std::time::Duration;

use mrtr_server::{Failure, Flow, FlowError};
use serde_json::json;
use tokio::task::yield_now;

use crate::support::{Age, Effects, Name, begin, call, client};

#[tokio::test]
async fn a_question_is_asked_and_its_answer_returned() {
    let call = call(async |flow: Flow| Ok::<_, Failure>(flow.elicit::<Name>("name", "Who?").await?.name)).await;
    call.expect_asked(&["name"]);
    assert_eq!(call.accept("name", json!({ "name": "Ada" })).send().await.expect_text(), "Ada");
}

#[tokio::test]
async fn neither_ok_nor_unwrap_or_steps_past_a_question() {
    let effects = Effects::default();
    let seen = effects.clone();
    let call = call(move |flow: Flow| {
        let effects = seen.clone();
        async move {
            let name = flow.elicit::<Name>("name", "Who?").await.ok();
            effects.happen("went on");
            let years = flow.elicit::<Age>("age", "How old?").await.unwrap_or(Age { years: 0 });
            Ok::<_, Failure>(format!("{} is {}", name.map_or("Nobody".into(), |name| name.name), years.years))
        }
    })
    .await;
    call.expect_asked(&["name"]);
    assert_eq!(effects.count(), 0);
    let call = call.decline("name").send().await;
    call.expect_asked(&["age"]);
    assert_eq!(call.cancel("age").send().await.expect_text(), "Nobody is 0");
}

#[tokio::test]
async fn a_select_that_drops_a_question_gets_no_further() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        tokio::select! {
            biased;
            name = flow.elicit::<Name>("name", "Who?") => Ok(name?.name),
            () = std::future::ready(()) => Ok(flow.step("act", effects.work("act")).await?),
        }
    }
    let effects = Effects::default();
    let seen = effects.clone();
    let call = call(move |flow| handler(flow, seen.clone())).await;
    call.expect_asked(&["name"]);
    assert_eq!(effects.count(), 0, "the step of the other branch did not run");
    assert_eq!(call.accept("name", json!({ "name": "Ada" })).send().await.expect_text(), "Ada");
}

#[tokio::test]
async fn what_a_handler_returns_past_a_question_does_not_count() {
    async fn handler(flow: Flow, wrong: u8) -> Result<String, Failure> {
        tokio::select! {
            biased;
            name = flow.elicit::<Name>("name", "Who?") => Ok(name?.name),
            () = std::future::ready(()) => match wrong {
                0 => Ok("nobody".into()),
                1 => Err("no answer".into()),
                _ => panic!("no answer"),
            },
        }
    }
    for wrong in 0..3 {
        let call = call(move |flow| handler(flow, wrong)).await;
        call.expect_asked(&["name"]);
        assert_eq!(call.accept("name", json!({ "name": "Ada" })).send().await.expect_text(), "Ada");
    }
}

#[tokio::test]
async fn nothing_of_the_flow_goes_on_past_a_question() {
    async fn handler(flow: Flow, how: u8) -> Result<String, Failure> {
        tokio::select! {
            biased;
            name = flow.elicit::<Name>("name", "Who?") => return Ok(name?.name),
            () = std::future::ready(()) => {}
        }
        match how {
            0 => flow.into_task().await,
            1 => flow.yield_point(&1).await,
            2 => drop(flow.idempotency_key("key").await),
            3 => flow.elicit_url("go", "Go", "https://example.com").until(|| async { true }).await?,
            _ => drop(flow.elicit::<Age>("age", "How old?").await),
        }
        Ok("went on".into())
    }
    for how in 0..5 {
        let call = call(move |flow| handler(flow, how)).await;
        call.expect_asked(&["name"]);
        assert_eq!(call.accept("name", json!({ "name": "Ada" })).send().await.expect_text(), "Ada");
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_does_not_wait_for_a_question() {
    let before = tokio::time::Instant::now();
    let call = call(async |flow: Flow| {
        let name = tokio::time::timeout(Duration::from_secs(5), flow.elicit::<Name>("name", "Who?").into_future());
        Ok::<_, Failure>(name.await.map_or("too late".to_owned(), |name| name.map_or("no".into(), |name| name.name)))
    })
    .await;
    call.expect_asked(&["name"]);
    assert_eq!(before.elapsed(), Duration::ZERO);
    assert_eq!(call.accept("name", json!({ "name": "Ada" })).send().await.expect_text(), "Ada");
}

#[tokio::test]
async fn tokio_join_gathers_one_round() {
    let call = call(async |flow: Flow| {
        let (name, age) = tokio::join!(
            flow.elicit::<Name>("name", "Who?").into_future(),
            flow.elicit::<Age>("age", "How old?").into_future()
        );
        Ok::<_, Failure>(format!("{} is {}", name?.name, age?.years))
    })
    .await;
    call.expect_asked(&["name", "age"]);
    let call = call.accept("name", json!({ "name": "Ada" })).accept("age", json!({ "years": 36 })).send().await;
    assert_eq!(call.expect_text(), "Ada is 36");
}

#[tokio::test]
async fn try_join_gathers_one_round_and_an_answer_left_out_is_asked_for_again() {
    let call = call(async |flow: Flow| {
        let (name, age) = tokio::try_join!(
            flow.elicit::<Name>("name", "Who?").into_future(),
            flow.elicit::<Age>("age", "How old?").into_future()
        )?;
        Ok::<_, Failure>(format!("{} is {}", name.name, age.years))
    })
    .await;
    call.expect_asked(&["name", "age"]);
    let call = call.accept("age", json!({ "years": 36 })).send().await;
    call.expect_asked(&["name"]);
    assert_eq!(call.accept("name", json!({ "name": "Ada" })).send().await.expect_text(), "Ada is 36");
}

#[tokio::test]
async fn flow_join_gathers_one_round_in_the_order_written() {
    let call = call(async |flow: Flow| {
        let name = flow.elicit::<Name>("name", "Who?");
        let age = flow.elicit::<Age>("age", "How old?").answer();
        let (name, roots, age) = flow.join((name, flow.roots("roots"), age)).await?;
        Ok::<_, Failure>(format!("{} has {} roots, {age:?}", name.name, roots.len()))
    })
    .await;
    call.expect_asked(&["name", "roots", "age"]);
    let call = call.accept("name", json!({ "name": "Ada" })).decline("age");
    let call = call.answer_raw("roots", json!({ "roots": [] })).send().await;
    assert_eq!(call.expect_text(), "Ada has 0 roots, Declined");
}

#[tokio::test]
async fn a_question_that_shows_up_at_the_second_look_is_asked_in_the_same_round() {
    let call = call(async |flow: Flow| {
        let later = async {
            yield_now().await;
            flow.elicit::<Age>("age", "How old?").await
        };
        let (name, age) = tokio::try_join!(flow.elicit::<Name>("name", "Who?").into_future(), later)?;
        Ok::<_, Failure>(format!("{} is {}", name.name, age.years))
    })
    .await;
    call.expect_asked(&["name", "age"]);
}

#[tokio::test]
async fn a_step_beside_a_question_is_finished_and_recorded_before_the_reply() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let slow = async {
            for _ in 0..5 {
                yield_now().await;
            }
            effects.work("slow").await
        };
        let (did, name) = flow.join((flow.step("slow", slow), flow.elicit::<Name>("name", "Who?"))).await?;
        Ok(format!("{did} for {}", name.name))
    }
    let effects = Effects::default();
    let seen = effects.clone();
    let call = call(move |flow| handler(flow, seen.clone())).await;
    call.expect_asked(&["name"]);
    assert_eq!(effects.count(), 1);
    assert_eq!(call.accept("name", json!({ "name": "Ada" })).send().await.expect_text(), "slow for Ada");
    assert_eq!(effects.count(), 1);
}

#[tokio::test]
async fn a_step_of_a_join_may_take_an_idempotency_key() {
    async fn handler(flow: Flow) -> Result<String, Failure> {
        let charge = flow.step("charge", async { Ok::<_, Failure>(flow.idempotency_key("charge").await) });
        let (key, _) = flow.join((charge, flow.elicit::<Name>("name", "Who?"))).await?;
        Ok((key == flow.idempotency_key("charge").await).to_string())
    }
    let call = call(handler).await;
    call.expect_asked(&["name"]);
    assert_eq!(call.accept("name", json!({ "name": "Ada" })).send().await.expect_text(), "true");
}

#[tokio::test]
async fn questions_of_a_join_are_read_before_its_steps_start_whichever_is_written_first() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let (_, name) = flow.join((flow.step("act", effects.work("act")), flow.elicit::<Name>("name", "?"))).await?;
        Ok(name.name)
    }
    let effects = Effects::default();
    let seen = effects.clone();
    let client = client(move |flow| handler(flow, seen.clone()));
    let call = begin(&client).await.accept("name", json!({ "name": "Ada" }));
    assert_eq!(effects.count(), 1);
    // Without a state the answer counts only if the question is read before the step: then the step must wait.
    let call = call.send_carrying(None).await;
    call.expect_asked(&[]);
    assert_eq!(effects.count(), 1, "the step did not run beside an answer without a state");
    assert_eq!(call.send().await.expect_text(), "Ada");
    assert_eq!(effects.count(), 2, "another call is another flow");
}

#[tokio::test]
async fn what_is_awaited_outside_a_step_is_dropped_with_the_run() {
    struct Dropped(Effects);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.happen("dropped");
        }
    }
    async fn handler(flow: Flow, effects: Effects) -> Result<(), Failure> {
        let forever = async {
            let _dropped = Dropped(effects);
            std::future::pending::<()>().await;
        };
        tokio::join!(forever, flow.elicit::<Name>("name", "Who?").into_future()).1?;
        Ok(())
    }
    let effects = Effects::default();
    let seen = effects.clone();
    call(move |flow| handler(flow, seen.clone())).await.expect_asked(&["name"]);
    assert_eq!(effects.all(), ["dropped"]);
}

#[tokio::test]
async fn a_decline_in_a_join_leaves_no_step_half_done() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let slow = async {
            yield_now().await;
            effects.work("slow").await
        };
        let joined = flow.join((flow.elicit::<Name>("name", "Who?"), flow.step("slow", slow))).await;
        assert_eq!(joined.unwrap_err(), FlowError::Declined { key: "name".into() });
        Ok(flow.elicit::<Age>("age", "How old?").await?.years.to_string())
    }
    let effects = Effects::default();
    let seen = effects.clone();
    let call = call(move |flow| handler(flow, seen.clone())).await;
    let call = call.decline("name").send().await;
    call.expect_asked(&["age"]);
    assert_eq!(effects.all(), ["slow"]);
    assert_eq!(call.accept("age", json!({ "years": 36 })).send().await.expect_text(), "36");
    assert_eq!(effects.all(), ["slow"]);
}
