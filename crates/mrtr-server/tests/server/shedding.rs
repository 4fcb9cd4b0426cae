//! SV-13: a busy server puts flows down at yield points, and another goes on with them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use mrtr_schema::roots::ListRootsResult;
use mrtr_server::extend::{Load, ShedAbove, ShedAfterQueueing, Shedder};
use mrtr_server::testing::FixedClock;
use mrtr_server::{Failure, Flow, Server, StatePolicy, Tool};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::{Name, builder, client, name};

/// Sheds for as long as the test wants it to.
#[derive(Debug, Clone, Default)]
struct Switch(Arc<AtomicBool>);

impl Switch {
    fn on() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }
}

impl Shedder for Switch {
    fn sheds(&self, _: &Load) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Serialize, Deserialize)]
struct Progress {
    files: u32,
}

/// Indexes ten files, each once, and may be put down after each.
fn indexing(
    work: &Arc<AtomicU32>,
) -> impl Fn(Flow) -> std::pin::Pin<Box<dyn Future<Output = Result<String, Failure>> + Send>> + Send + Sync + 'static {
    let work = Arc::clone(work);
    move |flow: Flow| {
        let work = Arc::clone(&work);
        Box::pin(async move {
            let from = flow.resumed_from::<Progress>().map_or(0, |progress| progress.files);
            for files in from..10 {
                work.fetch_add(1, Ordering::Relaxed);
                flow.yield_point(&Progress { files: files + 1 }).await;
            }
            Ok(format!("indexed 10 files, {} of them here", 10 - from))
        })
    }
}

fn instance(work: &Arc<AtomicU32>, shedder: impl Shedder) -> Server {
    builder().shedder(shedder).tool(Tool::new("tool", indexing(work))).build().unwrap()
}

#[tokio::test]
async fn sv_13_another_instance_goes_on_and_the_work_is_done_once() {
    let work = Arc::default();
    let (busy, idle) = (instance(&work, Switch::on()), instance(&work, Switch::default()));
    let shed = client(&busy).call_tool("tool", json!({})).await;
    shed.expect_asked(&[]);
    assert!(shed.state().is_some() && shed.response()["result"].get("inputRequests").is_none());
    let done = shed.at(&idle).send().await;
    assert_eq!(done.expect_text(), "indexed 10 files, 9 of them here");
    assert_eq!(work.load(Ordering::Relaxed), 10);
}

#[tokio::test]
async fn sv_13_no_flow_is_put_down_for_ever() {
    let work = Arc::default();
    let busy = instance(&work, Switch::on());
    let mut call = client(&busy).call_tool("tool", json!({})).await;
    let mut sheds = 0;
    while call.interim().is_some() {
        sheds += 1;
        call = call.send().await;
    }
    assert_eq!((sheds, call.expect_text().as_str()), (3, "indexed 10 files, 7 of them here"));
    assert_eq!(work.load(Ordering::Relaxed), 10);
}

#[tokio::test]
async fn a_server_without_a_shedder_puts_nothing_down() {
    let server = builder().tool(Tool::new("tool", indexing(&Arc::default()))).build().unwrap();
    assert_eq!(client(&server).call_tool("tool", json!({})).await.expect_text(), "indexed 10 files, 10 of them here");
}

/// Asks, does something once, may be put down, and asks again.
fn careful(charges: &Arc<AtomicU32>, policy: StatePolicy, shedder: &Switch) -> Server {
    let charges = Arc::clone(charges);
    let handler = move |flow: Flow| {
        let charges = Arc::clone(&charges);
        async move {
            let who = flow.elicit::<Name>("who", "Who pays?");
            let (who, roots) = flow.join((who, flow.roots("roots"))).await?;
            flow.yield_point(&"answered").await;
            let charge = async { Ok::<_, Failure>(charges.fetch_add(1, Ordering::Relaxed)) };
            flow.step("charge", charge).await?;
            flow.yield_point(&"charged").await;
            let receipt = flow.elicit::<Name>("receipt", "To whom goes the receipt?").await?;
            flow.yield_point(&"asked").await;
            Ok::<_, Failure>(format!("{} paid for {} roots, receipt to {}", who.name, roots.len(), receipt.name))
        }
    };
    let tool = Tool::new("tool", handler).state_policy(policy);
    builder().shedder(shedder.clone()).tool(tool).build().unwrap()
}

