//! Lists of tools that mean harm: they cost what their length costs, are not rewritten, and are not kept for ever.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use mrtr_client::{CallErrorKind, Client};
use mrtr_http::HttpTransport;
use serde_json::{Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::support::scripted::{Answer, Asked, Scripted};

fn client(scripted: &Scripted) -> Client {
    Client::builder(HttpTransport::new(&scripted.url()).unwrap()).build()
}

/// Starts a server that lists these tools, as they are written, and answers every call at once.
async fn listing(tools: String) -> Scripted {
    Scripted::start(move |_, asked| {
        let id = &asked.message["id"];
        Answer::json(&match asked.message["method"].as_str().unwrap() {
            "tools/list" => {
                format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","tools":{tools}}}}}"#)
            }
            _ => asked.reply(json!({ "result": { "resultType": "complete", "content": [] } })),
        })
    })
    .await
}

/// A tool with so many annotated arguments.
fn annotated(name: &str, arguments: usize) -> Value {
    let properties: serde_json::Map<_, _> = (0..arguments)
        .map(|number| (format!("a{number}"), json!({ "type": "string", "x-mcp-header": format!("Argument-{number}") })))
        .collect();
    json!({ "name": name, "inputSchema": { "type": "object", "properties": properties } })
}

/// Counts the tools that a client finds in this list. It runs on a thread of its own, and fails if it takes as long as
/// only a quadratic search would.
fn count_within_a_minute(tools: String) -> usize {
    let (done, count) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let count = runtime.block_on(async { client(&listing(tools).await).list_tools().await.unwrap().len() });
        done.send(count)
    });
    count.recv_timeout(Duration::from_mins(1)).expect("it takes far too long, or has panicked")
}

#[test]
fn ht_3_a_list_with_very_many_annotations_is_looked_through_in_one_pass() {
    let tools = json!([annotated("huge", 60_000), annotated("small", 1)]).to_string();
    assert!(tools.len() > 3_500_000, "{}", tools.len());
    assert_eq!(count_within_a_minute(tools), 2);
}

#[test]
fn ht_3_what_stands_above_many_arguments_is_kept_once() {
    // Fifty levels with long names, and a few thousand arguments below them: written out for each, the names alone
    // would take many gigabytes.
    let leaves = annotated("", 5_000)["inputSchema"].clone();
    let deep = (0..50).fold(
        leaves,
        |below, level| json!({ "type": "object", "properties": { format!("{level}{}", "n".repeat(60_000)): below } }),
    );
    let tools = json!([{ "name": "deep", "inputSchema": deep }]).to_string();
    assert_eq!(count_within_a_minute(tools), 1);
}

