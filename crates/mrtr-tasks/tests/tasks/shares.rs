//! One caller cannot take what all share: workers, room in the store, and the time of the sweep.

use std::sync::Arc;
use std::time::Duration;

use mrtr_schema::Revision;
use mrtr_server::{Caller, Failure, Flow, TaskPolicy, Tool};
use mrtr_state::{FlowId, ProcessRandom, Timestamp};
use mrtr_tasks::store::{Limits, NewTask};
use mrtr_tasks::{Owner, TaskId, TaskOptions, TaskRecord};
use serde_json::json;
use tokio::time::Instant;

use crate::faulty::{Fault, Faulty};
use crate::support::{Outside, PATIENCE, Site, call, memory, tool, within};

fn bob() -> Caller {
    Caller::new("https://id.example.com", "bob")
}

fn mallory() -> Caller {
    Caller::new("https://id.example.com", "mallory")
}

#[tokio::test(start_paused = true)]
async fn calls_of_one_caller_that_hang_leave_workers_for_another() {
    let outside = Outside::default();
    let waiting = tool(&outside, async |flow: Flow, outside: Outside| {
        let caller = flow.principal().map(|caller| caller.subject().to_owned()).unwrap_or_default();
        outside.note(&caller);
        if caller == "mallory" { std::future::pending().await } else { Ok("done".to_owned()) }
    });
    let site = Site::with(memory(), TaskOptions::default(), [waiting]);
    let client = site.client().calling_as(mallory());
    for _ in 0..80 {
        site.start_as(client.clone(), Revision::V2026_07_28).await;
    }
    outside.until("mallory", 48).await;
    for _ in 0..20 {
        let task = site.start_as(site.client().calling_as(bob()), Revision::V2026_07_28).await;
        assert_eq!(task.text().await, "done");
    }
    assert_eq!(outside.count("mallory"), 48, "the last quarter of the workers is for others");
}

#[tokio::test(start_paused = true)]
async fn a_caller_whose_results_are_kept_is_refused_with_what_would_help() {
    let large = Tool::new("tool", async |_: Flow| Ok::<_, Failure>("x".repeat(100_000))).tasks(TaskPolicy::IfPossible);
    let options = TaskOptions::default().kept_bytes(300_000, 1_000_000);
    let site = Site::with(memory(), options, [large]);
    let client = site.client().calling_as(mallory());
    for _ in 0..3 {
        let task = site.start_as(client.clone(), Revision::V2026_07_28).await;
        task.ended().await;
    }
    let refused = call(&client, Revision::V2026_07_28, json!({})).await;
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    let text = refused["error"]["message"].as_str().unwrap();
    assert!(text.contains("300000 bytes") && text.contains("3600 s") && text.contains("ttl"), "{text}");
    let task = site.start_as(site.client().calling_as(bob()), Revision::V2026_07_28).await;
    task.ended().await;
    tokio::time::sleep(Duration::from_hours(25)).await;
    site.start_as(client, Revision::V2026_07_28).await;
}

#[tokio::test(start_paused = true)]
async fn what_all_callers_keep_is_bounded_too() {
    let large = Tool::new("tool", async |_: Flow| Ok::<_, Failure>("x".repeat(100_000))).tasks(TaskPolicy::IfPossible);
    let site = Site::with(memory(), TaskOptions::default().kept_bytes(1_000_000, 250_000), [large]);
    for number in 0..3 {
        let caller = Caller::new("https://id.example.com", format!("caller {number}"));
        site.start_as(site.client().calling_as(caller), Revision::V2026_07_28).await.ended().await;
    }
    let refused = call(&site.client().calling_as(bob()), Revision::V2026_07_28, json!({})).await;
    assert_eq!(refused["error"]["code"], -3, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("ended"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn twenty_thousand_tasks_whose_time_is_over_are_gone_within_seconds_while_others_run() {
    let (store, outside) = (memory(), Outside::default());
    for number in 0..20_000_u128 {
        let (id, flow) = (TaskId::random(&ProcessRandom::new()), FlowId::from_bytes(number.to_be_bytes()));
        let owner = Owner::new("tests", Some(&mallory()), None);
        let noon = Timestamp::from_millis(0);
        let record = TaskRecord::new(id, owner, flow, "tool", Revision::V2026_07_28, noon);
        let record = TaskRecord { ttl: Some(Duration::from_millis(1)), ..record };
        store.create(NewTask { record, call: Vec::new(), entries: None }, Limits::NONE).await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let site = Site::with(store, TaskOptions::default(), [tool(&outside, async |_, _| Ok("done".to_owned()))]);
    let began = Instant::now();
    let mut ended = 0;
    loop {
        let task = site.start_as(site.client().calling_as(mallory()), Revision::V2026_07_28).await;
        assert_eq!(within(PATIENCE, task.text()).await, "done");
        ended += 1;
        if site.store.list(None, None, 20_000).await.unwrap().len() == ended {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(5), "{ended} others have ended meanwhile");
    }
    assert!(ended > 0, "others go on");
}

#[tokio::test(start_paused = true)]
async fn tasks_run_while_a_sweep_takes_its_time() {
    let (store, outside) = (Faulty::over(memory()), Outside::default());
    store.fault("sweep", Fault::Hangs, usize::MAX);
    let done = tool(&outside, async |_, _| Ok("done".to_owned()));
    let site = Site::with(Arc::clone(&store) as _, TaskOptions::default(), [done]);
    assert_eq!(site.start().await.text().await, "done");
    assert_eq!(store.calls("sweep"), 1, "and it has not ended");
}
