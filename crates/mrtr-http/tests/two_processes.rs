//! Two server processes with one key behind a proxy that takes turns: nothing is lost, and nothing is crossed.
//!
//! The processes are this test binary again, told by a variable that it is to serve.

#![allow(clippy::unwrap_used, reason = "a panic is the report")]

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use mrtr_client::{Client, FormRequest, RoundOutcome};
use mrtr_http::{Endpoint, HttpTransport, Serve};
use mrtr_schema::{InputResponse, JsonObject};
use mrtr_server::{Failure, Flow, Sealer, Server, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

#[derive(Deserialize, JsonSchema)]
struct Trip {
    number: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Answer {
    text: String,
}

/// Two questions, so three rounds; the result has all that was said, and who said it last.
async fn book(flow: Flow, trip: Trip) -> Result<String, Failure> {
    let from: Answer = flow.elicit("from", format!("Trip {}: from where?", trip.number)).await?;
    let to: Answer = flow.elicit("to", format!("Trip {}: from {} to where?", trip.number, from.text)).await?;
    Ok(format!("{}: {} to {} by {}", trip.number, from.text, to.text, std::process::id()))
}

const SERVES: &str = "MRTR_HTTP_TEST_SERVES";
const KEYS: &str = "MRTR_HTTP_TEST_KEYS";

/// Not a test but the server, when this binary is run as one.
#[test]
fn server_process() {
    if std::env::var_os(SERVES).is_none() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = Server::builder("booking", "1.0.0").sealer(Sealer::from_env(KEYS).unwrap());
        let server = server.tool(Tool::new("book", book)).build().unwrap();
        let bound = Serve::new(Endpoint::anonymous(server)).bind("127.0.0.1:0").unwrap();
        println!("{READY}{}", bound.address().unwrap());
        // The test stops it by closing this.
        let parent = tokio::task::spawn_blocking(|| drop(std::io::stdin().lines().last()));
        bound.run(async { drop(parent.await) }).await.unwrap();
    });
}

const READY: &str = "serving at ";

/// A server process, killed at the end.
struct Process {
    child: Child,
    address: SocketAddr,
}

impl Process {
    fn start() -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "server_process", "--nocapture"]);
        command.env(SERVES, "1").env(KEYS, "booking=2026-07:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let address = lines.find_map(|line| Some(line.split_once(READY)?.1.parse().unwrap())).unwrap();
        // The rest of what it says is read, so that it never waits for us.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Hands each connection to the next server in turn.
struct Proxy {
    address: SocketAddr,
    behind: Arc<Mutex<Vec<SocketAddr>>>,
}

impl Proxy {
    async fn start(behind: Vec<SocketAddr>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let behind = Arc::new(Mutex::new(behind));
        let (turn, servers) = (AtomicUsize::new(0), Arc::clone(&behind));
        tokio::spawn(async move {
            loop {
                let (mut client, _) = listener.accept().await.unwrap();
                let server = {
                    let servers = servers.lock().unwrap();
                    servers[turn.fetch_add(1, Ordering::Relaxed) % servers.len()]
                };
                tokio::spawn(async move {
                    let mut server = TcpStream::connect(server).await?;
                    tokio::io::copy_bidirectional(&mut client, &mut server).await
                });
            }
        });
        Self { address, behind }
    }

    /// A client that takes a new connection for each request, and so meets another server each time.
    fn client(&self) -> Client {
        let http = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap();
        let transport = HttpTransport::with_client(&format!("http://{}/mcp", self.address), http).unwrap();
        Client::builder(transport).on_elicit(answer).build()
    }
}

/// An answer that says what it answers.
async fn answer(form: FormRequest) -> mrtr_schema::elicitation::ElicitResult {
    let said = form.message().replace(' ', "_");
    form.accept(&json!({ "text": said })).unwrap()
}

fn expected(number: u32) -> String {
    let from = format!("Trip_{number}:_from_where?");
    format!("{number}: {from} to Trip_{number}:_from_{from}_to_where? by ")
}

fn text(result: &impl serde::Serialize) -> String {
    serde_json::to_value(result).unwrap()["content"][0]["text"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_calls_of_three_rounds_cross_two_processes() {
    let processes = [Process::start(), Process::start()];
    let proxy = Proxy::start(processes.iter().map(|process| process.address).collect()).await;
    let client = proxy.client();
    let mut calls = JoinSet::new();
    let mut by = std::collections::HashMap::<String, usize>::new();
    let mut check = |(number, said): (u32, String)| {
        let process = said.strip_prefix(&expected(number));
        *by.entry(process.unwrap_or_else(|| panic!("{number} got {said}")).to_owned()).or_default() += 1;
    };
    for number in 0..1000 {
        // So many at a time are interleaved; more would only wait for sockets.
        if calls.len() == 50 {
            check(calls.join_next().await.unwrap().unwrap());
        }
        let client = client.clone();
        calls.spawn(async move {
            let result = client.call_tool("book", json!({ "number": number })).await;
            (number, text(&result.unwrap_or_else(|error| panic!("{number}: {error:?}"))))
        });
    }
    while let Some(call) = calls.join_next().await {
        check(call.unwrap());
    }
    assert_eq!(by.values().sum::<usize>(), 1000);
    assert_eq!(by.len(), 2, "both took part: {by:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_between_rounds_loses_nothing() {
    let mut processes = vec![Process::start(), Process::start()];
    let proxy = Proxy::start(processes.iter().map(|process| process.address).collect()).await;
    let client = proxy.client();

    // Ten calls wait in their second round.
    let mut waiting = Vec::new();
    for number in 0..10 {
        let RoundOutcome::Asked(mut call) = client.call_tool_once("book", json!({ "number": number })).await.unwrap()
        else {
            panic!("it asks")
        };
        give(&mut call, "from", &format!("Trip_{number}:_from_where?"));
        let RoundOutcome::Asked(call) = client.advance(call).await.unwrap() else { panic!("it asks again") };
        waiting.push((number, call));
    }
    // Both are killed, and others take their place, at other addresses.
    for process in &mut processes {
        process.kill();
        *process = Process::start();
    }
    *proxy.behind.lock().unwrap() = processes.iter().map(|process| process.address).collect();
    for (number, mut call) in waiting {
        let from = format!("Trip_{number}:_from_where?");
        give(&mut call, "to", &format!("Trip_{number}:_from_{from}_to_where?"));
        let RoundOutcome::Complete(result) = client.advance(call).await.unwrap() else { panic!("it is done") };
        let said = text(&result.to::<Value>().unwrap());
        assert!(said.starts_with(&expected(number)), "{said}");
    }
}

fn give(call: &mut mrtr_client::PendingCall, key: &str, text: &str) {
    let answer = json!({ "action": "accept", "content": { "text": text } });
    call.answer(key, &InputResponse::from_object(JsonObject::of(&answer).unwrap())).unwrap();
}