#[tokio::test]
async fn ht_3_a_tool_that_is_left_out_leaves_the_others_as_they_came() {
    let wrong = r#"{"name": "wrong", "inputSchema": {"type": "object", "properties": {"a": {"x-mcp-header": "A"}}}}"#;
    let exact = r#"{"type": "object", "default": [0.10000000000000000000001, 123456789012345678901234567890, 1e400, "\u0041"]}"#;
    let first = format!(r#"{{"name": "first", "inputSchema": {exact}}}"#);
    let last = format!(r#"{{"name": "last", "inputSchema": {exact}}}"#);
    for list in [
        format!("[{wrong} , {first},\n{last}]"),
        format!("[{first},{wrong},{wrong},{last}]"),
        format!("[ {first}, {last}, {wrong} ]"),
    ] {
        let tools = client(&listing(list.clone()).await).list_tools().await.unwrap();
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["first", "last"], "{list}");
        assert!(tools.iter().all(|tool| tool.input_schema.as_object().as_str() == exact), "{tools:?}");
    }
    assert!(client(&listing(format!("[{wrong}]")).await).list_tools().await.unwrap().is_empty());
}

#[tokio::test]
async fn ht_3_a_key_that_stands_twice_is_refused_wherever_it_stands() {
    let wrong = r#"{"name":"wrong","inputSchema":{"type":"object","properties":{"a":{"x-mcp-header":"A"}}}}"#;
    let twice =
        r#"{"name":"t","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"readOnlyHint":false}}"#;
    let both =
        r#"{"name":"t","inputSchema":{"type":"object","properties":{"a":{"x-mcp-header":"A"}},"x":{"k":1,"k":2}}}"#;
    for list in [format!("[{wrong},{twice}]"), format!("[{both}]"), format!("[{twice}]")] {
        let error = client(&listing(list.clone()).await).list_tools().await.unwrap_err();
        assert!(error.to_string().contains("twice"), "{list}: {error}");
        assert!(matches!(error.kind, CallErrorKind::Stopped { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn ht_3_more_arguments_than_headers_can_hold_are_refused() {
    const MANY: usize = 40_000;
    let scripted = listing(json!([annotated("huge", MANY)]).to_string()).await;
    let client = client(&scripted);
    client.list_tools().await.unwrap();
    let arguments = |count: usize| (0..count).map(|n| (format!("a{n}"), json!("x"))).collect::<serde_json::Map<_, _>>();
    let error = client.call_tool("huge", arguments(MANY)).await;
    // It may be too much to be kept at all: then it is sent without headers, and the server refuses it.
    assert_eq!(scripted.asked().iter().filter(|asked| !params(asked).is_empty()).count(), 0, "{error:?}");

    let most = HttpTransport::MIRRORED_ARGUMENTS;
    let scripted = listing(json!([annotated("large", most + 1)]).to_string()).await;
    let client = self::client(&scripted);
    client.list_tools().await.unwrap();
    client.call_tool("large", arguments(10)).await.unwrap();
    let error = client.call_tool("large", arguments(most + 1)).await.unwrap_err();
    assert!(error.to_string().contains(&format!("at most {most} are sent")), "{error}");
    assert!(error.pending().is_some());
    let asked = scripted.asked();
    assert_eq!((asked.len(), params(&asked[1]).len()), (2, 10), "nothing was sent");
}

fn params(asked: &Asked) -> Vec<&str> {
    asked.headers.iter().filter(|(name, _)| name.starts_with("mcp-param-")).map(|(name, _)| name.as_str()).collect()
}

#[tokio::test]
async fn ht_3_what_is_known_of_tools_is_bounded_and_the_oldest_is_forgotten() {
    let page = |first: usize| {
        let tools: Vec<_> = (first..first + 400).map(|number| annotated(&format!("tool-{number}"), 10)).collect();
        json!({ "resultType": "complete", "tools": tools, "content": [] })
    };
    let scripted = Scripted::start(move |number, asked| {
        let first = if asked.message["method"] == "tools/list" { (number - 1) * 400 } else { 0 };
        Answer::json(&asked.reply(json!({ "result": page(first) })))
    })
    .await;
    let client = client(&scripted);
    for _ in 0..5 {
        client.clear_cache();
        client.list_tools().await.unwrap();
    }
    // Twenty thousand arguments, of which a mebibyte does not hold all.
    for tool in ["tool-0", "tool-1999"] {
        client.call_tool(tool, json!({ "a0": "x" })).await.unwrap();
    }
    let asked = scripted.asked();
    let sent: Vec<_> = asked[5..].iter().map(|asked| params(asked).len()).collect();
    assert_eq!(sent, [0, 1], "the first was forgotten, and the last is known");
    assert_eq!(HttpTransport::ANNOTATION_BYTES, 1 << 20);
}

/// Notes the lines of the log.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<Vec<String>>>);

struct Line<'a>(&'a mut String);

impl Visit for Line<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}

impl Subscriber for Logged {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && metadata.target().starts_with("mrtr_http")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = String::new();
        event.record(&mut Line(&mut line));
        self.0.lock().unwrap().push(line);
    }

    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn ht_3_a_log_says_which_tools_are_left_out_briefly_and_in_harmless_words() {
    let logged = Logged::default();
    let _guard = tracing::subscriber::set_default(logged.clone());
    let name = "\u{1b}[2J\u{202e}\u{9b}".repeat(10_000);
    let wrong =
        json!({ "name": name, "inputSchema": { "type": "object", "properties": { "a": { "x-mcp-header": "A" } } } });
    let scripted = listing(json!(vec![wrong; 50]).to_string()).await;
    assert!(client(&scripted).list_tools().await.unwrap().is_empty());
    let lines = logged.0.lock().unwrap().clone();
    assert_eq!(lines.len(), 11, "ten of them, and how many more");
    assert!(lines[0].contains("left out") && lines[10].contains("more=40"), "{lines:?}");
    let acts = |char: char| char.is_control() || char == '\u{202e}';
    assert!(lines.iter().all(|line| line.len() < 3000 && !line.chars().any(acts)), "{lines:?}");
}
