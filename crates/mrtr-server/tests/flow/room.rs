//! Room for answers: a journal that effects have filled still takes one, and the last answer may be of any size.

use mrtr_flow::{Journal, Outcome, RunContext, run};
use mrtr_server::extend::ShedAbove;
use mrtr_server::testing::{Client, Conversation};
use mrtr_server::{Failure, Flow, Server, StatePolicy};
use serde_json::json;
use serde_json::value::to_raw_value;

use crate::support::{Age, Effects, Log, Name, begin, call, expect_internal, tool};

/// The room that a flow has by default for all that it goes on with, as GUIDE says.
const ROOM: usize = 43 << 10;

async fn answered(call: Conversation, letters: usize) -> Conversation {
    call.accept("name", json!({ "name": "x".repeat(letters) })).send().await
}

/// Whatever a flow did before, nothing has to be carried after its last answer.
#[tokio::test]
async fn the_last_answer_may_be_of_any_size_whatever_came_before_it() {
    #[derive(Clone, Copy, serde::Deserialize, schemars::JsonSchema)]
    enum Before {
        Nothing,
        Step,
        IdempotentStep,
        FailedStep,
        Key,
        YieldPoint,
        Visit,
        Race,
        All,
    }
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Args {
        before: Before,
    }
    async fn handler(flow: Flow, Args { before }: Args) -> Result<String, Failure> {
        use Before::{All, FailedStep, IdempotentStep, Key, Nothing, Race, Step, Visit, YieldPoint};
        if matches!(before, Step | All) {
            flow.step("little", async { Ok::<_, Failure>(1) }).await?;
        }
        if matches!(before, IdempotentStep | All) {
            flow.step("again", async { Ok::<_, Failure>(1) }).idempotent().await?;
        }
        if matches!(before, FailedStep | All) {
            let _ = flow.step("failed", async { Err::<(), Failure>("no".into()) }).await;
        }
        if matches!(before, Key | All) {
            flow.idempotency_key("key").await;
        }
        if matches!(before, YieldPoint | All) {
            flow.yield_point(&flow.round()).await;
        }
        if matches!(before, Visit | All) {
            flow.elicit_url("go", "Go", "https://example.com").until(|| async { true }).await?;
        }
        if matches!(before, Race | All) {
            let (one, two) = (flow.step("one", async { Ok::<_, Failure>(1) }), flow.elicit::<Age>("two", "How old?"));
            flow.race((one, two)).await?;
        }
        debug_assert!(!matches!(before, Nothing) || flow.round() > 0);
        Ok(flow.elicit::<Name>("name", "Who?").await?.name)
    }
    let server = Server::builder("test", "1").tool(tool(handler)).build().unwrap();
    for before in ["Nothing", "Step", "IdempotentStep", "FailedStep", "Key", "YieldPoint", "Visit", "Race", "All"] {
        let asked = Client::new(&server).call_tool("tool", json!({ "before": before })).await;
        asked.expect_asked(&["name"]);
        let large = "x".repeat(60_000);
        let answered = asked.accept("name", json!({ "name": &large })).send().await;
        assert_eq!(answered.expect_text(), large, "after {before}");
    }
}

/// The most that a step, or a yield point, leaves in a journal still leaves room for the client's words, once and
/// again. Otherwise the client would be to blame for a word after an effect.
#[tokio::test]
async fn whatever_a_handler_recorded_an_answer_of_four_kibibytes_goes_on() {
    for kept in [ROOM - 100, ROOM - 4200, 30_000] {
        for by_step in [true, false] {
            let asked = call(move |flow: Flow| async move {
                if by_step {
                    flow.step("much", async { Ok::<_, Failure>("x".repeat(kept)) }).await?;
                } else {
                    flow.yield_point(&"x".repeat(kept)).await;
                }
                let name = flow.elicit::<Name>("name", "Who?").await?.name;
                flow.elicit::<Age>("age", "How old?").await?;
                Ok::<_, Failure>(name)
            });
            let asked = answered(asked.await, 3900).await;
            asked.expect_asked(&["age"]);
            assert_eq!(asked.accept("age", json!({ "years": 36 })).send().await.expect_text().len(), 3900);
        }
    }
}

#[tokio::test]
async fn what_leaves_no_room_for_an_answer_is_the_handlers_mistake_when_it_is_recorded() {
    for by_step in [true, false] {
        let log = Log::start();
        let call = call(move |flow: Flow| async move {
            let much = "x".repeat(ROOM);
            if by_step {
                flow.step("much", async { Ok::<_, Failure>(much) }).await?;
            } else {
                flow.yield_point(&much).await;
            }
            Ok::<_, Failure>(flow.elicit::<Name>("name", "Who?").await?.name)
        });
        let much = if by_step { "step `much`" } else { "`progress`" };
        expect_internal(&call.await, &log, much);
        assert!(log.text().contains(&format!("the limit is {ROOM}")), "{}", log.text());
    }
}

/// A client that was asked for little and said little is not to blame for what the handler had kept before.
#[tokio::test]
async fn a_second_step_without_room_is_the_handlers_mistake_and_does_not_begin() {
    let (log, effects) = (Log::start(), Effects::default());
    let happened = effects.clone();
    let asked = call(move |flow: Flow| {
        let effects = effects.clone();
        async move {
            flow.step("much", async { Ok::<_, Failure>("x".repeat(ROOM - 100)) }).await?;
            flow.elicit::<Name>("name", "Who?").await?;
            Ok::<_, Failure>(flow.step("more", effects.work("more")).await?)
        }
    });
    let ended = answered(asked.await, 100).await;
    expect_internal(&ended, &log, "step `more`");
    assert_eq!(happened.count(), 0);
}

