//! What these tests share: a server of one tool, what its steps did, and the log.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use mrtr_server::testing::{Client, Conversation};
use mrtr_server::{IntoHandler, Server, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Id, Metadata, Subscriber, span};

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Name {
    pub(crate) name: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Age {
    pub(crate) years: u64,
}

/// A client of a server whose one tool is this handler.
pub(crate) fn client<M>(handler: impl IntoHandler<M>) -> Client {
    client_of(tool(handler))
}

pub(crate) fn tool<M>(handler: impl IntoHandler<M>) -> Tool {
    Tool::new("tool", handler)
}

pub(crate) fn client_of(tool: Tool) -> Client {
    Client::new(&Server::builder("test", "1.0.0").tool(tool).build().unwrap())
}

/// Calls the one tool without arguments.
pub(crate) async fn call<M>(handler: impl IntoHandler<M>) -> Conversation {
    begin(&client(handler)).await
}

pub(crate) async fn begin(client: &Client) -> Conversation {
    client.call_tool("tool", json!({})).await
}

/// What happened outside the flow, in order. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Effects(Arc<Mutex<Vec<String>>>);

impl Effects {
    pub(crate) fn happen(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    /// Something that happens, as a step does it.
    #[expect(clippy::unused_async, reason = "work is a future")]
    pub(crate) async fn work(&self, what: &str) -> Result<String, std::io::Error> {
        self.happen(what);
        Ok(what.to_owned())
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

/// What is logged on this thread while it lives.
pub(crate) struct Log {
    lines: Effects,
    _guard: DefaultGuard,
}

impl Log {
    pub(crate) fn start() -> Self {
        let lines = Effects::default();
        Self { _guard: tracing::subscriber::set_default(Lines(lines.clone())), lines }
    }

    pub(crate) fn text(&self) -> String {
        self.lines.all().join("\n")
    }
}

struct Lines(Effects);

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("mrtr_server")
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.happen(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        write!(self.0, " {field}={value}").unwrap();
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

/// Makes sure that the caller learns nothing but a reference, and that the log has the rest under it.
#[track_caller]
pub(crate) fn expect_internal(call: &Conversation, log: &Log, reason: &str) {
    let text = call.expect_tool_error();
    let reference = text.strip_prefix("The tool failed (reference ").and_then(|text| text.strip_suffix(')'));
    let reference = reference.unwrap_or_else(|| panic!("the caller was told {text:?}"));
    let log = log.text();
    assert!(log.contains(reference) && log.contains(reason), "the log was {log}");
}
