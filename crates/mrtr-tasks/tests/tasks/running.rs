//! Running tasks: what goes on beside a question, what is not repeated, and what a store that fails costs.

use std::sync::Arc;
use std::time::Duration;

use mrtr_schema::Revision;
use mrtr_server::{Failure, TaskPolicy};
use mrtr_tasks::store::{Recorded, Run, StoreError};
use mrtr_tasks::{TaskOptions, WaitsFor};
use serde_json::json;

use crate::faulty::{Fault, Faulty};
use crate::support::{Name, Outside, Site, Started, greeting, memory, tool};

/// Asks beside a step that waits at the gate, then acts.
fn selling(outside: &Outside) -> mrtr_server::Tool {
    tool(outside, async |flow, outside| {
        let name = flow.elicit::<Name>("name", "Who?");
        let (_, name) = flow.join((flow.step("pack", outside.happen_after_gate("pack")), name)).await?;
        flow.step("ship", outside.happen("ship")).await?;
        Ok(format!("shipped to {}", name.name))
    })
}

#[tokio::test(start_paused = true)]
async fn a_joined_step_goes_on_while_a_question_is_shown_and_its_answer_starts_the_next_run() {
    for revision in Revision::MODERN {
        let outside = Outside::default();
        let site = Site::of(selling(&outside));
        let task = site.start_in(revision).await;
        task.until_asked(&["name"]).await;
        outside.until("at the gate", 1).await;
        task.accept("name", json!({ "name": "Ada" })).await;
        assert_eq!(task.status().await, "working", "its answer is durable, and the run goes on");
        tokio::time::sleep(Duration::from_mins(5)).await;
        assert_eq!(outside.all(), ["at the gate"], "the lease is kept meanwhile");
        outside.open_gate();
        assert_eq!(task.text().await, "shipped to Ada");
        assert_eq!(outside.all(), ["at the gate", "pack", "ship"], "nothing was done twice");
    }
}

