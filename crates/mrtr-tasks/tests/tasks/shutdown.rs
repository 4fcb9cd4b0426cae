//! Shutting down: the instance hands its work over at once, not after a lease.

use std::sync::Arc;
use std::time::Duration;

use mrtr_flow::StopReason;
use mrtr_schema::Revision;
use mrtr_tasks::TaskOptions;
use serde_json::json;

use crate::faulty::{Fault, Faulty};
use crate::support::{Name, Outside, Site, greeting, memory, tool};

fn packing(outside: &Outside) -> mrtr_server::Tool {
    tool(outside, async |flow, outside| {
        let pack = async {
            outside.note("begun");
            let reason = flow.cancelled().await;
            assert_eq!(reason, StopReason::Shutdown);
            outside.happen("packed").await
        };
        flow.step("pack", pack).await?;
        flow.step("ship", outside.happen("ship")).await?;
        Ok("shipped".into())
    })
}

#[tokio::test(start_paused = true)]
async fn begun_steps_finish_and_another_instance_goes_on_at_once() {
    for revision in Revision::MODERN {
        let (store, outside) = (memory(), Outside::default());
        let first = Site::with(Arc::clone(&store), TaskOptions::default(), [packing(&outside)]);
        let task = first.start_in(revision).await;
        outside.until("begun", 1).await;
        first.tasks.shut_down().await;
        assert_eq!(outside.all(), ["begun", "packed"], "the step is finished and recorded, and nothing new begins");
        let view = first.tasks.view(None, 1).await.unwrap().remove(0);
        assert_eq!(view.lost_runs, 0);
        let stopped = tokio::time::Instant::now();
        let second = Site::with(store, TaskOptions::default(), [packing(&outside)]);
        let task = task.by(&second.speaking(revision));
        assert_eq!(task.text().await, "shipped");
        assert!(stopped.elapsed() < Duration::from_secs(2), "{:?}", stopped.elapsed());
        assert_eq!(outside.all(), ["begun", "packed", "ship"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_that_does_not_end_has_the_grace_and_no_more() {
    let (store, outside) = (memory(), Outside::default());
    let never = tool(&outside, async |flow, outside| {
        let work = async {
            outside.note("begun");
            std::future::pending::<Result<String, mrtr_server::Failure>>().await
        };
        Ok(flow.step("work", work).idempotent().await?)
    });
    let site = Site::with(store, TaskOptions::default().grace(Duration::from_secs(3)), [never]);
    site.start().await;
    outside.until("begun", 1).await;
    let began = tokio::time::Instant::now();
    site.tasks.shut_down().await;
    assert_eq!(began.elapsed().as_secs(), 3);
    let view = site.tasks.view(None, 1).await.unwrap().remove(0);
    assert_eq!(view.waits_for, mrtr_tasks::WaitsFor::RunIn(Duration::ZERO), "it is handed over all the same");
}

#[tokio::test(start_paused = true)]
async fn an_end_that_the_store_does_not_keep_holds_a_shutdown_for_two_thirds_of_a_lease() {
    let (store, outside) = (Faulty::over(memory()), Outside::default());
    let done = tool(&outside, async |_, _| Ok("done".into()));
    let options = TaskOptions::default().lease(Duration::from_secs(30)).grace(Duration::from_mins(10));
    let site = Site::with(Arc::clone(&store) as _, options, [done]);
    store.fault("finish", Fault::Fails, usize::MAX);
    site.start().await;
    while store.calls("finish") == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let began = tokio::time::Instant::now();
    site.tasks.shut_down().await;
    let held = began.elapsed();
    assert!(held > Duration::from_millis(19_500) && held <= Duration::from_secs(20), "{held:?} of a lease of 30 s");
}

#[tokio::test(start_paused = true)]
async fn when_the_end_begins_nothing_is_claimed_and_what_runs_goes_on() {
    for revision in Revision::MODERN {
        let (store, outside) = (memory(), Outside::default());
        let working = || {
            tool(&outside, async |flow, outside| {
                outside.note("begun");
                flow.step("work", outside.happen_after_gate("work")).await?;
                Ok("done".into())
            })
        };
        let site = Site::with(Arc::clone(&store), TaskOptions::default(), [working()]);
        let running = site.start_in(revision).await;
        outside.until("at the gate", 1).await;
        site.server.begin_shutdown();
        site.server.begin_shutdown();
        let late = site.start_in(revision).await;
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert_eq!(outside.count("begun"), 1, "{revision}: nothing is claimed");
        outside.open_gate();
        assert_eq!(running.text().await, "done", "{revision}: what ran is not stopped");
        site.tasks.shut_down().await;
        let _second = Site::with(store, TaskOptions::default(), [working()]);
        outside.until("at the gate", 2).await;
        outside.open_gate();
        assert_eq!(late.text().await, "done", "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_shuts_down_serves_requests_and_begins_nothing() {
    let (store, outside) = (memory(), Outside::default());
    let asking = || {
        tool(&outside, async |flow, outside| {
            outside.note("run");
            Ok(flow.elicit::<Name>("name", "Who?").await?.name)
        })
    };
    let site = Site::with(Arc::clone(&store), TaskOptions::default(), [asking()]);
    let task = site.start().await;
    task.until_asked(&["name"]).await;
    task.at_rest(&site).await;
    site.tasks.shut_down().await;
    task.accept("name", json!({ "name": "Ada" })).await;
    let late = site.start().await;
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!(outside.count("run"), 1);
    assert_eq!((task.status().await, late.status().await), ("working".into(), "working".into()));
    let _second = Site::with(store, TaskOptions::default(), [asking()]);
    assert_eq!(task.text().await, "Ada", "nothing that was acknowledged is lost");
    late.until_asked(&["name"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_dropped_leaves_its_tasks_to_others() {
    let store = memory();
    let site = Site::with(Arc::clone(&store), TaskOptions::default(), [greeting()]);
    let task = site.start().await;
    task.until_asked(&["name"]).await;
    task.accept("name", json!({ "name": "Ada" })).await;
    let id = task.task_id();
    drop((site, task));
    let second = Site::with(store, TaskOptions::default(), [greeting()]);
    let view = || async { second.tasks.view(None, 1).await.unwrap().remove(0) };
    while view().await.end.is_none() {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(view().await.id, id);
    assert_eq!(view().await.end, Some(mrtr_tasks::End::Completed { is_error: false }));
}
