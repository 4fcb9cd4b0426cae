//! Two instances on one file: work goes from one to the other, and no write of an old run counts.

use std::sync::Arc;
use std::time::Duration;

use mrtr_schema::Revision;
use mrtr_server::{Failure, Flow, TaskPolicy, Tool};
use mrtr_tasks::store::{StoreError, TaskStore};
use mrtr_tasks::{TaskOptions, WaitsFor};
use serde_json::json;

use crate::file::File;
use crate::support::{Name, Outside, Site, greeting, tool};

#[tokio::test]
async fn an_answer_through_one_instance_is_followed_by_a_run_on_either() {
    for revision in Revision::MODERN {
        let file = File::new();
        let (one, other) = (file.instance(greeting()), file.instance(greeting()));
        let task = one.start_in(revision).await;
        let elsewhere = task.by(&other.speaking(revision));
        elsewhere.until_asked(&["name"]).await;
        elsewhere.accept("name", json!({ "name": "Ada" })).await;
        assert_eq!(task.text().await, "Hello, Ada");
    }
}

#[tokio::test]
async fn a_question_that_waits_for_ever_does_not_break_its_task_in_a_file() {
    let outside = Outside::default();
    let file = File::new();
    let site = file.instance(tool(&outside, async |flow, _| {
        let ask = flow.elicit::<Name>("name", "Who?").valid_for(Duration::MAX);
        Ok(ask.await?.name)
    }));
    let task = site.start().await;
    let asks = task.until("input_required").await;
    assert!(asks["ttlMs"].as_u64().unwrap() < 1 << 53, "a number that every client can read: {asks}");
    task.accept("name", json!({ "name": "Ada" })).await;
    assert_eq!(task.text().await, "Ada");
}

#[tokio::test]
async fn a_cancel_on_one_instance_stops_a_step_that_runs_on_the_other() {
    for revision in Revision::MODERN {
        let (file, outside) = (File::new(), Outside::default());
        let one = file.instance(tool(&outside, async |flow, outside| {
            let work = async {
                outside.note("begun");
                let reason = flow.cancelled().await;
                outside.happen(&format!("{reason:?}")).await
            };
            Ok(flow.step("work", work).await?)
        }));
        let elsewhere = Site::with(file.store(), TaskOptions::default(), []);
        let task = one.start_in(revision).await;
        outside.until("begun", 1).await;
        task.by(&elsewhere.speaking(revision)).cancel().await;
        outside.until("Cancelled", 1).await;
        assert_eq!(task.status().await, "cancelled");
    }
}

#[tokio::test]
async fn a_blocked_result_hears_of_an_end_on_the_other_instance() {
    for revision in [Revision::Draft202602, Revision::Sep2322] {
        let (file, outside) = (File::new(), Outside::default());
        let one = file.instance(tool(&outside, async |flow, outside| {
            Ok(flow.step("pack", outside.happen_after_gate("pack")).await?)
        }));
        let front = Site::with(file.store(), TaskOptions::default(), []);
        let task = one.start_in(revision).await;
        outside.until("at the gate", 1).await;
        let waiting = tokio::spawn({
            let task = task.by(&front.older(revision));
            async move { task.result().await }
        });
        tokio::task::yield_now().await;
        outside.open_gate();
        assert_eq!(waiting.await.unwrap()["result"]["content"][0]["text"], "pack");
    }
}

/// An instance whose process is gone: it lives in a runtime of its own, which ends.
fn killed(work: impl Future<Output = ()> + Send + 'static) {
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(work);
        runtime.shutdown_background();
    })
    .join()
    .unwrap();
}

#[tokio::test]
async fn a_second_instance_takes_over_what_a_killed_one_had_when_its_lease_is_over() {
    let (file, outside) = (Arc::new(File::new()), Outside::default());
    let selling = |outside: &Outside| {
        tool(outside, async |flow, outside| {
            flow.step("pack", outside.happen("pack")).await?;
            flow.step("label", outside.happen_after_gate("label")).idempotent().await?;
            let name: Name = flow.elicit("name", "Who?").await?;
            Ok(format!("shipped to {}", name.name))
        })
    };
    let (there, made) = (Arc::clone(&file), selling(&outside));
    let seen = outside.clone();
    killed(async move {
        let site = there.instance(made);
        site.start().await;
        seen.until("at the gate", 1).await;
    });
    let site = file.instance(selling(&outside));
    let view = || async { site.tasks.view(None, 1).await.unwrap().remove(0) };
    assert_eq!(view().await.waits_for, WaitsFor::Run, "the lease of the dead");
    file.clock.advance(Duration::from_secs(29));
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(view().await.runs, 1);
    file.clock.advance(Duration::from_secs(1));
    outside.until("at the gate", 2).await;
    outside.open_gate();
    let id = view().await.id.to_string();
    let created = json!({ "result": { "taskId": id } });
    let task = site.started(site.client(), Revision::V2026_07_28, &created);
    task.until_asked(&["name"]).await;
    task.accept("name", json!({ "name": "Ada" })).await;
    assert_eq!(task.text().await, "shipped to Ada");
    assert_eq!(outside.count("pack"), 1, "a recorded step is not repeated");
    assert_eq!(outside.count("label"), 1);
}