/// Nothing that came before an effect counts against an answer that comes after it, however much it was.
#[tokio::test]
async fn a_short_answer_goes_on_also_where_a_long_one_came_before_the_step() {
    let asked = call(async |flow: Flow| {
        flow.elicit::<Name>("name", "Who?").await?;
        flow.step("much", async { Ok::<_, Failure>("x".repeat(33_900)) }).await?;
        flow.elicit::<Age>("age", "How old?").await?;
        Ok::<_, Failure>(flow.elicit::<Name>("other", "Who else?").await?.name)
    });
    let asked = answered(asked.await, 10_000).await;
    asked.expect_asked(&["age"]);
    let asked = asked.accept("age", json!({ "years": 36 })).send().await;
    asked.expect_asked(&["other"]);
    assert_eq!(asked.accept("other", json!({ "name": "Bob" })).send().await.expect_text(), "Bob");
}

/// The refusal comes before any effect, with the number that GUIDE has.
#[tokio::test]
async fn an_answer_that_leaves_no_room_for_a_step_is_refused_before_it_begins() {
    let effects = Effects::default();
    let happened = effects.clone();
    let asked = call(move |flow: Flow| {
        let effects = effects.clone();
        async move {
            flow.elicit::<Name>("name", "Who?").await?;
            Ok::<_, Failure>(flow.step("next", effects.work("next")).await?)
        }
    })
    .await;
    for letters in [ROOM, ROOM + 2000, 60_000] {
        let error = answered(asked.clone(), letters).await.expect_error();
        assert_eq!(error.code.as_i64(), -32602, "{}", error.message);
        assert!(error.message.contains(&format!("{ROOM} bytes in all")), "{}", error.message);
    }
    assert_eq!(happened.count(), 0);
    assert_eq!(answered(asked, ROOM - 200).await.expect_text(), "next");
}

/// A yield point is no effect: its room is checked when the state goes out.
#[tokio::test]
async fn a_yield_point_after_a_large_answer_needs_room_only_where_it_sheds() {
    let handler = async |flow: Flow| {
        let name = flow.elicit::<Name>("name", "Who?").await?.name;
        flow.yield_point(&1).await;
        Ok::<_, Failure>(name)
    };
    let asked = begin(&Client::new(&Server::builder("test", "1").tool(tool(handler)).build().unwrap())).await;
    assert_eq!(answered(asked, 60_000).await.expect_text().len(), 60_000);
    let server = Server::builder("test", "1").shedder(ShedAbove(0)).tool(tool(handler)).build().unwrap();
    let error = answered(begin(&Client::new(&server)).await, 60_000).await.expect_error();
    assert_eq!(error.code.as_i64(), -32602, "{}", error.message);
}

/// Without a state the answers of one round are all there is: they may be of any size too, unless they must be carried.
#[tokio::test]
async fn a_last_answer_without_a_state_may_be_of_any_size() {
    let handler = async |flow: Flow| Ok::<_, Failure>(flow.elicit::<Name>("name", "Who?").await?.name);
    let tool = tool(handler).state_policy(StatePolicy::WhenNeeded);
    let asked = begin(&Client::new(&Server::builder("test", "1").tool(tool).build().unwrap())).await;
    let large = asked.accept("name", json!({ "name": "x".repeat(60_000) })).send_carrying(None).await;
    assert_eq!(large.expect_text().len(), 60_000);
}

/// Tasks and sessions have other limits, and the same rule.
#[tokio::test]
async fn a_runner_with_a_limit_of_its_own_keeps_room_for_answers_too() {
    let handler = |length: usize| {
        async move |flow: Flow| {
            flow.step("much", async { Ok::<_, Failure>("x".repeat(length)) }).await?;
            Ok::<_, Failure>(flow.elicit::<Name>("name", "Who?").await?.name)
        }
    };
    let limited = || RunContext::for_tests().as_task(100_000);
    let ran = run(handler(99_000), Journal::default(), limited()).await;
    assert!(matches!(ran.outcome, Outcome::Failed(_)), "{:?}", ran.outcome);
    let ran = run(handler(95_000), Journal::default(), limited()).await;
    assert!(matches!(ran.outcome, Outcome::Waiting(_)), "{:?}", ran.outcome);
}

/// A session and a task keep one journal from run to run.
#[tokio::test]
async fn a_short_answer_goes_on_also_where_a_long_one_came_in_an_earlier_run_of_the_same_journal() {
    async fn handler(flow: Flow) -> Result<(), Failure> {
        flow.elicit::<Name>("long", "Who?").await?;
        flow.step("much", async { Ok::<_, Failure>("x".repeat(85_000)) }).await?;
        flow.elicit::<Name>("short", "Who else?").await?;
        flow.elicit::<Name>("last", "And who?").await?;
        Ok(())
    }
    let mut journal = Journal::default();
    for (key, letters) in [("long", 10_000), ("short", 2000), ("last", 0)] {
        let ran = run(handler, journal, RunContext::for_tests().as_task(100_000)).await;
        let Outcome::Waiting(asked) = ran.outcome else { panic!("{:?} before {key}", ran.outcome) };
        assert_eq!(asked.iter().map(|question| &*question.key).collect::<Vec<_>>(), [key]);
        let answer = json!({ "action": "accept", "content": { "name": "x".repeat(letters) } });
        journal = ran.journal;
        journal.answer(key, &to_raw_value(&answer).unwrap(), asked[0].asked);
    }
}
