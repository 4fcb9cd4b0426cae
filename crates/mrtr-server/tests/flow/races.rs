//! Races: the winner is recorded, and the losers are asked or done no more.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mrtr_server::flow::{Race2, Race3};
use mrtr_server::{Failure, Flow, FlowError};
use serde_json::json;
use tokio::task::yield_now;

use crate::support::{Age, Approval, Effects, Log, Name, begin, call, client, expect_internal};

#[tokio::test]
async fn a_question_that_lost_is_not_asked_and_the_flow_goes_on_past_it() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let asked = flow.elicit::<Name>("name", "Who?");
        let found = async {
            yield_now().await;
            effects.work("found").await
        };
        let raced = flow.race((asked, flow.step("look_up", found))).await?;
        let age = flow.elicit::<Age>("age", "How old?").await?;
        flow.step("after", effects.work("after")).await?;
        Ok(match raced {
            Race2::First(name) => format!("{} is {}", name.name, age.years),
            Race2::Second(found) => format!("{found}, {}", age.years),
        })
    }
    let log = Log::start();
    let effects = Effects::default();
    let seen = effects.clone();
    let call = call(move |flow| handler(flow, seen.clone())).await;
    call.expect_asked(&["age"]);
    let call = call.accept("age", json!({ "years": 36 })).send().await;
    assert_eq!(call.expect_text(), "found, 36");
    assert_eq!(effects.all(), ["found", "after"]);
    assert!(!log.text().contains("dropped an open question"), "{}", log.text());
}

#[tokio::test]
async fn of_two_questions_the_one_that_is_answered_wins_and_the_other_is_asked_no_more() {
    async fn handler(flow: Flow) -> Result<String, Failure> {
        let raced = flow.race((flow.elicit::<Name>("name", "Who?"), flow.elicit::<Age>("age", "How old?"))).await?;
        let won = match raced {
            Race2::First(name) => name.name,
            Race2::Second(age) => age.years.to_string(),
        };
        let last = flow.elicit::<Name>("last", "And?").await?;
        Ok(format!("{won} {}", last.name))
    }
    let call = call(handler).await;
    call.expect_asked(&["name", "age"]);
    let call = call.accept("age", json!({ "years": 36 })).send().await;
    call.expect_asked(&["last"]);
    assert_eq!(call.accept("last", json!({ "name": "so" })).send().await.expect_text(), "36 so");
}

#[tokio::test]
async fn who_won_stays_so_whatever_a_later_run_would_find_first() {
    async fn handler(flow: Flow, first: bool, effects: Effects) -> Result<String, Failure> {
        let slow = async {
            if first {
                std::future::pending::<()>().await;
            }
            effects.work("slow").await
        };
        let quick = async {
            yield_now().await;
            effects.work("quick").await
        };
        let slow = flow.step("slow", slow).idempotent();
        let raced = flow.race((slow, flow.branch(async { flow.step("quick", quick).await }))).await?;
        flow.elicit::<Name>("name", "Who?").await?;
        Ok(match raced {
            Race2::First(slow) => slow,
            Race2::Second(quick) => quick?,
        })
    }
    let (first, effects) = (Arc::new(AtomicBool::new(true)), Effects::default());
    let seen = effects.clone();
    let call = call(move |flow| handler(flow, first.swap(false, Ordering::Relaxed), seen.clone())).await;
    assert_eq!(call.accept("name", json!({ "name": "Ada" })).send().await.expect_text(), "quick");
    assert_eq!(effects.all(), ["quick"], "the step that lost did not begin again");
}

#[tokio::test]
async fn a_member_that_fails_has_ended_and_may_win() {
    async fn handler(flow: Flow) -> Result<String, Failure> {
        let fails = flow.step("fails", async { Err::<u8, _>("no") });
        let raced = flow.race((flow.elicit::<Name>("name", "Who?"), fails, flow.roots("roots"))).await;
        Ok(match raced {
            Ok(Race3::First(_) | Race3::Second(_) | Race3::Third(_)) => "ended well".into(),
            Err(FlowError::Step(error)) => error.message().to_owned(),
            Err(error) => error.to_string(),
        })
    }
    assert_eq!(call(handler).await.expect_text(), "no");
}

