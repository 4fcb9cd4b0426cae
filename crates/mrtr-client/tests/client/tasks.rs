//! Tasks of both families: followed, answered, cancelled, put down and picked up.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mrtr_client::testing::Script;
use mrtr_client::{CallErrorKind, CancelOutcome, Client, Limits, PendingTask, RoundOutcome, Stop};
use mrtr_schema::{ErrorCode, ErrorObject, Revision};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::common::{asks_roots, calls, complete, rooted, sent, text};

/// A task of the extension, as `tasks/get` shows it.
fn task(status: &str, more: Value) -> Value {
    let mut task = json!({ "resultType": "complete", "taskId": "t-1", "status": status, "ttlMs": 60_000,
        "createdAt": "2026-08-01T12:00:00Z", "lastUpdatedAt": "2026-08-01T12:00:00Z", "pollIntervalMs": 500 });
    let Value::Object(more) = more else { panic!("not an object") };
    task.as_object_mut().unwrap().extend(more);
    task
}

fn created() -> Value {
    task("working", json!({ "resultType": "task" }))
}

fn asks(keys: &[&str]) -> Value {
    let requests: serde_json::Map<_, _> =
        keys.iter().map(|key| ((*key).to_owned(), json!({ "method": "roots/list" }))).collect();
    task("input_required", json!({ "inputRequests": requests }))
}

fn completed(text: &str) -> Value {
    task("completed", json!({ "result": complete(text) }))
}

fn acknowledged() -> Value {
    json!({ "resultType": "complete" })
}

/// A client that notes which keys it was asked.
fn noting(script: &Script) -> (Client, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&asked);
    let client = Client::builder(script.clone())
        .on_roots(move |context| {
            noted.lock().unwrap().push(context.key);
            async { Ok::<_, String>(Vec::new()) }
        })
        .build();
    (client, asked)
}

fn methods(script: &Script) -> Vec<String> {
    calls(script).into_iter().map(|(method, _)| method).collect()
}

