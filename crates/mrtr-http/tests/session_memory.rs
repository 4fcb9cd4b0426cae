//! A thousand sessions with an open question each take a bounded amount of memory, and give it back.
//!
//! The server is this test binary again, so that nothing else is in its memory.

#![allow(clippy::unwrap_used, reason = "a panic is the report")]

mod support;

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use mrtr_http::{Endpoint, Serve};
use mrtr_server::{Failure, Flow, Server, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use support::legacy::{call, everything, initialize};
use support::message::Post;
use support::until;
use support::wire::Wire;

const SERVES: &str = "MRTR_HTTP_TEST_SERVES_SESSIONS";
const READY: &str = "serving at ";
const SESSIONS: usize = 1000;
/// The most memory of a session with an open question whose connection is gone: journal, call, question and its text.
/// In a debug build it was 14 KB; with the buffer of its connection, 23 KB.
const MOST_A_SESSION: usize = 18 << 10;

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

async fn greet(flow: Flow) -> Result<String, Failure> {
    flow.step("look up", async { Ok::<_, Failure>("x".repeat(1024)) }).await?;
    let name: Name = flow.elicit("name", "Who are you?").await?;
    Ok(name.name)
}

/// Not a test but the server, when this binary is run as one.
#[test]
fn server_process() {
    if std::env::var_os(SERVES).is_none() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let server = Server::builder("test", "1.0.0").tool(Tool::new("greet", greet)).build().unwrap();
        let bound = Serve::new(Endpoint::anonymous(server)).bind("127.0.0.1:0").unwrap();
        println!("{READY}{}", bound.address().unwrap());
        // The test stops it by closing this.
        let parent = tokio::task::spawn_blocking(|| drop(std::io::stdin().lines().last()));
        bound.run(async { drop(parent.await) }).await.unwrap();
    });
}

/// A server process, killed at the end.
struct Process {
    child: Child,
    address: SocketAddr,
}

impl Process {
    fn start() -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "server_process", "--nocapture"]).env(SERVES, "1");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.find_map(|line| Some(line.unwrap().split_once(READY)?.1.to_owned()));
        Self { child, address: ready.unwrap().parse().unwrap() }
    }

    /// The memory that the process takes now, in bytes.
    fn memory(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
    }

    fn files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Begins a session, calls a tool that asks, and loses the connection. Returns the ids of the session and of the
/// question.
async fn ask(address: SocketAddr) -> (String, Value) {
    let mut wire = Wire::connect(address).await;
    wire.send(Post::plain(initialize("2025-11-25", &everything()).to_string()).text()).await;
    let session = wire.response().await.header("mcp-session-id").unwrap().to_owned();
    wire.send(Post::plain(call(1, "greet", &json!({})).to_string()).with("Mcp-Session-Id", &session).text()).await;
    wire.head().await;
    loop {
        let event = String::from_utf8(wire.chunk().await.unwrap()).unwrap();
        if let Some((_, data)) = event.split_once("data: ") {
            return (session, serde_json::from_str::<Value>(data).unwrap()["id"].clone());
        }
    }
}

#[tokio::test]
async fn a_thousand_sessions_with_an_open_question_take_little_and_give_it_back() {
    let server = Process::start();
    // What the first ones bring along is no session's.
    for _ in 0..50 {
        ask(server.address).await;
    }
    let (before, files) = (server.memory(), server.files());
    let mut open = Vec::new();
    for _ in 0..SESSIONS {
        open.push(ask(server.address).await);
    }
    until("all connections are closed", || server.files() <= files).await;
    let taken = server.memory().saturating_sub(before);
    println!("{SESSIONS} sessions with an open question take {} bytes each", taken / SESSIONS);
    assert!(taken <= SESSIONS * MOST_A_SESSION, "they take {taken} bytes");
    // Ended and begun anew, they take what is there: nothing stays of one that has ended.
    for (session, _) in open.drain(..) {
        let mut end = Post::plain("").with("Mcp-Session-Id", &session).without("Content-Type");
        end.method = "DELETE";
        let mut wire = Wire::connect(server.address).await;
        wire.send(end.text()).await;
        assert_eq!(wire.response().await.status, 204);
    }
    for _ in 0..SESSIONS {
        open.push(ask(server.address).await);
    }
    let again = server.memory().saturating_sub(before);
    assert!(again <= taken + taken / 2, "{taken} bytes became {again}");
    let (session, question) = &open[500];
    let result = json!({ "action": "accept", "content": { "name": "Ann" } });
    let answer = json!({ "jsonrpc": "2.0", "id": question, "result": result });
    let mut wire = Wire::connect(server.address).await;
    wire.send(Post::plain(answer.to_string()).with("Mcp-Session-Id", session).text()).await;
    assert_eq!(wire.response().await.status, 202);
}
