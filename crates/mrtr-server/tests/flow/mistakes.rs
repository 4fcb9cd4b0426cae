//! Mistakes of the handler's author: named in the log, unknown to the caller, and impossible to swallow.

use mrtr_server::{Failure, Flow, Server, TaskPolicy, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::support::{Age, Effects, Log, Name, begin, call, client, expect_internal};

#[tokio::test]
async fn one_name_for_two_questions_is_a_mistake() {
    let log = Log::start();
    let other_type = call(async |flow: Flow| {
        let _ = tokio::join!(
            flow.elicit::<Name>("who", "Who?").into_future(),
            flow.elicit::<Age>("who", "Who?").into_future()
        );
        Ok::<_, Failure>("swallowed")
    });
    expect_internal(&other_type.await, &log, "two different questions are asked as `who`");

    let log = Log::start();
    let other_words = client(async |flow: Flow| {
        let _ = flow.elicit::<Name>("who", "Who?").await;
        let _ = flow.elicit::<Name>("who", "Who else?").await;
        Ok::<_, Failure>("swallowed")
    });
    let call = begin(&other_words).await.accept("who", json!({ "name": "Ada" })).send().await;
    expect_internal(&call, &log, "two different questions are asked as `who`");

    let log = Log::start();
    let other_kind = client(async |flow: Flow| {
        flow.elicit_url("who", "Go", "https://example.com").until(|| async { true }).await?;
        let _ = flow.roots("who").await;
        Ok::<_, Failure>("swallowed")
    });
    expect_internal(&begin(&other_kind).await, &log, "two different questions are asked as `who`");
}

#[tokio::test]
async fn the_same_question_read_twice_gives_the_same_answer() {
    let call = call(async |flow: Flow| {
        let ask = || flow.elicit::<Name>("who", "Who?").into_future();
        let (first, second) = tokio::join!(ask(), ask());
        Ok::<_, Failure>(format!("{} and {}", first?.name, second?.name))
    })
    .await;
    call.expect_asked(&["who"]);
    assert_eq!(call.accept("who", json!({ "name": "Ada" })).send().await.expect_text(), "Ada and Ada");
}

#[tokio::test]
async fn a_question_asked_twice_at_once_keeps_the_reason_and_is_not_optional() {
    let call = call(async |flow: Flow| {
        let strict = flow
            .elicit::<Age>("age", "How old?")
            .validate(|age| if age.years < 18 { Err("You must be 18") } else { Ok(()) });
        let (strict, lax) = flow.join((strict, flow.elicit::<Age>("age", "How old?").optional())).await?;
        Ok::<_, Failure>(format!("{} {}", strict.years, lax.is_some()))
    })
    .await;
    let call = call.accept("age", json!({ "years": 3 })).send().await;
    let asked = serde_json::to_string(&call.question("age").unwrap()).unwrap();
    assert!(asked.contains("You must be 18"), "{asked}");
    let call = call.send().await;
    call.expect_asked(&["age"]);
    assert_eq!(call.accept("age", json!({ "years": 30 })).send().await.expect_text(), "30 true");
}

#[tokio::test]
async fn two_steps_of_one_name_are_a_mistake() {
    let (log, effects) = (Log::start(), Effects::default());
    let seen = effects.clone();
    let call = call(move |flow: Flow| {
        let effects = seen.clone();
        async move {
            let _ = flow.step("act", effects.work("first")).await;
            let _ = flow.step("act", effects.work("second")).await;
            Ok::<_, Failure>("swallowed")
        }
    });
    expect_internal(&call.await, &log, "two steps are named `act`");
    assert_eq!(effects.all(), ["first"]);
}

#[tokio::test]
async fn nothing_of_the_flow_may_be_used_inside_a_step() {
    async fn handler(flow: Flow, which: u8) -> Result<&'static str, Failure> {
        let work = async {
            match which {
                0 => drop(flow.elicit::<Name>("name", "Who?").await),
                1 => drop(flow.step("inner", async { Ok::<_, Failure>(1) }).await),
                2 => flow.yield_point(&1).await,
                3 => flow.into_task().await,
                _ => drop(flow.elicit_url("go", "Go", "https://example.com").until(|| async { true }).await),
            }
            Ok::<_, Failure>(1)
        };
        let _ = flow.step("outer", work).await;
        Ok("swallowed")
    }
    for which in 0..5 {
        let log = Log::start();
        expect_internal(&call(move |flow| handler(flow, which)).await, &log, "was used inside step `outer`");
    }
}

#[tokio::test]
async fn a_step_beside_one_that_asks_is_finished_all_the_same() {
    async fn handler(flow: Flow, effects: Effects) -> Result<&'static str, Failure> {
        let asks = async {
            flow.elicit::<Name>("name", "Who?").await?;
            Ok::<_, Failure>(1)
        };
        let good = async {
            tokio::task::yield_now().await;
            effects.work("good").await
        };
        let _ = flow.join((flow.step("good", good), flow.step("asks", asks))).await;
        Ok("swallowed")
    }
    let (log, effects) = (Log::start(), Effects::default());
    let seen = effects.clone();
    expect_internal(&call(move |flow| handler(flow, seen.clone())).await, &log, "question `name` was used inside");
    assert_eq!(effects.all(), ["good"]);
}

