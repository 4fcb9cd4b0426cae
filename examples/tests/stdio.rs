//! The server on stdin and stdout, as a process of its own: spoken to, killed, and told to end.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a panic is the report")]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mrtr_client::{CallError, CallErrorKind, Client, EventKind, FormRequest};
use mrtr_stdio::{ChildServer, StdioTransport};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

const SERVER: &str = env!("CARGO_BIN_EXE_stdio_server");

/// The time that a test waits for what must come: far longer than it takes.
const PATIENCE: Duration = Duration::from_mins(1);

fn client(transport: StdioTransport) -> Client {
    let answer = |form: FormRequest| async move { form.accept(&json!({ "name": "Ada" })) };
    Client::builder(transport).on_elicit(answer).build()
}

/// A client of a process, and the lines of its stderr.
fn started() -> (Client, mpsc::UnboundedReceiver<String>) {
    let (told, stderr) = mpsc::unbounded_channel();
    let server = ChildServer::new(Command::new(SERVER)).on_stderr(move |line| drop(told.send(line)));
    (client(server.spawn().unwrap()), stderr)
}

async fn heard(stderr: &mut mpsc::UnboundedReceiver<String>, line: &str) {
    let hearing = async { while stderr.recv().await.expect("the server lives") != line {} };
    tokio::time::timeout(PATIENCE, hearing).await.expect("it is said");
}

