//! A process that serves: this test binary again, told by a variable.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use mrtr_http::{Endpoint, Serve};
use mrtr_server::{Failure, Flow, Sealer, Server, TaskPolicy, Tool};
use mrtr_sqlite::SqliteTaskStore;
use mrtr_tasks::Tasks;
use tokio::sync::Semaphore;

use crate::support::wire::Wire;

/// The variable with the folder of the process, whose test is the server then.
pub(crate) const PROGRAM: &str = "MRTR_HTTP_TEST_FOLDER";

/// Serves until a signal comes. Each line on stdin opens the gate for one call.
pub(crate) fn serve() {
    tracing_subscriber::fmt().with_ansi(false).without_time().with_target(false).with_writer(std::io::stdout).init();
    println!("process {}", std::process::id());
    let gate = Arc::new(Semaphore::new(0));
    let opening = Arc::clone(&gate);
    std::thread::spawn(move || std::io::stdin().lines().map_while(Result::ok).for_each(|_| opening.add_permits(1)));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let var = |name: &str| std::env::var(name).ok();
        let folder = var(PROGRAM).unwrap();
        let tasks = Tasks::new(SqliteTaskStore::open(Path::new(&folder).join("tasks.sqlite")).unwrap());
        let server = Server::builder("ending", "1.0.0")
            .sealer(Sealer::from_env(KEYS).unwrap())
            .state(gate)
            .tool(Tool::new("wait", wait))
            .tool(Tool::new("hello", async |_: Flow| Ok::<_, Failure>("Hello")))
            .tool(Tool::new("pack", pack).tasks(TaskPolicy::Required))
            .extension(tasks)
            .build()
            .unwrap();
        let address = var("ADDRESS").unwrap_or_else(|| "127.0.0.1:0".to_owned());
        if var("IN_ONE_LINE").is_some() {
            return mrtr_http::serve(&*address, server).await.unwrap();
        }
        let notice = Duration::from_millis(var("NOTICE_MS").map_or(0, |text| text.parse().unwrap()));
        let serve = Serve::new(Endpoint::anonymous(server)).probes().shutdown_notice(notice);
        let serve = serve.shutdown_timeout(Duration::from_mins(1));
        serve.bind(&*address).unwrap().run_until_signal().await.unwrap();
    });
}

async fn wait(flow: Flow) -> Result<&'static str, Failure> {
    println!("at the gate");
    flow.state::<Arc<Semaphore>>().acquire().await?.forget();
    Ok("through")
}

/// A task whose first step ends when its process is told to end, and whose second step another process does.
async fn pack(flow: Flow) -> Result<String, Failure> {
    let work = async {
        println!("packs");
        flow.cancelled().await;
        Ok::<_, Failure>(std::process::id())
    };
    let packed_by = flow.step("pack", work).await?;
    let shipped_by = flow.step("ship", async { Ok::<_, Failure>(std::process::id()) }).await?;
    let by = if packed_by == shipped_by { "the same process" } else { "another" };
    Ok(format!("packed by {by}, and shipped"))
}

/// A server process, killed when this is dropped.
pub(crate) struct Process {
    child: Child,
    gate: ChildStdin,
    pub(crate) address: SocketAddr,
    lines: mpsc::Receiver<String>,
    /// The lines that were waited for, and those before them.
    read: String,
}

impl Process {
    pub(crate) fn start(folder: &Path, variables: &[(&str, &str)]) -> Self {
        Self::spawn(Command::new(std::env::current_exe().unwrap()), folder, variables)
    }

    /// Starts the server with a command that ends with this test binary.
    pub(crate) fn spawn(mut command: Command, folder: &Path, variables: &[(&str, &str)]) -> Self {
        command.args(["--exact", "server_process", "--nocapture"]).env(PROGRAM, folder).env(KEYS, KEY);
        command.envs(variables.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let gate = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            output.lines().map_while(Result::ok).for_each(|line| drop(sender.send(line.replace("  ", " ") + "\n")));
        });
        let address = ([0, 0, 0, 0], 0).into();
        let mut process = Self { child, gate, address, lines, read: String::new() };
        let serving = process.line("serving http://");
        let url = serving.split("http://").nth(1).unwrap();
        process.address = url.split('/').next().unwrap().parse().unwrap();
        process
    }

    /// Waits for a line with these words.
    pub(crate) fn line(&mut self, words: &str) -> String {
        if let Some(line) = self.read.split_inclusive('\n').find(|line| line.contains(words)) {
            return line.to_owned();
        }
        loop {
            let line = self.lines.recv_timeout(WATCHDOG);
            let line = line.unwrap_or_else(|error| panic!("{error}: it never said {words:?}: {}", self.read));
            self.read.push_str(&line);
            if line.contains(words) {
                return line;
            }
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub(crate) async fn connect(&self) -> Wire {
        Wire::connect(self.address).await
    }

    /// Asks as a probe does: by IP address.
    pub(crate) async fn get(&self, path: &str) -> (u16, String) {
        let mut wire = self.connect().await;
        wire.send(format!("GET {path} HTTP/1.1\r\nHost: 10.1.2.3:8080\r\n\r\n")).await;
        let response = wire.response().await;
        (response.status, String::from_utf8(response.body).unwrap())
    }

    pub(crate) fn open_gate(&mut self) {
        self.gate.write_all(b"open\n").unwrap();
    }

    pub(crate) fn signal(&self, signal: &str) {
        send(signal, &self.child.id().to_string());
    }

    /// Sends a signal to the one process that this one has started.
    pub(crate) fn signal_child(&self, signal: &str) {
        let id = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
        send(signal, children.trim());
    }

    /// Waits for the end of the process, and returns its status and all that it said.
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        loop {
            match self.lines.recv_timeout(WATCHDOG) {
                Ok(line) => self.read.push_str(&line),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => panic!("it does not end: {}", self.read),
            }
        }
        (self.child.wait().unwrap(), std::mem::take(&mut self.read))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn send(signal: &str, id: &str) {
    let told = Command::new("kill").args([&format!("-{signal}"), id]).status();
    assert!(told.unwrap().success(), "it runs");
}

const WATCHDOG: Duration = Duration::from_secs(40);
const KEYS: &str = "MRTR_HTTP_TEST_KEYS";
const KEY: &str = "ending=2026-07:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
