//! Processes with a step that blocks, over any store: each effect takes place once.
//!
//! Each process has a runtime of one thread, which the step blocks: nothing of it can renew anything meanwhile.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use mrtr_server::{Context, Failure, Flow, Guard, Server, Tool};
use mrtr_state::SingleUse;
use mrtr_tasks::{TaskOptions, TaskStore};
use serde_json::{Value, json};

use crate::site::{Name, Outside, Site, sealer, tool};

pub(crate) fn a_task_runs_once(store: &str) {
    let folder = tempfile::tempdir().unwrap();
    let effects = folder.path().join("effects.txt");
    let mut peers = [(); 2].map(|()| Peer::start("task", store, &effects.display().to_string()));
    for peer in &mut peers {
        assert_eq!(peer.says(), "ready");
    }
    peers[0].hears("call");
    assert_eq!(peers[0].says(), "done");
    assert_eq!(fs::read_to_string(effects).unwrap().lines().count(), 1, "one effect");
}

pub(crate) fn a_token_is_used_once(store: &str) {
    let folder = tempfile::tempdir().unwrap();
    let effects = folder.path().join("effects.txt");
    let mut peers = [(); 2].map(|()| Peer::start("token", store, &effects.display().to_string()));
    for peer in &mut peers {
        assert_eq!(peer.says(), "ready");
    }
    let [first, second] = &mut peers;
    first.hears("ask");
    let state = first.says();
    let began = Instant::now();
    first.hears(&state);
    // The lease of the reservation is over by now, unless it was renewed.
    thread::sleep((RESERVED + Duration::from_secs(2)).saturating_sub(began.elapsed()));
    second.hears(&state);
    assert_eq!([first.says(), second.says()], ["done", "done"], "the retry gets the reply of the first");
    assert_eq!(fs::read_to_string(effects).unwrap().lines().count(), 1, "one effect");
}

/// The part that a child process was started for, with stores at the place that it was told.
pub(crate) fn play<T: TaskStore, S: SingleUse>(tasks: &impl AsyncFn(&str) -> T, single_use: &impl AsyncFn(&str) -> S) {
    let Ok(part) = std::env::var(PART) else { return };
    let (store, effects) = (std::env::var(STORE).unwrap(), std::env::var(EFFECTS).unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        match part.as_str() {
            "task" => play_task(Arc::new(tasks(&store).await), effects).await,
            _ => play_token(Arc::new(single_use(&store).await), effects).await,
        }
    });
}

async fn play_task(store: Arc<dyn TaskStore>, effects: String) {
    let blocking = tool(&Outside::default(), move |flow: Flow, _| block(flow, effects.clone(), LEASE * 5));
    let options = TaskOptions::default().lease(LEASE).look_interval(Duration::from_millis(50));
    let site = Site::with(store, options, [blocking]);
    site.server.handle_value(json!({}), Context::new()).await;
    say("ready");
    if hear().await == "call" {
        let task = site.start().await;
        say(&task.text().await);
    }
    std::future::pending::<()>().await;
}

async fn play_token(store: Arc<dyn SingleUse>, effects: String) {
    let handler = move |flow: Flow| sell(flow, effects.clone());
    let tool = Tool::new("sell", handler).single_use(Guard::new(store));
    let server = Server::builder("shop", "1").sealer(sealer()).tool(tool).build().unwrap();
    say("ready");
    loop {
        let said = hear().await;
        if said == "ask" {
            let asked = send(&server, 1, None).await;
            say(asked["result"]["requestState"].as_str().unwrap());
        } else {
            let sold = send(&server, 2, Some(&said)).await;
            say(sold["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{sold}")));
        }
    }
}

async fn send(server: &Server, id: u64, state: Option<&str>) -> Value {
    let mut params = json!({
        "name": "sell",
        "arguments": {},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
        },
    });
    if let Some(state) = state {
        params["requestState"] = json!(state);
        params["inputResponses"] = json!({ "name": { "action": "accept", "content": { "name": "Ada" } } });
    }
    let request = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
    server.handle_value(request, Context::new()).await.unwrap()
}

async fn sell(flow: Flow, effects: String) -> Result<String, Failure> {
    flow.elicit::<Name>("name", "Who buys?").await?;
    block(flow, effects, RESERVED + Duration::from_secs(8)).await
}

/// A step that blocks, and that another run would be allowed to repeat.
async fn block(flow: Flow, effects: String, time: Duration) -> Result<String, Failure> {
    let step = async {
        let mut file = File::options().append(true).create(true).open(effects)?;
        writeln!(file, "by {}", std::process::id())?;
        thread::sleep(time);
        Ok::<_, Failure>("done".to_owned())
    };
    Ok(flow.step("block", step).idempotent().await?)
}

/// A child process that talks in lines.
struct Peer {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
    input: ChildStdin,
}

impl Peer {
    fn start(part: &str, store: &str, effects: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_part_is_played_by_a_child_process", "--nocapture"])
            .envs([(PART, part), (STORE, store), (EFFECTS, effects)])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (lines, input) = (process.stdout.take().unwrap(), process.stdin.take().unwrap());
        Self { process, lines: BufReader::new(lines).lines(), input }
    }

    /// The next line that is meant for us; the test harness prints some of its own.
    fn says(&mut self) -> String {
        let mut ours = self.lines.by_ref().filter_map(|line| Some(line.unwrap().split_once(MARK)?.1.to_owned()));
        ours.next().expect("the child goes on to its next line")
    }

    fn hears(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
    }
}

/// A test that fails leaves no child behind.
impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn say(line: &str) {
    println!("{MARK}{line}");
}

/// The next line, while the runtime goes on.
async fn hear() -> String {
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).unwrap();
        line.trim().to_owned()
    });
    read.await.unwrap()
}

/// The lease of a task.
const LEASE: Duration = Duration::from_secs(1);
/// The lease of a reservation.
const RESERVED: Duration = Duration::from_secs(30);
const PART: &str = "MRTR_TEST_PART";
const STORE: &str = "MRTR_TEST_STORE";
const EFFECTS: &str = "MRTR_TEST_EFFECTS";
const MARK: &str = "child: ";
