//! A process that serves on its own stdin and stdout, from its first line in the log to its last.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use mrtr_server::{Failure, Flow, Server, TaskPolicy, Tool};
use mrtr_tasks::{MemoryTaskStore, Tasks};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use crate::peer::{PATIENCE, call};

/// The variable by which this binary is the server.
const SERVES: &str = "MRTR_STDIO_TEST_SERVES";

/// Is answered when the process gets SIGUSR1.
async fn wait(_: Flow) -> Result<&'static str, Failure> {
    let mut signal = signal(SignalKind::user_defined1())?;
    eprintln!("waits");
    signal.recv().await;
    Ok("done")
}

async fn pack(flow: Flow) -> Result<String, Failure> {
    eprintln!("packs");
    flow.cancelled().await;
    // Not here any more.
    Ok(flow.step("ship", async { Ok::<_, Failure>("shipped".to_owned()) }).await?)
}

/// Not a test but the server, when this binary is run as one.
#[test]
fn server_process() {
    if std::env::var_os(SERVES).is_none() {
        return;
    }
    tracing_subscriber::fmt().with_ansi(false).with_writer(std::io::stderr).init();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = Server::builder("ending", "1.2.3")
            .tool(Tool::new("wait", wait))
            .tool(Tool::new("pack", pack).tasks(TaskPolicy::Required))
            .extension(Tasks::new(MemoryTaskStore::default()))
            .build()
            .unwrap();
        mrtr_stdio::serve(server).await.unwrap();
    });
}

/// The process, killed when this is dropped.
struct Running(Child);

impl Running {
    fn signal(&self, signal: &str) {
        let told = Command::new("kill").args([signal, &self.0.id().to_string()]).status();
        assert!(told.unwrap().success(), "it runs");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn told_to_end_a_process_answers_what_runs_hands_its_tasks_over_and_says_so() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "process::server_process", "--nocapture"]).env(SERVES, "1");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = Running(command.spawn().unwrap());
    let (said, lines) = mpsc::channel();
    let log = BufReader::new(process.0.stderr.take().unwrap());
    std::thread::spawn(move || log.lines().map_while(Result::ok).for_each(|line| drop(said.send(line))));
    let mut log = Vec::new();
    let mut until = |words: &str| {
        while !log.iter().any(|line: &String| line.contains(words)) {
            log.push(lines.recv_timeout(PATIENCE).unwrap_or_else(|error| panic!("{error}, {words:?}: {log:?}")));
        }
        log.iter().find(|line| line.contains(words)).cloned().unwrap_or_default()
    };
    let serving = until("serving stdin and stdout");
    assert!(serving.contains("server=\"ending\" version=\"1.2.3\" tools=2"), "{serving}");

    let mut stdin = process.0.stdin.take().unwrap();
    let mut task = call(1, "pack");
    task["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
        json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    writeln!(stdin, "{task}\n{}", call(2, "wait")).unwrap();
    until("packs");
    until("waits");
    process.signal("-TERM");
    until("no more requests are read");
    process.signal("-USR1");
    let mut output = String::new();
    process.0.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    let messages = output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let answer = messages.into_iter().find(|message| message["id"] == 2).unwrap_or_else(|| panic!("{output}"));
    assert_eq!(answer["result"]["content"][0]["text"], "done", "the request under way is answered");
    assert!(until("running tasks are done or handed over").contains("tasks=1"));
    until("shut down took=");
    assert_eq!(process.0.wait().unwrap().code(), Some(0));
}
