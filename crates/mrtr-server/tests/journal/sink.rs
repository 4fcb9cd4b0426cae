//! A sink's entries rebuild the journal, wherever the run is cut off.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use mrtr_flow::{
    Entries, EntryKind, Journal, JournalSink, Outcome, RunContext, RunReport, SinkError, StopReason, StopSignal, run,
};
use mrtr_server::flow::Race2;
use mrtr_server::{Failure, Flow};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::Notify;
use tokio::time::timeout;

/// The time that a run may take that must end.
const PATIENCE: Duration = Duration::from_secs(20);

/// Keeps entries in order, and fails or hangs where a test wants it to.
#[derive(Default)]
struct Kept {
    entries: Mutex<Vec<(EntryKind, String, Vec<u8>)>>,
    /// From this entry on, another runner has the flow.
    lost_after: Option<usize>,
    /// Waits for this before each batch.
    gate: Option<Notify>,
}

impl Kept {
    fn kinds(&self) -> Vec<(EntryKind, String)> {
        self.entries.lock().unwrap().iter().map(|(kind, name, _)| (*kind, name.clone())).collect()
    }

    /// The journal after so many entries.
    fn journal(&self, entries: usize) -> Journal {
        let bytes = self.entries.lock().unwrap().iter().take(entries).flat_map(|(.., bytes)| bytes.clone()).collect();
        let bytes: Vec<u8> = bytes;
        Journal::from_bytes(bytes).unwrap()
    }
}

#[async_trait]
impl JournalSink for Kept {
    async fn record(&self, entries: &Entries) -> Result<(), SinkError> {
        if let Some(gate) = &self.gate {
            gate.notified().await;
        }
        for entry in entries.iter() {
            let mut kept = self.entries.lock().unwrap();
            if self.lost_after.is_some_and(|after| kept.len() >= after) {
                return Err(SinkError::Lost);
            }
            kept.push((entry.kind(), entry.name().to_owned(), entry.as_bytes().to_vec()));
        }
        Ok(())
    }
}

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

type Effects = Arc<Mutex<Vec<&'static str>>>;

/// A handler that comes by entries of most kinds. Effects are counted where they happen.
async fn everything(flow: Flow, effects: Effects) -> Result<String, Failure> {
    let act = |what: &'static str| {
        let effects = Arc::clone(&effects);
        async move {
            effects.lock().unwrap().push(what);
            Ok::<_, Failure>(what.to_owned())
        }
    };
    let key = flow.idempotency_key("key").await;
    flow.step("first", act("first")).await?;
    let failed = flow.step("fails", async { Err::<(), _>("no luck") }).await.is_err();
    let never = flow.step("never", async { Err::<(), _>(format!("{:?}", flow.cancelled().await)) });
    let raced = flow.race((flow.step("quick", act("quick")), never)).await?;
    assert!(matches!(raced, Race2::First(_)));
    flow.yield_point(&3).await;
    let name = flow.elicit::<Name>("name", "Who?").await?.name;
    flow.step("last", act("last")).await?;
    Ok(format!("{name} {failed} {}", key.len()))
}

async fn go(kept: &Arc<Kept>, journal: Journal, effects: &Effects) -> RunReport<String> {
    let effects = Arc::clone(effects);
    let sink: Arc<dyn JournalSink> = kept.clone();
    let context = RunContext::for_tests().as_task(1 << 20).sink(sink).stop(StopSignal::new());
    let running = run(async move |flow| everything(flow, effects).await, journal, context);
    timeout(PATIENCE, running).await.expect("the run ends")
}

fn answer(journal: &mut Journal, report: &RunReport<String>) {
    let Outcome::Waiting(questions) = &report.outcome else { panic!("{report:?}") };
    let answer = json!({ "action": "accept", "content": { "name": "Ada" } }).to_string();
    journal.answer(&questions[0].key, &RawValue::from_string(answer).unwrap(), questions[0].asked);
}

