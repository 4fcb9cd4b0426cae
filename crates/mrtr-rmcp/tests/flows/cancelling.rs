//! Calls that are cancelled, and clients that go: what runs for them stops, and what they are asked is taken back.

use std::sync::Arc;
use std::time::Duration;

use mrtr_rmcp::Flows;
use mrtr_server::{Failure, Flow, Server, Tool};
use rmcp::ServiceExt;
use rmcp::model::{CallToolRequest, ClientRequest};
use rmcp::service::PeerRequestOptions;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::sync::watch;

use crate::person::{Person, call, text};
use crate::sites::{ALL, Lifecycle, PATIENCE, Way, connect};

/// The number of handlers that have begun, and of those that were dropped before their end.
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
    tokio::time::sleep(Duration::from_hours(1)).await;
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

/// Asks, and goes on only once the client knows that the answer is not wanted any more.
async fn ask_briefly(flow: Flow) -> Result<String, Failure> {
    let word = flow.elicit::<Word>("word", "A word?").optional().await;
    let mut withdrawn = flow.state::<Arc<watch::Sender<u32>>>().subscribe();
    let heard = async move { withdrawn.wait_for(|count| *count >= 1).await.map(|count| *count) };
    let heard = flow.step("heard", heard).await?;
    Ok(format!("{}, {heard} taken back", word.map_or("no word".to_owned(), |Word { word }| word)))
}

/// A question that the server takes back is taken back from the client while its call goes on, not only at the end.
#[tokio::test]
async fn a_question_that_waited_long_enough_is_taken_back_while_its_call_goes_on() {
    for way in [Way::Streams, Way::Http] {
        let person = Person::answering([("A word?", Value::Null)]);
        let tool = Tool::new("ask_briefly", ask_briefly).question_timeout(Duration::from_millis(50));
        let server = Server::builder("slow", "1.0.0").state(Arc::clone(&person.withdrawn)).tool(tool).build();
        let flows = Flows::new(server.expect("it is well made"));
        let client = connect(flows, &person, (Lifecycle::Initialize, way)).await;
        let called = client.call_tool(call("ask_briefly", json!({})));
        let result = tokio::time::timeout(PATIENCE, called).await.expect("in time").expect("it is answered");
        assert_eq!(text(&result), "no word, 1 taken back", "{way:?}");
    }
}

/// The notifications of a flow wait for its client and not in memory: a client that does not read holds its call up,
/// and when it goes the call goes too.
#[tokio::test]
async fn a_client_that_does_not_read_holds_up_its_own_call_and_no_longer_than_it_is_there() {
    let flood = async |flow: Flow| {
        let runs = flow.state::<Arc<Runs>>();
        let _run = Run(Arc::clone(runs));
        runs.begun.send_modify(|count| *count += 1);
        for number in 1..=1_000_000 {
            flow.progress(number, None, "x".repeat(100)).await;
        }
        Ok::<_, Failure>("all was said")
    };
    for meta in [json!({ "progressToken": 1 }), modern()] {
        let runs: Arc<Runs> = Arc::default();
        let server = Server::builder("loud", "1.0.0").state(Arc::clone(&runs)).tool(Tool::new("flood", flood));
        let handler = Flows::new(server.build().expect("it is well made"));
        let (mut ours, theirs) = tokio::io::duplex(4096);
        tokio::spawn(async { Box::pin(handler.serve(theirs)).await.expect("it begins").waiting().await });
        let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "deaf", "version": "1" } } });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "flood", "_meta": meta } });
        if meta == json!({ "progressToken": 1 }) {
            ours.write_all(format!("{initialize}\n").as_bytes()).await.expect("it is sent");
        }
        ours.write_all(format!("{call}\n").as_bytes()).await.expect("it is sent");
        reaches(&runs.begun, 1).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(*runs.dropped.borrow(), 0, "it waits");
        drop(ours);
        reaches(&runs.dropped, 1).await;
    }
}

fn modern() -> Value {
    json!({ "progressToken": 1, "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {} })
}
