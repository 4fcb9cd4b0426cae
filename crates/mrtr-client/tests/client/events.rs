//! The events of calls that a user interface sees: rounds, questions, progress and logs; and trace context.

use std::time::Duration;

use futures_util::StreamExt;
use mrtr_client::testing::Script;
use mrtr_client::{Client, EventKind, Limits, TraceContext};
use mrtr_schema::LoggingLevel;
use mrtr_server::{Failure, Flow, Server, Tool};
use serde_json::json;

use super::common::{InMemory, Login, asks_roots, complete, rooted, state_only, text};

async fn copy(flow: Flow) -> Result<String, Failure> {
    let login: Login = flow.elicit("login", "Who are you?").await?;
    for file in 1..=2 {
        flow.progress(file, Some(2), format!("file {file}")).await;
    }
    flow.log(LoggingLevel::Warning, "the disk is nearly full").await;
    flow.log(LoggingLevel::Debug, "nobody wants to know").await;
    Ok(format!("copied by {}", login.name))
}

/// An event as one line.
fn line(kind: &EventKind) -> String {
    match kind {
        EventKind::Round(round) => format!("round {round}"),
        EventKind::Asked(keys) => format!("asked {keys:?}"),
        EventKind::Answered(key) => format!("answered {key}"),
        EventKind::BackOff(_) => "put off".to_owned(),
        EventKind::Task(id) => format!("task {id}"),
        EventKind::Progress(progress) => format!("progress {}", progress.message.as_deref().unwrap_or_default()),
        EventKind::Log(message) => format!("log {}", message.data.as_str()),
        EventKind::Done => "done".to_owned(),
        EventKind::Abandoned => "abandoned".to_owned(),
        other => format!("{other:?}"),
    }
}

#[tokio::test]
async fn rounds_questions_progress_and_logs_are_seen_in_order() {
    let server = Server::builder("copier", "1.0.0").tool(Tool::new("copy", copy)).build().unwrap();
    let client = Client::builder(InMemory::new(server))
        .log_level(LoggingLevel::Info)
        .on_elicit(|form| async move { form.accept(&json!({ "name": "Ada" })) })
        .build();
    let events = client.events();
    let result = client.call_tool("copy", json!({})).await.unwrap();
    assert_eq!(text(&result), "copied by Ada");
    drop(client);
    let seen: Vec<_> = events.collect().await;
    assert!(seen.iter().all(|event| event.call == 1 && event.name.as_deref() == Some("copy")));
    let lines: Vec<_> = seen.iter().map(|event| line(&event.kind)).collect();
    assert_eq!(
        lines,
        [
            "round 1",
            r#"asked ["login"]"#,
            "answered login",
            "round 2",
            "progress file 1",
            "progress file 2",
            r#"log "the disk is nearly full""#,
            "done"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_put_off_or_becomes_a_task_says_so_once() {
    let task = |status: &str| {
        json!({ "taskId": "t-1", "status": status, "ttlMs": null, "createdAt": "2026-08-01T12:00:00Z",
            "lastUpdatedAt": "2026-08-01T12:00:00Z", "result": { "content": [] } })
    };
    let mut created = task("working");
    created["resultType"] = "task".into();
    let script = Script::new()
        .busy(None)
        .result(state_only("s"))
        .result(asks_roots("r", None))
        .result(created)
        .result(task("working"))
        .result(task("working"))
        .result(task("completed"));
    let client = rooted(script);
    let events = client.events();
    client.resume(client.prepare_tool("t", json!({})).unwrap()).await.unwrap();
    drop(client);
    let lines: Vec<_> = events.map(|event| line(&event.kind)).collect().await;
    assert_eq!(lines, ["round 1", "put off", "put off", r#"asked ["r"]"#, "answered r", "round 2", "task t-1", "done"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_says_so() {
    let client = Client::builder(Script::new().silence()).build();
    let events = client.events();
    let dropped = tokio::time::timeout(Duration::from_secs(1), client.call_tool("t", json!({}))).await;
    assert!(dropped.is_err());
    drop(client);
    let lines: Vec<_> = events.map(|event| line(&event.kind)).collect().await;
    assert_eq!(lines, ["round 1", "abandoned"]);
}

#[tokio::test]
async fn progress_is_asked_for_only_while_somebody_watches() {
    let script = Script::new().result(complete("a")).result(complete("b")).result(complete("c"));
    let client = rooted(script.clone());
    client.call_tool("t", json!({})).await.unwrap();
    let events = client.events();
    client.call_tool("t", json!({})).await.unwrap();
    drop(events);
    client.call_tool("t", json!({})).await.unwrap();
    let tokens: Vec<_> = script.sent().iter().map(|sent| sent.as_str().contains("progressToken")).collect();
    assert_eq!(tokens, [false, true, false]);
}

#[tokio::test]
async fn each_request_says_where_it_stands_in_a_trace() {
    let script = Script::new().result(asks_roots("r", None)).result(complete("done"));
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let client = Client::builder(script.clone())
        .on_roots(|_| async { Ok::<_, String>(Vec::new()) })
        .trace_context(move || TraceContext {
            traceparent: Some(parent.to_owned()),
            tracestate: Some("vendor=1".to_owned()),
            baggage: None,
        })
        .build();
    client.call_tool("t", json!({})).await.unwrap();
    for sent in super::common::sent(&script) {
        assert_eq!(sent["params"]["_meta"]["traceparent"], parent);
        assert_eq!(sent["params"]["_meta"]["tracestate"], "vendor=1");
        assert!(sent["params"]["_meta"].get("baggage").is_none());
    }
}

#[tokio::test]
async fn a_question_is_seen_however_long_its_key_is() {
    let key = "k".repeat(Limits::default().event_bytes / 4);
    let client = rooted(Script::new().result(asks_roots(&key, None)).result(complete("done")));
    let events = client.events();
    client.call_tool("t", json!({})).await.unwrap();
    drop(client);
    let seen: Vec<_> = events.map(|event| event.kind).collect().await;
    assert!(seen.iter().any(|kind| matches!(kind, EventKind::Asked(keys) if keys == &[&*key])), "{}", seen.len());
}