async fn book(client: &Client, port: &str) -> Result<String, CallError> {
    let result = client.call_tool("book", json!({ "port": port })).await?;
    Ok(serde_json::to_value(result).unwrap()["content"][0]["text"].as_str().unwrap().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_asks_is_called_and_what_it_prints_goes_to_stderr() {
    let (client, mut stderr) = started();
    let mut events = client.events();
    assert_eq!(book(&client, "Kirkwall").await.unwrap(), "Ada is booked to Kirkwall");
    heard(&mut stderr, "booked to Kirkwall").await;
    let progress = async {
        while let Some(event) = events.next().await {
            if matches!(event.kind, EventKind::Progress(_)) {
                return;
            }
        }
        panic!("no progress was told");
    };
    tokio::time::timeout(PATIENCE, progress).await.expect("progress is told");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_calls_go_over_one_pipe_at_once() {
    let (client, _stderr) = started();
    let mut calls = JoinSet::new();
    for number in 0..200 {
        let client = client.clone();
        calls.spawn(async move { (number, book(&client, &format!("port {number}")).await.unwrap()) });
    }
    while let Some(ended) = calls.join_next().await {
        let (number, text) = ended.unwrap();
        assert_eq!(text, format!("Ada is booked to port {number}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_dropped_is_stopped_in_the_process() {
    let (client, mut stderr) = started();
    let mut events = client.events();
    let waiting = tokio::spawn(async move { client.call_tool("wait_for_ferry", json!({ "seconds": 3600 })).await });
    let begun = async { while !matches!(events.next().await.unwrap().kind, EventKind::Progress(_)) {} };
    tokio::time::timeout(PATIENCE, begun).await.expect("it waits");
    waiting.abort();
    heard(&mut stderr, "no longer waiting").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_is_killed_fails_its_calls_with_its_status_and_is_started_again() {
    let id = Arc::new(Mutex::new(None));
    let transport = {
        // The shell tells its id, and becomes the server.
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ >&2; exec \"$0\"", SERVER]);
        let told = Arc::clone(&id);
        ChildServer::new(command).on_stderr(move |line| {
            if let Ok(pid) = line.parse::<u32>() {
                *told.lock().unwrap() = Some(pid);
            }
        })
    };
    let client = client(transport.spawn().unwrap());
    let mut events = client.events();
    let calls = tokio::spawn({
        let client = client.clone();
        async move {
            let wait = || client.call_tool("wait_for_ferry", json!({ "seconds": 3600 }));
            tokio::join!(wait(), wait())
        }
    });
    for _ in 0..2 {
        let begun = async { while !matches!(events.next().await.unwrap().kind, EventKind::Progress(_)) {} };
        tokio::time::timeout(PATIENCE, begun).await.expect("it waits");
    }
    let pid = id.lock().unwrap().expect("the shell told it");
    assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
    let (first, second) = tokio::time::timeout(PATIENCE, calls).await.expect("they fail").unwrap();
    for failed in [first, second] {
        let error = failed.unwrap_err();
        assert!(
            matches!(&error.kind, CallErrorKind::Transport { source, .. }
            if source.to_string() == "the server has ended: signal: 9 (SIGKILL)"),
            "{error}"
        );
    }
    assert_eq!(book(&client, "Stromness").await.unwrap(), "Ada is booked to Stromness", "by a new process");
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_ends_the_process_and_waits_for_that() {
    let (told, mut stderr) = mpsc::unbounded_channel();
    let server = ChildServer::new(Command::new(SERVER)).on_stderr(move |line| drop(told.send(line)));
    let transport = server.exit_timeout(PATIENCE).spawn().unwrap();
    let began = Instant::now();
    transport.close().await;
    // Its stderr ends with it, and with that the function that heard it.
    assert_eq!(tokio::time::timeout(PATIENCE, stderr.recv()).await.expect("it has ended"), None);
    assert!(began.elapsed() < PATIENCE, "the end of its input ended it, not a signal");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_its_client_has_closed_is_not_started_again() {
    let (told, mut stderr) = mpsc::unbounded_channel();
    let transport =
        ChildServer::new(Command::new(SERVER)).on_stderr(move |line| drop(told.send(line))).spawn().unwrap();
    let client = client(transport.clone());
    assert_eq!(book(&client, "Kirkwall").await.unwrap(), "Ada is booked to Kirkwall");
    heard(&mut stderr, "booked to Kirkwall").await;
    transport.close().await;
    let error = book(&client, "Stromness").await.unwrap_err();
    assert!(error.to_string().contains("this program has closed its server"), "{error}");
    assert!(error.into_pending().is_some(), "the call can be resumed elsewhere");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_does_not_end_by_itself_is_told_to_and_then_killed() {
    for (script, said) in [
        ("trap 'echo told to >&2; exit' TERM; echo up >&2; while :; do sleep 0.05; done", &["up", "told to"][..]),
        ("trap '' TERM; echo up >&2; while :; do sleep 0.05; done", &["up"]),
    ] {
        let (told, mut stderr) = mpsc::unbounded_channel();
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let server = ChildServer::new(command).on_stderr(move |line| drop(told.send(line)));
        let transport = server.exit_timeout(Duration::from_millis(200)).spawn().unwrap();
        assert_eq!(tokio::time::timeout(PATIENCE, stderr.recv()).await.expect("it runs").unwrap(), said[0]);
        tokio::time::timeout(PATIENCE, transport.close()).await.expect("it ends");
        for line in &said[1..] {
            assert_eq!(stderr.recv().await.unwrap(), *line);
        }
    }
}

/// The process with nothing in between.
struct Process(Child);

impl Process {
    fn start() -> Self {
        let mut command = Command::new(SERVER);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(command.spawn().unwrap())
    }

    fn say(&mut self, line: &str) {
        writeln!(self.0.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        // Byte by byte: what comes after the line is for later.
        let mut byte = [0];
        while !line.ends_with('\n') {
            self.0.stdout.as_mut().unwrap().read_exact(&mut byte).unwrap();
            line.push(byte[0].into());
        }
        serde_json::from_str(&line).unwrap()
    }

    fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.0.id().to_string()]).status().unwrap().success());
    }

    /// Waits for its end.
    fn ended(&mut self) -> std::process::ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status;
            }
            assert!(began.elapsed() < PATIENCE, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn request(id: u32, method: &str, mut params: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

/// A wait that is known to have begun.
fn waiting(process: &mut Process, seconds: u64) {
    let mut wait: Value = serde_json::from_str(&request(
        1,
        "tools/call",
        json!({ "name": "wait_for_ferry", "arguments": { "seconds": seconds } }),
    ))
    .unwrap();
    wait["params"]["_meta"]["progressToken"] = json!("p");
    process.say(&wait.to_string());
    assert_eq!(process.hear()["method"], "notifications/progress");
}

#[test]
fn the_end_of_stdin_ends_it_and_what_runs_is_answered_first() {
    let mut process = Process::start();
    waiting(&mut process, 1);
    drop(process.0.stdin.take());
    assert_eq!(process.hear()["result"]["content"][0]["text"], "The ferry is in");
    assert!(process.ended().success());
}

#[test]
fn sigterm_ends_it_though_stdin_is_open_and_what_runs_is_answered_first() {
    let mut process = Process::start();
    waiting(&mut process, 1);
    process.signal("-TERM");
    assert_eq!(process.hear()["result"]["content"][0]["text"], "The ferry is in");
    assert!(process.ended().success());
}

#[test]
fn subscriptions_get_their_result_when_it_is_told_to_end() {
    let mut process = Process::start();
    process.say(&request(7, "subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } })));
    assert_eq!(process.hear()["method"], "notifications/subscriptions/acknowledged");
    process.signal("-INT");
    assert_eq!(process.hear()["id"], 7);
    assert!(process.ended().success());
}

#[test]
fn a_first_line_that_it_cannot_read_is_answered_and_is_not_its_end() {
    let mut process = Process::start();
    process.say("Content-Length: 52");
    assert_eq!(process.hear()["error"]["code"], -32700);
    process.say(r#"{"jsonrpc":"2.0","id":1,"method":"what/is/this"}"#);
    assert_eq!(process.hear()["id"], 1);
    process.say(&request(2, "server/discover", json!({})));
    assert_eq!(process.hear()["result"]["supportedVersions"], json!(["2026-07-28"]));
}

/// A host of the legacy era: the handler that a modern client calls above asks this one by requests.
#[test]
fn a_client_that_begins_with_initialize_books_by_the_same_handler() {
    let mut process = Process::start();
    let client = json!({ "name": "host", "version": "1.0.0" });
    let params =
        json!({ "protocolVersion": "2025-06-18", "capabilities": { "elicitation": {} }, "clientInfo": client });
    process.say(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }).to_string());
    assert_eq!(process.hear()["result"]["protocolVersion"], "2025-06-18");
    process.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let params = json!({ "name": "book", "arguments": { "port": "Kirkwall" } });
    process.say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string());
    let question = process.hear();
    assert_eq!(question["method"], "elicitation/create");
    let result = json!({ "action": "accept", "content": { "name": "Ada" } });
    process.say(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result }).to_string());
    assert_eq!(process.hear()["result"]["content"][0]["text"], "Ada is booked to Kirkwall");
    drop(process.0.stdin.take());
    assert!(process.ended().success());
    let printed = BufReader::new(process.0.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(printed.filter(|line| line == "booked to Kirkwall").count(), 1, "the step ran once");
}

/// A client that never reads does not keep the process from its end.
#[test]
fn a_process_whose_output_is_not_read_ends_in_time() {
    let mut process = Process::start();
    // Far more replies than a pipe holds.
    let discover = request(1, "server/discover", json!({}));
    let mut stdin = process.0.stdin.take().unwrap();
    let writing = std::thread::spawn(move || while writeln!(stdin, "{discover}").is_ok() {});
    std::thread::sleep(Duration::from_millis(500));
    let began = Instant::now();
    process.signal("-TERM");
    assert!(process.ended().success());
    assert!(began.elapsed() < PATIENCE);
    writing.join().unwrap();
    let stderr = BufReader::new(process.0.stderr.take().unwrap()).lines().count();
    assert_eq!(stderr, 0, "and nothing went wrong");
}