#[tokio::test]
async fn what_a_branch_asked_that_lost_is_withdrawn_with_it() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let asks = flow.branch(async {
            let (name, age) = flow.join((flow.elicit::<Name>("name", "?"), flow.elicit::<Age>("age", "?"))).await?;
            Ok::<_, Failure>(format!("{} {}", name.name, age.years))
        });
        let does = async {
            yield_now().await;
            effects.work("did").await
        };
        // The same question outside the race stays open.
        let race = flow.branch(async { flow.race((asks, flow.step("do", does))).await });
        let (raced, age) = flow.join((race, flow.elicit::<Age>("age", "?"))).await?;
        match raced? {
            Race2::First(asked) => Ok(asked?),
            Race2::Second(did) => Ok(format!("{did} {}", age.years)),
        }
    }
    let effects = Effects::default();
    let seen = effects.clone();
    let call = call(move |flow| handler(flow, seen.clone())).await;
    call.expect_asked(&["age"]);
    assert_eq!(call.accept("age", json!({ "years": 3 })).send().await.expect_text(), "did 3");
}

#[tokio::test]
async fn two_races_of_the_same_members_are_an_error_that_says_so() {
    async fn handler(flow: Flow) -> Result<String, Failure> {
        for _ in 0..2 {
            flow.race((flow.branch(async { 1 }), flow.branch(async { 2 }))).await?;
        }
        Ok("swallowed".into())
    }
    let log = Log::start();
    expect_internal(&call(handler).await, &log, "two races have the same members, `branch|branch`");
}

/// Their members' names tell races apart, of whatever kind the members are.
#[tokio::test]
async fn races_of_other_members_are_told_apart() {
    async fn handler(flow: Flow, kind: u8) -> Result<String, Failure> {
        for [one, two] in [["a", "b"], ["c", "d"]] {
            let url = |key| flow.elicit_url(key, "Go", "https://example.com");
            let approval = |key| flow.ask::<Approval>(key, HashMap::new());
            let won = match kind {
                0 => flow.race((flow.elicit::<Name>(one, "Who?"), flow.elicit::<Name>(two, "Who?"))).await.map(drop),
                1 => flow.race((url(one), url(two))).await.map(|_| ()),
                2 => flow.race((url(one).until(async || true), url(two).until(async || false))).await.map(|_| ()),
                _ => {
                    let decided = approval(one).until(async || Some(1));
                    flow.race((decided, approval(two).until(async || None))).await.map(|_| ())
                }
            };
            won?;
        }
        Ok("both are won".into())
    }
    let accepted = json!({ "action": "accept", "content": { "name": "Ada" } });
    for kind in 0..4 {
        let client = client(move |flow| handler(flow, kind)).declaring_extension("com.example/approval");
        let mut call = begin(&client).await;
        if kind < 2 {
            call.expect_asked(&["a", "b"]);
            call = call.answer_raw("a", accepted.clone()).send().await;
            call.expect_asked(&["c", "d"]);
            call = call.answer_raw("c", accepted.clone()).send().await;
        }
        assert_eq!(call.expect_text(), "both are won", "kind {kind}");
    }
}

#[tokio::test]
async fn a_question_that_is_answered_already_wins_before_a_step_begins() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        flow.elicit::<Name>("name", "Who?").await?;
        let raced =
            flow.race((flow.step("look_up", effects.work("found")), flow.elicit::<Name>("name", "Who?"))).await?;
        Ok(match raced {
            Race2::First(found) => found,
            Race2::Second(name) => name.name,
        })
    }
    let effects = Effects::default();
    let seen = effects.clone();
    let call = call(move |flow| handler(flow, seen.clone())).await;
    assert_eq!(call.accept("name", json!({ "name": "Ada" })).send().await.expect_text(), "Ada");
    assert_eq!(effects.count(), 0);
}

