//! Blocking `tasks/result` of the older revisions: what it holds, what wakes it, and how many there may be.

use std::time::Duration;

use mrtr_schema::Revision;
use mrtr_server::Reply;
use mrtr_tasks::TaskOptions;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::support::{Name, OLDER, Outside, PATIENCE, Site, Started, ann, memory, tool, within};

/// Works until the gate is open, asks, and works on.
fn gated(outside: &Outside) -> mrtr_server::Tool {
    tool(outside, async |flow, outside| {
        flow.step("first", outside.happen_after_gate("first")).await?;
        let name: Name = flow.elicit("name", "Who?").await?;
        flow.step("second", outside.happen_after_gate("second")).await?;
        Ok(name.name)
    })
}

/// Waits for a result, from now on.
async fn waiting(task: &Started) -> JoinHandle<Value> {
    let task = task.clone();
    let waiting = tokio::spawn(async move { task.send("tasks/result", json!({})).await });
    // It is registered when nothing else is left to do.
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(!waiting.is_finished());
    waiting
}

async fn woken(waiting: JoinHandle<Value>) -> Value {
    within(PATIENCE, waiting).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn tk_3_a_question_an_end_a_cancel_and_time_wake_it() {
    for revision in OLDER {
        let outside = Outside::default();
        let site = Site::of(gated(&outside));
        let task = site.start_in(revision).await;
        outside.until("at the gate", 1).await;

        let asked = waiting(&task).await;
        outside.open_gate();
        assert!(woken(asked).await["result"]["inputRequests"]["name"].is_object());

        task.accept("name", json!({ "name": "Ada" })).await;
        outside.until("at the gate", 2).await;
        let ended = waiting(&task).await;
        outside.open_gate();
        assert_eq!(woken(ended).await["result"]["content"][0]["text"], "Ada");

        let cancelled = site.start_in(revision).await;
        outside.until("at the gate", 3).await;
        let waits = waiting(&cancelled).await;
        cancelled.cancel().await;
        assert!(woken(waits).await["error"]["message"].as_str().unwrap().contains("was cancelled"));

        let expiring = site.start_wishing(site.older(revision), revision, json!({ "ttl": 30_000 })).await;
        let waits = waiting(&expiring).await;
        let began = tokio::time::Instant::now();
        assert_eq!(woken(waits).await["error"]["message"], "The task's ttl is over");
        assert!(began.elapsed() <= Duration::from_secs(31), "{:?}", began.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn tk_3_shutting_down_wakes_it_and_refuses_new_ones() {
    for revision in OLDER {
        let outside = Outside::default();
        let site = Site::of(gated(&outside));
        let task = site.start_in(revision).await;
        outside.until("at the gate", 1).await;
        let waits = waiting(&task).await;
        let stopping = tokio::spawn({
            let tasks = site.tasks.clone();
            async move { tasks.shut_down().await }
        });
        let said = woken(waits).await;
        assert_eq!(said["error"]["code"], -32603, "{said}");
        assert!(said["error"]["message"].as_str().unwrap().contains("shutting down"), "{said}");
        within(PATIENCE, stopping).await.unwrap();
        assert!(task.result().await["error"].is_object());
        assert_eq!(task.status().await, "working", "the task itself goes on elsewhere");
    }
}

#[tokio::test(start_paused = true)]
async fn tk_3_many_wait_without_a_worker_and_a_caller_has_so_many() {
    for revision in OLDER {
        let outside = Outside::default();
        let site = Site::with(memory(), TaskOptions::default().workers(1).most_blocked(3), [gated(&outside)]);
        let of_ann = site.older(revision).calling_as(ann());
        let task = site.start_as(of_ann.clone(), revision).await;
        outside.until("at the gate", 1).await;
        let mut all = Vec::new();
        for _ in 0..3 {
            all.push(waiting(&task).await);
        }
        let refused = task.result().await;
        assert_eq!(refused["error"]["code"], -32600, "{refused}");
        let others = site.start_in(revision).await;
        let of_other = waiting(&others).await;
        assert_eq!(task.status().await, "working", "and requests are served");
        all.remove(0).abort();
        tokio::time::sleep(Duration::from_millis(1)).await;
        all.push(waiting(&task).await);
        outside.open_gate();
        for waits in all {
            assert!(woken(waits).await["result"]["inputRequests"].is_object());
        }
        outside.until("at the gate", 2).await;
        outside.open_gate();
        assert!(woken(of_other).await["result"]["inputRequests"].is_object(), "the one worker was free for it");
    }
}

#[tokio::test(start_paused = true)]
async fn tk_3_it_is_a_stream_that_takes_no_place_of_a_request() {
    let outside = Outside::default();
    let site = Site::of(gated(&outside));
    let revision = Revision::Sep2322;
    let task = site.start_in(revision).await;
    outside.until("at the gate", 1).await;
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tasks/result", "params": { "taskId": task.id } });
    let context = mrtr_server::Context::new().revision(revision);
    let reply = site.server.handle(request.to_string().into(), context).await;
    assert!(matches!(reply, Reply::Stream(_) | Reply::Subscription(_)), "{reply:?}");
}

#[tokio::test(start_paused = true)]
async fn tk_3_a_change_between_the_look_and_the_wait_is_heard() {
    // Many at once, with changes at every moment: not one of them is left behind.
    for revision in OLDER {
        let outside = Outside::default();
        let site = Site::with(memory(), TaskOptions::default().most_blocked(1_000), [gated(&outside)]);
        let task = site.start_in(revision).await;
        outside.until("at the gate", 1).await;
        let mut all = Vec::new();
        for place in 0..200 {
            let task = task.clone();
            all.push(tokio::spawn(async move { task.send("tasks/result", json!({})).await }));
            if place == 100 {
                outside.open_gate();
            }
            tokio::task::yield_now().await;
        }
        for waits in all {
            assert!(woken(waits).await["result"]["inputRequests"].is_object());
        }
    }
}
