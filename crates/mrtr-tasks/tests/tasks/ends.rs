//! The end of a task, in both families, and what stays of it.

use std::time::Duration;

use mrtr_flow::StopReason;
use mrtr_schema::{ErrorCode, Revision};
use mrtr_server::{ProtocolError, ToolError};
use mrtr_tasks::record::{Event, TransitionError};
use mrtr_tasks::store::{StoreError, Trials, Turns, Wanted};
use mrtr_tasks::{End, TaskOptions};
use serde_json::{Value, json};

use crate::support::{Name, Outside, Site, greeting, memory, tool};

/// Ends as its handler says.
fn ending(how: &'static str) -> mrtr_server::Tool {
    tool(&Outside::default(), move |flow, _| async move {
        match how {
            "tool" => Err(ToolError::new("out of paper").into()),
            "foreign" => Err(std::io::Error::other("a secret path").into()),
            "panic" => panic!("a secret panic"),
            "panic in a step" => Ok(flow.step("pack", async { secret() }).await?),
            "protocol" => Err(ProtocolError::new(ErrorCode::INVALID_PARAMS, "no such paper").into()),
            _ => Ok("done".into()),
        }
    })
}

fn secret() -> Result<String, mrtr_server::Failure> {
    panic!("a secret panic")
}

#[tokio::test(start_paused = true)]
async fn tk_11_tk_15_each_end_has_its_status_in_each_family() {
    for (how, published, older) in [
        ("result", "completed", "completed"),
        ("tool", "completed", "failed"),
        ("foreign", "completed", "failed"),
        ("panic", "completed", "failed"),
        ("panic in a step", "completed", "failed"),
        ("protocol", "failed", "failed"),
    ] {
        for revision in Revision::MODERN {
            let site = Site::of(ending(how));
            let task = site.start_in(revision).await;
            let status = if revision == Revision::V2026_07_28 { published } else { older };
            let ended = task.until(status).await;
            let (result, error) = if revision == Revision::V2026_07_28 {
                (ended["result"].clone(), ended["error"].clone())
            } else {
                let said = task.result().await;
                (said["result"].clone(), said["error"].clone())
            };
            assert!(!format!("{ended}{result}{error}").contains("secret"), "{how}: {ended}{result}{error}");
            if how == "protocol" {
                assert_eq!(error, json!({ "code": -32602, "message": "no such paper" }), "{how} in {revision}");
                assert_eq!(result, Value::Null);
            } else {
                assert_eq!(result["isError"] == true, how != "result", "{how} in {revision}: {result}");
                assert_eq!(error, Value::Null);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_failed_task_says_is_what_its_request_would_have_got() {
    for how in ["result", "tool", "protocol"] {
        for revision in Revision::MODERN {
            let site = Site::of(ending(how));
            let task = site.start_in(revision).await;
            let bare = mrtr_server::testing::Client::new(&site.server).speaking(revision);
            let direct = bare.call_tool("tool", json!({})).await.response().clone();
            let ended = match (revision, how) {
                (Revision::V2026_07_28, "protocol") => task.until("failed").await["error"].clone(),
                (Revision::V2026_07_28, _) => task.ended().await,
                (_, "protocol") => task.result().await["error"].clone(),
                _ => task.result().await["result"].clone(),
            };
            let expected = if how == "protocol" { &direct["error"] } else { &direct["result"] };
            let without = crate::published::without_server;
            assert_eq!(without(&ended), without(expected), "{how} in {revision}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn time_over_ends_a_task_that_waits_and_one_that_works() {
    let options =
        TaskOptions::default().ttl(Duration::from_mins(1), Duration::from_mins(1)).grace(Duration::from_secs(1));
    for revision in Revision::MODERN {
        let outside = Outside::default();
        let working = tool(&outside, async |flow, outside| {
            let stopped = async {
                outside.note("begun");
                let reason = flow.cancelled().await;
                outside.note(&format!("{reason:?}"));
                Err::<String, _>(mrtr_server::Failure::from(ToolError::new("stopped")))
            };
            Ok(flow.step("work", stopped).await?)
        });
        for (waits, made) in [(true, greeting()), (false, working)] {
            let site = Site::with(memory(), options.clone(), [made]);
            let task = site.start_in(revision).await;
            if waits {
                task.until("input_required").await;
            } else {
                outside.until("begun", 1).await;
            }
            tokio::time::sleep(Duration::from_secs(59)).await;
            assert_ne!(task.status().await, "failed");
            tokio::time::sleep(Duration::from_secs(1)).await;
            let failed = task.get().await;
            assert_eq!(failed["status"], "failed");
            assert!(failed["statusMessage"].as_str().unwrap().contains("ttl is over"), "{failed}");
            if revision == Revision::V2026_07_28 {
                assert_eq!(failed["error"], json!({ "code": -32603, "message": "The task's ttl is over" }));
            }
            if !waits {
                outside.until("Cancelled", 1).await;
            }
            tokio::time::sleep(Duration::from_secs(30)).await;
            let view = site.tasks.view(None, 1).await.unwrap().remove(0);
            assert_eq!(view.end, Some(End::Expired));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn cancel_stops_a_running_step_and_what_it_finishes_changes_nothing() {
    for revision in Revision::MODERN {
        let outside = Outside::default();
        let site = Site::of(tool(&outside, async |flow, outside| {
            let work = async {
                outside.note("begun");
                let reason = flow.cancelled().await;
                assert_eq!(reason, StopReason::Cancelled);
                outside.happen("stopped").await
            };
            flow.step("work", work).await?;
            flow.step("more", outside.happen("more")).await?;
            Ok("done".into())
        }));
        let task = site.start_in(revision).await;
        outside.until("begun", 1).await;
        task.cancel().await;
        assert_eq!(task.status().await, "cancelled", "at once");
        outside.until("stopped", 1).await;
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert_eq!(task.status().await, "cancelled");
        assert_eq!(outside.all(), ["begun", "stopped"], "nothing new begins");
    }
}

#[tokio::test(start_paused = true)]
async fn of_cancel_and_finish_the_first_counts() {
    let store = memory();
    let wanted = Wanted {
        tools: vec!["tool".into()],
        lease: Duration::from_secs(30),
        most: 1,
        trials: Trials::Busy,
        running: Vec::new(),
        turns: Turns::default(),
    };
    let site = Site::with(std::sync::Arc::clone(&store), TaskOptions::default(), [greeting()]);
    site.tasks.shut_down().await;
    let task = site.start().await;
    let acquired = store.acquire(&wanted).await.unwrap().tasks.remove(0);
    let run = mrtr_tasks::store::Run { id: task.task_id(), fence: acquired.record.fence };
    task.cancel().await;
    let finished = store.finish(run, End::Completed { is_error: false }, Vec::new()).await;
    assert!(matches!(finished, Err(StoreError::Refused(TransitionError::Ended))), "{finished:?}");
    assert_eq!(task.status().await, "cancelled");
    let mut record = acquired.record;
    record.apply(Event::Cancel, record.updated).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_task_goes_on_when_its_request_is_cancelled_or_its_connection_gone() {
    for revision in Revision::MODERN {
        let outside = Outside::default();
        let site = Site::of(tool(&outside, async |flow, outside| {
            Ok(flow.step("pack", outside.happen_after_gate("pack")).await?)
        }));
        let task = site.start_in(revision).await;
        outside.until("at the gate", 1).await;
        let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
        let context = mrtr_server::Context::new().revision(revision);
        site.server.handle_value(cancelled, context).await;
        if revision != Revision::V2026_07_28 {
            // A client that waits for the result hangs up.
            let waiting = task.result();
            assert!(tokio::time::timeout(Duration::from_secs(1), waiting).await.is_err());
        }
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert_eq!(task.status().await, "working");
        outside.open_gate();
        assert_eq!(task.text().await, "pack");
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_waits_longer_keeps_its_task_in_the_published_revision_alone() {
    let options = TaskOptions::default().ttl(Duration::from_mins(10), Duration::from_mins(10));
    for revision in Revision::MODERN {
        let outside = Outside::default();
        let site = Site::with(
            memory(),
            options.clone(),
            [tool(&outside, async |flow, _| {
                tokio::time::sleep(Duration::from_mins(1)).await;
                let ask = flow.elicit::<Name>("name", "Who?").valid_for(Duration::from_hours(1));
                Ok(ask.await?.name)
            })],
        );
        let task = site.start_in(revision).await;
        let asks = task.until("input_required").await;
        if revision == Revision::V2026_07_28 {
            assert_eq!(asks["ttlMs"], 61 * 60_000, "the minute before it, and its hour");
            tokio::time::sleep(Duration::from_mins(59)).await;
            assert_eq!(task.status().await, "input_required");
        } else {
            assert_eq!(asks["ttl"], 10 * 60_000, "as its client was told");
            tokio::time::sleep(Duration::from_mins(9)).await;
            assert_eq!(task.status().await, "failed");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn tk_21_the_ttl_counts_from_creation_and_what_came_of_a_task_is_kept_longer() {
    let options =
        TaskOptions::default().ttl(Duration::from_mins(10), Duration::from_mins(10)).retention(Duration::from_mins(30));
    let site = Site::with(memory(), options, [greeting()]);
    let task = site.start().await;
    task.until_asked(&["name"]).await;
    tokio::time::sleep(Duration::from_mins(9)).await;
    task.accept("name", json!({ "name": "Ada" })).await;
    assert_eq!(task.text().await, "Hello, Ada");
    tokio::time::sleep(Duration::from_mins(29)).await;
    assert_eq!(task.text().await, "Hello, Ada", "past its ttl, within the retention");
    tokio::time::sleep(Duration::from_secs(75)).await;
    let said = task.send("tasks/get", json!({})).await;
    assert_eq!(said["error"], json!({ "code": -32602, "message": "Unknown task" }), "it is removed");
    assert_eq!(site.tasks.view(None, 10).await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn tk_21_a_task_that_ends_early_is_kept_until_its_ttl_is_over() {
    let options =
        TaskOptions::default().ttl(Duration::from_mins(10), Duration::from_mins(10)).retention(Duration::ZERO);
    let site = Site::with(memory(), options, [greeting()]);
    let task = site.start().await;
    task.cancel().await;
    tokio::time::sleep(Duration::from_secs(9 * 60 + 50)).await;
    assert_eq!(task.status().await, "cancelled");
    tokio::time::sleep(Duration::from_secs(21)).await;
    assert_eq!(task.send("tasks/get", json!({})).await["error"]["message"], "Unknown task");
}

#[tokio::test]
async fn a_question_that_waits_for_ever_does_not_break_its_task() {
    let outside = Outside::default();
    let site = Site::of(tool(&outside, async |flow, _| {
        let ask = flow.elicit::<Name>("name", "Who?").valid_for(Duration::MAX);
        Ok(ask.await?.name)
    }));
    let task = site.start().await;
    let asks = task.until("input_required").await;
    assert!(asks["ttlMs"].as_u64().unwrap() < 1 << 53, "a number that every client can read: {asks}");
    task.accept("name", json!({ "name": "Ada" })).await;
    assert_eq!(task.text().await, "Ada");
}

#[tokio::test(start_paused = true)]
async fn a_visit_that_is_never_made_ends_with_the_ttl() {
    let outside = Outside::default();
    let options = TaskOptions::default().ttl(Duration::from_mins(10), Duration::from_mins(10));
    let never = tool(&outside, async |flow, outside| {
        let done = || async {
            outside.note("looked");
            false
        };
        flow.elicit_url("connect", "Please connect", "https://example.com/connect").until(done).await?;
        Ok("connected".into())
    });
    let site = Site::with(memory(), options, [never]);
    let task = site.start().await;
    task.until_asked(&["connect"]).await;
    task.deliver(json!({ "connect": { "action": "accept" } })).await;
    tokio::time::sleep(Duration::from_secs(599)).await;
    assert_eq!(task.status().await, "working");
    let looked = outside.count("looked");
    assert!((12..=16).contains(&looked), "{looked}: after 2 s, doubling to a minute");
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(task.get().await["error"]["message"], "The task's ttl is over");
    tokio::time::sleep(Duration::from_mins(5)).await;
    assert_eq!(outside.count("looked"), looked, "and it is looked for no more");
}

#[tokio::test(start_paused = true)]
async fn declining_a_visit_reaches_the_flow_and_its_key_stays_used() {
    let outside = Outside::default();
    let site = Site::of(tool(&outside, async |flow, _| {
        let visit =
            flow.elicit_url("connect", "Please connect", "https://example.com/connect").until(|| async { false });
        let visited = visit.await;
        let why: Name = flow.elicit("why", "Why not?").await?;
        Ok(format!("{} {}", visited.is_err(), why.name))
    }));
    let task = site.start().await;
    task.until_asked(&["connect"]).await;
    task.deliver(json!({ "connect": { "action": "decline" } })).await;
    task.until_asked(&["why"]).await;
    task.deliver(json!({ "connect": { "action": "accept" } })).await;
    assert_eq!(task.asked().await, ["why"]);
    task.accept("why", json!({ "name": "later" })).await;
    assert_eq!(task.text().await, "true later");
}
