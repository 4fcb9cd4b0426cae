//! The content of a task is sealed at rest: nothing of it can be read in the file, and nothing of another task is taken
//! for it.

use mrtr_server::{Failure, Flow, TaskPolicy, Tool};
use mrtr_state::{Key, KeyRing, Sealer};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::file::File;
use crate::support::{Name, Outside, PATIENCE, Started, greeting, sealer, tool, within};

const MARKER: &str = "zanzibar-31415";

#[derive(Deserialize, JsonSchema)]
struct Parcel {
    to: String,
}

/// Has the marker in everything that a task may hold.
fn marked(outside: &Outside) -> Tool {
    let outside = outside.clone();
    let handler = move |flow: Flow, parcel: Parcel| {
        let outside = outside.clone();
        async move {
            assert_eq!(parcel.to, MARKER);
            flow.progress(1, None, MARKER).await;
            flow.step("pack", async { Ok::<_, Failure>(MARKER.to_owned()) }).await?;
            let name: Name = flow.elicit("name", format!("Really to {MARKER}?")).await?;
            flow.step("ship", outside.happen_after_gate("ship")).await?;
            flow.yield_point(&MARKER).await;
            Ok::<_, Failure>(format!("{MARKER} {}", name.name))
        }
    };
    Tool::new("tool", handler).tasks(TaskPolicy::IfPossible)
}

async fn start(site: &crate::support::Site) -> Started {
    let created = site.client().call_tool("tool", json!({ "to": MARKER })).await;
    site.started(site.client(), mrtr_schema::Revision::V2026_07_28, created.response())
}

#[tokio::test]
async fn a_marker_is_found_nowhere_in_the_file_nor_beside_it() {
    let (file, outside) = (File::new(), Outside::default());
    let site = file.instance(marked(&outside));
    let task = start(&site).await;
    let asked = task.until_asked(&["name"]).await;
    assert!(asked.to_string().contains(MARKER), "its client can read it");
    assert!(!file.contains(MARKER), "arguments, a step, a question, progress");
    task.accept("name", json!({ "name": MARKER })).await;
    outside.until("at the gate", 1).await;
    assert!(!file.contains(MARKER), "an answer");
    outside.open_gate();
    assert_eq!(task.text().await, format!("{MARKER} {MARKER}"));
    assert!(!file.contains(MARKER), "a result");
    assert!(file.contains("name"), "though keys and tools are searched, and are plain");
}

#[tokio::test]
async fn without_keys_that_outlive_the_process_it_is_plain_and_the_start_says_so() {
    let (file, outside) = (File::new(), Outside::default());
    let log = crate::log::Log::start();
    let site = file.sealed_by(None, marked(&outside));
    assert!(log.text().contains("tasks are stored unsealed"), "{}", log.text());
    let task = start(&site).await;
    task.until_asked(&["name"]).await;
    assert!(file.contains(MARKER));
    let log = crate::log::Log::start();
    let _sealed = file.instance(greeting());
    assert!(!log.text().contains("not sealed"), "{}", log.text());
}

#[tokio::test]
async fn an_old_key_opens_and_a_new_one_seals() {
    let file = File::new();
    let (old, new) = (|| Key::new("k1", [7; 32]).unwrap(), || Key::new("k2", [9; 32]).unwrap());
    let only_new = Sealer::new(KeyRing::new(new()), "tests").unwrap();
    let both = Sealer::new(KeyRing::new(new()).also_opens(old()).unwrap(), "tests").unwrap();

    let site = file.instance(greeting());
    let task = site.start().await;
    task.until_asked(&["name"]).await;
    task.at_rest(&site).await;
    site.tasks.shut_down().await;

    let rotated = file.sealed_by(Some(both), greeting());
    let seen = task.by(&rotated.client());
    assert_eq!(seen.asked().await, ["name"], "the old key opens");
    seen.accept("name", json!({ "name": "Ada" })).await;
    assert_eq!(seen.text().await, "Hello, Ada");
    let other = rotated.start().await;
    other.until_asked(&["name"]).await;
    other.at_rest(&rotated).await;
    rotated.tasks.shut_down().await;

    let later = file.sealed_by(Some(only_new), greeting());
    assert_eq!(task.by(&later.client()).text().await, "Hello, Ada", "what was written since, the new key sealed");
    let other = other.by(&later.client());
    other.accept("name", json!({ "name": "Bob" })).await;
    assert_eq!(other.text().await, "Hello, Bob");
}