#[tokio::test]
async fn a_plain_select_of_a_question_and_a_step_asks_the_question_and_begins_no_step() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let work = async {
            yield_now().await;
            effects.work("did").await
        };
        tokio::select! {
            biased;
            name = flow.elicit::<Name>("name", "Who?") => Ok(name?.name),
            did = flow.step("do", work).into_future() => Ok(did?),
        }
    }
    let (log, effects) = (Log::start(), Effects::default());
    let seen = effects.clone();
    let call = call(move |flow| handler(flow, seen.clone())).await;
    call.expect_asked(&["name"]);
    assert_eq!(effects.count(), 0);
    assert_eq!(log.text(), "", "nothing was dropped: the run ended with the question");
}

#[tokio::test]
async fn a_plain_select_of_a_step_and_a_question_asks_the_question_and_warns() {
    async fn step_first(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let work = async {
            yield_now().await;
            effects.work("did").await
        };
        tokio::select! {
            biased;
            did = flow.step("do", work).into_future() => Ok(did?),
            name = flow.elicit::<Name>("name", "Who?") => Ok(name?.name),
        }
    }
    let (log, effects) = (Log::start(), Effects::default());
    let seen = effects.clone();
    let call = call(move |flow| step_first(flow, seen.clone())).await;
    call.expect_asked(&["name"]);
    assert_eq!(effects.all(), ["did"]);
    assert!(log.text().contains("dropped an open question") && log.text().contains("`flow.race`"), "{}", log.text());
}

#[tokio::test]
async fn what_waited_for_a_question_that_lost_goes_on_in_the_same_run() {
    async fn handler(flow: Flow, effects: Effects, kept: bool) -> Result<String, Failure> {
        let found = async {
            yield_now().await;
            effects.work("found").await
        };
        let race = flow.race((flow.elicit::<Name>("name", "Who?"), flow.step("look_up", found)));
        let beside = flow.step("beside", effects.work("beside"));
        if !kept {
            let (raced, beside) = tokio::join!(race, beside.into_future());
            raced?;
            return Ok(beside?);
        }
        let (mut race, mut raced) = (race, None);
        tokio::select! {
            biased;
            ended = &mut race => raced = Some(ended),
            () = std::future::ready(()) => {}
        }
        let race = async {
            match raced {
                Some(raced) => raced,
                None => race.await,
            }
        };
        // A join that begins where a question is open is held with all its members.
        let (beside, raced) = tokio::join!(flow.join((beside,)), race);
        raced?;
        Ok(beside?.0)
    }
    for kept in [false, true] {
        let effects = Effects::default();
        let seen = effects.clone();
        let call = call(move |flow| handler(flow, seen.clone(), kept)).await;
        assert_eq!(call.expect_text(), "beside", "{kept}");
        assert_eq!(effects.all(), ["found", "beside"], "{kept}");
    }
}

#[tokio::test]
async fn twenty_races_each_with_a_step_that_waited_take_one_round() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        for number in 0..20 {
            let flow = flow.scope(number);
            let found = async {
                yield_now().await;
                effects.work("found").await
            };
            let race = flow.race((flow.elicit::<Name>("name", "Who?"), flow.step("look_up", found)));
            let (raced, beside) = tokio::join!(race, flow.step("beside", effects.work("beside")).into_future());
            raced?;
            beside?;
        }
        Ok("done".into())
    }
    let effects = Effects::default();
    let seen = effects.clone();
    assert_eq!(call(move |flow| handler(flow, seen.clone())).await.expect_text(), "done");
    assert_eq!(effects.count(), 40);
}

