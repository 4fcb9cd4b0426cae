//! Tasks over real processes: killed, crashed and upgraded.

#![allow(clippy::unwrap_used, reason = "a panic is the report")]

mod worker;

use std::time::{Duration, Instant};

use mrtr_tasks::{End, TaskRecord};
use serde_json::Value;
use worker::{LEASE, Place, Worker};

#[tokio::test(flavor = "multi_thread")]
async fn another_worker_goes_on_with_a_task_whose_worker_was_killed_within_two_leases() {
    goes_on_within_two_leases(&Place::new()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_postgres_too_another_worker_goes_on_with_a_task_within_two_leases() {
    let Some(place) = Place::in_postgres() else { return };
    goes_on_within_two_leases(&place).await;
}

async fn goes_on_within_two_leases(place: &Place) {
    let mut workers = [place.worker("order"), place.worker("order")];
    let task = workers[0].create("order", 1, 200).await;
    let asked = workers[0].asked(task).await;
    // Its first step takes long enough to be killed in.
    let task = workers[0].create("order", 2, 30_000).await;
    let began = place.wait_for_events("Began", 2).await;
    let last = began.iter().find(|began| began["order"] == 2).unwrap();
    let victim = usize::from(!workers[0].has(last));
    let (runs, killed) = (began.len(), Instant::now());
    workers[victim].kill();

    let survivor = &workers[1 - victim];
    let began = place.wait_for_events("Began", runs + 1).await;
    assert!(killed.elapsed() < 2 * LEASE, "{:?}", killed.elapsed());
    let last = began.last().unwrap();
    assert!(survivor.has(last) && last["order"] == 2, "{last}");
    assert_eq!(last["flow"], began.iter().find(|began| began["order"] == 2).unwrap()["flow"]);

    // What waited did not notice, whichever worker had asked.
    let result = survivor.follow(asked).await.unwrap();
    assert_eq!(result["order"], 1);
    drop(task);
}

/// Uses a lease that no test waits for: a drained worker, unlike a killed one, leaves no lease that has to end.
#[tokio::test(flavor = "multi_thread")]
async fn in_postgres_another_worker_goes_on_at_once_with_a_task_whose_worker_was_drained() {
    let Some(place) = Place::in_postgres() else { return };
    let place = place.lease(Duration::from_mins(30));
    let (first, second) = (place.worker("order"), place.worker("order"));
    // Its first step is done within the grace of a worker that is drained.
    let task = first.create("order", 1, 3_000).await;
    let began = place.wait_for_events("Began", 1).await;
    let (drained, survivor) = if first.has(&began[0]) { (first, second) } else { (second, first) };
    drained.end();
    let result = survivor.follow(task).await.unwrap();
    assert_eq!(result["order"], 1);
    let began = place.events("Began");
    assert!(began[1..].iter().all(|run| survivor.has(run) && run["flow"] == began[0]["flow"]), "{began:?}");
    let reserved = place.events("Effect").into_iter().filter(|effect| effect["step"] == "reserve").count();
    assert_eq!(reserved, 1, "what was begun was finished and recorded before it was handed over");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_aborts_its_process_has_its_own_task_set_aside_and_a_retry_runs_it() {
    let place = Place::new();
    let tools = "order,crash";
    let mut worker = place.worker(tools);
    let mut waiting = Vec::new();
    for order in 1..=3 {
        let task = worker.create("order", order, 2).await;
        waiting.push(worker.asked(task).await);
    }
    // One more is in the middle of a step whenever the process dies.
    waiting.push(worker.create("order", 4, 3_000).await);
    place.wait_for_events("Began", 4).await;
    let crash = worker.create("crash", 0, 0).await;
    let is_crash = |task: &TaskRecord| task.tool == "crash";
    for died in 1..=7 {
        assert!(!worker.gone().await.success());
        assert_eq!(crashes(&place), died);
        // Its lease and the pause after it are over at once: the next worker runs it again.
        place.set_clock_ahead(Duration::from_mins(10) * u32::try_from(died).unwrap());
        worker = place.worker(tools);
    }
    let aside = place.wait_for_task(|task| is_crash(task) && task.set_aside.is_some()).await;
    assert_eq!((aside.ended, aside.lost_runs, aside.counted_losses), (None, 7, 5), "it has not ended");
    for (order, task) in (1..).zip(waiting) {
        assert_eq!(worker.follow(task).await.unwrap()["order"], order);
    }
    assert_eq!(crashes(&place), 7);
    place.retry(aside.id).await;
    assert!(!worker.gone().await.success(), "the operator has it run again");
    assert_eq!(crashes(&place), 8);
    drop(crash);
}

#[tokio::test(flavor = "multi_thread")]
async fn thirty_crashing_calls_beside_fifty_tasks_keep_none_of_them_from_completing() {
    thirty_beside_fifty(Place::new()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_postgres_too_thirty_crashing_calls_keep_none_of_fifty_tasks_from_completing() {
    let Some(place) = Place::in_postgres() else { return };
    thirty_beside_fifty(place).await;
}

async fn thirty_beside_fifty(place: Place) {
    let place = place.lease(Duration::from_millis(700));
    let mut fleet = Supervised::start(&place, "quick,crash");
    for number in 0..80 {
        let tool = if number % 8 < 3 { "crash" } else { "quick" };
        while fleet.worker(number).try_create(tool, number, 20).await.is_none() {
            fleet.restart();
        }
    }
    let patience = Instant::now() + Duration::from_mins(5);
    let is_open = |task: &&TaskRecord| task.tool == "quick" && task.ended.is_none();
    let records = loop {
        fleet.restart();
        let records = place.records().await;
        if !records.iter().any(|task| is_open(&task)) {
            break records;
        }
        let open = || records.iter().filter(is_open).map(|task| (task.lost_runs, task.counted_losses));
        assert!(Instant::now() < patience, "{} deaths; open are {:?}", fleet.deaths, open().collect::<Vec<_>>());
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let (quick, crash): (Vec<_>, Vec<_>) = records.into_iter().partition(|task| task.tool == "quick");
    // A call whose process died before it could reply may have made one more.
    assert!(quick.len() >= 50 && crash.len() >= 30, "{} and {}", quick.len(), crash.len());
    assert!(quick.iter().all(|task| matches!(task.ended, Some((End::Completed { is_error: false }, _)))), "{quick:?}");
    assert!(crash.iter().all(|task| task.ended.is_none()), "none ended: {crash:?}");
    assert!(fleet.deaths >= 2, "{}", fleet.deaths);
}

/// Two workers that are started again when they die.
struct Supervised<'a> {
    place: &'a Place,
    tools: &'static str,
    workers: [Worker; 2],
    deaths: usize,
}

impl<'a> Supervised<'a> {
    fn start(place: &'a Place, tools: &'static str) -> Self {
        Self { place, tools, workers: [place.worker(tools), place.worker(tools)], deaths: 0 }
    }

    fn worker(&self, number: u64) -> &Worker {
        &self.workers[usize::from(number.is_multiple_of(2))]
    }

    fn restart(&mut self) {
        for worker in &mut self.workers {
            while worker.is_gone() {
                self.deaths += 1;
                if let Some(started) = self.place.try_worker(self.tools) {
                    *worker = started;
                }
            }
        }
    }
}

fn crashes(place: &Place) -> usize {
    place.events("Began").iter().filter(|began| began["order"] == 0).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fleet_upgraded_one_by_one_with_a_tool_added_and_one_removed_loses_no_task() {
    let place = Place::new();
    let (old, new) = ("order,old", "order,new");
    let mut fleet = [place.worker(old), place.worker(old), place.worker(old)];
    let mut tasks = Vec::new();
    for order in 1..=4 {
        let tool = if order % 2 == 0 { "order" } else { "old" };
        let task = fleet[0].create(tool, order, 400).await;
        tasks.push((order, fleet[1].asked(task).await));
    }
    for (order, worker) in (10..).zip(&mut fleet) {
        std::mem::replace(worker, place.worker(new)).end();
        // A tool that only some workers have runs there.
        tasks.push((order, worker.create("new", order, 400).await));
    }
    // No worker has the old tool: its tasks are there, can be answered, and wait for a worker that has it.
    let (of_old, others): (Vec<_>, Vec<_>) = tasks.into_iter().partition(|(order, _)| [1, 3].contains(order));
    for (order, task) in others {
        assert_eq!(fleet[0].follow(task).await.unwrap()["order"], order);
    }
    let mut answered = Vec::new();
    for (order, asked) in of_old {
        answered.push((order, fleet[1].answer(asked).await));
    }
    let back = place.worker(old);
    for (order, task) in answered {
        let result = fleet[2].follow(task).await.unwrap();
        assert_eq!((&result["order"], &result["answers"]["amount"]), (&Value::from(order), &"answer to amount".into()));
    }
    drop(back);
    // What was handed over lost nothing: no step ran twice.
    let effects = place.events("Effect");
    let mut steps: Vec<_> = effects.iter().map(|effect| (effect["flow"].as_str(), effect["step"].as_str())).collect();
    steps.sort_unstable();
    let all = steps.len();
    steps.dedup();
    assert_eq!((steps.len(), all), (7 * 4, 7 * 4), "in {}", place.path().display());
}