#[tokio::test(start_paused = true)]
async fn a_task_is_looked_at_as_often_as_it_wants_and_answered() {
    let script = Script::new()
        .result(created())
        .result(task("working", json!({ "pollIntervalMs": 3000 })))
        .result(asks(&["a", "b"]))
        .result(acknowledged())
        .result(task("working", json!({})))
        .result(completed("done"));
    let (client, _) = noting(&script);
    let begun = Instant::now();
    assert_eq!(text(&client.call_tool("t", json!({})).await.unwrap()), "done");
    assert_eq!(begun.elapsed(), Duration::from_millis(500 + 3000 + 500 + 500));
    assert_eq!(methods(&script), ["tools/call", "tasks/get", "tasks/get", "tasks/update", "tasks/get", "tasks/get"]);
    let answers = json!({ "a": { "roots": [] }, "b": { "roots": [] } });
    assert_eq!(calls(&script)[3].1, json!({ "taskId": "t-1", "inputResponses": answers }));
    let meta = &sent(&script)[0]["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert!(meta["extensions"]["io.modelcontextprotocol/tasks"].is_object(), "the client says that it knows tasks");
}

#[tokio::test(start_paused = true)]
async fn nobody_is_shown_the_same_key_twice() {
    let script = Script::new()
        .result(created())
        .result(asks(&["a"]))
        .result(acknowledged())
        .result(asks(&["a"]))
        .result(asks(&["a", "b"]))
        .result(acknowledged())
        .result(completed("done"));
    let (client, asked) = noting(&script);
    client.call_tool("t", json!({})).await.unwrap();
    assert_eq!(*asked.lock().unwrap(), ["a", "b"]);
    assert_eq!(calls(&script)[5].1["inputResponses"], json!({ "b": { "roots": [] } }));
}

#[tokio::test(start_paused = true)]
async fn tk_9_a_call_may_ask_first_and_then_become_a_task() {
    let script = Script::new()
        .result(asks_roots("first", Some("sealed")))
        .result(created())
        .result(asks(&["second"]))
        .result(acknowledged())
        .result(completed("done"));
    let (client, asked) = noting(&script);
    client.call_tool("t", json!({})).await.unwrap();
    assert_eq!(*asked.lock().unwrap(), ["first", "second"]);
    assert!(calls(&script)[2..].iter().all(|(_, params)| params.get("requestState").is_none()));
}

#[tokio::test(start_paused = true)]
async fn a_task_that_failed_or_was_cancelled_says_so() {
    let error = ErrorObject::new(ErrorCode::INTERNAL_ERROR, "it broke");
    let script = Script::new().result(created()).result(task("failed", json!({ "error": error })));
    let failed = rooted(script).call_tool("t", json!({})).await.unwrap_err();
    assert!(matches!(&failed.kind, CallErrorKind::Server { error, .. } if error.message == "it broke"), "{failed}");

    let script = Script::new().result(created()).result(task("cancelled", json!({})));
    let cancelled = rooted(script).call_tool("t", json!({})).await.unwrap_err();
    assert!(matches!(cancelled.kind, CallErrorKind::Stopped { stop: Stop::TaskCancelled, .. }), "{cancelled}");
}

#[tokio::test(start_paused = true)]
async fn a_task_goes_on_in_another_process() {
    let script = Script::new().result(created()).result(asks(&["a"])).result(acknowledged()).unreachable();
    let error = rooted(script).call_tool("t", json!({})).await.unwrap_err();
    let saved = serde_json::to_string(&error.into_pending().unwrap()).unwrap();

    let script = Script::new().result(asks(&["a", "b"])).result(acknowledged()).result(completed("done"));
    let (client, asked) = noting(&script);
    let result = client.resume(serde_json::from_str(&saved).unwrap()).await.unwrap();
    assert_eq!(result.text(), "done");
    assert_eq!(*asked.lock().unwrap(), ["b"], "the other process has seen to `a`");
}

#[tokio::test(start_paused = true)]
async fn a_task_alone_can_be_saved_and_followed() {
    let script = Script::new().result(created()).unreachable();
    let error = rooted(script).call_tool("t", json!({})).await.unwrap_err();
    let task = error.pending().unwrap().task().unwrap();
    assert_eq!(task.ttl(), Some(Duration::from_mins(1)));
    assert_eq!(task.created_at(), Some("2026-08-01T12:00:00Z"));
    let saved = serde_json::to_string(task).unwrap();
    assert!(serde_json::from_str::<PendingTask>(&saved.replace(r#""format":1"#, r#""format":2"#)).is_err());

    let script = Script::new().result(asks(&["a"])).result(acknowledged()).result(completed("done"));
    let result = rooted(script).follow(serde_json::from_str(&saved).unwrap()).await.unwrap();
    assert!(result.as_str().contains("done"));
}

#[tokio::test(start_paused = true)]
async fn a_task_is_driven_by_hand_as_well() {
    let script = Script::new().result(created()).result(asks(&["a"])).result(acknowledged()).result(completed("done"));
    let client = rooted(script.clone());
    let RoundOutcome::Task(pending, pause) = client.call_tool_once("t", json!({})).await.unwrap() else {
        panic!("a task")
    };
    assert_eq!(pause, Duration::from_millis(500));
    let RoundOutcome::Asked(mut pending) = client.advance(pending).await.unwrap() else { panic!("it asks") };
    pending.answer("a", &mrtr_schema::roots::ListRootsResult::new([])).unwrap();
    let RoundOutcome::Task(pending, _) = client.advance(pending).await.unwrap() else { panic!("it goes on") };
    let RoundOutcome::Complete(result) = client.advance(pending).await.unwrap() else { panic!("it is done") };
    assert!(result.as_str().contains("done"));
}

#[tokio::test(start_paused = true)]
async fn answers_that_a_busy_server_did_not_take_are_told_apart_from_those_it_has() {
    let script = Script::new().result(created()).result(asks(&["a"])).busy(None).result(acknowledged());
    let client = rooted(script.clone());
    let RoundOutcome::Task(pending, _) = client.call_tool_once("t", json!({})).await.unwrap() else { panic!("a task") };
    let RoundOutcome::Asked(mut pending) = client.advance(pending).await.unwrap() else { panic!("it asks") };
    pending.answer("a", &mrtr_schema::roots::ListRootsResult::new([])).unwrap();
    let RoundOutcome::BackOff(pending, _) = client.advance(pending).await.unwrap() else { panic!("it is busy") };
    assert!(matches!(client.advance(pending).await.unwrap(), RoundOutcome::Task(..)));
    assert_eq!(methods(&script), ["tools/call", "tasks/get", "tasks/update", "tasks/update"]);
}

#[tokio::test(start_paused = true)]
async fn tk_8_a_client_that_will_not_answer_can_cancel() {
    let script = Script::new().result(created()).result(asks(&["a"])).result(acknowledged());
    let client = Client::builder(script.clone()).on_roots(|_| async { Err::<Vec<_>, _>("no") }).build();
    let error = client.call_tool("t", json!({})).await.unwrap_err();
    client.cancel_task(error.pending().unwrap().task().unwrap()).await.unwrap();
    assert_eq!(calls(&script)[2], ("tasks/cancel".to_owned(), json!({ "taskId": "t-1" })));
}

#[tokio::test(start_paused = true)]
async fn looks_and_rounds_of_a_task_have_an_end_and_can_go_on() {
    let limits = Limits { polls: 2, ..Limits::default() };
    let script = Script::new().result(created()).result(task("working", json!({}))).result(task("working", json!({})));
    let client = Client::builder(script.clone()).limits(limits).build();
    let error = client.call_tool("t", json!({})).await.unwrap_err();
    assert!(matches!(error.kind, CallErrorKind::Stopped { stop: Stop::TooManyPolls(2), .. }), "{error}");
    assert_eq!(script.sent().len(), 3, "no look is made whose answer is thrown away");
    let pending = error.into_pending().unwrap();
    let client = Client::builder(Script::new().result(completed("done"))).limits(limits).build();
    assert!(client.resume(pending).await.is_ok(), "one more look");

    let limits = Limits { rounds: 2, ..Limits::default() };
    let script = Script::new()
        .result(created())
        .result(asks(&["a"]))
        .result(acknowledged())
        .result(asks(&["b"]))
        .result(asks(&["b"]))
        .result(acknowledged())
        .result(completed("done"));
    let client = Client::builder(script).limits(limits).on_roots(|_| async { Ok::<_, String>(Vec::new()) }).build();
    let error = client.call_tool("t", json!({})).await.unwrap_err();
    assert!(matches!(error.kind, CallErrorKind::Stopped { stop: Stop::TooManyRounds(2), .. }), "{error}");
    assert!(client.resume(error.into_pending().unwrap()).await.is_ok(), "one more round");
}

#[tokio::test(start_paused = true)]
async fn a_poll_interval_is_kept_within_reason() {
    for (wanted, taken) in [(0, Duration::from_millis(20)), ((1_u64 << 53) - 1, Duration::from_hours(1))] {
        let script = Script::new()
            .result(task("working", json!({ "resultType": "task", "pollIntervalMs": wanted })))
            .result(completed("done"));
        let begun = Instant::now();
        rooted(script).call_tool("t", json!({})).await.unwrap();
        assert_eq!(begun.elapsed(), taken);
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_is_polled_no_faster_than_the_caller_allows() {
    let wants = |interval: u64| json!({ "resultType": "task", "pollIntervalMs": interval });
    for (wanted, taken) in [(100, Duration::from_secs(5)), (7000, Duration::from_secs(7))] {
        let script = Script::new().result(task("working", wants(wanted))).result(completed("done"));
        let limits = Limits { least_poll_interval: Duration::from_secs(5), ..Limits::default() };
        let begun = Instant::now();
        Client::builder(script).limits(limits).build().call_tool("t", json!({})).await.unwrap();
        assert_eq!(begun.elapsed(), taken);
    }
}

#[tokio::test(start_paused = true)]
async fn tk_8_a_caller_that_gives_up_cancels_its_task_and_one_that_put_it_down_does_not() {
    let script = Script::new().result(created()).result(acknowledged());
    let client = Client::builder(script.clone()).build();
    let given_up = tokio::time::timeout(Duration::from_millis(100), client.call_tool("t", json!({}))).await;
    assert!(given_up.is_err(), "it was polling");
    while script.sent().len() < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(methods(&script), ["tools/call", "tasks/cancel"]);

    let script = Script::new().result(created()).result(task("working", json!({})));
    let client = Client::builder(script.clone()).build();
    let call = client.prepare_tool("t", json!({})).unwrap();
    assert!(tokio::time::timeout(Duration::from_millis(100), client.resume(call)).await.is_err());
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(methods(&script), ["tools/call"], "the caller has the call, and may go on with it");
}

#[tokio::test(start_paused = true)]
async fn a_look_that_shows_another_task_is_no_reply() {
    let script = Script::new().result(created()).result(task("completed", json!({ "taskId": "t-2", "result": {} })));
    let error = rooted(script).call_tool("t", json!({})).await.unwrap_err();
    assert!(matches!(error.kind, CallErrorKind::Stopped { stop: Stop::BadReply(_), .. }), "{error}");

    let script = Script::new().result(created()).result(task("completed", json!({ "result": asks_roots("a", None) })));
    let error = rooted(script).call_tool("t", json!({})).await.unwrap_err();
    assert!(
        matches!(error.kind, CallErrorKind::Stopped { stop: Stop::BadReply(_), .. }),
        "never back to asking: {error}"
    );
}

/// A task of the older revisions.
fn core(status: &str) -> Value {
    json!({ "taskId": "t-1", "status": status, "ttl": 60_000, "pollInterval": 500,
        "createdAt": "2026-01-27T03:32:48Z", "lastUpdatedAt": "2026-01-27T03:32:48Z" })
}

fn core_asks(revision: Revision, state: Option<&str>) -> Value {
    let form = json!({ "type": "object", "properties": {} });
    let mut asks = json!({ "inputRequests": { "a": { "method": "elicitation/create",
        "params": { "message": "Well?", "requestedSchema": form } } } });
    if revision == Revision::Sep2322 {
        asks["resultType"] = "input_required".into();
    }
    if let Some(state) = state {
        asks["requestState"] = state.into();
    }
    asks
}

#[tokio::test(start_paused = true)]
async fn a_task_of_the_older_revisions_is_followed_through_its_result() {
    for revision in [Revision::Draft202602, Revision::Sep2322] {
        let script = Script::new()
            .result(json!({ "task": core("working") }))
            .result(core("working"))
            .result(core("input_required"))
            .result(core_asks(revision, Some("sealed")))
            .result(json!({}))
            .result(core("completed"))
            .result(json!({ "content": [{ "type": "text", "text": "done" }] }));
        let client = Client::builder(script.clone())
            .revision(revision)
            .on_elicit(|form| async move { form.accept(&json!({})) })
            .build();
        let call = client.prepare_tool("t", json!({})).unwrap().as_task(Duration::from_mins(1));
        let result = client.resume(call).await.unwrap();
        assert_eq!(result.text(), "done");
        let looks = ["tasks/get", "tasks/get", "tasks/result", "tasks/input_response", "tasks/get", "tasks/result"];
        assert_eq!(methods(&script)[1..], looks);
        assert_eq!(calls(&script)[0].1["task"], json!({ "ttl": 60_000 }));
        let answer = &sent(&script)[4]["params"];
        assert_eq!(answer["_meta"]["io.modelcontextprotocol/related-task"], json!({ "taskId": "t-1" }));
        assert_eq!(answer["inputResponses"], json!({ "a": { "action": "accept", "content": {} } }));
        assert_eq!(answer["requestState"], "sealed");
    }
}

#[tokio::test]
async fn a_task_of_the_older_revisions_is_cancelled_in_its_own_family() {
    let script = Script::new().result(core("cancelled")).error(ErrorObject::new(ErrorCode::INVALID_PARAMS, "over"));
    let client = rooted(script.clone());
    let task = PendingTask::new(Revision::Sep2322, "t-1");
    client.cancel_task(&task).await.unwrap();
    assert!(sent(&script)[0]["params"].get("_meta").is_none(), "the revision is the task's, not the client's");
    let error = client.cancel_task(&task).await.unwrap_err();
    assert!(
        matches!(&error.kind, CallErrorKind::Server { error, .. } if error.code == ErrorCode::INVALID_PARAMS),
        "{error}"
    );
}

#[tokio::test]
async fn a_caller_is_told_whether_a_cancellation_came_in_time() {
    let done = task("completed", json!({ "result": { "resultType": "complete", "content": [] } }));
    let over = || ErrorObject::new(ErrorCode::INVALID_PARAMS, "The task has ended");
    let handle = PendingTask::new(Revision::V2026_07_28, "t-1");
    for (script, outcome) in [
        (Script::new().result(acknowledged()).result(task("cancelled", json!({}))), CancelOutcome::Cancelled),
        (Script::new().result(acknowledged()).result(done.clone()), CancelOutcome::TooLate),
        (Script::new().result(acknowledged()).result(task("working", json!({}))), CancelOutcome::Requested),
        (Script::new().result(acknowledged()).unreachable(), CancelOutcome::Requested),
        (Script::new().error(over()).result(done), CancelOutcome::TooLate),
    ] {
        assert_eq!(rooted(script.clone()).cancel_task(&handle).await.unwrap(), outcome);
        assert_eq!(methods(&script), ["tasks/cancel", "tasks/get"]);
    }
    let core_handle = PendingTask::new(Revision::Sep2322, "t-1");
    for (script, outcome) in [
        (Script::new().result(core("cancelled")), CancelOutcome::Cancelled),
        (Script::new().error(over()).result(core("completed")), CancelOutcome::TooLate),
    ] {
        assert_eq!(rooted(script).cancel_task(&core_handle).await.unwrap(), outcome);
    }
}

#[tokio::test]
async fn a_task_that_the_server_does_not_know_is_explained() {
    let unknown = || ErrorObject::new(ErrorCode::INVALID_PARAMS, "Unknown task");
    let handle = PendingTask::new(Revision::V2026_07_28, "t-1");
    let hint = "the server answered: Unknown task (-32602); most likely the server no longer has the task";
    let error = rooted(Script::new().error(unknown())).follow(handle.clone()).await.unwrap_err();
    assert!(error.to_string().starts_with(hint), "{error}");
    let error = rooted(Script::new().error(unknown()).error(unknown())).cancel_task(&handle).await.unwrap_err();
    assert!(error.to_string().starts_with(hint), "{error}");
    // The call itself failed in the task, which the server knows.
    let failed = task("failed", json!({ "error": { "code": -32602, "message": "Unknown port" } }));
    let error = rooted(Script::new().result(failed)).follow(handle).await.unwrap_err();
    assert_eq!(error.to_string(), "the server answered: Unknown port (-32602)");
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_met_again_still_has_the_name_of_its_tool() {
    let script = Script::new().result(created()).result(task("working", json!({})));
    let client = rooted(script);
    let RoundOutcome::Task(pending, _) = client.call_tool_once("report", json!({})).await.unwrap() else {
        panic!("a task")
    };
    let handle = pending.task().unwrap();
    assert_eq!(handle.name(), Some("report"));
    let saved = serde_json::to_string(handle).unwrap();
    let older = saved.replace(r#","name":"report""#, "");
    assert_ne!(saved, older);
    for (saved, name) in [(saved, Some("report")), (older, None)] {
        let script = Script::new().result(asks(&["a"])).result(acknowledged()).result(completed("done"));
        let met = Client::builder(script)
            .on_roots(move |context| async move {
                assert_eq!(context.name.as_deref(), name);
                Ok::<_, String>(Vec::new())
            })
            .build();
        let handle: PendingTask = serde_json::from_str(&saved).unwrap();
        assert_eq!(handle.name(), name);
        met.follow(handle).await.unwrap();
    }
}
