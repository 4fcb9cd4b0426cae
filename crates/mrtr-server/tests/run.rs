//! Exchanges between a run and its runner: what the run tells it, and what the runner checks before it shows a question
//! or takes an answer in.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::sync::atomic::{AtomicU8, Ordering};

use mrtr_flow::{
    Asked, Entries, Journal, Outcome, Question, RunContext, RunReport, StopReason, StopSignal, check_answer,
    check_capabilities, run,
};
use mrtr_schema::elicitation::ElicitRequest;
use mrtr_schema::roots::ListRootsRequest;
use mrtr_schema::sampling::{CreateMessageParams, CreateMessageRequest, SamplingMessage};
use mrtr_schema::{ClientCapabilities, InputRequest, Method, NamespacedInput, Revision, Wire};
use mrtr_server::{Failure, Flow, FlowError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

/// The questions of a run, and its journal with this answer to each of them.
fn answer<T: std::fmt::Debug>(ran: RunReport<T>, answer: &Value) -> (Vec<Question>, Journal) {
    let Outcome::Waiting(questions) = ran.outcome else { panic!("{:?}", ran.outcome) };
    let mut journal = ran.journal;
    for question in &questions {
        journal.answer(&question.key, &raw(answer), question.asked);
    }
    (questions, journal)
}

fn named(length: usize) -> Value {
    json!({ "action": "accept", "content": { "name": "x".repeat(length) } })
}

#[tokio::test]
async fn a_question_that_was_only_asked_leaves_nothing_in_the_journal() {
    let handler = async |flow: Flow| Ok::<_, Failure>(flow.roots("roots").await?.len());
    let ran = run(handler, Journal::default(), RunContext::for_tests()).await;
    assert!(matches!(ran.outcome, Outcome::Waiting(_)));
    assert!(ran.journal.is_empty(), "{:?}", ran.journal);
}

#[tokio::test]
async fn a_journal_is_needed_once_a_key_was_given_or_a_step_begun() {
    async fn handler(flow: Flow, how: &str) -> Result<(), Failure> {
        match how {
            "key" => drop(flow.idempotency_key("pay").await),
            "step" => flow.step("pay", async { Ok::<_, Failure>(()) }).await?,
            _ => {}
        }
        flow.roots("roots").await?;
        Ok(())
    }
    for (how, is_needed) in [("key", true), ("step", true), ("neither", false)] {
        let ran = run(async |flow| handler(flow, how).await, Journal::default(), RunContext::for_tests()).await;
        assert!(matches!(ran.outcome, Outcome::Waiting(_)), "{how}: {:?}", ran.outcome);
        assert_eq!(ran.must_carry, is_needed, "{how}");
    }
}

fn model() -> InputRequest {
    CreateMessageRequest::new(CreateMessageParams::new([SamplingMessage::user("Which?")], 100_u64)).into()
}

fn form() -> InputRequest {
    let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
    let request = json!({
        "method": "elicitation/create",
        "params": { "mode": "form", "message": "Who?", "requestedSchema": schema },
    });
    ElicitRequest::from_json(&request.to_string(), Revision::V2026_07_28.strict()).unwrap().into()
}

#[test]
fn an_answer_of_another_kind_than_was_asked_for_is_refused() {
    let text = json!({ "type": "text", "text": "That one" });
    let kinds = [
        (model(), json!({ "role": "assistant", "model": "m", "content": text })),
        (InputRequest::from(ListRootsRequest::new()), json!({ "roots": [] })),
        (form(), named(3)),
    ];
    for (asked, (request, _)) in kinds.iter().enumerate() {
        for (given, (_, answer)) in kinds.iter().enumerate() {
            let checked = check_answer(request, &raw(answer), Revision::V2026_07_28);
            assert_eq!(checked.is_ok(), asked == given, "{answer} to {request:?}: {checked:?}");
        }
    }
}

#[tokio::test]
async fn a_question_may_be_shown_only_to_a_client_that_declared_it() {
    let handler = async |flow: Flow| Ok::<_, Failure>(flow.roots("roots").await?.len());
    let ran = run(handler, Journal::default(), RunContext::for_tests().as_task(1 << 20)).await;
    let (questions, _) = answer(ran, &json!({ "roots": [] }));
    for (declared, may_be) in [(json!({ "roots": {} }), true), (json!({ "sampling": {} }), false)] {
        let declared = ClientCapabilities::from_json(&declared.to_string(), Revision::V2026_07_28.lenient()).unwrap();
        assert_eq!(questions[0].may_be_shown(&declared, Revision::V2026_07_28), may_be, "{declared:?}");
        let checked = check_capabilities([&questions[0].request], &declared, Revision::V2026_07_28);
        assert_eq!(checked.is_ok(), may_be, "{declared:?}: {checked:?}");
    }
}

/// The wording of one question that is asked in these places, of which each may be pinned.
async fn asked(places: [bool; 2]) -> Asked {
    async fn ask(flow: &Flow, is_pinned: bool) -> Result<Name, FlowError> {
        let name = flow.elicit::<Name>("name", "Who?");
        if is_pinned { name.pinned().await } else { name.await }
    }
    let handler = async |flow: Flow| {
        let [first, second] = places;
        let (one, two) = flow.join((flow.branch(ask(&flow, first)), flow.branch(ask(&flow, second)))).await?;
        Ok::<_, Failure>([one?.name, two?.name])
    };
    let (questions, _) = answer(run(handler, Journal::default(), RunContext::for_tests()).await, &named(3));
    assert_eq!(questions.len(), 1);
    questions[0].asked
}

#[tokio::test]
async fn a_question_is_pinned_if_one_of_the_places_that_ask_it_wants_that() {
    let (free, pinned) = (asked([false; 2]).await, asked([true; 2]).await);
    assert_ne!(free, pinned);
    assert_eq!([asked([false, true]).await, asked([true, false]).await], [pinned, pinned]);
}

#[tokio::test]
async fn a_store_gives_back_how_a_question_was_worded_and_what_was_answered() {
    let response = raw(&named(3));
    for asked in [asked([false; 2]).await, asked([true; 2]).await] {
        assert_eq!(Asked::from_bytes(&asked.to_bytes()), Some(asked));
        let mut journal = Journal::default();
        journal.answer("name", &response, asked);
        let entries = Entries::of_answer("name", &response, asked);
        assert_eq!(entries.as_bytes(), journal.to_bytes());
    }
    assert_eq!(Asked::from_bytes(b"12"), None);
    assert_eq!(Asked::from_bytes(b"1234"), None);
}

#[tokio::test]
async fn a_run_is_stopped_for_the_reason_that_was_given() {
    use StopReason::{Cancelled, Disconnected, LeaseLost, Shutdown};
    for reason in [Disconnected, Cancelled, LeaseLost, Shutdown] {
        let signal = StopSignal::new();
        signal.raise(reason);
        let handler = async |flow: Flow| Ok::<_, Failure>(flow.roots("roots").await?.len());
        let ran = run(handler, Journal::default(), RunContext::for_tests().stop(signal)).await;
        assert!(matches!(ran.outcome, Outcome::Stopped(stopped) if stopped == reason), "{reason:?}: {:?}", ran.outcome);
    }
}

#[tokio::test]
async fn an_answer_that_is_asked_for_again_leaves_its_room_to_others() {
    let handler = async |flow: Flow| {
        let short = |name: &Name| if name.name.len() > 3 { Err("too long") } else { Ok(()) };
        let name = flow.elicit::<Name>("name", "Who?").validate(short);
        let (name, _) = flow.join((name, flow.step("keep", async { Ok::<_, Failure>("x".repeat(600)) }))).await?;
        Ok::<_, Failure>(name.name)
    };
    let ask = async |flow: Flow| Ok::<_, Failure>(flow.elicit::<Name>("name", "Who?").await?.name);
    let ran = run(ask, Journal::default(), RunContext::for_tests().as_task(1000)).await;
    let (_, journal) = answer(ran, &named(600));
    let ran = run(handler, journal, RunContext::for_tests().as_task(1000)).await;
    assert!(matches!(ran.outcome, Outcome::Waiting(_)), "{:?}", ran.outcome);
    assert_eq!(ran.journal.steps().collect::<Vec<_>>(), ["keep"]);
}

/// A step of so many bytes, and how its run ended within a limit.
async fn keep(length: usize, limit: usize) -> Outcome<()> {
    let handler = async |flow: Flow| {
        flow.step("keep", async { Ok::<_, Failure>("x".repeat(length)) }).await?;
        Ok::<_, Failure>(())
    };
    run(handler, Journal::default(), RunContext::for_tests().as_task(limit)).await.outcome
}

#[tokio::test]
async fn a_journal_may_take_all_the_bytes_that_are_allowed_but_for_those_of_answers() {
    let Outcome::Failed(failure) = keep(1000, 100).await else { panic!("it is too much") };
    let text = format!("{failure:?}");
    let total = text.split_once("the journal would hold ").and_then(|(_, rest)| rest.split_once(" bytes")).unwrap().0;
    let total: usize = total.parse().unwrap();
    // A quarter of a small one is for answers.
    let limit = total.div_ceil(3) * 4;
    assert!(matches!(keep(1000, limit).await, Outcome::Done(())));
    assert!(matches!(keep(1000, limit - 4).await, Outcome::Failed(_)));
}

/// A version with less room may go on with a flow: then what is there already is not of the client's making.
#[tokio::test]
async fn no_answer_is_to_blame_for_a_journal_that_was_too_large_without_it() {
    let handler = async |flow: Flow| {
        flow.step("keep", async { Ok::<_, Failure>("x".repeat(2000)) }).await?;
        let name = flow.elicit::<Name>("name", "Who?").await?.name;
        flow.step("read", async { Ok::<_, Failure>(()) }).await?;
        Ok::<_, Failure>(name)
    };
    let ran = run(handler, Journal::default(), RunContext::for_tests().as_task(1 << 20)).await;
    let (_, journal) = answer(ran, &named(3));
    let ran = run(handler, journal, RunContext::for_tests().as_task(1000)).await;
    let Outcome::Failed(failure) = ran.outcome else { panic!("{:?}", ran.outcome) };
    let text = format!("{failure:?}");
    assert!(text.contains("step `read`") && !text.contains("`name`"), "{text}");
}

#[tokio::test]
async fn names_take_room_too() {
    let mut journal = Journal::default();
    for number in 0..20 {
        journal.answer(format!("{number:0100}"), &raw(&json!({})), Asked::default());
    }
    let handler = async |flow: Flow| Ok::<_, Failure>(flow.roots("roots").await?.len());
    let small = run(handler, journal.clone(), RunContext::for_tests().as_task(1500)).await;
    assert!(matches!(small.outcome, Outcome::Failed(_)), "{:?}", small.outcome);
    let large = run(handler, journal, RunContext::for_tests().as_task(4000)).await;
    assert!(matches!(large.outcome, Outcome::Waiting(_)), "{:?}", large.outcome);
}

/// An input of an application's own.
struct Approval;

impl NamespacedInput for Approval {
    const METHOD: Method = Method::from_static("com.example/approval");
    type Params = ();
    type Response = u8;
}

#[tokio::test]
async fn what_was_decided_once_stays_so_and_is_not_looked_for_again() {
    let looks = AtomicU8::new(0);
    let handler = async |flow: Flow| {
        let decided = async || Some(looks.fetch_add(1, Ordering::Relaxed));
        let decision = flow.ask::<Approval>("sign_off", ()).until(decided).await?;
        flow.roots("roots").await?;
        Ok::<_, Failure>(decision)
    };
    let ran = run(handler, Journal::default(), RunContext::for_tests()).await;
    let (_, journal) = answer(ran, &json!({ "roots": [] }));
    let ran = run(handler, journal, RunContext::for_tests()).await;
    assert!(matches!(ran.outcome, Outcome::Done(0)), "{:?}", ran.outcome);
    assert_eq!(looks.load(Ordering::Relaxed), 1);
}

/// A member is known by its name, and so is a race: a step may happen to be named as one.
#[tokio::test]
async fn a_race_was_not_won_by_a_member_that_it_does_not_have() {
    for winner in [2, 7] {
        let step = async |flow: Flow| Ok::<_, Failure>(flow.step("a|b", async { Ok::<_, Failure>(winner) }).await?);
        let ran = run(step, Journal::default(), RunContext::for_tests()).await;
        let race = async |flow: Flow| {
            let act = async || Ok::<_, Failure>(());
            flow.race((flow.step("a", act()), flow.step("b", act()))).await?;
            Ok::<_, Failure>(())
        };
        let ran = run(race, ran.journal, RunContext::for_tests()).await;
        let Outcome::Failed(failure) = ran.outcome else { panic!("{:?}", ran.outcome) };
        assert!(format!("{failure:?}").contains("the recorded winner of the race `a|b`"), "{failure:?}");
    }
}

#[tokio::test]
async fn a_visit_that_lost_its_race_is_looked_for_no_more() {
    let mut journal = Journal::default();
    journal.answer("pay", &raw(&json!({ "action": "accept" })), Asked::default());
    let handler = async |flow: Flow| {
        let visit = flow.elicit_url("pay", "Please pay", "https://example.com/pay").until(async || false);
        flow.race((visit, flow.step("quick", async { Ok::<_, Failure>(()) }))).await?;
        tokio::task::yield_now().await;
        Ok::<_, Failure>("paid in cash")
    };
    let ran = run(handler, journal, RunContext::for_tests().as_task(1 << 20)).await;
    assert!(matches!(ran.outcome, Outcome::Done("paid in cash")), "{:?}", ran.outcome);
}
