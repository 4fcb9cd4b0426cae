//! Whole conversations, with our own server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mrtr_client::{Client, FormRequest};
use mrtr_server::{Failure, Flow, Server, Tool};
use mrtr_stdio::{Stdio, StdioTransport};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::JoinSet;

#[derive(Deserialize, JsonSchema)]
struct Trip {
    number: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Port {
    name: String,
}

/// A client of this server, over pipes that hold so much.
fn client_of(server: Server, pipe: usize) -> Client {
    let (ours, theirs) = tokio::io::duplex(pipe);
    let (read, write) = tokio::io::split(theirs);
    tokio::spawn(Stdio::new(server).over(read, write));
    let (read, write) = tokio::io::split(ours);
    let answer = |form: FormRequest| async move { form.accept(&json!({ "name": "Kirkwall" })) };
    Client::builder(StdioTransport::over("harbour", read, write)).on_elicit(answer).build()
}

#[tokio::test]
async fn a_tool_that_asks_is_called_many_times_at_once_over_one_pipe() {
    let links = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&links);
    let book = move |flow: Flow, trip: Trip| {
        let count = Arc::clone(&count);
        async move {
            let port: Port = flow.elicit("port", format!("Trip {}: where to?", trip.number)).await?;
            flow.step("book", async { Ok::<_, Failure>(count.fetch_add(1, Ordering::SeqCst)) }).await?;
            Ok::<_, Failure>(format!("{} to {}", trip.number, port.name))
        }
    };
    let server = Server::builder("harbour", "1.0.0").tool(Tool::new("book", book)).build().unwrap();
    let client = client_of(server, 512);
    let mut calls = JoinSet::new();
    for number in 0..100 {
        let client = client.clone();
        calls.spawn(async move {
            let result = client.call_tool("book", json!({ "number": number })).await.unwrap();
            let result = serde_json::to_value(result).unwrap();
            assert_eq!(result["content"][0]["text"], format!("{number} to Kirkwall"));
        });
    }
    while let Some(ended) = calls.join_next().await {
        ended.unwrap();
    }
    assert_eq!(links.load(Ordering::SeqCst), 100, "each step ran once");
}

#[tokio::test]
async fn a_server_is_discovered_and_its_tools_are_listed() {
    let hello = async |_: Flow| Ok::<_, Failure>("hello");
    let server = Server::builder("harbour", "1.0.0").tool(Tool::new("hello", hello)).build().unwrap();
    let client = client_of(server, 1 << 16);
    let offer: Value = serde_json::to_value(client.discover().await.unwrap()).unwrap();
    assert_eq!(offer["supportedVersions"], json!(["2026-07-28"]));
    let tools = client.list_tools().await.unwrap();
    assert_eq!(serde_json::to_value(tools).unwrap()[0]["name"], "hello");
}