#[tokio::test]
async fn a_question_that_was_dropped_in_a_branch_that_lost_holds_nothing_up() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let drops = flow.branch(async {
            tokio::select! { biased; _ = flow.elicit::<Name>("name", "Who?") => {} () = std::future::ready(()) => {} }
            flow.step("inner", effects.work("inner")).await
        });
        let found = async {
            yield_now().await;
            effects.work("found").await
        };
        let raced = flow.race((flow.step("look_up", found), drops)).await?;
        assert!(matches!(raced, Race2::First(_)));
        Ok(flow.step("after", effects.work("after")).await?)
    }
    let effects = Effects::default();
    let seen = effects.clone();
    assert_eq!(call(move |flow| handler(flow, seen.clone())).await.expect_text(), "after");
    assert_eq!(effects.all(), ["found", "after"]);
}

#[tokio::test]
async fn a_race_that_looks_at_its_winner_alone_is_not_warned_of() {
    async fn handler(flow: Flow) -> Result<String, Failure> {
        flow.race((flow.elicit::<Name>("name", "Who?"), flow.elicit::<Age>("age", "How old?"))).await?;
        Ok("raced".into())
    }
    let call = call(handler).await;
    let log = Log::start();
    let call = call.accept("name", json!({ "name": "Ada" })).accept("age", json!({ "years": 36 })).send().await;
    assert_eq!(call.expect_text(), "raced");
    assert_eq!(log.text(), "");
}

#[tokio::test]
async fn a_join_that_outlives_the_branch_it_began_in_asks_where_it_goes_on() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let (send, go) = tokio::sync::oneshot::channel::<()>();
        let asks = flow.branch(async {
            go.await.ok();
            flow.roots("roots").await
        });
        let mut join = Box::pin(flow.join((asks,)));
        // It begins in a branch that loses.
        flow.race((flow.branch(async { (&mut join).await.is_ok() }), flow.branch(async {}))).await?;
        send.send(()).unwrap();
        tokio::select! { biased; _ = &mut join => {} () = std::future::ready(()) => {} }
        drop(join);
        let scope = flow.scope("again");
        scope.race((scope.branch(async {}), scope.branch(std::future::pending::<()>()))).await?;
        Ok(flow.step("pay", effects.work("pay")).await?)
    }
    let effects = Effects::default();
    let seen = effects.clone();
    call(move |flow| handler(flow, seen.clone())).await.expect_asked(&["roots"]);
    assert_eq!(effects.count(), 0);
}

#[tokio::test]
async fn a_question_that_outlives_its_race_is_asked_after_it() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let mut name = flow.elicit::<Name>("name", "Who?").into_future();
        let found = async {
            yield_now().await;
            effects.work("found").await
        };
        let waits = flow.branch(async { (&mut name).await.is_ok() });
        match flow.race((flow.step("look_up", found), waits)).await? {
            Race2::First(found) => Ok(format!("{found} {}", name.await?.name)),
            Race2::Second(_) => Ok("asked".into()),
        }
    }
    let effects = Effects::default();
    let seen = effects.clone();
    let call = call(move |flow| handler(flow, seen.clone())).await;
    call.expect_asked(&["name"]);
    assert_eq!(call.accept("name", json!({ "name": "Ada" })).send().await.expect_text(), "found Ada");
}

#[tokio::test]
async fn what_lost_while_it_was_waited_for_elsewhere_holds_nothing_up() {
    async fn handler(flow: Flow, effects: Effects) -> Result<String, Failure> {
        let decided = flow.ask::<Approval>("sign_off", HashMap::new()).until(|| std::future::ready(None::<u8>));
        let raced = flow.race((decided, flow.step("look_up", effects.work("found")))).await?;
        // An await of the handler's own: a run that had something to look at again would end here.
        yield_now().await;
        Ok(match raced {
            Race2::First(decision) => decision.to_string(),
            Race2::Second(found) => found,
        })
    }
    let effects = Effects::default();
    let seen = effects.clone();
    let client = client(move |flow| handler(flow, seen.clone())).declaring_extension("com.example/approval");
    assert_eq!(begin(&client).await.expect_text(), "found");
}
