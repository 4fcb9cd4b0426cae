//! Answers that a server refuses, although it may be given them.

use std::net::SocketAddr;

use anyhow::{Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Shown;
use super::wire::call;

/// An exchange, as its file has it.
#[derive(Deserialize)]
pub(super) struct Given {
    tool: String,
    answers: Value,
    /// Part of what the server says to them.
    refused: String,
    instead: Value,
    completes: String,
}

/// Answers what the tool asks, with what the server refuses and then to its liking.
pub(super) fn show(address: SocketAddr, given: &Given) -> Result<Shown> {
    let Given { tool, answers, refused, instead, completes } = given;
    let came = answered(address, tool, answers)?;
    let error = came["error"].to_string();
    ensure!(error.contains(refused), "it takes the answers now: {came}");
    let completed = answered(address, tool, instead)?;
    let text = completed["result"]["content"][0]["text"].as_str();
    ensure!(text == Some(completes), "it does not complete with the other answers either: {completed}");
    Ok(Shown {
        sent: format!("tools/call of {tool}, with the state of its first reply and these inputResponses:\n{answers}"),
        came: error,
        but: format!("With these, the text is \"{completes}\":\n{instead}"),
    })
}

fn answered(address: SocketAddr, tool: &str, answers: &Value) -> Result<Value> {
    let asked = call(address, tool, &Value::Null)?;
    let state = &asked["result"]["requestState"];
    let mut more = json!({ "inputResponses": answers });
    if !state.is_null() {
        more["requestState"] = state.clone();
    }
    call(address, tool, &more)
}