#[tokio::test]
async fn every_kind_of_entry_reaches_the_sink_in_its_order() {
    let (kept, effects) = (Arc::new(Kept::default()), Effects::default());
    let report = go(&kept, Journal::default(), &effects).await;
    let mut journal = kept.journal(usize::MAX);
    assert_eq!(journal.to_bytes(), report.journal.to_bytes(), "what the sink was told is the journal");
    answer(&mut journal, &report);
    let report = go(&kept, journal, &effects).await;
    assert!(matches!(&report.outcome, Outcome::Done(text) if text == "Ada true 32"), "{report:?}");
    let told: Vec<_> = kept.kinds();
    let told: Vec<_> = told.iter().map(|(kind, name)| (*kind, name.as_str())).collect();
    assert_eq!(
        told,
        [
            (EntryKind::KeyGiven, ""),
            (EntryKind::StepStarted, "first"),
            (EntryKind::StepFinished, "first"),
            (EntryKind::StepStarted, "fails"),
            (EntryKind::StepFailed, "fails"),
            (EntryKind::StepStarted, "quick"),
            (EntryKind::StepStarted, "never"),
            (EntryKind::StepFinished, "quick"),
            (EntryKind::StepDropped, "never"),
            (EntryKind::StepFinished, "quick|never"),
            (EntryKind::Progress, ""),
            (EntryKind::QuestionOpened, "name"),
            (EntryKind::Progress, ""),
            (EntryKind::StepStarted, "last"),
            (EntryKind::StepFinished, "last"),
        ]
    );
}

#[tokio::test]
async fn wherever_a_run_is_cut_off_the_rest_of_its_entries_go_on_from_there() {
    let whole = Arc::new(Kept::default());
    go(&whole, Journal::default(), &Effects::default()).await;
    let entries = whole.kinds().len();
    for cut in 0..entries {
        let (lost, effects) = (Arc::new(Kept { lost_after: Some(cut), ..Kept::default() }), Effects::default());
        let report = go(&lost, Journal::default(), &effects).await;
        assert!(matches!(report.outcome, Outcome::Stopped(StopReason::LeaseLost)), "after {cut}: {report:?}");
        let kept = Arc::new(Kept::default());
        let report = go(&kept, lost.journal(cut), &effects).await;
        let interrupted = matches!(&report.outcome, Outcome::Failed(_));
        let counts = effects.lock().unwrap().clone();
        for what in ["first", "quick", "last"] {
            let count = counts.iter().filter(|done| **done == what).count();
            assert!(count <= 1, "{what} happened {count} times after a cut at {cut}");
        }
        let begun = whole.kinds()[..cut].last().is_some_and(|(kind, _)| *kind == EntryKind::StepStarted);
        assert!(begun || !interrupted, "after {cut}: {report:?}");
    }
}