#[tokio::test(start_paused = true)]
async fn steps_are_not_repeated_over_many_runs() {
    let outside = Outside::default();
    let site = Site::of(tool(&outside, async |flow, outside| {
        for number in 0..5 {
            flow.step(format!("step {number}"), outside.happen(&format!("step {number}"))).await?;
            flow.elicit::<Name>(format!("name {number}"), "Who?").await?;
        }
        Ok("done".into())
    }));
    let task = site.start().await;
    for number in 0..5 {
        let key = format!("name {number}");
        task.until_asked(&[&key]).await;
        task.accept(&key, json!({ "name": "Ada" })).await;
    }
    assert_eq!(task.text().await, "done");
    assert_eq!(outside.all(), ["step 0", "step 1", "step 2", "step 3", "step 4"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_of_many_entries_makes_way_for_another_and_waits_for_the_steps_that_it_began() {
    let outside = Outside::default();
    let site = Site::of(tool(&outside, async |flow, outside| {
        let slow = flow.step("slow", outside.happen_after_gate("slow"));
        let counting = flow.branch(async {
            for number in 0..1200 {
                flow.step(format!("count {number}"), async { Ok::<_, Failure>(number) }).await?;
            }
            outside.happen("counted").await
        });
        let (slow, counted) = flow.join((slow, counting)).await?;
        Ok(format!("{slow}, {}", counted?))
    }));
    let task = site.start().await;
    outside.until("at the gate", 1).await;
    tokio::time::sleep(Duration::from_mins(5)).await;
    assert_eq!(outside.all(), ["at the gate"], "a run that makes way begins nothing, and waits for what it began");
    outside.open_gate();
    assert_eq!(task.text().await, "slow, counted");
    assert_eq!(outside.all(), ["at the gate", "slow", "counted"], "the step was not repeated");
    assert!(site.tasks.view(None, 1).await.unwrap()[0].runs > 1, "another run has ended it");
}

#[tokio::test(start_paused = true)]
async fn handlers_that_drop_poll_by_hand_or_spawn_get_no_further_than_their_question() {
    type Handler = fn(mrtr_server::Flow, Outside) -> futures_util::future::BoxFuture<'static, Result<String, Failure>>;
    let handlers: [Handler; 4] = [
        |flow, outside| {
            Box::pin(async move {
                drop(flow.elicit::<Name>("name", "Who?").await);
                outside.happen("after").await
            })
        },
        |flow, outside| {
            Box::pin(async move {
                let mut asking = Box::pin(async { flow.elicit::<Name>("name", "Who?").await });
                let polled = std::future::poll_fn(|cx| std::task::Poll::Ready(asking.as_mut().poll(cx))).await;
                drop(asking);
                if polled.is_ready() {
                    return flow.step("after", outside.happen("after")).await.map_err(Into::into);
                }
                flow.step("past it", outside.happen("past it")).await.map_err(Into::into)
            })
        },
        |flow, outside| {
            Box::pin(async move {
                tokio::select! {
                    biased;
                    name = flow.elicit::<Name>("name", "Who?") => { name?; }
                    () = tokio::time::sleep(Duration::from_millis(1)) => {
                        return flow.step("past it", outside.happen("past it")).await.map_err(Into::into);
                    }
                }
                outside.happen("after").await
            })
        },
        |flow, outside| {
            Box::pin(async move {
                let spawned = tokio::spawn(async move {
                    flow.elicit::<Name>("name", "Who?").await?;
                    flow.step("after", outside.happen("after")).await
                });
                Ok(spawned.await.map_err(|_| "spawned")??)
            })
        },
    ];
    for (number, handler) in handlers.into_iter().enumerate() {
        let outside = Outside::default();
        let site = Site::of(tool(&outside, handler));
        let task = site.start().await;
        let seen = task.until_it("asking or over", |task| task["status"] != "working").await;
        assert_eq!(outside.count("past it"), 0, "handler {number}");
        assert_eq!(outside.count("after"), 0, "handler {number}");
        if seen["status"] == "input_required" {
            task.accept("name", json!({ "name": "Ada" })).await;
            task.ended().await;
            assert_eq!(outside.count("past it"), 0, "handler {number}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn progress_becomes_the_status_message_in_the_published_revision_soon() {
    for revision in Revision::MODERN {
        let outside = Outside::default();
        let site = Site::of(tool(&outside, async |flow, outside| {
            flow.progress(1, Some(3), "packing").await;
            outside.happen_after_gate("packed").await?;
            flow.progress(2, Some(3), "").await;
            outside.happen_after_gate("shipped").await?;
            Ok("done".into())
        }));
        let task = site.start_in(revision).await;
        outside.until("at the gate", 1).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        let said = task.get().await;
        if revision == Revision::V2026_07_28 {
            assert_eq!(said["statusMessage"], "packing", "within about a poll, not a third of a lease");
        } else {
            assert_eq!(said["statusMessage"], "Task is being worked on");
        }
        outside.open_gate();
        outside.until("at the gate", 2).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        if revision == Revision::V2026_07_28 {
            assert_eq!(task.get().await["statusMessage"], "2 of 3");
        }
        outside.open_gate();
        assert_eq!(task.text().await, "done");
        assert!(revision != Revision::V2026_07_28 || task.get().await.get("statusMessage").is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_chatty_flow_does_not_write_at_each_word() {
    let outside = Outside::default();
    let store = Faulty::over(memory());
    let site = Site::with(
        Arc::clone(&store) as _,
        TaskOptions::default(),
        [tool(&outside, async |flow, _| {
            for word in 0..1_000 {
                flow.progress(word, None, "word").await;
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            Ok("done".into())
        })],
    );
    assert_eq!(site.start().await.text().await, "done");
    assert!(store.calls("renew") <= 12, "{} in ten seconds", store.calls("renew"));
}

fn faulty(tool: mrtr_server::Tool) -> (Arc<Faulty>, Site) {
    let sound = memory();
    let store = Faulty::over(Arc::clone(&sound));
    let mut site = Site::with(Arc::clone(&store) as _, TaskOptions::default(), [tool]);
    // A test hears of what it waits for.
    site.store = sound;
    (store, site)
}

async fn lost_runs(site: &Site) -> u32 {
    site.tasks.view(None, 1).await.unwrap()[0].lost_runs
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_for_a_while_loses_nothing_and_no_run() {
    for fault in [Fault::Fails, Fault::FailsAfterwards] {
        for verb in ["acquire", "renew", "record", "park", "finish", "get", "changed", "sweep"] {
            let outside = Outside::default();
            let (store, site) = faulty(tool(&outside, async |flow, outside| {
                flow.step("pack", outside.happen("pack")).await?;
                let (name, ()) = flow
                    .join((
                        flow.elicit::<Name>("name", "Who?"),
                        flow.step("wait", async {
                            tokio::time::sleep(Duration::from_secs(15)).await;
                            Ok::<_, Failure>(())
                        }),
                    ))
                    .await?;
                flow.step("ship", outside.happen("ship")).await?;
                Ok(format!("shipped to {}", name.name))
            }));
            let task = site.start().await;
            store.fault(verb, fault, 3);
            if verb == "get" {
                outside.until("pack", 1).await;
                store.heal();
            }
            let requests = task.until_it_asks_also("name").await;
            if fault == Fault::Fails || verb != "record" {
                assert_eq!(requests.as_object().unwrap().len(), 1, "{verb} {fault:?}: {requests}");
            }
            store.fault(verb, fault, if verb == "get" { 0 } else { 3 });
            let key = requests.as_object().unwrap().keys().next().unwrap().clone();
            task.accept(&key, json!({ "name": "Ada" })).await;
            assert_eq!(task.text().await, "shipped to Ada", "{verb} {fault:?}");
            assert_eq!(outside.all(), ["pack", "ship"], "{verb} {fault:?}");
            assert_eq!(lost_runs(&site).await, 0, "{verb} {fault:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_end_that_a_store_cannot_keep_is_logged_once_however_often_it_is_tried() {
    let log = crate::log::Log::start();
    let (store, site) = faulty(tool(&Outside::default(), async |_, _| Ok("done".into())));
    store.fault("finish", Fault::Fails, 5);
    assert_eq!(site.start().await.text().await, "done");
    assert_eq!(store.calls("finish"), 6);
    assert_eq!(log.text().matches("the end of a run was not stored").count(), 1, "{}", log.text());
}

#[tokio::test(start_paused = true)]
async fn an_instance_looks_for_work_as_often_as_it_is_told_to() {
    let store = Faulty::over(memory());
    let options = TaskOptions::default().look_interval(Duration::from_mins(10));
    let site = Site::with(Arc::clone(&store) as _, options, [greeting()]);
    // The runner starts with the first request.
    let task = site.start().await;
    task.cancel().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let looked = store.calls("acquire");
    tokio::time::sleep(Duration::from_mins(65)).await;
    assert_eq!(store.calls("acquire") - looked, 6);
}

#[tokio::test(start_paused = true)]
async fn an_instance_whose_workers_are_busy_asks_for_nothing() {
    let (store, outside) = (Faulty::over(memory()), Outside::default());
    let waiting = tool(&outside, async |_, outside: Outside| {
        outside.note("begun");
        std::future::pending().await
    });
    let site = Site::with(Arc::clone(&store) as _, TaskOptions::default().workers(2), [waiting]);
    for begun in 1..=2 {
        site.start().await;
        outside.until("begun", begun).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let asked = store.calls("acquire");
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert_eq!(store.calls("acquire"), asked);
}

#[tokio::test(start_paused = true)]
async fn an_instance_says_what_runs_in_it_when_it_wants_more() {
    let outside = Outside::default();
    let (store, site) = faulty(tool(&outside, async |flow, outside| {
        flow.step("pack", outside.happen_after_gate("pack")).await?;
        Ok("done".into())
    }));
    let running = site.start().await;
    outside.until("at the gate", 1).await;
    site.start().await;
    outside.until("at the gate", 2).await;
    assert!(store.running().contains(&running.task_id()), "it must not be given what it has: {:?}", store.running());
}

#[tokio::test(start_paused = true)]
async fn an_outage_shorter_than_a_lease_is_no_lost_run() {
    let outside = Outside::default();
    let (store, site) = faulty(tool(&outside, async |flow, outside| {
        flow.step("pack", outside.happen_after_gate("pack")).await?;
        flow.step("ship", outside.happen("ship")).await?;
        Ok("done".into())
    }));
    let task = site.start().await;
    outside.until("at the gate", 1).await;
    for verb in ["renew", "record", "park", "finish", "hand_over", "acquire", "changed", "get"] {
        store.fault(verb, Fault::Fails, usize::MAX);
    }
    outside.open_gate();
    tokio::time::sleep(Duration::from_secs(12)).await;
    store.heal();
    assert_eq!(task.text().await, "done");
    assert_eq!(outside.all(), ["at the gate", "pack", "ship"], "what was done is recorded when the store is back");
    assert_eq!(lost_runs(&site).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_cannot_renew_its_lease_stops_at_two_thirds_of_it() {
    for fault in [Fault::Fails, Fault::Hangs] {
        let outside = Outside::default();
        let (store, site) = faulty(tool(&outside, async |flow, outside| {
            let work = async {
                outside.note("begun");
                let reason = flow.cancelled().await;
                outside.note(&format!("{reason:?}"));
                std::future::pending::<Result<String, Failure>>().await
            };
            Ok(flow.step("work", work).idempotent().await?)
        }));
        let task = site.start().await;
        outside.until("begun", 1).await;
        let began = tokio::time::Instant::now();
        for verb in ["renew", "record", "hand_over", "acquire", "get", "changed"] {
            store.fault(verb, fault, usize::MAX);
        }
        outside.until("LeaseLost", 1).await;
        let stopped = began.elapsed();
        assert!(stopped <= Duration::from_secs(20), "{fault:?}: after {stopped:?} of a lease of 30 s");
        assert!(stopped >= Duration::from_secs(9), "{fault:?}: after {stopped:?}");
        store.heal();
        outside.until("begun", 2).await;
        drop(task);
    }
}

#[tokio::test(start_paused = true)]
async fn the_writes_of_an_old_run_are_refused() {
    let store = memory();
    let outside = Outside::default();
    let site = Site::with(Arc::clone(&store), TaskOptions::default(), [selling(&outside)]);
    let task = site.start().await;
    task.until_asked(&["name"]).await;
    let fence = site.tasks.view(None, 1).await.unwrap()[0].runs;
    for old in [fence - 1, fence + 1] {
        let run = Run { id: task.task_id(), fence: old };
        let lease = Duration::from_secs(30);
        let refused = [
            store.renew(run, lease, None).await,
            store.record(run, Recorded::default()).await,
            store.park(run, Recorded::default(), None).await,
            store.hand_over(run, Duration::ZERO).await,
            store.finish(run, mrtr_tasks::End::Failed, Vec::new()).await,
        ];
        for said in refused {
            assert!(matches!(said, Err(StoreError::Refused(mrtr_tasks::record::TransitionError::Lost))), "{said:?}");
        }
    }
    assert_eq!(task.status().await, "input_required");
}

#[tokio::test(start_paused = true)]
async fn an_entry_that_is_too_large_ends_the_task_and_a_journal_too() {
    for (limits, size) in [((1_000, 1 << 20), 2_000), ((1 << 20, 4_000), 1_500)] {
        let outside = Outside::default();
        let made = tool(&outside, move |flow, _| async move {
            for number in 0..5 {
                flow.step(format!("step {number}"), async { Ok::<_, Failure>("a".repeat(size)) }).await?;
            }
            Ok("done".into())
        });
        let log = crate::log::Log::start();
        let site = Site::with(memory(), TaskOptions::default().limits(limits.0, limits.1), [made]);
        let task = site.start().await;
        let over = task.until_it("over", |task| task["status"] != "working").await;
        assert!(over["status"] == "failed" || over["result"]["isError"] == true, "{over}");
        assert!(log.text().contains("step "), "the log names it: {}", log.text());
    }
}

#[tokio::test(start_paused = true)]
async fn no_more_tasks_run_at_once_than_there_are_workers_and_waiting_ones_hold_none() {
    let outside = Outside::default();
    let site = Site::with(memory(), TaskOptions::default().workers(2), [selling(&outside)]);
    let tasks: Vec<Started> = futures_util::future::join_all((0..5).map(|_| site.start())).await;
    outside.until("at the gate", 2).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(outside.count("at the gate"), 2);
    for number in 3..=5 {
        outside.open_gate();
        outside.until("at the gate", number).await;
    }
    (0..2).for_each(|_| outside.open_gate());
    outside.until("pack", 3).await;
    for task in &tasks {
        task.until_asked(&["name"]).await;
        outside.open_gate();
    }
    for task in &tasks {
        task.accept("name", json!({ "name": "Ada" })).await;
        outside.open_gate();
        assert_eq!(task.text().await, "shipped to Ada");
    }
    assert_eq!((outside.count("pack"), outside.count("ship")), (5, 5));
}

#[tokio::test(start_paused = true)]
async fn a_task_of_a_tool_that_this_instance_lacks_waits_and_is_shown() {
    let store = memory();
    let other = Site::with(Arc::clone(&store), TaskOptions::default(), [greeting()]);
    other.tasks.shut_down().await;
    other.start().await;
    let renamed = mrtr_server::Tool::new("another", async |_: mrtr_server::Flow| Ok::<_, Failure>("no"))
        .tasks(TaskPolicy::IfPossible);
    let site = Site::with(store, TaskOptions::default(), [renamed]);
    tokio::time::sleep(Duration::from_mins(10)).await;
    let view = site.tasks.view(None, 1).await.unwrap().remove(0);
    assert!(!view.is_served);
    assert_eq!((view.runs, view.waits_for), (0, WaitsFor::RunIn(Duration::ZERO)));
}

#[tokio::test(start_paused = true)]
async fn a_run_has_a_deadline_of_its_own_and_what_hits_it_says_so() {
    let slow = || {
        tool(&Outside::default(), async |flow, _| {
            flow.elicit::<Name>("name", "Who?").await?;
            let wait = async {
                tokio::time::sleep(Duration::from_hours(2)).await;
                Ok::<_, Failure>("waited".to_owned())
            };
            Ok(flow.step("wait", wait).await?)
        })
    };
    let answered = async |site: &Site| {
        let task = site.start().await;
        task.until_asked(&["name"]).await;
        tokio::time::sleep(Duration::from_hours(3)).await;
        task.accept("name", json!({ "name": "Ada" })).await;
        let began = tokio::time::Instant::now();
        while task.status().await == "working" {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        (task.get().await["result"].clone(), began.elapsed())
    };
    let (failed, after) = answered(&Site::of(slow())).await;
    assert!(after >= Duration::from_hours(1) && after < Duration::from_mins(61), "not while it waits: {after:?}");
    let text = failed["content"][0]["text"].as_str().unwrap();
    assert_eq!(failed["isError"], true, "{failed}");
    for part in ["did not end within 3600s", "step `wait`", "`TaskOptions::run_deadline`", "raise it", "`yield_point`"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let patient = TaskOptions::default().run_deadline(Duration::from_hours(3));
    let (done, _) = answered(&Site::with(memory(), patient, [slow()])).await;
    assert_eq!(done["content"][0]["text"], "waited");
    let (done, _) = answered(&Site::of(slow().run_deadline(Duration::from_hours(3)))).await;
    assert_eq!(done["content"][0]["text"], "waited", "one tool may say otherwise");
}
