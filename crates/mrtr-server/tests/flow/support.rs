//! Helpers of these tests: a server of one tool, a list of what its steps did, and the log.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use mrtr_schema::{Method, NamespacedInput};
use mrtr_server::handler::IntoHandler;
use mrtr_server::testing::{Client, Conversation};
use mrtr_server::{Server, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

pub(crate) use crate::log::Log;

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
    Client::new(&Server::builder("test", "1.0.0").input::<Approval>().tool(tool).build().unwrap())
}

/// An input of an application's own.
pub(crate) struct Approval;

impl NamespacedInput for Approval {
    const METHOD: Method = Method::from_static("com.example/approval");
    type Params = HashMap<String, u8>;
    type Response = u8;
}

/// Calls the one tool without arguments.
pub(crate) async fn call<M>(handler: impl IntoHandler<M>) -> Conversation {
    begin(&client(handler)).await
}

pub(crate) async fn begin(client: &Client) -> Conversation {
    client.call_tool("tool", json!({})).await
}

/// The effects outside the flow, in order. Clones are the same.
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

/// Makes sure that the caller learns nothing but a reference, and that the log has the rest under it.
#[track_caller]
pub(crate) fn expect_internal(call: &Conversation, log: &Log, reason: &str) {
    let text = call.expect_tool_error();
    let reference = text.strip_prefix("The tool failed (reference ").and_then(|text| text.strip_suffix(')'));
    let reference = reference.unwrap_or_else(|| panic!("the caller was told {text:?}"));
    let log = log.text();
    assert!(log.contains(reference) && log.contains(reason), "the log was {log}");
}
