//! The operator's view of tasks, and the operator's actions.

use std::sync::Arc;
use std::time::Duration;

use mrtr_schema::Revision;
use mrtr_schema::tasks::TaskStatus;
use mrtr_tasks::store::{StoreError, Trials, Turns, Wanted};
use mrtr_tasks::{End, TaskOptions, WaitsFor};
use serde_json::json;

use crate::support::{Name, Outside, Site, ann, greeting, memory, tool};

#[tokio::test(start_paused = true)]
async fn tasks_of_all_owners_are_seen_without_what_they_hold() {
    let site = Site::of(greeting());
    let of_ann = site.start_as(site.client().calling_as(ann()), Revision::V2026_07_28).await;
    of_ann.until_asked(&["name"]).await;
    of_ann.at_rest(&site).await;
    tokio::time::sleep(Duration::from_mins(1)).await;
    let other = site.start_in(Revision::Sep2322).await;
    other.cancel().await;
    let views = site.tasks.view(None, 10).await.unwrap();
    assert_eq!(views.len(), 2);
    let view = &views[0];
    assert_eq!(view.id, of_ann.task_id());
    assert_eq!(view.owner, r#"["tests","https://id.example.com","ann",null]"#);
    assert_eq!((view.tool.as_str(), view.status, view.end), ("tool", TaskStatus::InputRequired, None));
    assert_eq!(view.waits_for, WaitsFor::Answers(vec!["name".into()]));
    assert_eq!((view.runs, view.lost_runs, view.is_served), (1, 0, true));
    assert_eq!(view.age, Duration::from_mins(1));
    assert_eq!((views[1].status, views[1].end), (TaskStatus::Cancelled, Some(End::Cancelled)));
    assert_eq!(site.tasks.view(Some(view.place), 10).await.unwrap(), views[1..]);
    assert_eq!(site.tasks.view(None, 1).await.unwrap(), views[..1]);
    assert!(!format!("{views:?}").contains("Who are you"), "nothing of what it holds");
}

#[tokio::test(start_paused = true)]
async fn an_operator_cancels_whosever_it_is() {
    let outside = Outside::default();
    let site = Site::of(tool(&outside, async |flow, outside| {
        let work = async {
            outside.note("begun");
            flow.cancelled().await;
            outside.happen("stopped").await
        };
        Ok(flow.step("work", work).await?)
    }));
    let task = site.start_as(site.client().calling_as(ann()), Revision::V2026_07_28).await;
    outside.until("begun", 1).await;
    site.tasks.cancel(task.task_id()).await.unwrap();
    assert_eq!(task.status().await, "cancelled");
    outside.until("stopped", 1).await;
    let again = site.tasks.cancel(task.task_id()).await;
    assert!(matches!(again, Err(StoreError::Refused(_))), "{again:?}");
}

#[tokio::test(start_paused = true)]
async fn a_retry_runs_what_lost_runs_had_put_off() {
    let store = memory();
    let creating = Site::with(Arc::clone(&store), TaskOptions::default(), [greeting()]);
    creating.tasks.shut_down().await;
    let task = creating.start().await;
    let trials = Trials::Busy;
    let wanted = Wanted {
        tools: vec!["tool".into()],
        lease: Duration::from_secs(1),
        most: 1,
        trials,
        running: Vec::new(),
        turns: Turns::default(),
    };
    assert_eq!(store.acquire(&wanted).await.unwrap().tasks.len(), 1, "a process takes it and dies");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(store.acquire(&wanted).await.unwrap().tasks.is_empty(), "it is put off");
    let view = creating.tasks.view(None, 1).await.unwrap().remove(0);
    assert_eq!((view.lost_runs, view.waits_for), (1, WaitsFor::RunIn(Duration::from_secs(1))));
    creating.tasks.retry(task.task_id()).await.unwrap();
    let view = creating.tasks.view(None, 1).await.unwrap().remove(0);
    assert_eq!((view.lost_runs, view.waits_for), (0, WaitsFor::RunIn(Duration::ZERO)));
    let _site = Site::with(store, TaskOptions::default(), [greeting()]);
    task.until_asked(&["name"]).await;
    task.accept("name", json!({ "name": "Ada" })).await;
    assert_eq!(task.text().await, "Hello, Ada");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_woken_runs_and_asks_what_it_asked() {
    let outside = Outside::default();
    let site = Site::of(tool(&outside, async |flow, outside| {
        outside.note("run");
        Ok(flow.elicit::<Name>("name", "Who?").await?.name)
    }));
    let task = site.start().await;
    task.until_asked(&["name"]).await;
    task.at_rest(&site).await;
    site.tasks.wake(task.task_id()).await.unwrap();
    outside.until("run", 2).await;
    task.at_rest(&site).await;
    assert_eq!(task.asked().await, ["name"], "under the same key");
}