#[tokio::test]
async fn a_question_is_told_while_a_joined_step_goes_on() {
    async fn handler(flow: Flow, go_on: Arc<Notify>) -> Result<(), Failure> {
        let work = flow.step("work", async {
            go_on.notified().await;
            Ok::<_, Failure>(())
        });
        flow.join((work, flow.elicit::<Name>("name", "Who?"))).await?;
        Ok(())
    }
    let (kept, go_on) = (Arc::new(Kept::default()), Arc::new(Notify::new()));
    let (sink, gate): (Arc<dyn JournalSink>, _) = (kept.clone(), Arc::clone(&go_on));
    let context = RunContext::for_tests().as_task(1 << 20).sink(sink);
    let running = tokio::spawn(run(async move |flow| handler(flow, gate).await, Journal::default(), context));
    let told = async {
        while !kept.kinds().contains(&(EntryKind::QuestionOpened, "name".to_owned())) {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, told).await.expect("the question is told before the step ends");
    assert!(!kept.kinds().iter().any(|(kind, _)| *kind == EntryKind::StepFinished));
    go_on.notify_one();
    let report = timeout(PATIENCE, running).await.expect("it ends").unwrap();
    assert!(matches!(report.outcome, Outcome::Waiting(_)), "{report:?}");
}

#[tokio::test]
async fn a_step_starts_when_the_sink_has_kept_that_it_does() {
    let kept = Arc::new(Kept { gate: Some(Notify::new()), ..Kept::default() });
    let (sink, effects): (Arc<dyn JournalSink>, Effects) = (kept.clone(), Effects::default());
    let seen = Arc::clone(&effects);
    let context = RunContext::for_tests().as_task(1 << 20).sink(sink);
    let handler = async move |flow: Flow| {
        let work = async {
            seen.lock().unwrap().push("work");
            Ok::<_, Failure>(())
        };
        flow.step("work", work).await?;
        Ok::<_, Failure>(())
    };
    let mut running = Box::pin(run(handler, Journal::default(), context));
    for _ in 0..20 {
        tokio::select! { biased; _ = &mut running => panic!("it is held up"), () = tokio::task::yield_now() => {} }
    }
    assert!(effects.lock().unwrap().is_empty(), "nothing is done that is not on record");
    let gate = kept.gate.as_ref().unwrap();
    let report = timeout(PATIENCE, async {
        tokio::select! {
            report = &mut running => report,
            () = async { loop { gate.notify_one(); tokio::task::yield_now().await; } } => unreachable!("for ever"),
        }
    });
    assert!(matches!(report.await.expect("it ends").outcome, Outcome::Done(())));
    assert_eq!(*effects.lock().unwrap(), ["work"]);
}

#[tokio::test]
async fn a_stop_lets_the_running_step_finish_and_nothing_else_begin() {
    async fn handler(flow: Flow, effects: Effects) -> Result<(), Failure> {
        let mark = |what| effects.lock().unwrap().push(what);
        flow.step("long", async {
            let reason = flow.cancelled().await;
            mark(if reason == StopReason::Cancelled { "told" } else { "other" });
            Ok::<_, Failure>(())
        })
        .await?;
        flow.step("next", async {
            mark("next");
            Ok::<_, Failure>(())
        })
        .await?;
        Ok(())
    }
    let (kept, effects, signal) = (Arc::new(Kept::default()), Effects::default(), StopSignal::new());
    let (sink, seen): (Arc<dyn JournalSink>, _) = (kept.clone(), Arc::clone(&effects));
    let context = RunContext::for_tests().as_task(1 << 20).sink(sink).stop(signal.clone());
    let running = tokio::spawn(run(async move |flow| handler(flow, seen).await, Journal::default(), context));
    while kept.kinds().is_empty() {
        tokio::task::yield_now().await;
    }
    signal.raise(StopReason::Cancelled);
    let report = timeout(PATIENCE, running).await.expect("it ends").unwrap();
    assert!(matches!(report.outcome, Outcome::Stopped(StopReason::Cancelled)), "{report:?}");
    assert_eq!(*effects.lock().unwrap(), ["told"]);
    assert_eq!(kept.kinds().last(), Some(&(EntryKind::StepFinished, "long".to_owned())), "it is on record");
}

#[tokio::test]
async fn a_run_that_waits_for_nothing_of_its_own_is_stopped_too() {
    let signal = StopSignal::new();
    let context = RunContext::for_tests().stop(signal.clone());
    let handler = async |_: Flow| pending::<Result<(), Failure>>().await;
    let running = tokio::spawn(run(handler, Journal::default(), context));
    tokio::task::yield_now().await;
    signal.raise(StopReason::Shutdown);
    let report = timeout(PATIENCE, running).await.expect("it ends").unwrap();
    assert!(matches!(report.outcome, Outcome::Stopped(StopReason::Shutdown)), "{report:?}");
}

/// Runs this handler with a sink that keeps what it is told, and returns how the run ended.
async fn told<T>(
    handler: impl AsyncFnOnce(Flow) -> Result<T, Failure>,
    journal: Journal,
    kept: &Arc<Kept>,
) -> RunReport<T> {
    let sink: Arc<dyn JournalSink> = kept.clone();
    let context = RunContext::for_tests().as_task(1 << 20).sink(sink);
    timeout(PATIENCE, run(handler, journal, context)).await.expect("the run ends")
}

#[tokio::test]
async fn a_visit_is_looked_for_again_after_pauses_that_double_up_to_a_minute() {
    let handler = async |flow: Flow| {
        flow.elicit_url("pay", "Please pay", "https://example.com/pay").until(async || false).await?;
        Ok::<_, Failure>(())
    };
    let kept = Arc::new(Kept::default());
    let report = told(handler, Journal::default(), &kept).await;
    let Outcome::Waiting(questions) = report.outcome else { panic!("{report:?}") };
    let consent = RawValue::from_string(json!({ "action": "accept" }).to_string()).unwrap();
    let (mut journal, mut answered) = (report.journal, Journal::default());
    answered.answer("pay", &consent, questions[0].asked);
    journal.replay(&answered.to_bytes()).unwrap();
    for (looks, pause) in (1..).zip([2, 4, 8, 16, 32, 60, 60]) {
        let report = told(handler, journal, &kept).await;
        let Outcome::Yielded { count, pause: paused } = report.outcome else { panic!("{report:?}") };
        assert_eq!((count, paused), (looks, Duration::from_secs(pause)));
        journal = report.journal;
    }
    // A sink that was told of everything knows as much.
    let mut journal = kept.journal(usize::MAX);
    journal.replay(&answered.to_bytes()).unwrap();
    let report = told(handler, journal, &kept).await;
    assert!(matches!(report.outcome, Outcome::Yielded { count: 8, .. }), "{report:?}");
}

/// A journal in which the user consented to the visit that this handler asks for.
async fn consented(handler: impl AsyncFnOnce(Flow) -> Result<&'static str, Failure>, kept: &Arc<Kept>) -> Journal {
    let report = told(handler, Journal::default(), kept).await;
    let Outcome::Waiting(questions) = report.outcome else { panic!("{report:?}") };
    let consent = RawValue::from_string(json!({ "action": "accept" }).to_string()).unwrap();
    let mut answered = Journal::default();
    answered.answer(&questions[0].key, &consent, questions[0].asked);
    let mut journal = report.journal;
    journal.replay(&answered.to_bytes()).unwrap();
    journal
}

#[tokio::test(start_paused = true)]
async fn what_a_handler_returns_past_a_visit_that_it_waits_for_does_not_count() {
    for ending in 0..4 {
        let handler = async move |flow: Flow| {
            let done = async || {
                if ending == 3 {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                false
            };
            let pay = flow.elicit_url("pay", "Please pay", "https://example.com/pay").until(done);
            tokio::select! {
                biased;
                paid = pay.into_future() => paid?,
                () = tokio::time::sleep(Duration::from_millis(20)) => {}
                () = std::future::ready(()), if ending != 3 => {}
            }
            match ending {
                1 => Err(Failure::from("unpaid")),
                2 => panic!("unpaid"),
                _ => Ok("shipped"),
            }
        };
        let kept = Arc::new(Kept::default());
        let journal = consented(handler, &kept).await;
        let report = told(handler, journal, &kept).await;
        let Outcome::Yielded { count: 1, pause } = report.outcome else { panic!("{ending}: {report:?}") };
        assert_eq!((pause, report.look_again), (Duration::from_secs(2), Some(pause)));
    }
}

#[tokio::test]
async fn what_an_earlier_run_asked_and_this_one_does_not_is_open_no_more() {
    let asks = async |flow: Flow| Ok::<_, Failure>(flow.elicit::<Name>("name", "Who?").await?.name);
    let asks_another = async |flow: Flow| Ok::<_, Failure>(flow.elicit::<Name>("other", "Who else?").await?.name);
    let kept = Arc::new(Kept::default());
    told(asks, Journal::default(), &kept).await;
    let after_both = told(asks_another, kept.journal(usize::MAX), &kept).await.journal;
    let alone = told(asks_another, Journal::default(), &Arc::default()).await.journal;
    assert_eq!(after_both.to_bytes(), alone.to_bytes());
}

/// A set of futures polls only those of its members that were woken.
#[tokio::test]
async fn each_of_several_steps_is_woken_when_the_sink_has_kept_it() {
    let handler = async |flow: Flow| {
        let step = async |name: &'static str| flow.step(name, async { Ok::<_, Failure>(()) }).await;
        let steps: FuturesUnordered<_> = ["one", "two", "three"].into_iter().map(step).collect();
        Ok::<_, Failure>(steps.collect::<Vec<_>>().await.len())
    };
    let report = told(handler, Journal::default(), &Arc::default()).await;
    assert!(matches!(report.outcome, Outcome::Done(3)), "{report:?}");
}

#[tokio::test]
async fn a_run_ends_when_the_sink_has_kept_what_it_was_told_last() {
    let kept = Arc::new(Kept { gate: Some(Notify::new()), ..Kept::default() });
    let handler = async |flow: Flow| Ok::<_, Failure>(flow.elicit::<Name>("name", "Who?").await?.name);
    let mut running = Box::pin(told(handler, Journal::default(), &kept));
    for _ in 0..20 {
        tokio::select! { biased; _ = &mut running => panic!("it is held up"), () = tokio::task::yield_now() => {} }
    }
    kept.gate.as_ref().unwrap().notify_one();
    assert!(matches!(running.await.outcome, Outcome::Waiting(_)));
    assert_eq!(kept.kinds(), [(EntryKind::QuestionOpened, "name".to_owned())]);
}

/// A journal with an answer that came without a state, as `STATE_FORMAT.md` writes one.
fn unsealed(name: &str, answer: &str) -> Journal {
    let length = u8::try_from(2 + name.len() + answer.len()).unwrap();
    let head = [length, EntryKind::UnsealedAnswer as u8, u8::try_from(name.len()).unwrap()];
    Journal::from_bytes([&head, name.as_bytes(), answer.as_bytes()].concat()).unwrap()
}

#[tokio::test]
async fn an_answer_that_came_without_a_state_is_told_once_it_is_used() {
    let handler = async |flow: Flow| Ok::<_, Failure>(flow.elicit::<Name>("name", "Who?").await?.name);
    let answer = json!({ "action": "accept", "content": { "name": "Ada" } }).to_string();
    let kept = Arc::new(Kept::default());
    let report = told(handler, unsealed("name", &answer), &kept).await;
    assert!(matches!(&report.outcome, Outcome::Done(name) if name == "Ada"), "{report:?}");
    assert_eq!(kept.kinds(), [(EntryKind::Answered, "name".to_owned())]);
    assert_eq!(report.journal.to_bytes(), kept.journal(1).to_bytes(), "it is there once");
}

#[tokio::test]
async fn a_race_that_is_dropped_while_its_winner_is_recorded_was_won() {
    let kept = Arc::new(Kept { gate: Some(Notify::new()), ..Kept::default() });
    let sink = Arc::clone(&kept);
    let handler = async move |flow: Flow| {
        let race = flow.race((flow.branch(async {}), flow.branch(pending::<()>())));
        tokio::select! { biased; _ = race => panic!("its record is held up"), () = tokio::task::yield_now() => {} }
        sink.gate.as_ref().unwrap().notify_one();
        tokio::task::yield_now().await;
        sink.gate.as_ref().unwrap().notify_one();
        Ok::<_, Failure>(flow.elicit::<Name>("name", "Who?").await?.name)
    };
    let report = told(handler, Journal::default(), &kept).await;
    assert!(matches!(report.outcome, Outcome::Waiting(_)), "{report:?}");
    assert_eq!(report.journal.steps().collect::<Vec<_>>(), ["branch|branch"], "the run knows what its sink does");
    assert_eq!(kept.journal(usize::MAX).steps().collect::<Vec<_>>(), ["branch|branch"]);
}
