//! The examples of tasks, as real programs: one is killed while it waits, and loses nothing.

#[path = "support/promise.rs"]
mod promise;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use mrtr_client::{Client, FormRequest, RoundOutcome};
use mrtr_fixtures::Program;
use mrtr_http::HttpTransport;
use mrtr_schema::Json;
use mrtr_schema::elicitation::ElicitResult;
use serde_json::json;

const KEYS: &str = "tasks=k1:BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";

fn start(program: &str, prefix: &str, folder: &Path) -> Program {
    Program::start(program, |command, address| configure(command, prefix, address, folder))
}

fn configure(command: &mut Command, prefix: &str, address: SocketAddr, folder: &Path) {
    command.env(format!("{prefix}_ADDRESS"), address.to_string());
    command.env(format!("{prefix}_TASKS"), folder.join("tasks.sqlite"));
    command.env("MRTR_STATE_KEYS", KEYS);
}

fn client(program: &Program) -> Client {
    let transport = HttpTransport::new(&program.url("/mcp")).expect("it is a URL");
    Client::builder(transport).on_elicit(answer).build()
}

async fn answer(form: FormRequest) -> Result<ElicitResult, String> {
    let content = match form.context().key.as_str() {
        "echo_input" => json!({ "input": "Hello World!" }),
        "address" => json!({ "street": "Rue Ampère" }),
        "gift" => json!({ "wrap": true }),
        other => return Err(format!("`{other}` was asked")),
    };
    form.accept(&content).map_err(|error| error.to_string())
}

fn text(result: &Json) -> String {
    let result: serde_json::Value = result.to().expect("a result is JSON");
    result["content"][0]["text"].as_str().expect("a text").to_owned()
}

#[tokio::test]
async fn the_echo_tool_waits_as_a_task_and_goes_on_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = start(env!("CARGO_BIN_EXE_echo_task"), "ECHO", folder.path());
    let before = client(&first);
    let mut outcome = before.call_tool_once("echo", json!({})).await.expect("it is a task");
    // Until it asks: then it waits in its file, and in no process.
    let pending = loop {
        outcome = match outcome {
            RoundOutcome::Task(pending, _) => before.advance(pending).await.expect("it is polled"),
            RoundOutcome::Asked(pending) => break pending,
            other => panic!("{other:?}"),
        };
    };
    let task = pending.task().expect("it is a task").clone();
    first.stop();

    let second = start(env!("CARGO_BIN_EXE_echo_task"), "ECHO", folder.path());
    let client = client(&second);
    let result = client.follow(task.trust_other_server(client.server())).await.expect("it goes on");
    assert_eq!(text(&result), "Echo: Hello World!");
}

#[test]
fn a_call_that_asks_a_person_is_answered_after_its_server_was_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = start(env!("CARGO_BIN_EXE_echo_task"), "ECHO", folder.path());
    let address = server.address();
    let mut call = Command::new(env!("CARGO_BIN_EXE_echo_task"));
    call.arg("call").env("ECHO_ADDRESS", address.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut call = call.spawn().expect("the example is built");
    let mut lines = BufReader::new(call.stdout.take().expect("it is piped"));
    let mut printed = String::new();
    lines.read_line(&mut printed).expect("it asks");

    // With -9: it has no chance to put anything away.
    server.stop();
    let mut again = Command::new(env!("CARGO_BIN_EXE_echo_task"));
    configure(&mut again, "ECHO", address, folder.path());
    let _server = Program::start_at(address, again);
    call.stdin.take().expect("it is piped").write_all(b"Hello World!\n").expect("it reads");
    lines.read_to_string(&mut printed).expect("it prints text");
    assert!(promise::is_kept(include_str!("../echo_task.rs"), &printed), "{printed}");
    assert!(call.wait().expect("it ends").success());
}

#[tokio::test]
async fn an_order_begins_in_rounds_and_ends_as_a_task() {
    let folder = tempfile::tempdir().expect("a folder");
    let shop = start(env!("CARGO_BIN_EXE_order_task"), "ORDER", folder.path());
    let result = client(&shop).call_tool("order", json!({})).await.expect("it is ordered");
    let result = serde_json::to_value(result).expect("a result is JSON");
    assert_eq!(result["content"][0]["text"], "The parcel is on its way to Rue Ampère, wrapped");
    assert_eq!(shop.stop(), "packed\n", "once");
}