#[tokio::test]
async fn an_instance_that_was_away_for_longer_than_its_lease_writes_nothing_more() {
    let (file, outside) = (File::new(), Outside::default());
    let made = |outside: &Outside| {
        tool(outside, async |flow, outside| {
            flow.step("pack", outside.happen_after_gate("pack")).idempotent().await?;
            Ok("packed".into())
        })
    };
    // Its store stops answering, as for a process that is stopped and goes on.
    let sound: Arc<dyn TaskStore> = file.store();
    let away = crate::faulty::Faulty::over(Arc::clone(&sound));
    let first = Site::with(Arc::clone(&away) as _, TaskOptions::default(), [made(&outside)]);
    let task = first.start().await;
    outside.until("at the gate", 1).await;
    for verb in ["renew", "acquire"] {
        away.fault(verb, crate::faulty::Fault::Fails, usize::MAX);
    }
    file.clock.advance(Duration::from_secs(31));
    let second = file.instance(made(&outside));
    outside.until("at the gate", 2).await;
    // Both go on; the first has lost its fence.
    (0..2).for_each(|_| outside.open_gate());
    outside.until("pack", 1).await;
    let task = task.by(&second.client());
    assert_eq!(task.text().await, "packed");
    let view = second.tasks.view(None, 1).await.unwrap().remove(0);
    assert_eq!(view.runs, 2);
    let old = mrtr_tasks::store::Run { id: task.task_id(), fence: 1 };
    let refused = sound.renew(old, Duration::from_secs(30), None).await;
    assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
}

#[tokio::test]
async fn each_instance_runs_the_tools_that_it_serves() {
    let file = File::new();
    let greet = |name: &'static str| {
        Tool::new(name, move |_: Flow| async move { Ok::<_, Failure>(format!("by {name}")) })
            .tasks(TaskPolicy::Required)
    };
    let options = || TaskOptions::default().look_interval(Duration::from_millis(20));
    let old = Site::with(file.store(), options(), [greet("old"), greet("both")]);
    let new = Site::with(file.store(), options(), [greet("new"), greet("both")]);
    for (tool, site) in [("old", &old), ("both", &old), ("new", &new), ("both", &new)] {
        let created = site.client().call_tool(tool, json!({})).await;
        let task = site.started(site.client(), Revision::V2026_07_28, created.response());
        assert_eq!(task.text().await, format!("by {tool}"));
    }
    let views = new.tasks.view(None, 10).await.unwrap();
    let served: Vec<_> = views.iter().map(|view| (view.tool.as_str(), view.is_served)).collect();
    assert_eq!(served, [("old", false), ("both", true), ("new", true), ("both", true)]);
}

#[tokio::test]
async fn a_fleet_upgraded_one_by_one_with_a_tool_added_and_one_removed_loses_no_task() {
    let file = File::new();
    let asking = |name: &'static str| {
        let handler = |flow: Flow| async move {
            let name: Name = flow.elicit("name", "Who?").await?;
            Ok::<_, Failure>(format!("Hello, {}", name.name))
        };
        Tool::new(name, handler).tasks(TaskPolicy::Required)
    };
    let options = || TaskOptions::default().look_interval(Duration::from_millis(20));
    let old = || Site::with(file.store(), options(), [asking("leaving"), asking("staying")]);
    let new = || Site::with(file.store(), options(), [asking("staying"), asking("coming")]);
    let fleet = [old(), old()];
    let start = async |site: &Site, tool: &str| {
        let created = site.client().call_tool(tool, json!({})).await;
        let task = site.started(site.client(), Revision::V2026_07_28, created.response());
        task.until_asked(&["name"]).await;
        task.at_rest(site).await;
        task
    };
    let (leaving, staying) = (start(&fleet[0], "leaving").await, start(&fleet[1], "staying").await);
    let [first, second] = fleet;
    first.tasks.shut_down().await;
    drop(first);
    let upgraded = new();
    let coming = start(&upgraded, "coming").await;
    // The one that is left of the old version serves what leaves, wherever it is answered.
    let leaving = leaving.by(&upgraded.client());
    leaving.accept("name", json!({ "name": "Ada" })).await;
    assert_eq!(leaving.text().await, "Hello, Ada");
    let late = start(&second, "leaving").await;
    second.tasks.shut_down().await;
    drop(second);
    let _last = new();
    for task in [staying.by(&upgraded.client()), coming] {
        task.accept("name", json!({ "name": "Bob" })).await;
        assert_eq!(task.text().await, "Hello, Bob");
    }
    let late = late.by(&upgraded.client());
    late.accept("name", json!({ "name": "Eve" })).await;
    assert_eq!(late.status().await, "working", "it waits for an instance that serves it");
    let back = old();
    assert_eq!(late.by(&back.client()).text().await, "Hello, Eve");
}
