//! Ways to ask a question: by action, optionally, with a check, pinned, for longer; and questions of other kinds.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mrtr_schema::{ClientCapabilities, Method, NamespacedInput};
use mrtr_server::flow::Answered;
use mrtr_server::testing::{Client, FixedClock, everything};
use mrtr_server::{Failure, Flow, Server};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::{Age, Effects, Log, Name, begin, call, client, client_of, expect_internal, tool};

#[tokio::test]
async fn answer_hands_over_what_the_person_did() {
    let handler = async |flow: Flow| {
        Ok::<_, Failure>(match flow.elicit::<Name>("name", "Who?").answer().await {
            Answered::Accepted(name) => name.name,
            other => format!("{other:?}"),
        })
    };
    let call = call(handler).await;
    assert_eq!(call.clone().accept("name", json!({ "name": "Ada" })).send().await.expect_text(), "Ada");
    assert_eq!(call.clone().decline("name").send().await.expect_text(), "Declined");
    assert_eq!(call.cancel("name").send().await.expect_text(), "Cancelled");
}

#[tokio::test]
async fn a_question_mark_tells_the_model_that_it_was_declined() {
    let handler = async |flow: Flow| Ok::<_, Failure>(flow.elicit::<Name>("name", "Who?").await?.name);
    let call = call(handler).await;
    assert_eq!(call.clone().decline("name").send().await.expect_tool_error(), "`name` was declined");
    assert_eq!(call.cancel("name").send().await.expect_tool_error(), "`name` was cancelled");
}

async fn optional(flow: Flow) -> Result<String, Failure> {
    let name = flow.elicit::<Name>("name", "Who?").optional().await;
    let age = flow.elicit::<Age>("age", "How old?").await?.years;
    Ok(format!("{:?} is {age}", name.map(|name| name.name)))
}

#[tokio::test]
async fn an_optional_question_is_asked_once() {
    let call = call(optional).await;
    call.expect_asked(&["name"]);
    let call = call.send().await;
    call.expect_asked(&["age"]);
    let call = call.accept("age", json!({ "years": 3 })).accept("name", json!({ "name": "late" })).send().await;
    assert_eq!(call.expect_text(), "None is 3");
}

#[tokio::test]
async fn an_optional_question_takes_an_answer_and_a_refusal() {
    let call = call(optional).await;
    let accepted = call.clone().accept("name", json!({ "name": "Ada" })).send().await;
    assert_eq!(accepted.accept("age", json!({ "years": 36 })).send().await.expect_text(), "Some(\"Ada\") is 36");
    let declined = call.decline("name").send().await;
    assert_eq!(declined.accept("age", json!({ "years": 36 })).send().await.expect_text(), "None is 36");
}

#[tokio::test]
async fn an_optional_question_is_none_for_a_client_that_cannot_be_asked_and_stays_so() {
    let handler = async |flow: Flow| {
        let roots = flow.roots("roots").optional().await;
        Ok::<_, Failure>(format!("{roots:?} {}", flow.elicit::<Age>("age", "How old?").await?.years))
    };
    let able = client(handler);
    let mut capabilities = everything();
    capabilities.roots = None;
    let call = begin(&able.clone().declaring(capabilities)).await;
    call.expect_asked(&["age"]);
    let call = call.as_client(&able).accept("age", json!({ "years": 3 })).send().await;
    assert_eq!(call.expect_text(), "None 3", "the flow has gone on without it");
}

#[tokio::test]
async fn validate_asks_again_with_the_reason() {
    let call = call(async |flow: Flow| {
        let adult = |age: &Age| if age.years < 18 { Err(format!("{} is too young", age.years)) } else { Ok(()) };
        Ok::<_, Failure>(flow.elicit::<Age>("age", "How old?").validate(adult).await?.years.to_string())
    })
    .await;
    let call = call.accept("age", json!({ "years": 3 })).send().await;
    let asked = serde_json::to_string(&call.question("age").unwrap()).unwrap();
    assert!(asked.contains("How old?\\n\\n3 is too young"), "{asked}");
    let call = call.accept("age", json!({ "years": 4 })).send().await;
    assert!(serde_json::to_string(&call.question("age").unwrap()).unwrap().contains("4 is too young"));
    assert_eq!(call.clone().accept("age", json!({ "years": 18 })).send().await.expect_text(), "18");
    assert!(call.decline("age").send().await.expect_tool_error().contains("declined"), "a refusal is not validated");
}

