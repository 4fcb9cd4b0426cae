//! Calls that are cancelled, and clients that go: what runs for them stops, and what they are asked is taken back.

use std::sync::Arc;
use std::time::Duration;

use mrtr_rmcp::Flows;
use mrtr_server::{Failure, Flow, Server, Tool};
use rmcp::model::{CallToolRequest, ClientRequest};
use rmcp::service::PeerRequestOptions;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::person::{Person, call};
use crate::sites::{ALL, Lifecycle, PATIENCE, Way, connect};

/// How many handlers have begun, and how many of them were dropped before their end.
#[derive(Default)]
struct Runs {
    begun: watch::Sender<u32>,
    dropped: watch::Sender<u32>,
}

struct Run(Arc<Runs>);

impl Drop for Run {
    fn drop(&mut self) {
        self.0.dropped.send_modify(|count| *count += 1);
    }
}

async fn reaches(count: &watch::Sender<u32>, goal: u32) {
    let mut count = count.subscribe();
    let reached = count.wait_for(|count| *count >= goal);
    tokio::time::timeout(PATIENCE, reached).await.expect("in time").expect("it is told");
}

async fn stall(flow: Flow) -> Result<&'static str, Failure> {
    let runs = flow.state::<Arc<Runs>>();
    let _run = Run(Arc::clone(runs));
    runs.begun.send_modify(|count| *count += 1);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    Ok("at last")
}

#[derive(Deserialize, JsonSchema)]
struct Word {
    word: String,
}

async fn ask(flow: Flow) -> Result<String, Failure> {
    let Word { word } = flow.elicit("word", "A word?").await?;
    Ok(word)
}

fn server(runs: &Arc<Runs>) -> Server {
    Server::builder("slow", "1.0.0")
        .state(Arc::clone(runs))
        .tool(Tool::new("stall", stall))
        .tool(Tool::new("ask", ask))
        .build()
        .expect("it is well made")
}

fn request(tool: &'static str) -> ClientRequest {
    ClientRequest::CallToolRequest(CallToolRequest::new(call(tool, json!({}))))
}

#[tokio::test]
async fn a_call_that_is_cancelled_stops() {
    for site in ALL {
        let runs = Arc::default();
        let client = connect(Flows::new(server(&runs)), &Person::answering([]), site).await;
        let sent = client.send_cancellable_request(request("stall"), PeerRequestOptions::no_options()).await;
        let sent = sent.expect("it is sent");
        reaches(&runs.begun, 1).await;
        match site {
            // Over HTTP, a client of this era cancels by hanging up.
            (Lifecycle::Discover, Way::Http) => drop(client),
            _ => sent.cancel(None).await.expect("it is told"),
        }
        reaches(&runs.dropped, 1).await;
    }
}

#[tokio::test]
async fn what_runs_for_a_client_stops_when_it_goes() {
    for site in ALL {
        let runs = Arc::default();
        let client = connect(Flows::new(server(&runs)), &Person::answering([]), site).await;
        let sent = client.send_cancellable_request(request("stall"), PeerRequestOptions::no_options()).await;
        reaches(&runs.begun, 1).await;
        drop(sent);
        client.cancel().await.expect("it goes");
        reaches(&runs.dropped, 1).await;
    }
}

/// In a session the server asks by requests, which it takes back when their call is cancelled.
#[tokio::test]
async fn a_question_of_a_cancelled_call_is_taken_back() {
    for way in [Way::Streams, Way::Http] {
        let person = Person::answering([("A word?", Value::Null)]);
        let site = (Lifecycle::Initialize, way);
        let client = connect(Flows::new(server(&Arc::default())), &person, site).await;
        let sent = client.send_cancellable_request(request("ask"), PeerRequestOptions::no_options()).await;
        let sent = sent.expect("it is sent");
        let asked = async {
            while person.questions().is_empty() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(PATIENCE, asked).await.expect("it is asked");
        sent.cancel(None).await.expect("it is told");
        reaches(&person.withdrawn, 1).await;
    }
}
