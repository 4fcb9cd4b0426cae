//! Spans: one a call, with one a round within it. A program of its own, since spans are known to a whole process.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::fmt::Write;
use std::sync::{Arc, Mutex};

use mrtr_client::Client;
use mrtr_client::testing::Script;
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

#[tokio::test]
async fn a_call_has_a_span_and_each_round_one_within_it() {
    let spans = Spans::default();
    let _guard = tracing::subscriber::set_default(spans.clone());
    let asks = json!({ "resultType": "input_required", "requestState": "sealed",
        "inputRequests": { "r": { "method": "roots/list" } } });
    let script = Script::new().result(asks).result(json!({ "resultType": "complete", "content": [] }));
    let client = Client::builder(script).on_roots(|_| async { Ok::<_, String>(Vec::new()) }).build();
    client.call_tool("report", json!({ "secret": "hush" })).await.unwrap();
    let opened = spans.opened.lock().unwrap();
    let tree: Vec<_> = opened.iter().map(|span| (span.name, span.parent)).collect();
    assert_eq!(tree, [("call", None), ("round", Some(1)), ("round", Some(1))]);
    assert!(opened[0].fields.contains("report") && opened[0].fields.contains("a script"), "{}", opened[0].fields);
    assert!(opened[2].fields.contains("round=2"), "{}", opened[2].fields);
    assert!(opened.iter().all(|span| !span.fields.contains("hush") && !span.fields.contains("sealed")));
}

/// Notes the spans that are opened, each with the one it is opened in, and all that they are told.
#[derive(Clone, Default)]
struct Spans {
    opened: Arc<Mutex<Vec<Opened>>>,
    entered: Arc<Mutex<Vec<u64>>>,
}

struct Opened {
    name: &'static str,
    parent: Option<u64>,
    fields: String,
}

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target().starts_with("mrtr_client")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = String::new();
        span.record(&mut Fields(&mut fields));
        let parent = self.entered.lock().unwrap().last().copied();
        let mut opened = self.opened.lock().unwrap();
        opened.push(Opened { name: span.metadata().name(), parent, fields });
        Id::from_u64(opened.len() as u64)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, span: &Id) {
        self.entered.lock().unwrap().push(span.into_u64());
    }

    fn exit(&self, _: &Id) {
        self.entered.lock().unwrap().pop();
    }
}