#[tokio::test]
async fn sv_13_an_answer_that_comes_at_the_moment_of_shedding_is_not_lost() {
    for policy in [StatePolicy::Always, StatePolicy::WhenNeeded] {
        let charges = Arc::default();
        let (busy, idle) = (careful(&charges, policy, &Switch::on()), careful(&charges, policy, &Switch::default()));
        let asked = client(&busy).call_tool("tool", json!({})).await;
        asked.expect_asked(&["who", "roots"]);
        let answered = asked.accept("who", name("Ada")).answer("roots", &ListRootsResult::new([]));

        let shed = answered.send().await;
        shed.expect_asked(&[]);
        let shed = shed.at(&busy).send().await;
        shed.expect_asked(&[]);
        let asked = shed.at(&idle).send().await;
        asked.expect_asked(&["receipt"]);
        let shed = asked.accept("receipt", name("Grace")).at(&busy).send().await;
        shed.expect_asked(&[]);
        let done = shed.at(&idle).send().await;
        assert_eq!(done.expect_text(), "Ada paid for 0 roots, receipt to Grace");
        assert_eq!(charges.load(Ordering::Relaxed), 1);
    }
}

#[tokio::test]
async fn sv_13_an_open_question_goes_out_rather_than_nothing() {
    let handler = async |flow: Flow| {
        let asking = async { flow.elicit::<Name>("who", "Who?").await };
        let resting = async { flow.yield_point(&"here").await };
        let (who, ()) = tokio::join!(asking, resting);
        Ok::<_, Failure>(who?.name)
    };
    let server = builder().shedder(Switch::on()).tool(Tool::new("tool", handler)).build().unwrap();
    client(&server).call_tool("tool", json!({})).await.expect_asked(&["who"]);
}

#[tokio::test]
async fn flows_are_put_down_above_a_number_of_them() {
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let waiting = Arc::clone(&gate);
    let handler = move |flow: Flow| {
        let gate = Arc::clone(&waiting);
        async move {
            let _permit = gate.acquire().await?;
            flow.yield_point(&"here").await;
            Ok::<_, Failure>("done")
        }
    };
    let server = builder().shedder(ShedAbove(1)).tool(Tool::new("tool", handler)).build().unwrap();
    let client = client(&server);
    let both = async { tokio::join!(client.call_tool("tool", json!({})), client.call_tool("tool", json!({}))) };
    let opening = async { gate.add_permits(1) };
    let ((one, other), ()) = tokio::join!(both, opening);
    let shed = [one, other].iter().filter(|call| call.interim().is_some()).count();
    assert_eq!(shed, 1);
    // The count is of those that run now.
    assert_eq!(client.call_tool("tool", json!({})).await.expect_text(), "done");
}

#[tokio::test]
async fn flows_are_put_down_that_waited_too_long() {
    let clock = FixedClock::default();
    let shedder = ShedAfterQueueing(Duration::from_millis(250));
    let tool = Tool::new("tool", indexing(&Arc::default()));
    let server = builder().clock(clock.clone()).shedder(shedder).tool(tool).build().unwrap();
    let arrival = server.arrival();
    let queued = client(&server).in_context(|context| context.received(arrival));
    clock.advance(Duration::from_millis(250));
    assert!(queued.call_tool("tool", json!({})).await.interim().is_none());
    clock.advance(Duration::from_millis(1));
    assert!(queued.call_tool("tool", json!({})).await.interim().is_some());
    assert!(client(&server).call_tool("tool", json!({})).await.interim().is_none());
}