/// Asks for consent in words that say how often it was run before.
fn changing(words: impl Fn(u32) -> u32 + Send + Sync + 'static, pinned: bool) -> Client {
    let (runs, words) = (Arc::new(AtomicU32::new(0)), Arc::new(words));
    client(move |flow: Flow| {
        let price = words(runs.fetch_add(1, Ordering::Relaxed));
        async move {
            let ask = flow.elicit::<Name>("consent", format!("Pay {price}?"));
            let name = if pinned { ask.pinned().await? } else { ask.await? };
            flow.step("pay", async { Ok::<_, Failure>(price) }).await?;
            let age = flow.elicit::<Age>("age", "How old?").await?;
            Ok::<_, Failure>(format!("{} paid {price}, {}", name.name, age.years))
        }
    })
}

#[tokio::test]
async fn a_pinned_answer_counts_for_the_exact_words() {
    let call = begin(&changing(|run| 1 + u32::from(run > 0), true)).await;
    let call = call.accept("consent", json!({ "name": "Ada" })).send().await;
    call.expect_asked(&["consent"]);
    let call = call.accept("consent", json!({ "name": "Ada" })).send().await;
    call.expect_asked(&["age"]);
    assert_eq!(call.accept("age", json!({ "years": 36 })).send().await.expect_text(), "Ada paid 2, 36");
}

#[tokio::test]
async fn an_answer_that_is_not_pinned_survives_other_words() {
    let call = begin(&changing(|run| run, false)).await;
    call.accept("consent", json!({ "name": "Ada" })).send().await.expect_asked(&["age"]);
}

#[tokio::test]
async fn words_that_change_in_every_run_are_found_out() {
    let log = Log::start();
    let mut call = begin(&changing(|run| run, true)).await;
    for _ in 0..10 {
        if call.interim().is_none() {
            break;
        }
        call = call.accept("consent", json!({ "name": "Ada" })).send().await;
    }
    expect_internal(
        &call,
        &log,
        "the wording of the pinned question `consent` changes from run to run: word it from recorded values only",
    );
}

#[tokio::test]
async fn a_question_may_take_longer_or_shorter_than_usual() {
    const HOUR: Duration = Duration::from_hours(1);
    async fn handler(flow: Flow, which: u8) -> Result<String, Failure> {
        let name = flow.elicit::<Name>("name", "Who?");
        let name = match which {
            0 => name.valid_for(HOUR * 48).await?,
            1 => name.valid_for(HOUR / 6).await?,
            // Asked in two places, it may be answered as late as the more patient one says.
            2 => flow.join((name.valid_for(HOUR / 6), flow.elicit::<Name>("name", "Who?"))).await?.0,
            3 => flow.join((flow.elicit::<Name>("name", "Who?"), name.valid_for(HOUR * 2))).await?.0,
            // The other question may still be answered as late as ever.
            _ => flow.join((name.valid_for(HOUR / 6), flow.roots("roots"))).await?.0,
        };
        Ok(name.name)
    }
    for (which, minutes, opens) in
        [(0, 47 * 60, true), (0, 49 * 60, false), (1, 9, true), (1, 11, false), (2, 59, true), (2, 61, false)]
            .into_iter()
            .chain([(3, 119, true), (3, 121, false), (4, 59, true), (4, 61, false)])
    {
        let clock = FixedClock::default();
        let tool = tool(move |flow| handler(flow, which));
        let server = Server::builder("test", "1").clock(clock.clone()).tool(tool).build().unwrap();
        let call = begin(&Client::new(&server)).await.accept("name", json!({ "name": "Ada" }));
        let call = call.answer_raw("roots", json!({ "roots": [] }));
        clock.advance(Duration::from_mins(minutes));
        let call = call.send().await;
        assert_eq!(call.result().is_some(), opens, "{which} after {minutes}: {}", call.response());
    }
}

struct Approval;

