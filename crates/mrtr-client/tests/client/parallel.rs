//! Fifty calls at once whose states and answers never cross.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use mrtr_client::Client;
use mrtr_server::{Failure, Flow, Server, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::common::{InMemory, text};

#[derive(Deserialize, JsonSchema)]
struct Number {
    number: u64,
}

/// Asks twice, and tells what it was called with and what it was answered.
async fn echo(flow: Flow, args: Number) -> Result<String, Failure> {
    let first: Number = flow.elicit("number", format!("first of {}", args.number)).await?;
    let second: Number = flow.elicit("again", format!("second of {}", args.number)).await?;
    Ok(format!("{} {} {}", args.number, first.number, second.number))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_parallel_calls_keep_their_states_and_answers_apart() {
    let server = Server::builder("echo", "1.0.0").tool(Tool::new("echo", echo)).build().unwrap();
    let transport = InMemory::new(server);
    let calls = Arc::new(Mutex::new(HashSet::new()));
    let seen = Arc::clone(&calls);
    let client = Client::builder(transport.clone())
        .on_elicit(move |form| {
            seen.lock().unwrap().insert(form.context().call);
            async move {
                // The others overtake this one.
                tokio::task::yield_now().await;
                let (round, of) = form.message().split_once(" of ").unwrap();
                let number: u64 = of.parse().unwrap();
                form.accept(&json!({ "number": number * if round == "first" { 10 } else { 100 } }))
            }
        })
        .build();
    let running: Vec<_> = (1..=50_u64)
        .map(|number| {
            let client = client.clone();
            tokio::spawn(async move { (number, client.call_tool("echo", json!({ "number": number })).await) })
        })
        .collect();
    for call in running {
        let (number, result) = call.await.unwrap();
        assert_eq!(text(&result.unwrap()), format!("{number} {} {}", number * 10, number * 100));
    }
    assert_eq!(calls.lock().unwrap().len(), 50);
    check_requests(&transport.sent());
}

/// Each of the fifty sent three requests, no two with the same id or state, each with its own answers.
fn check_requests(sent: &[Value]) {
    assert_eq!(sent.len(), 150);
    assert_eq!(sent.iter().map(|sent| sent["id"].to_string()).collect::<HashSet<_>>().len(), 150);
    let states: Vec<_> = sent.iter().filter_map(|sent| sent["params"]["requestState"].as_str()).collect();
    assert_eq!(states.len(), 100);
    assert_eq!(states.iter().collect::<HashSet<_>>().len(), 100);
    for sent in sent {
        let number = sent["params"]["arguments"]["number"].as_u64().unwrap();
        let answers = &sent["params"]["inputResponses"];
        for (key, factor) in [("number", 10), ("again", 100)] {
            if let Some(answer) = answers.get(key) {
                assert_eq!(answer["content"]["number"], number * factor);
            }
        }
    }
}
