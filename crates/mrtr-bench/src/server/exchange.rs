//! The exchanges with every candidate: calls of the tracker's tools.

use std::fmt::Write;

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::candidate::Candidate;

/// A request and its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Exchange {
    /// A call that asks nothing.
    Plain,
    /// The first round of a call that asks, when its reply carries no state.
    Ask,
    /// The first of three rounds, with a state.
    AskSealed,
    /// The last of three rounds: a state is opened, the second question is answered, the call is complete.
    Final,
}

/// The path at which every candidate listens.
pub(crate) const PATH: &str = "/mcp";

impl Exchange {
    pub(crate) const ALL: [Self; 4] = [Self::Plain, Self::Ask, Self::AskSealed, Self::Final];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain call",
            Self::Ask => "round 1, no state",
            Self::AskSealed => "round 1, state",
            Self::Final => "final round",
        }
    }

    pub(crate) fn tag(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Ask => "ask",
            Self::AskSealed => "ask-sealed",
            Self::Final => "final",
        }
    }

    fn tool(self) -> &'static str {
        match self {
            Self::Plain => "close_work_item",
            Self::Ask => "update_without_state",
            Self::AskSealed | Self::Final => "update_work_item",
        }
    }

    /// A text that only the right reply has.
    pub(crate) fn mark(self) -> &'static str {
        match self {
            Self::Plain => "Bug #4522 resolved, 1 fields set",
            Self::Ask | Self::AskSealed => "How was this bug resolved?",
            Self::Final => "Bug #4522 resolved as duplicate of #4301",
        }
    }

    /// The body of the request. The last round needs those before it, which `ask` sends.
    pub(crate) async fn body(self, ask: impl AsyncFn(&str) -> Result<String>) -> Result<String> {
        let arguments = json!({ "workItemId": 4522, "fields": { "System.State": "Resolved" } });
        let first = call(self.tool(), &arguments, None);
        if self != Self::Final {
            return Ok(first);
        }
        let how = ("resolution", json!({ "resolution": "Duplicate" }));
        let second = call(self.tool(), &arguments, Some((how, &state_in(&ask(&first).await?)?)));
        let original = ("duplicate_of", json!({ "duplicateOfId": 4301 }));
        Ok(call(self.tool(), &arguments, Some((original, &state_in(&ask(&second).await?)?))))
    }

    /// Writes a body as an HTTP request to a candidate.
    pub(crate) fn request(self, candidate: Candidate, body: &str) -> Vec<u8> {
        let mut path = PATH.to_owned();
        if candidate.is_floor() {
            write!(path, "/{}", self.tag()).expect("a string takes it");
        }
        let (tool, length) = (self.tool(), body.len());
        format!(
            "POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
             mcp-method: tools/call\r\nmcp-name: {tool}\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .into_bytes()
    }
}

/// A call of a tool, with an answer to the last question.
pub(crate) fn call(tool: &str, arguments: &Value, answered: Option<((&str, Value), &str)>) -> String {
    let mut params = Map::new();
    params.insert("name".to_owned(), tool.into());
    params.insert("arguments".to_owned(), arguments.clone());
    if let Some(((key, content), state)) = answered {
        params.insert("inputResponses".to_owned(), json!({ key: { "action": "accept", "content": content } }));
        params.insert("requestState".to_owned(), state.into());
    }
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1.0.0" },
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
    });
    params.insert("_meta".to_owned(), meta);
    json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params }).to_string()
}

/// Reads the state in a reply, which may have come as an event.
pub(crate) fn state_in(reply: &str) -> Result<String> {
    let start = reply.find('{').context("the reply holds no JSON")?;
    let mut messages = serde_json::Deserializer::from_str(&reply[start..]).into_iter::<Value>();
    let message = messages.next().context("the reply holds no JSON")??;
    let state = message["result"]["requestState"].as_str();
    Ok(state.with_context(|| format!("there is no state in {message}"))?.to_owned())
}