#[tokio::test]
async fn an_idempotency_key_may_be_taken_inside_a_step() {
    let call = call(async |flow: Flow| {
        let key = flow.step("charge", async { Ok::<_, Failure>(flow.idempotency_key("charge").await) }).await?;
        let again = flow.idempotency_key("charge").await;
        Ok::<_, Failure>((key == again).to_string())
    });
    assert_eq!(call.await.expect_text(), "true");
}

#[tokio::test]
async fn names_are_1_to_128_printable_characters() {
    async fn ask(flow: Flow, name: String) -> Result<&'static str, Failure> {
        let _ = flow.elicit::<Name>(name, "Who?").await;
        Ok("swallowed")
    }
    async fn act(flow: Flow, name: String) -> Result<&'static str, Failure> {
        let _ = flow.step(name, async { Ok::<_, Failure>(1) }).await;
        Ok("swallowed")
    }
    async fn visit(flow: Flow, name: String) -> Result<&'static str, Failure> {
        let _ = flow.elicit_url(name, "Go", "https://example.com").until(|| async { true }).await;
        Ok("swallowed")
    }
    let unseen = [
        '\u{7f}',
        '\u{ad}',
        '\u{34f}',
        '\u{61c}',
        '\u{115f}',
        '\u{180e}',
        '\u{200b}',
        '\u{200c}',
        '\u{200d}',
        '\u{200e}',
        '\u{2028}',
        '\u{2029}',
        '\u{202e}',
        '\u{2060}',
        '\u{2066}',
        '\u{2069}',
        '\u{3164}',
        '\u{fdd0}',
        '\u{fdef}',
        '\u{fe0f}',
        '\u{feff}',
        '\u{fff9}',
        '\u{fffe}',
        '\u{ffff}',
        '\u{1fffe}',
        '\u{e0041}',
        '\u{10ffff}',
    ];
    let unseen = unseen.into_iter().map(|char| format!("pay{char}"));
    for name in [String::new(), "x".repeat(129), "a\nb".into(), "é".repeat(129)].into_iter().chain(unseen) {
        let log = Log::start();
        let expected = format!("{name:?} cannot name a ");
        let (first, second, third) = (name.clone(), name.clone(), name);
        expect_internal(&call(move |flow| ask(flow, first.clone())).await, &log, &expected);
        expect_internal(&call(move |flow| act(flow, second.clone())).await, &log, &expected);
        expect_internal(&call(move |flow| visit(flow, third.clone())).await, &log, &expected);
    }
    for name in ["x".to_owned(), "é".repeat(128), "two words: 日本".into(), "שלום".into(), "\u{fffd}\u{10000}🦀".into()]
    {
        let asked = name.clone();
        call(move |flow| ask(flow, asked.clone())).await.expect_asked(&[&name]);
    }
}

#[tokio::test]
async fn a_form_must_be_flat() {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "nobody ever fills it in")]
    struct Nested {
        inner: Name,
    }
    let log = Log::start();
    let call = call(async |flow: Flow| {
        let _ = flow.elicit::<Nested>("nested", "What?").await;
        Ok::<_, Failure>("swallowed")
    });
    expect_internal(&call.await, &log, "the question `nested` cannot be asked");
}

#[tokio::test]
async fn a_url_must_be_one() {
    let log = Log::start();
    let call = call(async |flow: Flow| {
        let _ = flow.elicit_url("go", "Go", "not a url").until(|| async { false }).await;
        Ok::<_, Failure>("swallowed")
    });
    expect_internal(&call.await, &log, "the question `go` cannot be asked");
}

#[tokio::test]
async fn a_state_that_the_server_lacks_is_named_in_the_log() {
    let log = Log::start();
    let call = call(async |flow: Flow| Ok::<_, Failure>(flow.state::<Effects>().count().to_string()));
    expect_internal(&call.await, &log, "flow::support::Effects`, and the server has no state at all");

    let tool = Tool::new("tool", async |flow: Flow| Ok::<_, Failure>(flow.state::<Effects>().count().to_string()));
    let server = Server::builder("test", "1").state(Effects::default()).tool(tool).build().unwrap();
    assert_eq!(begin(&mrtr_server::testing::Client::new(&server)).await.expect_text(), "0");
}

#[tokio::test]
async fn a_task_needs_something_that_runs_tasks() {
    let log = Log::start();
    let call = call(async |flow: Flow| {
        flow.into_task().await;
        Ok::<_, Failure>("never")
    });
    let both = "give the builder `.extension(Tasks::new(…))`, and the tool `.tasks(TaskPolicy::ByFlow)`";
    expect_internal(
        &call.await,
        &log,
        &format!("tool `tool` calls `into_task`, and nothing on the server runs tasks: {both}"),
    );
    let by_flow = Tool::new("tool", async |flow: Flow| {
        flow.into_task().await;
        Ok::<_, Failure>("never")
    });
    let server = Server::builder("test", "1").tool(by_flow.tasks(TaskPolicy::ByFlow)).build().unwrap();
    let call = begin(&mrtr_server::testing::Client::new(&server)).await;
    expect_internal(&call, &log, "nothing on the server runs tasks: give the builder `.extension(Tasks::new(…))`");
}
