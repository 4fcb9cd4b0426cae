//! Tasks that an earlier version left in a store, and how they go on.

use std::sync::Arc;
use std::time::Duration;

use mrtr_schema::Revision;
use mrtr_server::{Failure, Flow, Tool};
use mrtr_tasks::store::Listed;
use mrtr_tasks::{TaskOptions, TaskStore};
use serde_json::{Value, json};

use crate::site::{Name, Outside, Site, Started, ann, tool};

/// Leaves tasks behind, one after the other, and dies in the middle of a step.
pub(crate) fn leave(store: impl Future<Output = Arc<dyn TaskStore>>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let outside = Outside::default();
        let site = site(store.await, &outside);
        let start = async || {
            let task = site.start_as(site.client().calling_as(ann()), Revision::V2026_07_28).await;
            task.until_asked(&["name"]).await;
            task
        };
        let [_waiting, refused, completed, cancelled, begun, answered] =
            [start().await, start().await, start().await, start().await, start().await, start().await];
        refused.accept("name", json!({ "name": "" })).await;
        refused.until_asked(&["name.2"]).await;
        completed.accept("name", json!({ "name": "Ada" })).await;
        assert_eq!(completed.text().await, "Hello, Ada");
        cancelled.cancel().await;
        begun.accept("name", json!({ "name": AT_THE_GATE })).await;
        outside.until("at the gate", 1).await;
        // The one worker is at the gate.
        answered.accept("name", json!({ "name": "Eve" })).await;
    });
    // As a process that dies: nothing is handed over.
    drop(runtime);
}

/// Opens what was left, answers it, and sees all of it to its end.
pub(crate) async fn go_on(store: Arc<dyn TaskStore>) {
    let outside = Outside::default();
    let left = store.list(None, None, 100).await.unwrap();
    let site = site(store, &outside);
    let tasks: Vec<_> = left.iter().map(|listed| handle(&site, listed)).collect();
    let [waiting, refused, completed, cancelled, begun, answered] = &tasks[..] else { panic!("{left:?}") };
    assert_eq!(completed.text().await, "Hello, Ada");
    assert_eq!(cancelled.status().await, "cancelled");
    waiting.until_asked(&["name"]).await;
    waiting.accept("name", json!({ "name": "Joe" })).await;
    let asked = refused.until_asked(&["name.2"]).await;
    assert!(asked["name.2"]["params"]["message"].as_str().unwrap().contains("Nobody has no name"), "{asked}");
    refused.accept("name.2", json!({ "name": "Kim" })).await;
    // Its step is in doubt, and may be repeated.
    outside.until("at the gate", 1).await;
    outside.open_gate();
    for (task, name) in [(waiting, "Joe"), (refused, "Kim"), (begun, AT_THE_GATE), (answered, "Eve")] {
        assert_eq!(task.text().await, format!("Hello, {name}"));
        assert_eq!(outside.count(&format!("ship to {name}")), 1);
    }
    assert_eq!(outside.count("prepare"), 0, "that is in the journals");
    let stranger = waiting.by(&site.client()).send("tasks/get", json!({})).await;
    assert_eq!(stranger["error"]["code"], -32602);
    site.tasks.shut_down().await;
}

fn site(store: Arc<dyn TaskStore>, outside: &Outside) -> Site {
    let long = Duration::from_hours(24 * 36_500);
    let options = TaskOptions::default().workers(1).ttl(long, long).retention(long);
    Site::with(store, options.look_interval(Duration::from_millis(20)), [greeting(outside)])
}

fn greeting(outside: &Outside) -> Tool {
    tool(outside, greet)
}

async fn greet(flow: Flow, outside: Outside) -> Result<String, Failure> {
    flow.step("prepare", outside.happen("prepare")).await?;
    let asked = flow.elicit("name", "Who are you?");
    let Name { name } =
        asked.validate(|said: &Name| if said.name.is_empty() { Err("Nobody has no name") } else { Ok(()) }).await?;
    let what = format!("ship to {name}");
    let shipping = async {
        if name == AT_THE_GATE { outside.happen_after_gate(&what).await } else { outside.happen(&what).await }
    };
    flow.step("ship", shipping).idempotent().await?;
    Ok(format!("Hello, {name}"))
}

fn handle(site: &Site, listed: &Listed) -> Started {
    Started {
        client: site.client().calling_as(ann()),
        revision: Revision::V2026_07_28,
        id: listed.record.id.to_string(),
        store: Arc::clone(&site.store),
        created: Value::Null,
    }
}

const AT_THE_GATE: &str = "Ben";
