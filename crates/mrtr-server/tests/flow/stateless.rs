//! Answers that come without a state: they count before the first step, and then the client must carry them first.

use mrtr_flow::Clock;
use mrtr_server::testing::{Client, FixedClock};
use mrtr_server::{Failure, Flow, Server, StatePolicy, Tool};
use mrtr_state::{MemorySingleUse, Sealer};
use serde_json::json;

use crate::support::{Age, Effects, Name, begin, client_of, tool};

async fn ask_act_ask(flow: Flow, effects: Effects) -> Result<String, Failure> {
    let name = flow.elicit::<Name>("name", "Who?").await?.name;
    flow.step("act", effects.work("act")).await?;
    Ok(format!("{name} is {}", flow.elicit::<Age>("age", "How old?").await?.years))
}

fn serve(tool: impl FnOnce(Tool) -> Tool, effects: &Effects) -> Client {
    let effects = effects.clone();
    let made = crate::support::tool(move |flow| ask_act_ask(flow, effects.clone()));
    client_of(tool(made.state_policy(StatePolicy::WhenNeeded)))
}

#[tokio::test]
async fn answers_count_before_the_first_step_and_are_carried_before_it_runs() {
    let effects = Effects::default();
    let call = begin(&serve(|tool| tool, &effects)).await;
    assert_eq!(call.state(), None);
    let call = call.accept("name", json!({ "name": "Ada" })).accept("age", json!({ "years": 36 })).send().await;
    call.expect_asked(&[]);
    assert!(call.state().is_some() && call.interim().is_some(), "a reply that carries and does not ask");
    assert_eq!(effects.count(), 0, "a run that used such answers runs no step");
    let call = call.send().await;
    assert_eq!(effects.count(), 1);
    call.expect_asked(&["age"]);
    assert_eq!(call.accept("age", json!({ "years": 36 })).send().await.expect_text(), "Ada is 36");
    assert_eq!(effects.count(), 1);
}

#[tokio::test]
async fn answers_to_later_questions_do_not_count_after_a_step() {
    let effects = Effects::default();
    let seen = effects.clone();
    let client = client_of(tool(move |flow: Flow| {
        let effects = seen.clone();
        async move {
            flow.step("act", effects.work("act")).await?;
            Ok::<_, Failure>(flow.elicit::<Name>("name", "Who?").await?.name)
        }
    }));
    let call = begin(&client).await.accept("name", json!({ "name": "Ada" })).send_carrying(None).await;
    call.expect_asked(&["name"]);
    assert_eq!(effects.count(), 2, "each call without a state is a flow of its own");
    assert_eq!(call.accept("name", json!({ "name": "Ada" })).send().await.expect_text(), "Ada");
    assert_eq!(effects.count(), 2);
}

#[tokio::test]
async fn a_key_is_not_handed_out_before_the_answers_are_carried() {
    let keys = Effects::default();
    let seen = keys.clone();
    let client = client_of(tool(move |flow: Flow| {
        let keys = seen.clone();
        async move {
            let name = flow.elicit::<Name>("name", "Who?").await?.name;
            keys.happen(flow.idempotency_key("pay").await);
            Ok::<_, Failure>(name)
        }
    }));
    let call = begin(&client).await.accept("name", json!({ "name": "Ada" })).send_carrying(None).await;
    call.expect_asked(&[]);
    assert_eq!(keys.count(), 0);
    assert_eq!(call.clone().send().await.expect_text(), "Ada");
    assert_eq!(call.send().await.expect_text(), "Ada");
    assert_eq!(keys.all()[0], keys.all()[1], "a retry is the same flow");
}

#[tokio::test]
async fn a_task_is_not_begun_before_the_answers_are_carried() {
    let client = client_of(tool(async |flow: Flow| {
        flow.elicit::<Name>("name", "Who?").await?;
        flow.into_task().await;
        Ok::<_, Failure>("done")
    }));
    let call = begin(&client).await.accept("name", json!({ "name": "Ada" })).send_carrying(None).await;
    assert!(call.interim().is_some(), "{}", call.response());
    call.expect_asked(&[]);
}

