//! The counters, under names and labels that no client can make up.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use mrtr_server::extend::{Load, Shedder};
use mrtr_server::testing::FixedClock;
use mrtr_server::{Failure, Flow, Prompt, Resource, Server, Tool};
use mrtr_state::MemorySingleUse;
use serde_json::json;

use crate::support::{builder, client, client_declaring, greet, name};

/// Returns the counters after `talk` was run.
fn counted(talk: impl Future<Output = ()>) -> BTreeMap<String, u64> {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    metrics::with_local_recorder(&recorder, || runtime.block_on(talk));
    let counts = snapshotter.snapshot().into_vec().into_iter().map(|(key, _, _, value)| {
        let labels: Vec<_> = key.key().labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        let name = format!("{}{{{}}}", key.key().name(), labels.join(","));
        match value {
            DebugValue::Counter(count) => (name, count),
            DebugValue::Histogram(values) => (name, values.len() as u64),
            DebugValue::Gauge(_) => panic!("there are no gauges"),
        }
    });
    counts.collect()
}

fn server() -> Server {
    let broken = async |_: Flow| Err::<(), Failure>("broken".into());
    let refuses = async |_: Flow| Err::<(), _>(mrtr_server::ProtocolError::invalid_params("no"));
    builder()
        .tool(Tool::new("ask", greet))
        .tool(Tool::new("broken", broken))
        .tool(Tool::new("refuses", refuses))
        .prompt(Prompt::new("ask", greet))
        .resource(Resource::new("test://one", "one", async |_: Flow| Ok::<_, Failure>("one")))
        .build()
        .unwrap()
}

#[test]
fn rounds_are_counted_by_method_and_outcome_and_asks_and_answers_with_them() {
    let counts = counted(async {
        let client = client(&server());
        let asked = client.call_tool("ask", json!({})).await;
        asked.accept("who", name("Ada")).accept("stranger", name("Eve")).send().await.expect_text();
        client.call_tool("broken", json!({})).await;
        client.call_tool("refuses", json!({})).await;
        client.get_prompt("ask", json!({})).await;
        client.read_resource("test://one").await;
        client_declaring(&server(), &json!({})).call_tool("ask", json!({})).await.expect_error();
    });
    let expected = [
        ("mrtr_answers_total{}", 1),
        ("mrtr_asks_total{kind=elicitation}", 2),
        ("mrtr_rounds_total{method=prompts/get,outcome=asked}", 1),
        ("mrtr_rounds_total{method=resources/read,outcome=done}", 1),
        ("mrtr_rounds_total{method=tools/call,outcome=asked}", 1),
        ("mrtr_rounds_total{method=tools/call,outcome=done}", 1),
        ("mrtr_rounds_total{method=tools/call,outcome=internal_error}", 1),
        ("mrtr_rounds_total{method=tools/call,outcome=missing_capability}", 1),
        ("mrtr_rounds_total{method=tools/call,outcome=protocol_error}", 1),
        ("mrtr_state_bytes{}", 2),
    ];
    assert_eq!(counts, expected.map(|(name, count)| (name.to_owned(), count)).into());
}

#[test]
fn refusals_are_counted_by_reason() {
    let counts = counted(async {
        let clock = FixedClock::default();
        let server = builder().clock(clock.clone()).tool(Tool::new("ask", greet)).build().unwrap();
        let asked = client(&server).call_tool("ask", json!({})).await;
        asked.clone().send_carrying(Some("nonsense")).await.expect_error();
        asked.clone().with_params(|params| params["arguments"] = json!({ "a": 1 })).send().await.expect_error();
        clock.advance(Duration::from_hours(2));
        asked.send().await.expect_error();
    });
    for reason in ["malformed", "other_params", "expired"] {
        assert_eq!(counts[&format!("mrtr_refusals_total{{reason={reason}}}")], 1, "{counts:?}");
    }
}

#[test]
fn replays_are_counted_whether_answered_or_refused() {
    let counts = counted(async {
        let clock = FixedClock::default();
        let guard = MemorySingleUse::new(mrtr_flow::Clock::now(&clock));
        clock.advance(Duration::from_secs(1));
        let tool = Tool::new("ask", greet).single_use(guard);
        let server = builder().clock(clock).tool(tool).build().unwrap();
        let asked = client(&server).call_tool("ask", json!({})).await;
        for who in ["Ada", "Ada", "Ada", "Eve"] {
            asked.clone().accept("who", name(who)).send().await;
        }
    });
    assert_eq!(counts["mrtr_replays_total{}"], 2);
    assert_eq!(counts["mrtr_refusals_total{reason=replayed}"], 1);
    assert_eq!(counts["mrtr_rounds_total{method=tools/call,outcome=done}"], 1);
}

#[derive(Debug)]
struct Once(AtomicBool);

impl Shedder for Once {
    fn sheds(&self, _: &Load) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

#[test]
fn sheds_are_counted() {
    let counts = counted(async {
        let handler = async |flow: Flow| {
            flow.yield_point(&1).await;
            Ok::<_, Failure>("done")
        };
        let shedder = Once(AtomicBool::new(true));
        let server = builder().shedder(shedder).tool(Tool::new("tool", handler)).build().unwrap();
        client(&server).call_tool("tool", json!({})).await.send().await.expect_text();
    });
    assert_eq!(counts["mrtr_sheds_total{}"], 1);
    assert_eq!(counts["mrtr_rounds_total{method=tools/call,outcome=yielded}"], 1);
}

#[test]
fn a_stranger_makes_up_no_labels() {
    let counts = counted(async {
        let client = client(&server());
        for number in 0..50 {
            let made_up = format!("made-up-{number}");
            client.request(&made_up, json!({})).await.expect_error();
            client.call_tool(&made_up, json!({})).await.expect_error();
            client.read_resource(&made_up).await.expect_error();
            let params = json!({ "name": "ask", "requestState": made_up, "inputResponses": { made_up: {} } });
            client.request("tools/call", params).await.expect_error();
        }
    });
    assert_eq!(counts.keys().collect::<Vec<_>>(), ["mrtr_refusals_total{reason=malformed}"]);
}