#[tokio::test]
async fn what_cannot_be_opened_is_left_alone_until_an_instance_can() {
    let file = File::new();
    let site = file.instance(greeting());
    let task = site.start().await;
    task.until_asked(&["name"]).await;
    task.accept("name", json!({ "name": "Ada" })).await;
    task.text().await;
    let waiting = site.start().await;
    waiting.until_asked(&["name"]).await;
    waiting.at_rest(&site).await;
    site.tasks.shut_down().await;

    let stranger = Sealer::new(KeyRing::new(Key::new("k9", [1; 32]).unwrap()), "tests").unwrap();
    let without = file.sealed_by(Some(stranger), greeting());
    for known in [&task, &waiting] {
        let said = known.by(&without.client()).send("tasks/get", json!({})).await;
        assert_eq!(said["error"]["code"], -32603, "{said}");
        assert_eq!(said["error"]["message"], "Internal error");
    }
    without.tasks.wake(waiting.task_id()).await.unwrap();
    let view = || async { without.tasks.view(None, 10).await.unwrap().remove(1) };
    let put_off = async {
        while !matches!(view().await.waits_for, mrtr_tasks::WaitsFor::RunIn(pause) if !pause.is_zero()) {
            tokio::task::yield_now().await;
        }
    };
    within(PATIENCE, put_off).await;
    assert_eq!((view().await.lost_runs, view().await.end), (0, None), "it is put off, and neither lost nor over");
    without.tasks.shut_down().await;

    let back = file.instance(greeting());
    back.tasks.retry(waiting.task_id()).await.unwrap();
    let waiting = waiting.by(&back.client());
    waiting.accept("name", json!({ "name": "Bob" })).await;
    assert_eq!(waiting.text().await, "Hello, Bob");
}

#[tokio::test]
async fn a_journal_of_a_newer_form_is_left_for_a_newer_instance() {
    let file = File::new();
    let site = file.instance(greeting());
    let task = site.start().await;
    task.until_asked(&["name"]).await;
    task.at_rest(&site).await;
    // As an instance of a newer version would have sealed it.
    let newer = sealer().seal_at_rest("mrtr-tasks/entries", task.task_id().as_bytes(), &[250, 1, 2, 3]);
    change(&file, "INSERT INTO entry SELECT task, 1000, ?1 FROM entry WHERE number = 0", &newer);
    site.tasks.wake(task.task_id()).await.unwrap();
    let view = || async { site.tasks.view(None, 1).await.unwrap().remove(0) };
    let put_off = async {
        while !matches!(view().await.waits_for, mrtr_tasks::WaitsFor::RunIn(pause) if !pause.is_zero()) {
            tokio::task::yield_now().await;
        }
    };
    within(PATIENCE, put_off).await;
    assert_eq!((view().await.lost_runs, view().await.end), (0, None));
    assert_eq!(task.asked().await, ["name"], "and it is still seen");
}

#[tokio::test]
async fn bytes_of_another_task_another_kind_or_none_are_refused() {
    let ended = async |file: &File| {
        let site = file.instance(greeting());
        let mut tasks = Vec::new();
        for name in ["Ada", "Bob"] {
            let task = site.start().await;
            task.until_asked(&["name"]).await;
            task.accept("name", json!({ "name": name })).await;
            task.text().await;
            tasks.push(task);
        }
        (site, tasks)
    };
    let plain = [&[0_u8][..], br#"{"result":{"content":[{"type":"text","text":"forged"}]}}"#].concat();
    for (what, statement, bytes) in [
        ("swapped", SWAP_RESULTS, &[][..]),
        ("plain", "UPDATE shown SET result = ?1", &plain),
        ("empty", "UPDATE shown SET result = ?1", &[]),
    ] {
        let file = File::new();
        let (_site, tasks) = ended(&file).await;
        change(&file, statement, bytes);
        for task in tasks {
            let said = task.send("tasks/get", json!({})).await;
            assert_eq!(said["error"]["code"], -32603, "{what}: {said}");
        }
    }
}

#[tokio::test]
async fn a_call_that_was_tampered_with_is_not_run() {
    let (file, outside) = (File::new(), Outside::default());
    let made = || {
        tool(&outside, async |flow, outside| {
            outside.note("run");
            Ok(flow.elicit::<Name>("name", "Who?").await?.name)
        })
    };
    let site = file.instance(made());
    let tasks = [site.start().await, site.start().await];
    for task in &tasks {
        task.until_asked(&["name"]).await;
        task.at_rest(&site).await;
    }
    assert_eq!(outside.count("run"), 2);
    change(&file, SWAP_CALLS, &[]);
    for task in &tasks {
        task.accept("name", json!({ "name": "Ada" })).await;
    }
    let views = || async { site.tasks.view(None, 2).await.unwrap() };
    let is_put_off =
        |view: &mrtr_tasks::TaskView| matches!(view.waits_for, mrtr_tasks::WaitsFor::RunIn(pause) if !pause.is_zero());
    let put_off = async {
        while !views().await.iter().all(is_put_off) {
            tokio::task::yield_now().await;
        }
    };
    within(PATIENCE, put_off).await;
    assert_eq!(outside.count("run"), 2, "none of the two ran with the other's call");
}

/// Gives each of two tasks what the other one had.
const SWAP_RESULTS: &str = "WITH before AS MATERIALIZED (SELECT task, result FROM shown)
    UPDATE shown SET result = before.result FROM before WHERE before.task <> shown.task AND ?1 IS NOT NULL";
const SWAP_CALLS: &str = "WITH before AS MATERIALIZED (SELECT task, bytes FROM entry WHERE number = 0)
    UPDATE entry SET bytes = before.bytes FROM before
    WHERE entry.number = 0 AND before.task <> entry.task AND ?1 IS NOT NULL";

/// Changes the file behind the server's back.
fn change(file: &File, statement: &str, bytes: &[u8]) {
    let connection = rusqlite::Connection::open(file.path()).unwrap();
    connection.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    assert!(connection.execute(statement, [bytes]).unwrap() > 0, "{statement}");
}