#[tokio::test]
async fn a_reply_that_asks_carries_them_as_well() {
    let effects = Effects::default();
    let seen = effects.clone();
    let client = client_of(tool(move |flow: Flow| {
        let effects = seen.clone();
        async move {
            let (name, age) = (flow.elicit::<Name>("name", "Who?"), flow.elicit::<Age>("age", "How old?"));
            let (name, age, _) = flow.join((name, age, flow.step("act", effects.work("act")))).await?;
            Ok::<_, Failure>(format!("{} is {}", name.name, age.years))
        }
    }));
    let call = begin(&client).await;
    assert_eq!(effects.count(), 1);
    let call = call.accept("name", json!({ "name": "Ada" })).send_carrying(None).await;
    call.expect_asked(&["age"]);
    assert_eq!(effects.count(), 1, "a run that used such answers runs no step");
    let call = call.accept("age", json!({ "years": 36 })).send().await;
    assert_eq!(call.expect_text(), "Ada is 36");
    assert_eq!(effects.count(), 2);
}

#[tokio::test]
async fn they_are_checked_like_any_other() {
    let effects = Effects::default();
    let call = begin(&serve(|tool| tool, &effects)).await.accept("name", json!({ "name": 7 })).send().await;
    call.expect_asked(&["name"]);
    let call = call.decline("name").send().await;
    assert!(call.expect_tool_error().contains("declined"));
}

#[tokio::test]
async fn one_that_was_used_is_carried_once() {
    let effects = Effects::default();
    let long = json!({ "name": "x".repeat(3000) });
    let call = begin(&serve(|tool| tool, &effects)).await.accept("name", &long).send_carrying(None).await;
    call.expect_asked(&[]);
    let state = call.state().expect("a reply that carries and does not ask");
    assert!(state.len() < 6000, "the state takes {} bytes", state.len());
}

/// Another version of the server may still ask for them.
#[tokio::test]
async fn those_that_nobody_asked_for_yet_are_carried_as_far_as_half_a_state_holds_them() {
    let made = tool(async |flow: Flow| {
        let name = flow.elicit::<Name>("name", "Who?").await?.name;
        Ok::<_, Failure>(format!("{name} is {}", flow.elicit::<Age>("age", "How old?").await?.years))
    });
    let sealer = Sealer::this_process_only().limit(8 * 1024);
    let client = Client::new(&Server::builder("test", "1").sealer(sealer).tool(made).build().unwrap());
    for (length, is_carried) in [(1000, true), (5000, false)] {
        let later = json!({ "name": "x".repeat(length) });
        let call = begin(&client).await.accept("name", json!({ "name": "Ada" })).accept("later", later);
        let call = call.send_carrying(None).await;
        call.expect_asked(&["age"]);
        let state = call.state().expect("the answer must be carried").len();
        assert_eq!(state > length, is_carried, "a state of {state} bytes for an answer of {length}");
    }
}

#[tokio::test]
async fn they_never_count_for_a_single_use_tool() {
    let (effects, clock) = (Effects::default(), FixedClock::default());
    let client = serve(|tool| tool.single_use(MemorySingleUse::new(clock.now())), &effects);
    let mut call = begin(&client).await;
    for _ in 0..3 {
        call = call.accept("name", json!({ "name": "Ada" })).send_carrying(None).await;
        call.expect_asked(&["name"]);
    }
    assert_eq!(effects.count(), 0);
}

#[tokio::test]
async fn they_never_count_for_questions_that_need_a_state() {
    async fn handler(flow: Flow, which: u8, effects: Effects) -> Result<String, Failure> {
        let url = "https://example.com";
        let got = match which {
            0 => flow.elicit::<Name>("q", "Agreed?").pinned().await.map(drop),
            1 => flow.elicit_url("q", "Go", url).await,
            _ => flow.elicit_url("q", "Go", url).until(|| async { false }).await,
        };
        flow.step("act", effects.work("act")).await?;
        Ok(format!("{got:?}"))
    }
    for which in 0..3 {
        let effects = Effects::default();
        let seen = effects.clone();
        let client = client_of(tool(move |flow| handler(flow, which, seen.clone())));
        let call = begin(&client).await;
        let call = call.accept("q", json!({ "name": "yes" })).send_carrying(None).await;
        call.expect_asked(&["q"]);
        let call = call.decline("q").send_carrying(None).await;
        call.expect_asked(&["q"]);
        assert_eq!(effects.count(), 0);
        assert!(call.decline("q").send().await.expect_text().contains("Declined"));
    }
}