#[derive(Serialize, Deserialize, JsonSchema)]
struct Pending {
    approver: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Decision {
    approved: bool,
}

impl NamespacedInput for Approval {
    const METHOD: Method = Method::from_static("com.example/approval");
    type Params = Pending;
    type Response = Decision;
}

#[tokio::test]
async fn an_application_asks_in_its_own_way() {
    let handler = async |flow: Flow| {
        let decision = flow.ask::<Approval>("sign_off", Pending { approver: "Ada".into() }).await?;
        Ok::<_, Failure>(decision.approved.to_string())
    };
    let capabilities: ClientCapabilities =
        serde_json::from_value(json!({ "extensions": { "com.example/approval": {} } })).unwrap();
    let client = client_of(tool(handler)).declaring(capabilities);
    let call = begin(&client).await;
    call.expect_asked(&["sign_off"]);
    let asked = serde_json::to_value(call.question("sign_off").unwrap()).unwrap();
    assert_eq!(asked, json!({ "method": "com.example/approval", "params": { "approver": "Ada" } }));
    let call = call.answer_raw("sign_off", json!({ "approved": "maybe" })).send().await;
    call.expect_asked(&["sign_off"]);
    assert_eq!(call.answer_raw("sign_off", json!({ "approved": true })).send().await.expect_text(), "true");
}

struct Counted;

/// The number of times that a question was written out.
static WRITTEN: AtomicU32 = AtomicU32::new(0);

#[derive(Deserialize, JsonSchema)]
struct CountedParams {}

impl Serialize for CountedParams {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        WRITTEN.fetch_add(1, Ordering::SeqCst);
        serializer.collect_map([("approver", "Ada")])
    }
}

impl NamespacedInput for Counted {
    const METHOD: Method = Method::from_static("com.example/approval");
    type Params = CountedParams;
    type Response = Decision;
}

#[tokio::test]
async fn a_question_that_is_polled_again_while_it_is_open_is_not_asked_again() {
    let written_when_polled = async |times: u32| {
        let handler = move |flow: Flow| async move {
            let mut asked = pin!(flow.ask::<Counted>("sign_off", CountedParams {}).into_future());
            for _ in 1..times {
                assert!(futures_util::poll!(&mut asked).is_pending());
            }
            Ok::<_, Failure>(asked.await?.approved.to_string())
        };
        let before = WRITTEN.load(Ordering::SeqCst);
        let client = client_of(tool(handler)).declaring_extension("com.example/approval");
        begin(&client).await.expect_asked(&["sign_off"]);
        WRITTEN.load(Ordering::SeqCst) - before
    };
    assert_eq!(written_when_polled(20).await, written_when_polled(1).await);
}

#[tokio::test]
async fn roots_are_asked_for_and_checked() {
    let call = call(async |flow: Flow| {
        let roots = flow.roots("roots").validate(|roots| if roots.is_empty() { Err("none") } else { Ok(()) }).await?;
        Ok::<_, Failure>(roots[0].uri.clone())
    })
    .await;
    let call = call.answer_raw("roots", json!({ "roots": [] })).send().await;
    call.expect_asked(&["roots"]);
    let call = call.answer_raw("roots", json!({ "roots": [{ "uri": "file:///home" }] })).send().await;
    assert_eq!(call.expect_text(), "file:///home");
}

#[tokio::test]
async fn a_scope_keeps_the_names_of_a_loop_apart() {
    let effects = Effects::default();
    let seen = effects.clone();
    let mut call = call(move |flow: Flow| {
        let effects = seen.clone();
        async move {
            let mut names = Vec::new();
            for page in 0..2 {
                let scope = flow.scope("page").scope(page).elicit::<Name>("label", "Which?").await?.name;
                flow.scope(page).step("print", effects.work(&scope)).await?;
                names.push(scope);
            }
            let keys = [flow.scope(0).idempotency_key("k").await, flow.scope(1).idempotency_key("k").await];
            assert_ne!(keys[0], keys[1]);
            Ok::<_, Failure>(names.join(" "))
        }
    })
    .await;
    for (key, name) in [("page/0/label", "a"), ("page/1/label", "b")] {
        call.expect_asked(&[key]);
        call = call.accept(key, json!({ "name": name })).send().await;
    }
    assert_eq!(call.expect_text(), "a b");
    assert_eq!(effects.all(), ["a", "b"]);
}
