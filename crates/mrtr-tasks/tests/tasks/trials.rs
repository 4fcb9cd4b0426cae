//! Runs that were lost: which tasks run alone after that, what may begin beside them, and how a task is set aside.

use std::sync::Arc;
use std::time::Duration;

use mrtr_schema::Revision;
use mrtr_server::{Caller, Failure, Flow, Tool};
use mrtr_tasks::store::{AcquiredTask, TaskStore, Trials, Turns, Wanted};
use mrtr_tasks::{End, TaskOptions, WaitsFor};
use serde_json::json;
use tokio::time::Instant;

use crate::faulty::{Fault, Faulty};
use crate::support::{Outside, Site, Started, greeting, memory, tool};

const LEASE: Duration = Duration::from_secs(3);

/// A process that takes what it can and dies.
async fn die(store: &dyn TaskStore) -> Vec<AcquiredTask> {
    loop {
        for trials in [Trials::Busy, Trials::Takes { alone: true }] {
            let wanted = Wanted {
                tools: vec!["tool".into()],
                lease: LEASE,
                most: 99,
                trials,
                running: Vec::new(),
                turns: Turns::default(),
            };
            let taken = store.acquire(&wanted).await.unwrap().tasks;
            if !taken.is_empty() {
                return taken;
            }
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

fn options() -> TaskOptions {
    TaskOptions::default().lease(LEASE)
}

/// Tasks that were created, and no instance has run yet.
async fn created(store: &Arc<dyn TaskStore>, tool: Tool, tasks: usize) -> Vec<Started> {
    let creating = Site::with(Arc::clone(store), options(), [tool]);
    creating.tasks.shut_down().await;
    let mut started = Vec::new();
    for _ in 0..tasks {
        started.push(creating.start().await);
    }
    started
}

/// A task that has lost its runs in two processes that died, without any other task.
async fn on_trial(store: &Arc<dyn TaskStore>, tool: Tool) -> Started {
    let task = created(store, tool, 1).await.remove(0);
    for _ in 0..2 {
        die(&**store).await;
    }
    task
}

/// Waits for a minute without an entry, and notes when it began.
fn slow(outside: &Outside) -> Tool {
    tool(outside, async |_, outside| {
        outside.note("begun");
        tokio::time::sleep(Duration::from_mins(1)).await;
        Ok("done".into())
    })
}

fn bob() -> Caller {
    Caller::new("https://id.example.com", "bob")
}

fn plain(outside: &Outside) -> Tool {
    let outside = outside.clone();
    Tool::new("plain", move |_: Flow| {
        let outside = outside.clone();
        async move { outside.happen("plain").await }
    })
}

async fn call_plain(site: &Site) {
    let reply = site.client().request("tools/call", json!({ "name": "plain", "arguments": {} })).await;
    assert_eq!(reply.response()["result"]["content"][0]["text"], "plain", "{}", reply.response());
}

#[tokio::test(start_paused = true)]
async fn a_task_that_ends_its_processes_is_set_aside_until_the_operator_retries_it() {
    for revision in Revision::MODERN {
        let store = memory();
        let creating = Site::with(Arc::clone(&store), options(), [greeting()]);
        creating.tasks.shut_down().await;
        let task = creating.start_in(revision).await;
        let (mut pauses, mut last) = (Vec::new(), Instant::now());
        for _ in 0..7 {
            die(&*store).await;
            pauses.push(last.elapsed().as_secs());
            last = Instant::now();
        }
        assert_eq!(pauses, [0, 4, 5, 7, 11, 19, 35], "the lease, and a pause that doubles");
        let site = Site::with(Arc::clone(&store), options(), [greeting()]);
        let aside = task.until_it("set aside", |task| task["statusMessage"].to_string().contains("set aside")).await;
        assert_eq!(aside["status"], "working", "{aside}");
        let view = site.tasks.view(None, 1).await.unwrap().remove(0);
        assert_eq!((view.end, view.waits_for, view.lost_runs), (None, WaitsFor::Operator, 7));
        tokio::time::sleep(Duration::from_hours(1)).await;
        assert_eq!(site.tasks.view(None, 1).await.unwrap()[0].runs, 7, "it is not run");
        assert!(site.tasks.view(None, 1).await.unwrap()[0].set_aside >= Some(Duration::from_hours(1)));
        site.tasks.retry(task.task_id()).await.unwrap();
        let task = task.by(&site.speaking(revision));
        task.until_asked(&["name"]).await;
        task.accept("name", json!({ "name": "Ada" })).await;
        assert_eq!(task.text().await, "Hello, Ada");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_set_aside_fails_when_its_time_is_over() {
    for revision in Revision::MODERN {
        let store = memory();
        let creating = Site::with(Arc::clone(&store), options(), [greeting()]);
        creating.tasks.shut_down().await;
        let task = creating.start_in(revision).await;
        for _ in 0..7 {
            die(&*store).await;
        }
        let site = Site::with(Arc::clone(&store), options(), [greeting()]);
        tokio::time::sleep(Duration::from_hours(24)).await;
        let failed = task.by(&site.speaking(revision)).get().await;
        assert_eq!(failed["status"], "failed", "{failed}");
        let error = match revision {
            Revision::V2026_07_28 => failed["error"].clone(),
            _ => task.result().await["error"].clone(),
        };
        assert_eq!(error, json!({ "code": -32603, "message": "The task's ttl is over" }));
        assert_eq!(site.tasks.view(None, 1).await.unwrap()[0].end, Some(End::Expired));
    }
}

#[tokio::test(start_paused = true)]
async fn one_death_of_a_process_with_sixteen_runs_does_not_make_them_serial() {
    let (store, outside) = (memory(), Outside::default());
    let tasks = created(&store, slow(&outside), 16).await;
    assert_eq!(die(&*store).await.len(), 16);
    let _site = Site::with(Arc::clone(&store), options().workers(24), [slow(&outside)]);
    let began = Instant::now();
    outside.until("begun", 16).await;
    assert!(began.elapsed() < LEASE + Duration::from_secs(3), "{:?}", began.elapsed());
    for task in tasks {
        assert_eq!(task.text().await, "done");
    }
    assert_eq!(outside.count("begun"), 16);
}

#[tokio::test(start_paused = true)]
async fn tasks_that_died_together_twice_run_one_at_a_time() {
    let (store, begun) = (memory(), Arc::new(std::sync::Mutex::new(Vec::new())));
    let noting = || {
        let begun = Arc::clone(&begun);
        tool(&Outside::default(), move |_, _| {
            begun.lock().unwrap().push(Instant::now());
            async {
                tokio::time::sleep(Duration::from_mins(1)).await;
                Ok("done".into())
            }
        })
    };
    let tasks = created(&store, noting(), 3).await;
    for _ in 0..2 {
        assert_eq!(die(&*store).await.len(), 3);
    }
    let _site = Site::with(Arc::clone(&store), options(), [noting()]);
    for task in tasks {
        assert_eq!(task.text().await, "done");
    }
    let begun = begun.lock().unwrap();
    assert_eq!(begun.len(), 3, "each is run once more");
    assert!(begun.windows(2).all(|pair| pair[1] - pair[0] >= Duration::from_mins(1)), "{begun:?}");
}

/// A first entry shows that the task did not end the processes, and others need not wait for its end.
#[tokio::test(start_paused = true)]
async fn a_trial_is_over_with_the_first_entry_or_after_a_lease() {
    for records in [true, false] {
        let (store, outside) = (memory(), Outside::default());
        let working = || {
            tool(&outside, move |flow, outside| async move {
                if records {
                    flow.step("one", outside.happen("one")).await?;
                }
                outside.note("begun");
                tokio::time::sleep(Duration::from_mins(1)).await;
                Ok("done".into())
            })
        };
        on_trial(&store, working()).await;
        let site = Site::with(Arc::clone(&store), options(), [working()]);
        outside.until("begun", 1).await;
        let began = Instant::now();
        site.start().await;
        outside.until("begun", 2).await;
        let waited = began.elapsed();
        assert_eq!(waited < Duration::from_secs(1), records, "{waited:?}");
        assert!(waited <= LEASE + Duration::from_secs(1), "{waited:?}");
        let alone = store.list(None, None, 9).await.unwrap();
        assert!(alone.iter().all(|task| !task.record.alone), "the store knew before");
    }
}

#[tokio::test(start_paused = true)]
async fn a_plain_call_waits_until_the_store_knows_and_runs_beside_the_trial() {
    let (sound, outside) = (memory(), Outside::default());
    let task = on_trial(&sound, slow(&outside)).await;
    let store = Faulty::over(Arc::clone(&sound));
    let site = Site::with(Arc::clone(&store) as _, options(), [slow(&outside), plain(&outside)]);
    outside.until("begun", 1).await;
    let record = async || sound.get(task.task_id(), None).await.unwrap().record;
    assert!(record().await.alone);
    store.fault("accompany", Fault::Fails, 3);
    let (site, began) = (Arc::new(site), Instant::now());
    let calls: Vec<_> = (0..3)
        .map(|_| {
            let site = Arc::clone(&site);
            tokio::spawn(async move { call_plain(&site).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!((outside.count("plain"), record().await.alone), (0, true), "the store has failed so far");
    for call in calls {
        call.await.unwrap();
    }
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert!(!record().await.alone);
    call_plain(&site).await;
    assert_eq!(store.calls("accompany"), 4, "once it is known, no call waits");
    assert_eq!(task.text().await, "done");
    assert_eq!(outside.count("begun"), 1, "the trial went on");
}

#[tokio::test(start_paused = true)]
async fn a_plain_call_does_not_wait_for_a_store_that_stays_away() {
    let (sound, outside) = (memory(), Outside::default());
    let task = on_trial(&sound, slow(&outside)).await;
    let store = Faulty::over(Arc::clone(&sound));
    let site = Site::with(Arc::clone(&store) as _, TaskOptions::default(), [slow(&outside), plain(&outside)]);
    outside.until("begun", 1).await;
    for verb in ["accompany", "hand_over", "renew", "acquire", "finish", "get"] {
        store.fault(verb, Fault::Fails, usize::MAX);
    }
    let began = Instant::now();
    call_plain(&site).await;
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    store.heal();
    assert_eq!(task.text().await, "done");
    let view = site.tasks.view(None, 1).await.unwrap().remove(0);
    assert_eq!((view.lost_runs, view.end), (0, Some(End::Completed { is_error: false })));
}

#[tokio::test(start_paused = true)]
async fn a_trial_that_begins_beside_a_plain_call_is_not_alone_and_no_call_costs_a_write() {
    let (sound, outside) = (memory(), Outside::default());
    let task = on_trial(&sound, slow(&outside)).await;
    let store = Faulty::over(Arc::clone(&sound));
    let waiting = {
        let outside = outside.clone();
        Tool::new("plain", move |_: Flow| {
            let outside = outside.clone();
            async move { outside.happen_after_gate("plain").await }
        })
    };
    // The runner starts with the first request, in which the plain call has begun already.
    let site = Arc::new(Site::with(Arc::clone(&store) as _, options(), [slow(&outside), waiting]));
    let calling = {
        let site = Arc::clone(&site);
        tokio::spawn(async move { call_plain(&site).await })
    };
    outside.until("at the gate", 1).await;
    outside.until("begun", 1).await;
    assert!(!sound.get(task.task_id(), None).await.unwrap().record.alone);
    outside.open_gate();
    calling.await.unwrap();
    assert_eq!(store.calls("accompany"), 0);
    assert_eq!(task.text().await, "done");
}

#[tokio::test(start_paused = true)]
async fn no_run_begins_beside_a_trial_for_a_lease_though_a_plain_call_does() {
    let (store, outside) = (memory(), Outside::default());
    on_trial(&store, slow(&outside)).await;
    let site = Site::with(store, options(), [slow(&outside), plain(&outside)]);
    outside.until("begun", 1).await;
    let began = Instant::now();
    call_plain(&site).await;
    site.start().await;
    outside.until("begun", 2).await;
    assert!(began.elapsed() >= LEASE, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn no_run_begins_beside_a_trial_that_the_store_takes_to_be_alone() {
    let (sound, outside) = (memory(), Outside::default());
    on_trial(&sound, slow(&outside)).await;
    let store = Faulty::over(Arc::clone(&sound));
    let site = Site::with(Arc::clone(&store) as _, options(), [slow(&outside)]);
    outside.until("begun", 1).await;
    store.fault("accompany", Fault::Fails, 5);
    site.start().await;
    outside.until("begun", 2).await;
    let listed = sound.list(None, None, 9).await.unwrap();
    assert!(listed.iter().all(|task| !task.record.alone), "it was told as often as that took");
    assert_eq!(store.calls("accompany"), 6);
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_the_end_of_a_trial_begins_at_once() {
    let (store, outside) = (memory(), Outside::default());
    let working = || {
        tool(&outside, async |flow: Flow, outside: Outside| {
            if flow.principal().is_some() {
                return outside.happen("other").await;
            }
            outside.happen_after_gate("gate").await?;
            flow.step("one", outside.happen("one")).await?;
            tokio::time::sleep(Duration::from_mins(10)).await;
            Ok("done".into())
        })
    };
    on_trial(&store, working()).await;
    let site = Site::with(store, options().look_interval(Duration::from_hours(1)), [working()]);
    outside.until("at the gate", 1).await;
    site.start_as(site.client().calling_as(bob()), Revision::V2026_07_28).await;
    tokio::time::sleep(LEASE / 2).await;
    assert_eq!(outside.count("other"), 0, "the one on trial is alone");
    let opened = Instant::now();
    outside.open_gate();
    outside.until("other", 1).await;
    assert!(opened.elapsed() < Duration::from_mins(1), "{:?}", opened.elapsed());
}

/// The other tasks became due before it, and the instance always has a run.
#[tokio::test(start_paused = true)]
async fn a_busy_instance_makes_room_for_a_trial_that_has_waited_for_minutes() {
    let (store, outside) = (memory(), Outside::default());
    let working = || {
        tool(&outside, async |flow: Flow, outside: Outside| {
            if flow.principal().is_none() {
                return outside.happen("trial").await;
            }
            outside.note("begun");
            // Tasks that run together end one after the other.
            let time = if outside.count("begun") == 1 { 30 } else { 60 };
            tokio::time::sleep(Duration::from_secs(time)).await;
            outside.happen("ended").await
        })
    };
    on_trial(&store, working()).await;
    let site = Site::with(store, options().workers(2), [working()]);
    for _ in 0..40 {
        site.start_as(site.client().calling_as(bob()), Revision::V2026_07_28).await;
    }
    outside.until("trial", 1).await;
    let all = outside.all();
    let before: Vec<_> = all.iter().take_while(|happened| *happened != "trial").collect();
    let count = |what| before.iter().filter(|happened| **happened == what).count();
    assert_eq!(count("begun"), count("ended"), "it is alone");
    assert!(count("begun") < 40, "the rest of them waits for it");
}

#[tokio::test(start_paused = true)]
async fn an_outage_longer_than_a_lease_is_no_lost_run() {
    let outside = Outside::default();
    let sound = memory();
    let working = || {
        tool(&outside, async |flow, outside: Outside| {
            outside.note("begun");
            flow.cancelled().await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            outside.note("stopped");
            std::future::pending::<Result<String, Failure>>().await
        })
    };
    let stores = [Faulty::over(Arc::clone(&sound)), Faulty::over(Arc::clone(&sound))];
    let sites = stores.each_ref().map(|store| Site::with(Arc::clone(store) as _, TaskOptions::default(), [working()]));
    for _ in 0..4 {
        sites[0].start().await;
    }
    outside.until("begun", 4).await;
    for store in &stores {
        for verb in ["renew", "record", "park", "finish", "hand_over", "acquire", "changed", "get", "cursor", "sweep"] {
            store.fault(verb, Fault::Fails, usize::MAX);
        }
    }
    tokio::time::sleep(Duration::from_mins(10)).await;
    for store in &stores {
        store.heal();
    }
    outside.until("begun", 8).await;
    for view in sites[0].tasks.view(None, 9).await.unwrap() {
        assert_eq!(view.lost_runs, 0, "the store failed, and no run was lost");
    }
}
